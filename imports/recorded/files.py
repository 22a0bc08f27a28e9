"""The files of an old evaluation, with limits before memory: a document's size, a line's length, how many lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Any

import orjson

from common.errors import Refused

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
"""Of one JSON document, which is held whole. JSON Lines are read line by line."""
MAX_LINE_BYTES = 16 * 1024 * 1024
HEAD_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class OldFile:
    """One seekable file, open; it belongs to the caller."""

    name: str
    file: IO[bytes]
    size: int
    sha256: str = ""

    @property
    def suffix(self) -> str:
        return PurePath(self.name).suffix.lower()

    @property
    def is_zip(self) -> bool:
        self.file.seek(0)
        return self.file.read(4) == b"PK\x03\x04"

    def head(self) -> bytes:
        """The beginning without a byte-order mark and white space."""
        self.file.seek(0)
        return self.file.read(HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()

    def first_object(self) -> dict[str, Any]:
        """The first line's object, where the file is JSON Lines; else empty."""
        try:
            value = orjson.loads(self.head().split(b"\n", 1)[0])
        except orjson.JSONDecodeError:
            return {}
        return value if isinstance(value, dict) else {}

    def document(self) -> Any:
        """The whole file as one JSON document. Raises `Refused` `recorded_unreadable_file`, `too_large` (413)."""
        if self.size > MAX_DOCUMENT_BYTES:
            raise too_large(self.name, self.size, MAX_DOCUMENT_BYTES, "one JSON document")
        self.file.seek(0)
        return parsed(self.name, self.file.read(MAX_DOCUMENT_BYTES + 1).removeprefix(b"\xef\xbb\xbf"))

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Number and object of each line that is not blank. Raises `Refused` `recorded_unreadable_file` naming the line."""
        self.file.seek(0)
        number = 0
        while line := self.file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise unreadable(self.name, f"line {number} is longer than {MAX_LINE_BYTES:,} bytes")
            line = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
            if not line:
                continue
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise unreadable(self.name, f"line {number} is not JSON: {error.msg}") from None
            if not isinstance(value, dict):
                raise unreadable(self.name, f"line {number} is not an object")
            yield number, value

    def objects(self) -> Iterator[dict[str, Any]]:
        """The objects of JSON Lines, of one array, or of `{"data": […]}` as pages of an API list them."""
        is_lines = self.suffix in {".jsonl", ".ndjson"} or (self.head()[:1] == b"{" and bool(self.first_object()))
        if is_lines:
            for _, value in self.lines():
                yield from _listed(value)
            return
        document = self.document()
        for value in document if isinstance(document, list) else [document]:
            if isinstance(value, dict):
                yield from _listed(value)


def _listed(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    data = value.get("data")
    if value.get("object") == "list" and isinstance(data, list):
        yield from (each for each in data if isinstance(each, dict))
    else:
        yield value


def holds_evaluation(file: IO[bytes], name: str) -> bool:
    """Whether the file can only be an old evaluation: an Inspect archive, YAML, or one JSON object over several lines or with results."""
    old = OldFile(name, file, 0)
    if old.suffix in {".eval", ".yaml", ".yml"}:
        return True
    head = old.head()
    if old.suffix != ".json" or head[:1] != b"{":
        return False
    is_spread_out = head.split(b"\n", 1)[0].strip() == b"{"
    return is_spread_out or any(b'"%s"' % key in head[:2_000] for key in (b"evalId", b"eval", b"results", b"testing_criteria"))


def parsed(name: str, content: bytes) -> Any:
    """The JSON document. Raises `Refused` `recorded_unreadable_file`."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise unreadable(name, f"it is not JSON: {error.msg} at line {error.lineno}") from None


def unreadable(name: str, problem: str) -> Refused:
    """The refusal of a file, to be raised."""
    return Refused("recorded_unreadable_file", f"{name} cannot be read: {problem}.", details={"file": name})


def too_large(name: str, size: int, limit: int, what: str) -> Refused:
    message = f"{name} has {size:,} bytes; {what} has at most {limit:,}. Export fewer rows, or as JSON Lines."
    return Refused("too_large", message, status=413, details={"file": name, "bytes": size, "limit": limit})
