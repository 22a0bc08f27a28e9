"""CSV and its relatives: comma, semicolon, tab or bar, quoted cells with line breaks, with or without a header."""

import csv
import io
from collections.abc import Iterator
from typing import BinaryIO, TextIO

from common.errors import Refused
from imports.reading.encoding import Encoding
from imports.reading.rows import MAX_RECORD_CHARS, Column, Row, RowStream, unreadable
from imports.reading.text import opened_text, without_mark

DELIMITERS = (",", "\t", ";", "|")
_SNIFFED_CHARS = 64 * 1024
_SNIFFED_RECORDS = 50

csv.field_size_limit(MAX_RECORD_CHARS)  # the module's own limit of 131,072 is below what real files hold; `_Lines` bounds whole records


def open_delimited(
    file: BinaryIO, *, size: int, sha256: str, encoding: Encoding, delimiter: str | None, has_header: bool, prefers_tab: bool
) -> RowStream:
    """The stream of a delimited file; where no delimiter is stated the one that fits the first rows best is taken."""
    chosen = delimiter or _sniff(file, encoding.name, prefers_tab)
    with opened_text(file, encoding.name, newline="") as text:
        names = _header(text, chosen, has_header)

    def read(wanted: frozenset[str] | None) -> Iterator[Row]:
        with opened_text(file, encoding.name, newline="") as text:
            yield from _rows(text, chosen, names, wanted, has_header)

    def without_header() -> RowStream:
        return open_delimited(
            file, size=size, sha256=sha256, encoding=encoding, delimiter=chosen, has_header=False, prefers_tab=prefers_tab
        )

    return RowStream(
        format="csv",
        bytes=size,
        sha256=sha256,
        columns=tuple(Column(name) for name in names),
        read=read,
        encoding=encoding.name,
        delimiter=chosen,
        header=has_header,
        warnings=encoding.warnings,
        headerless=without_header if has_header else None,
    )


class _Lines:
    """The lines of a text, which bounds each record: the characters since `restart` may not exceed the limit."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._chars = 0
        self._is_first = True
        self.holds_nul = False

    def restart(self) -> None:
        self._chars = 0
        self.holds_nul = False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._text.readline(MAX_RECORD_CHARS + 1)
        if not line:
            raise StopIteration
        self._chars += len(line)
        if self._chars > MAX_RECORD_CHARS:
            raise _RecordTooLong
        if self._is_first:
            self._is_first = False
            line = without_mark(line)
        self.holds_nul = self.holds_nul or "\0" in line
        return line


class _RecordTooLong(Exception):
    pass


def _header(text: TextIO, delimiter: str, has_header: bool) -> list[str]:
    """The columns' names: those of the header, else `column_1` and so on for as many cells as the first row has."""
    try:
        first = next((cells for cells in csv.reader(_Lines(text), delimiter=delimiter, strict=True) if cells), None)
    except (csv.Error, _RecordTooLong) as error:
        raise unreadable(f"The first row cannot be read: {_words(error)}.", line=1) from None
    if first is None:
        raise unreadable("The file holds blank lines alone.")
    return first if has_header else [f"column_{index}" for index in range(1, len(first) + 1)]


def _rows(text: TextIO, delimiter: str, names: list[str], wanted: frozenset[str] | None, has_header: bool) -> Iterator[Row]:
    lines = _Lines(text)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    picked = [(name, index) for index, name in enumerate(names) if wanted is None or name in wanted]
    skip_header = has_header
    number, width = 0, len(names)
    while True:
        line = reader.line_num + 1
        lines.restart()
        problem, cells = "", None
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = f"cannot be read as CSV: {_words(error)}"
        except _RecordTooLong as error:
            raise unreadable(
                f"Row {number + 1}, which begins on line {line}, cannot be read: {_words(error)}.", row=number + 1, line=line
            ) from None
        if cells == []:
            continue  # a blank line
        if skip_header:
            skip_header = False
            continue
        number += 1
        if cells is None:
            yield Row(number, line, {}, problem)
        elif len(cells) != width:
            found = f"{len(cells)} cell{'s' if len(cells) != 1 else ''}"
            expected = f"the header has {width}" if has_header else f"the first row has {width}"
            yield Row(number, line, {}, f"has {found} where {expected}; check its quotes and delimiters")
        elif lines.holds_nul:
            yield Row(number, line, {}, "holds a NUL character")
        else:
            yield Row(number, line, {name: cells[index] for name, index in picked})


def _words(error: Exception) -> str:
    if isinstance(error, _RecordTooLong) or "field limit" in str(error):
        return f"it is longer than {MAX_RECORD_CHARS:,} characters, most often because a quote is never closed"
    if "unexpected end of data" in str(error):
        return "its quote is never closed"
    if "expected after" in str(error):
        return "there is text after a closing quote; a quote inside a quoted cell is written twice"
    return str(error)


def _sniff(file: BinaryIO, encoding: str, prefers_tab: bool) -> str:
    """The delimiter that gives most of the first records the first one's width, of more than one cell; the wider on a tie."""
    with opened_text(file, encoding, newline="") as text:
        head = text.read(_SNIFFED_CHARS)
    lines = list(io.StringIO(without_mark(head), newline=""))
    if len(head) == _SNIFFED_CHARS and len(lines) > 1:
        lines.pop()  # it was cut
    candidates = sorted(DELIMITERS, key=lambda delimiter: not (prefers_tab and delimiter == "\t"))

    def fit(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        try:
            for cells in csv.reader(lines, delimiter=delimiter, strict=True):
                if cells:
                    widths.append(len(cells))
                if len(widths) == _SNIFFED_RECORDS:
                    break
        except csv.Error:
            pass
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    best = max(candidates, key=fit)
    return best if fit(best)[0] else candidates[0]


def checked_delimiter(text: str) -> str:
    """The delimiter that was stated. Raises `byob_invalid_manifest` for what cannot separate cells."""
    if len(text) != 1 or text in '"\r\n\0\ufeff' or text.isalnum():
        raise Refused("byob_invalid_manifest", '"delimiter" must be one character such as "," ";" or a tab, and no letter, digit or quote.')
    return text
