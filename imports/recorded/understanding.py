"""From files to what was understood of them: which format they are in, and what its reader found."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from common.errors import Refused
from imports.recorded import inspect_log, lm_eval, oaieval, openai, predictions, promptfoo
from imports.recorded.collecting import Collector
from imports.recorded.files import MAX_FILE_BYTES, OldFile, too_large

_READERS: dict[str, ModuleType] = {reader.FORMAT: reader for reader in (openai, oaieval, lm_eval, inspect_log, promptfoo, predictions)}
FORMATS = tuple(_READERS)


@dataclass(frozen=True, slots=True)
class Understood:
    """What files were found to be; the collector's files are open as long as the context lasts."""

    format: str
    found: Collector

    def document(self) -> dict[str, Any]:
        return {"format": self.format, **self.found.document()}


def recognised(files: Sequence[OldFile]) -> str:
    """The format that the files are in; `predictions` where they look like no other."""
    return next((name for name, reader in _READERS.items() if reader.recognises(files)), predictions.FORMAT)


@contextmanager
def understand(files: Sequence[OldFile], *, format: str = "", options: Mapping[str, Any] | None = None) -> Iterator[Understood]:
    """What the files hold, read in bounded memory.

    Raises `Refused`: `recorded_unknown_format`, `recorded_unreadable_file`, `too_large` (413), `upload_row_limit` (413),
    `recorded_too_many_models`, and for predictions what `open_rows` raises and `recorded_missing_column`.
    """
    if format and format not in _READERS:
        raise Refused(
            "recorded_unknown_format", f"There is no format {format!r}; there are {', '.join(FORMATS)}.", details={"formats": list(FORMATS)}
        )
    for file in files:
        if file.size > MAX_FILE_BYTES:
            raise too_large(file.name, file.size, MAX_FILE_BYTES, "a file of an old evaluation")
    format = format or recognised(files)
    with Collector() as found:
        _READERS[format].read(files, found, options or {})
        yield Understood(format, found)
