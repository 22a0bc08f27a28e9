"""What every reader gives: a stream of numbered rows, and the limits that hold while it is read."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from common.errors import Refused
from common.redaction import redact
from imports.limits import limits

MAX_RECORD_CHARS = 4 * 1024 * 1024
"""The longest single row of a text file. It bounds the memory of one row, whatever the file is made of."""


class Number(str):
    """A number as its file writes it, so that `1.10` stays `1.10` and no digit of a long one is lost."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `number` counts rows from 1, `line` is where it begins in a text file. With a `problem` it has no values.

    Values are `str`, `Number`, `bool`, `None`, or lists and dicts of them.
    """

    number: int
    line: int | None
    values: dict[str, Any]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Warned:
    """Something a person should know before they create the benchmark; `rows` are examples."""

    code: str
    message: str
    rows: tuple[int, ...] = ()

    def document(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message} | ({"rows": list(self.rows)} if self.rows else {})


class Kind(StrEnum):
    """What a column holds, as far as the file itself declares it."""

    SCALAR = "text or numbers"
    LIST = "lists"
    OBJECT = "objects"
    OTHER = "values that are neither text nor numbers"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind = Kind.SCALAR


@dataclass(frozen=True, slots=True)
class RowStream:
    """A file that can be read row by row, as often as needed. `columns` is None where only the rows tell (JSON)."""

    format: str
    bytes: int
    sha256: str
    columns: tuple[Column, ...] | None
    read: Callable[[frozenset[str] | None], Iterator[Row]]
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    warnings: tuple[Warned, ...] = field(default=())
    count: int | None = None
    """How many rows there are, where the file itself says so."""
    headerless: "Callable[[], RowStream] | None" = None
    """The same file read as one without a header, where its first row was taken for one."""

    def column(self, name: str) -> Column | None:
        """The column of that name, None where only the rows can tell. Raises `Refused` where it is missing or named twice."""
        if self.columns is None:
            return None
        found = [column for column in self.columns if column.name == name]
        if not found:
            raise missing_column(name, [column.name for column in self.columns])
        if len(found) > 1:
            raise Refused("byob_duplicate_column", f'The file has {len(found)} columns named "{name}". Rename them so that one is meant.')
        return found[0]

    def rows(self, names: Collection[str] | None = None) -> Iterator[Row]:
        """The rows from the first one on, with the values of the named columns alone (None: all). Raises `Refused` past the row limit."""
        most = limits().max_rows
        for row in self.read(None if names is None else frozenset(names)):
            if row.number > most:
                raise too_many_rows()
            yield row


def too_many_rows(count: int | None = None) -> Refused:
    most = limits().max_rows
    has = f"has {count:,} rows" if count else f"has more than {most:,} rows"
    message = f"The file {has}; at most {most:,} can be imported. Split it or take a sample of it."
    return Refused("upload_row_limit", message, status=413, details={"limit": most})


def unreadable(message: str, **details: Any) -> Refused:
    return Refused("byob_unreadable_file", message, details=details)


def missing_column(name: str, columns: Collection[str]) -> Refused:
    """The refusal that names the columns there are, the closest first."""
    columns = [redact(column) for column in columns]
    closest = get_close_matches(name, columns, n=1)
    hint = f' Did you mean "{closest[0]}"?' if closest else ""
    shown = ", ".join(f'"{column}"' for column in columns[:30])
    message = f'The file has no column "{name}".{hint} Its columns are {shown}.'
    return Refused("byob_missing_column", message, details={"column": name, "columns": columns[:200]})
