"""A list of chosen tasks as one short text, for addresses: the ordinals in their order, bound to the version they belong to."""

import base64
import binascii
import zlib
from collections.abc import Sequence

MOST_TEXT = 12_000


def write_tasks(profile_id: str, ordinals: Sequence[int]) -> str:
    """URL-safe text of the ordinals; empty for none. A thousand of them take about 3 KB."""
    if not ordinals:
        return ""
    body = bytearray()
    last = 0
    for ordinal in ordinals:
        step = ordinal - last
        last = ordinal
        rest = step * 2 if step >= 0 else -step * 2 - 1
        while rest > 127:
            body.append(rest & 127 | 128)
            rest >>= 7
        body.append(rest)
    raw = zlib.crc32(profile_id.encode()).to_bytes(4, "big") + bytes(body)
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def read_tasks(profile_id: str, text: str) -> list[int] | None:
    """The ordinals, each once; None where the text is not such a list, or is one of another version."""
    if not text:
        return []
    if len(text) > MOST_TEXT or not text.isascii():
        return None
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        return None
    if len(raw) < 5 or raw[:4] != zlib.crc32(profile_id.encode()).to_bytes(4, "big") or raw[-1] & 128:
        return None
    found: dict[int, None] = {}
    last = value = shift = 0
    for byte in raw[4:]:
        value |= (byte & 127) << shift
        shift += 7
        if byte & 128:
            continue
        last += value // 2 if value % 2 == 0 else -(value + 1) // 2
        if not 0 <= last < 2**31:
            return None
        found[last] = None
        value = shift = 0
    return list(found)
