"""A ZIP as a stream: memory holds what one part of one file packs into."""

import io
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any


class _Pipe(io.RawIOBase):
    """What was written and not yet taken."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def take(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken


def zip_parts(files: Iterable[tuple[str, Iterable[bytes]]], *, folder: str, at: datetime) -> Iterator[bytes]:
    """The ZIP of these files below one folder, in parts. All of them have the same time, so that the same content gives the same bytes."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(f"{folder}/{name}", at.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w", force_zip64=True) as file:
                for part in content:
                    file.write(part)
                    yield pipe.take()
    yield pipe.take()
