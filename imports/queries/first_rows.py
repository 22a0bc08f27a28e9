"""The first rows of a file that lies elsewhere, to look at before it is imported."""

import io
from dataclasses import dataclass
from typing import Any

from common.redaction import redact
from imports.reading import open_rows

PREVIEW_ROWS = 20
PREVIEW_CHARS = 400


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows of a file as texts, credentials redacted, long ones cut."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    is_whole: bool
    """Whether these are all rows of the file."""


def first_rows(content: bytes, path: str, is_whole: bool) -> Preview:
    """The rows at the beginning of a file, of which this is all or only the first part. Raises `Refused` as `open_rows` does."""
    if not is_whole:
        content = content[: content.rfind(b"\n") + 1] or content
    stream = open_rows(io.BytesIO(content), path.rpartition("/")[2])
    rows: list[dict[str, Any]] = []
    for row in stream.rows():
        if not row.problem:
            rows.append(row.values)
        if len(rows) > PREVIEW_ROWS:
            break
    is_all = is_whole and len(rows) <= PREVIEW_ROWS
    if not is_whole and 1 < len(rows) <= PREVIEW_ROWS:
        rows.pop()  # the last one may have been cut within a quoted cell
    columns = dict.fromkeys(redact(name) for row in rows[:PREVIEW_ROWS] for name in row)
    shown = tuple({redact(name): _shown(value) for name, value in row.items()} for row in rows[:PREVIEW_ROWS])
    return Preview(tuple(columns), shown, is_all)


def _shown(value: Any) -> str:
    text = redact("" if value is None else value if isinstance(value, str) else str(value))
    return text if len(text) <= PREVIEW_CHARS else f"{text[:PREVIEW_CHARS]}…"
