"""Hiding credential-shaped strings wherever text leaves for a log, an error or a preview."""

from collections.abc import MutableMapping
from typing import Any

import re2

REDACTED = "[redacted]"

_SHAPES = [
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-[^-])*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
    r"\bsk-[A-Za-z0-9_\-]{16,}",
    r"\ber_[A-Za-z0-9]{8}_[A-Za-z0-9_\-]{16,}",
    r"\bers_[A-Za-z0-9_\-]{20,}",
    r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\bxox[abprs]-[A-Za-z0-9\-]{10,}",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_\-]{30,}",
    r"\b(?:rk|sk|whsec)_(?:live|test)?_?[A-Za-z0-9]{16,}",
    r"(?i)\bbearer\s+[A-Za-z0-9._~+/\-]{16,}=*",
    r"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
]
_PATTERN = re2.compile("|".join(f"(?:{shape})" for shape in _SHAPES))


def redact(text: str, *secrets: str) -> str:
    """The text with credential-shaped parts, and the given secrets, replaced by `[redacted]`."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, REDACTED)
    return _PATTERN.sub(REDACTED, text)


def holds_credential(text: str) -> bool:
    """Whether some part of the text is shaped like a credential."""
    return _PATTERN.search(text) is not None


def redact_event(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: every text of the event, redacted."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = redact(str(value))  # a member of an enum as its plain text: RE2 builds its answer from the type
    return event
