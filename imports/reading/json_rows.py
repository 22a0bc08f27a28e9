"""JSON: one object a line, or one array of objects. Numbers are kept as they are written."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO

from imports.reading.encoding import Encoding
from imports.reading.rows import MAX_RECORD_CHARS, Number, Row, RowStream, unreadable
from imports.reading.text import opened_text, without_mark

_WHITESPACE = " \t\r\n"
_CHUNK_CHARS = 256 * 1024
_NAMES = {dict: "an object", list: "a list", str: "a text", Number: "a number", bool: "true or false", type(None): "null"}


def open_json(file: BinaryIO, *, size: int, sha256: str, encoding: Encoding) -> RowStream:
    """The stream of a file of JSON Lines, or of one JSON array, which its first character tells apart."""
    with opened_text(file, encoding.name, newline="\n") as text:
        start = without_mark(text.read(1))
        while start in _WHITESPACE:
            if not (start := text.read(1)):
                raise unreadable("The file holds blank lines alone.")

    def read(wanted: frozenset[str] | None) -> Iterator[Row]:
        with opened_text(file, encoding.name, newline="\n") as text:
            yield from (_array_rows if start == "[" else _line_rows)(text, wanted)

    return RowStream(format="jsonl", bytes=size, sha256=sha256, columns=None, read=read, encoding=encoding.name, warnings=encoding.warnings)


class _Decoder:
    """Decodes values, and remembers what JSON does not allow but Python's decoder takes."""

    def __init__(self) -> None:
        self._faults: list[str] = []
        self._decoder = json.JSONDecoder(
            parse_float=Number, parse_int=Number, parse_constant=self._constant, object_pairs_hook=self._object
        )

    def _constant(self, name: str) -> None:
        self._faults.append(f"holds a bare {name}, which is not JSON; write null, a number or a text")

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) != len(pairs):
            names = [name for name, _ in pairs]
            repeated = next(name for name in names if names.count(name) > 1)
            self._faults.append(f'names "{repeated[:80]}" twice in one object')
        return values

    def value(self, text: str, position: int = 0) -> tuple[Any, int, str]:
        """The value at the position, where it ends, and what is wrong with it. Raises ValueError, RecursionError."""
        self._faults.clear()
        value, end = self._decoder.raw_decode(text, position)
        return value, end, self._faults[0] if self._faults else ""


def _line_rows(text: TextIO, wanted: frozenset[str] | None) -> Iterator[Row]:
    decoder = _Decoder()
    number = line_number = 0
    while line := text.readline(MAX_RECORD_CHARS + 1):
        line_number += 1
        if len(line) > MAX_RECORD_CHARS:
            raise unreadable(f"Line {line_number} is longer than {MAX_RECORD_CHARS:,} characters.", row=number + 1, line=line_number)
        line = without_mark(line).strip(_WHITESPACE)
        if not line:
            continue
        number += 1
        try:
            value, end, fault = decoder.value(line)
            if end != len(line):
                fault = f"has text after its object, at character {end + 1}; each line is one JSON object"
        except json.JSONDecodeError as error:
            value, fault = None, f"is not JSON: {error.msg} at character {error.pos + 1}"
        except RecursionError:
            value, fault = None, "is nested too deeply"
        yield _row(number, line_number, value, fault, wanted)


def _row(number: int, line: int, value: Any, fault: str, wanted: frozenset[str] | None) -> Row:
    if fault:
        return Row(number, line, {}, fault)
    if not isinstance(value, dict):
        return Row(number, line, {}, f"is {_NAMES[type(value)]}, not an object of columns and values")
    return Row(number, line, value if wanted is None else {name: value[name] for name in wanted if name in value})


class _Window:
    """The part of a text that is being decoded; it grows while a value is incomplete."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self.buffer = without_mark(text.read(_CHUNK_CHARS))
        self.position = 0
        self.line = 1
        self.is_whole = not self.buffer

    def grow(self) -> None:
        """Read as much again as is kept, so that a long value costs a constant number of decodings a character."""
        more = self._text.read(max(_CHUNK_CHARS, len(self.buffer) - self.position))
        self.buffer = self.buffer[self.position :] + more
        self.position = 0
        self.is_whole = not more

    def peek(self) -> str:
        """The next character that is no white space, not taken; empty at the end."""
        while True:
            while self.position < len(self.buffer) and self.buffer[self.position] in _WHITESPACE:
                self.line += self.buffer[self.position] == "\n"
                self.position += 1
            if self.position < len(self.buffer) or self.is_whole:
                return self.buffer[self.position : self.position + 1]
            self.grow()

    def take(self, end: int) -> None:
        self.line += self.buffer.count("\n", self.position, end)
        self.position = end


def _array_rows(text: TextIO, wanted: frozenset[str] | None) -> Iterator[Row]:
    decoder, window, number = _Decoder(), _Window(text), 0
    window.peek()
    window.take(window.position + 1)  # the opening bracket
    if window.peek() != "]":
        while True:
            number += 1
            window.peek()
            line = window.line
            value, end, fault = _element(decoder, window, number)
            window.take(end)
            yield _row(number, line, value, fault, wanted)
            following = window.peek()
            if following == "]":
                break
            if following != ",":
                raise unreadable(
                    f"The array breaks off after row {number} (line {window.line}): a comma or ] is missing.", row=number, line=window.line
                )
            window.take(window.position + 1)
    window.take(window.position + 1)
    if window.peek():
        raise unreadable(
            f"There is text after the array's end, on line {window.line}. The file is one array, or one object a line.", line=window.line
        )


def _element(decoder: _Decoder, window: _Window, number: int) -> tuple[Any, int, str]:
    """The element at the window's position, as `_Decoder.value`. A broken one ends the reading: what follows it has no beginning."""
    while True:
        words = f"it is longer than {MAX_RECORD_CHARS:,} characters"
        try:
            value, end, fault = decoder.value(window.buffer, window.position)
            if end < len(window.buffer) or window.is_whole:
                return value, end, fault
        except json.JSONDecodeError as error:
            words = error.msg
        except RecursionError:
            words = "it is nested too deeply"
        if window.is_whole or len(window.buffer) - window.position > MAX_RECORD_CHARS:
            raise unreadable(f"Row {number} (line {window.line}) of the array cannot be read: {words}.", row=number, line=window.line)
        window.grow()
