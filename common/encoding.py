"""JSON as the API writes and reads it."""

from decimal import Decimal
from typing import Any

import orjson


def encode_json(document: Any) -> bytes:
    """The document as UTF-8 JSON; times end in `Z`, decimals are texts, NaN is null."""
    return orjson.dumps(document, default=_plain, option=orjson.OPT_UTC_Z)


def _plain(value: object) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    raise TypeError(f"{type(value).__name__} has no JSON form")
