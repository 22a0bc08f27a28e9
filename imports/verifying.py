"""Whether an uploaded file is data at all: its format, its rows counted, how it is read. A manifest may still say to read it otherwise."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any, BinaryIO

from common.errors import Refused
from common.redaction import redact
from imports.reading import RowStream, Warned, open_rows
from imports.reading.files import format_of
from imports.recorded.files import holds_evaluation

MAX_NAME = 255
MAX_COLUMNS_LISTED = 200
_HEAD_ROWS = 100


@dataclass(frozen=True, slots=True)
class Verified:
    """What an uploaded file was found to be."""

    sha256: str
    bytes: int
    rows: int | None
    """None where it can be counted only with an encoding that the manifest states."""
    reading: dict[str, Any]


def check_name(name: str) -> None:
    """Raise `Refused` `invalid_upload` unless this can be a file's name."""
    plain = name == PurePath(name).name and "\\" not in name and name not in {"", ".", ".."}
    if not plain or not name.isprintable() or name != name.strip() or len(name) > MAX_NAME:
        shown = redact(name[:MAX_NAME])
        message = f"A file's name is one line of at most {MAX_NAME} characters, without a folder. This one is not: {shown!r}."
        raise Refused("invalid_upload", message, details={"name": shown})


def verify(file: BinaryIO, name: str, *, sha256: str, size: int) -> Verified:
    """Read the whole file once, in bounded memory. Raises `Refused` `byob_unreadable_file`, `byob_no_rows`, `upload_row_limit`.

    A file that only the import of old evaluations reads, such as an archive or YAML, has no rows here.
    """
    if holds_evaluation(file, name):
        return Verified(sha256, size, None, {"format": "evaluation", "warnings": []})
    try:
        stream = open_rows(file, name, format=_format(file, name), max_bytes=size)
        count, bad, too_much = _counted(stream)
    except Refused as refused:
        if refused.details.get("key") != "encoding":
            raise
        return Verified(sha256, size, None, {"format": _format(file, name), "warnings": [Warned(refused.code, refused.message).document()]})
    if not count and not stream.header:
        raise Refused("byob_no_rows", f"{name} has no rows.")
    warnings = [*stream.warnings]
    if too_much is not None:
        warnings.append(Warned(too_much.code, f"{too_much.message} A mapping that reads fewer columns may do."))
    if bad:
        warnings.append(Warned("byob_unreadable_rows", f"{bad:,} of {count:,} rows cannot be read; the check of all rows says why."))
    read_as = {"encoding": stream.encoding, "delimiter": stream.delimiter, "header": stream.header}
    reading = {
        "format": stream.format,
        **{key: value for key, value in read_as.items() if value is not None},
        "columns": [redact(column) for column in islice(_columns(stream), MAX_COLUMNS_LISTED)],
        "warnings": [warned.document() for warned in warnings],
    }
    return Verified(sha256, size, count, reading)


def _format(file: BinaryIO, name: str) -> str:
    """What the name's ending says, else what the first bytes look like."""
    try:
        return format_of(name)
    except Refused:
        file.seek(0)
        head = file.read(64).lstrip(b"\xef\xbb\xbf \r\n\t")
        return "parquet" if head.startswith(b"PAR1") else "jsonl" if head.startswith((b"{", b"[")) else "csv"


def _counted(stream: RowStream) -> tuple[int, int, Refused | None]:
    """All rows, those that cannot be read, and why not all columns can be read together, if so: what is not mapped is never unpacked.

    The footer of a Parquet file says how many rows it has.
    """
    if stream.count is not None:
        try:
            for _ in islice(stream.rows(), 1):
                break  # the first page can be read
        except Refused as refused:
            if refused.code != "private_benchmark_too_large":
                raise
            return stream.count, 0, refused
        return stream.count, 0, None
    count = bad = 0
    for row in stream.rows(()):
        count += 1
        bad += bool(row.problem)
    return count, bad, None


def _columns(stream: RowStream) -> Iterable[str]:
    if stream.columns is not None:
        return [column.name for column in stream.columns]
    return dict.fromkeys(name for row in islice(stream.rows(), _HEAD_ROWS) for name in row.values)
