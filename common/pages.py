"""Keyset pages: a list is read in the order of one unique column, and a cursor says after which value the next page begins.

No page skips or repeats a row when others come or go, and page 1,000 costs what page 1 does. A cursor is opaque base64. Where the
column is an integer key of the database, which never leaves it, the cursor is that key encrypted; a public value stands as it is.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from functools import lru_cache

import orjson
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from django.conf import settings
from django.db.models import Model, QuerySet

from common.errors import Refused

DEFAULT_LIMIT = 50
MAX_LIMIT = 100
_MAX_CURSOR = 400
_BIGGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Page[Row: Model]:
    """The rows of one page, and the cursor of the next; None on the last."""

    rows: list[Row]
    next_cursor: str | None


def page_of[Row: Model](queryset: QuerySet[Row], *, order: str = "-id", cursor: str | None = None, limit: int = DEFAULT_LIMIT) -> Page[Row]:
    """One page of the queryset by `order`, a unique column with `-` for descending. One query.

    Raises Refused (`validation_error`) for a limit outside 1–100 and for a cursor that this list did not give.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise Refused("validation_error", "Check the request fields.", details={"limit": [f"Between 1 and {MAX_LIMIT}."]})
    column = order.removeprefix("-")
    if cursor:
        comparison = "lt" if order.startswith("-") else "gt"
        queryset = queryset.filter(**{f"{column}__{comparison}": read_cursor(queryset.model, column, cursor)})
    rows = list(queryset.order_by(order)[: limit + 1])
    more = len(rows) > limit
    rows = rows[:limit]
    return Page(rows, write_cursor(queryset.model, column, getattr(rows[-1], column)) if more else None)


def write_cursor(model: type[Model], column: str, value: int | str) -> str:
    """The cursor that begins after this value of the column."""
    kind = f"{model._meta.label_lower}.{column}"
    if isinstance(value, int):
        block = _tag(kind) + value.to_bytes(8, "big")
        encryptor = _cipher().encryptor()
        return _encode(encryptor.update(block) + encryptor.finalize())
    return _encode(orjson.dumps([kind, value]))


def read_cursor(model: type[Model], column: str, cursor: str) -> int | str:
    """The value that `write_cursor` was given. Raises Refused (`validation_error`) for anything else."""
    kind = f"{model._meta.label_lower}.{column}"
    raw = _decode(cursor)
    if len(raw) == 16:
        decryptor = _cipher().decryptor()
        block = decryptor.update(raw) + decryptor.finalize()
        value = int.from_bytes(block[8:], "big")
        if block[:8] == _tag(kind) and value <= _BIGGEST:
            return value
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise _invalid() from None
    if isinstance(found, list) and len(found) == 2 and found[0] == kind and isinstance(found[1], str) and "\0" not in found[1]:
        return found[1]
    raise _invalid()


def _invalid() -> Refused:
    return Refused(
        "validation_error",
        "Check the request fields.",
        details={"cursor": ["Not a cursor of this list; take next_cursor of the page before, or leave it out."]},
    )


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(cursor: str) -> bytes:
    if len(cursor) > _MAX_CURSOR or not cursor.isascii():
        raise _invalid()
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise _invalid() from None


@lru_cache(maxsize=64)
def _tag(kind: str) -> bytes:
    """Eight bytes that name a list, so that a cursor of another list, or a made-up one, is refused."""
    return hashlib.sha256(kind.encode()).digest()[:8]


def _cipher() -> Cipher[modes.ECB]:
    # One block holds the whole cursor, so ECB leaks nothing that equal cursors would not.
    return _cipher_of(settings.SECRET_KEY)


@lru_cache(maxsize=4)
def _cipher_of(secret: str) -> Cipher[modes.ECB]:
    key = hashlib.sha256(b"common.pages:" + secret.encode()).digest()
    return Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305
