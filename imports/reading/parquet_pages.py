"""The headers of Parquet's pages: what each unpacks to, known before it is unpacked.

The footer states the size of a whole column, and a column is read page by page; but one text of 200 MB is one page. Headers are structs of
Thrift's compact protocol (https://github.com/apache/parquet-format, parquet.thrift); only their sizes and counts are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAX_PAGES = 100_000
_HEADS = (512, 1 << 14, 1 << 20)
"""Bytes in which a header is looked for: it holds statistics, whose texts may be long."""
_STRUCT, _UNPACKED, _PACKED, _COUNTED, _COUNT = 12, 2, 3, frozenset({5, 8}), 1
"""Of a page's header: the fields of both sizes, and of the structs of data pages, whose first field is the number of values."""


class BadPages(ValueError):
    """The pages of a column cannot be told apart."""


@dataclass(frozen=True, slots=True)
class Page:
    unpacked: int
    packed: int
    values: int
    header: int
    """Bytes of the header, which stands before the page."""


def pages(file: BinaryIO, begin: int, length: int, values: int) -> Iterator[Page]:
    """The pages of a column's part that begins at the offset and takes so many bytes, until it has its values. Raises `BadPages`."""
    if begin < 0:
        raise BadPages("its pages begin before the file does")
    offset, seen = begin, 0
    for _ in range(MAX_PAGES):
        if offset >= begin + length or seen >= values:
            return
        page = _page_at(file, offset)
        yield page
        offset, seen = offset + page.header + page.packed, seen + page.values
    raise BadPages(f"it has more than {MAX_PAGES:,} pages")


def _page_at(file: BinaryIO, offset: int) -> Page:
    for size in _HEADS:
        file.seek(offset)
        head = file.read(size)
        try:
            found = _Reader(head)
            fields = found.struct()
        except IndexError:
            continue
        unpacked, packed = fields.get(_UNPACKED), fields.get(_PACKED)
        if not isinstance(unpacked, int) or not isinstance(packed, int) or unpacked < 0 or packed < 0:
            break
        counted = [struct.get(_COUNT) for name in _COUNTED if isinstance(struct := fields.get(name), dict)]
        return Page(unpacked, packed, sum(count for count in counted if isinstance(count, int)), found.at)
    raise BadPages(f"there is no page at byte {offset:,}")


class _Reader:
    """Reads one struct of the compact protocol; `IndexError` where the bytes end too early, `BadPages` where they are none."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def struct(self, depth: int = 0) -> dict[int, object]:
        if depth > 8:
            raise BadPages("its headers are nested too deeply")
        fields: dict[int, object] = {}
        name = 0
        while head := self._byte():
            name = name + (head >> 4) if head >> 4 else self._signed()
            fields[name] = self._value(head & 15, depth, in_list=False)
        return fields

    def _value(self, kind: int, depth: int, *, in_list: bool) -> object:
        if kind in {1, 2}:  # a truth, which as a field is its kind and in a list is a byte
            return self._byte() if in_list else kind
        if kind == 3:
            return self._byte()
        if kind in {4, 5, 6}:
            return self._signed()
        if kind in {7, 8}:  # a number of eight bytes, or a text
            self._skip(8 if kind == 7 else self._varint())
            return None
        if kind in {9, 10}:
            head = self._byte()
            for _ in range(self._varint() if head >> 4 == 15 else head >> 4):
                self._value(head & 15, depth + 1, in_list=True)
            return None
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise BadPages("its headers cannot be read")

    def _byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise BadPages("its headers cannot be read")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.content):
            raise IndexError
