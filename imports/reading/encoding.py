"""Which encoding a text file is in. The whole file is decoded strictly before a row is read, so that no character is ever replaced."""

import codecs
import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from common.redaction import redact
from imports.reading.rows import Warned, unreadable

_CHUNK = 1 << 20
_ASCII = bytes(range(128))
_LETTERS = string.ascii_letters.encode()
_WESTERN_SHARE = 0.2
_MARKS = (  # UTF-32's mark begins with UTF-16's, so it is asked first
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_STATED = """
ascii utf-8 utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be
cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp437 cp850 cp866 cp874 cp932 cp949 cp950
iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-10 iso8859-11
iso8859-13 iso8859-14 iso8859-15 iso8859-16 koi8-r koi8-u mac-roman
shift_jis euc_jp iso2022_jp gb2312 gbk gb18030 big5 euc_kr
"""
ENCODINGS = frozenset(_STATED.split())
"""The encodings that may be stated, by Python's names for them. Codecs that are no character encodings are not among them."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The codec's name, and a warning where it is a guess."""

    name: str
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class _Misfit:
    """Where a file first does not fit an encoding: the byte's offset, its line, and the bytes around it."""

    offset: int
    line: int
    around: bytes


def known_encoding(name: str) -> str | None:
    """Python's name of an encoding that may be stated, or None."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    found = {"utf-8-sig": "utf-8"}.get(found, found)
    return found if found in ENCODINGS else None


def resolve_encoding(file: BinaryIO, stated: str | None) -> Encoding:
    """The encoding that the whole file was found to fit: the stated one, else the one of its mark, else UTF-8, UTF-16 or Windows-1252.

    Raises `byob_unreadable_file` where it fits none, with the line.
    """
    file.seek(0)
    head = file.read(4096)
    if stated is not None:
        misfit = _misfit(file, stated)
        if misfit is not None:
            raise unreadable(f"Line {misfit.line} of the file is not {stated}. Set another encoding.", line=misfit.line)
        return Encoding(stated)
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    certain = marked or _by_zero_bytes(head) or "utf-8"
    misfit = _misfit(file, certain)
    if misfit is None:
        return Encoding(certain)
    if certain == "utf-8" and marked is None and _looks_western(file) and _misfit(file, "cp1252") is None:
        sample = redact(misfit.around.decode("cp1252", errors="ignore").strip())
        message = (
            f"The file is not UTF-8 (line {misfit.line}), so it was read as Windows-1252, where that line has “{sample}”."
            ' If that is wrong, set "encoding".'
        )
        return Encoding("cp1252", (Warned("byob_guessed_encoding", message),))
    raise unreadable(
        f'The file begins as {certain}, but line {misfit.line} is not. Save it as UTF-8, or set "encoding" to what it is in.',
        line=misfit.line,
        key="encoding",
    )


def _by_zero_bytes(head: bytes) -> str | None:
    """UTF-16 without a mark: mostly Latin text has a zero in every second byte."""
    if len(head) < 4:
        return None
    zeros_first, zeros_second = head[::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if zeros_second > half * 0.4 and zeros_first < half * 0.05:
        return "utf-16-le"
    if zeros_first > half * 0.4 and zeros_second < half * 0.05:
        return "utf-16-be"
    return None


def _looks_western(file: BinaryIO) -> bool:
    """Whether letters with accents and typographic signs are as rare as in text of Western Europe; other scripts are mostly high bytes."""
    high = letters = 0
    for _, chunk, _ in _chunks(file):
        high += len(chunk.translate(None, _ASCII))
        letters += len(chunk) - len(chunk.translate(None, _LETTERS))
    return high <= _WESTERN_SHARE * (high + letters)


def _misfit(file: BinaryIO, encoding: str) -> _Misfit | None:
    """Where the file first does not fit the encoding; None where all of it fits."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    line = 1
    for offset, chunk, is_last in _chunks(file):
        pending = decoder.getstate()[0]
        try:
            decoder.decode(chunk, final=is_last)
        except UnicodeDecodeError as error:
            before = pending + chunk
            begin = max(before.rfind(b"\n", 0, error.start) + 1, error.start - 15)
            around = before[begin : error.start + 25].partition(b"\n")[0]
            return _Misfit(offset - len(pending) + error.start, line + before.count(b"\n", 0, error.start), around)
        except UnicodeError:  # a UTF-16 or UTF-32 that must have a mark and has none
            return _Misfit(offset, line, chunk[:40])
        line += chunk.count(b"\n")
    return None


def _chunks(file: BinaryIO) -> Iterator[tuple[int, bytes, bool]]:
    """The file's chunks with their offsets, and whether each is the last."""
    file.seek(0)
    offset, chunk = 0, file.read(_CHUNK)
    while chunk:
        following = file.read(_CHUNK)
        yield offset, chunk, not following
        offset, chunk = offset + len(chunk), following
