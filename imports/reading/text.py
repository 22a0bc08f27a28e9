"""A binary file as text, without taking it away from its owner."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO


@contextmanager
def opened_text(file: BinaryIO, encoding: str, newline: str) -> Iterator[TextIO]:
    """The file's text from its beginning, without a byte-order mark; the file stays open. `newline` is as of `io.TextIOWrapper`."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline=newline)
    try:
        yield text
    finally:
        text.detach()


def without_mark(line: str) -> str:
    """The first line without the mark that UTF-16 and UTF-32 of a stated byte order leave in it."""
    return line.removeprefix("\ufeff")
