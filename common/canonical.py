"""Canonical JSON: the one text of a frozen document, and its SHA-256."""

import hashlib
import json
from typing import Any


def canonical_json(document: Any) -> str:
    """The document as JSON with sorted keys, no spaces, UTF-8 and no NaN. Raises ValueError for NaN and infinities."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_text(text: str) -> str:
    """Hex SHA-256 of the text's UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


def freeze(document: dict[str, Any]) -> tuple[str, str]:
    """The text to store and its SHA-256. The hash is taken without the document's own `sha256` key."""
    unsigned = {key: value for key, value in document.items() if key != "sha256"}
    text = canonical_json(unsigned)
    return text, sha256_text(text)
