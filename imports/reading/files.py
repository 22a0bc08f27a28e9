"""Opening a file: its size, its format, what its first bytes say it really is, and the reader for it."""

import hashlib
from pathlib import PurePath
from typing import BinaryIO

from common.errors import Refused
from imports.limits import limits
from imports.reading.delimited import open_delimited
from imports.reading.encoding import resolve_encoding
from imports.reading.json_rows import open_json
from imports.reading.parquet import open_parquet
from imports.reading.rows import RowStream, unreadable

FORMATS = ("jsonl", "csv", "parquet")
_BY_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}
_PARQUET = b"PAR1"
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_OTHER_KINDS = {
    b"PK\x03\x04": "a ZIP archive or an .xlsx workbook; unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Office file; save the sheet as CSV",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first",
    b"BZh91AY&SY": "compressed with bzip2; unpack it first",
    b"\xfd7zXZ": "compressed with xz; unpack it first",
    b"%PDF": "a PDF; export the data as CSV or JSON Lines",
    b"ARROW1": "an Arrow file; write it as Parquet",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
}


def open_rows(
    file: BinaryIO,
    filename: str,
    *,
    format: str | None = None,
    header: bool = True,
    delimiter: str | None = None,
    encoding: str | None = None,
    max_bytes: int | None = None,
) -> RowStream:
    """The rows of a seekable binary file, which stays open and belongs to the caller. `max_bytes` is what a benchmark may be made of
    unless said otherwise.

    Raises `Refused`: `private_benchmark_too_large`, `upload_row_limit`, `byob_unknown_format`, `byob_unreadable_file`.
    """
    size, sha256 = _measure(file, max_bytes or limits().max_benchmark_bytes)
    format = format or format_of(filename)
    file.seek(0)
    _check_signature(file.read(64), format)
    if format == "parquet":
        return open_parquet(file, size=size, sha256=sha256)
    resolved = resolve_encoding(file, encoding)
    if format == "jsonl":
        return open_json(file, size=size, sha256=sha256, encoding=resolved)
    prefers_tab = PurePath(filename).suffix.lower() == ".tsv"
    return open_delimited(
        file, size=size, sha256=sha256, encoding=resolved, delimiter=delimiter, has_header=header, prefers_tab=prefers_tab
    )


def _measure(file: BinaryIO, most: int) -> tuple[int, str]:
    """The size in bytes and the SHA-256. The limit is checked before anything is read."""
    size = file.seek(0, 2)
    if size is None:  # Django's file wrappers seek without an answer
        size = file.tell()
    if size > most:
        message = f"The file has {size:,} bytes; a private benchmark takes at most {most:,}. Split it or take a sample."
        raise Refused("private_benchmark_too_large", message, status=413, details={"bytes": size, "limit": most})
    if size == 0:
        raise unreadable("The file is empty.")
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return size, digest.hexdigest()


def format_of(filename: str) -> str:
    """The format that the name's ending says. Raises `byob_unknown_format`."""
    suffix = PurePath(filename).suffix.lower()
    if suffix not in _BY_SUFFIX:
        known = ", ".join(_BY_SUFFIX)
        message = f'"{filename}" does not say what it is by its ending ({known}). Rename it, or set "format" to jsonl, csv or parquet.'
        raise Refused("byob_unknown_format", message)
    return _BY_SUFFIX[suffix]


def _check_signature(head: bytes, format: str) -> None:
    """Raise `byob_unreadable_file` where the first bytes are those of something else than the format."""
    if head.startswith(_LFS_POINTER):
        raise unreadable("The file is a Git LFS pointer: it names the data and does not hold it. Download the data itself (git lfs pull).")
    is_parquet = head.startswith(_PARQUET)
    if is_parquet and format != "parquet":
        raise unreadable(f'The file is Parquet but was taken for {format}. Rename it to .parquet, or set "format" to parquet.')
    for signature, words in _OTHER_KINDS.items():
        if head.startswith(signature):
            raise unreadable(f"The file is {words}.")
    if format == "parquet" and not is_parquet:
        raise unreadable("The file is not Parquet: it does not begin with PAR1.")
    if head.lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith((b"<!doctype", b"<html")):
        raise unreadable("The file is a web page, not data. Download the raw file.")
