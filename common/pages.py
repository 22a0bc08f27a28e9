"""Keyset pages: a list is read in the order of one unique column, and a cursor says after which value the next page begins.

No page skips or repeats a row when others come or go, and page 1,000 costs what page 1 does. A cursor is opaque base64. Where the
column is an integer key of the database, which never leaves it, the cursor is that key encrypted; a public value stands as it is.
A column of integers that is not unique takes a unique one behind it: `("-latency_ms", "-id")`.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
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
_BLOCK = 16

type Order = str | tuple[str, str]
"""A unique column, or a column of integers and a unique one of the same direction; `-` for descending."""


@dataclass(frozen=True, slots=True)
class Page[Row: Model]:
    """The rows of one page, and the cursor of the next; None on the last."""

    rows: list[Row]
    next_cursor: str | None


def page_of[Row: Model](
    queryset: QuerySet[Row], *, order: Order = "-id", cursor: str | None = None, limit: int = DEFAULT_LIMIT
) -> Page[Row]:
    """One page of the queryset by `order`. One query.

    Raises Refused (`validation_error`) for a limit outside 1–100 and for a cursor that this list did not give.
    """
    check_limit(limit)
    rows = list(after(queryset, order, cursor)[: limit + 1])
    more = len(rows) > limit
    rows = rows[:limit]
    return Page(rows, cursor_at(queryset.model, order, [getattr(rows[-1], name) for name in columns_of(order)]) if more else None)


def check_limit(limit: int) -> None:
    """Raises Refused (`validation_error`) for a limit outside 1–100."""
    if not 1 <= limit <= MAX_LIMIT:
        raise Refused("validation_error", "Check the request fields.", details={"limit": [f"Between 1 and {MAX_LIMIT}."]})


def columns_of(order: Order) -> list[str]:
    """The columns of an order, without their direction."""
    return [name.removeprefix("-") for name in ((order,) if isinstance(order, str) else order)]


def after[Row: Model](queryset: QuerySet[Row], order: Order, cursor: str | None) -> QuerySet[Row]:
    """What of the queryset comes after the cursor, in order; all of it without one. Raises Refused for a cursor of another list."""
    if isinstance(order, str):
        if cursor:
            column, direction = order.removeprefix("-"), "lt" if order.startswith("-") else "gt"
            queryset = queryset.filter(**{f"{column}__{direction}": read_cursor(queryset.model, column, cursor)})
        return queryset.order_by(order)
    if cursor:
        (first, key), (value, at) = columns_of(order), _read_pair(queryset.model, order, cursor)
        direction, passed = ("lte", "gte") if order[0].startswith("-") else ("gte", "lte")
        # As a bound of the first column with an exception, which an index of it serves; an OR of two ranges none would.
        queryset = queryset.filter(**{f"{first}__{direction}": value}).exclude(**{first: value, f"{key}__{passed}": at})
    return queryset.order_by(*order)


def cursor_at(model: type[Model], order: Order, values: Sequence[int | str]) -> str:
    """The cursor that begins after the row with these values of the order's columns."""
    if isinstance(order, str):
        return write_cursor(model, columns_of(order)[0], values[0])
    encryptor = _cipher().encryptor()
    blocks = [tag + int(value).to_bytes(8, "big") for tag, value in zip(_pair_tags(model, order), values, strict=True)]
    return _encode(encryptor.update(b"".join(blocks)) + encryptor.finalize())


def _read_pair(model: type[Model], order: tuple[str, str], cursor: str) -> tuple[int, int]:
    raw = _decode(cursor)
    if len(raw) != 2 * _BLOCK:
        raise _invalid()
    decryptor = _cipher().decryptor()
    text = decryptor.update(raw) + decryptor.finalize()
    blocks = [(text[at : at + 8], int.from_bytes(text[at + 8 : at + _BLOCK])) for at in (0, _BLOCK)]
    if any(tag != its or value > _BIGGEST for tag, (its, value) in zip(_pair_tags(model, order), blocks, strict=True)):
        raise _invalid()
    return blocks[0][1], blocks[1][1]


def _pair_tags(model: type[Model], order: tuple[str, str]) -> tuple[bytes, bytes]:
    kind = f"{model._meta.label_lower}.{order[0]}.{order[1]}"
    return _tag(f"{kind}:0"), _tag(f"{kind}:1")


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
