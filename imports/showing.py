"""What the wizard shows of a file before it is a benchmark: its columns, its first rows, and those rows as a model would get them.

Everything here looks at the head of the file alone and says so; all rows are read by the check.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from catalog.rendering import render_messages
from common.errors import Refused
from common.redaction import holds_credential, redact
from imports.checks import check_rows
from imports.manifests import ImportManifest, answer_pattern
from imports.mapping import RowProblem, prompt_values, row_mapper
from imports.reading import Number, Row, RowStream, Warned

SAMPLED = 200
SHOWN_ROWS = 6
DELIVERED = 3
GUARDED = 500
"""Rows in which a leaked answer is looked for while columns are chosen; the check looks in all of them."""
MOST_COLUMNS = 200
MAX_CELL = 180
MAX_MESSAGE = 20_000
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?([eE][-+]?\d+)?")
_WORDS = {"text": "Text", "number": "Numbers", "flag": "True or false", "list": "Lists", "object": "Objects"}


@dataclass(slots=True)
class ColumnShown:
    """A column as the first rows have it. `kinds` are those of its values, the most frequent first."""

    name: str
    kinds: tuple[str, ...]
    is_sometimes_empty: bool
    distinct: int
    longest: int

    @property
    def words(self) -> str:
        if not self.kinds:
            return "Empty"
        first = _WORDS[self.kinds[0]]
        return first if len(self.kinds) == 1 else f"{first} and {' and '.join(_WORDS[kind].lower() for kind in self.kinds[1:])}"

    @property
    def can_be_prompt(self) -> bool:
        return set(self.kinds) <= {"text", "number"}

    @property
    def can_be_choices(self) -> bool:
        return (set(self.kinds) <= {"list", "text"} and "list" in self.kinds) or self.kinds == ("text",)


@dataclass(slots=True)
class RowShown:
    number: int
    line: int | None
    cells: list[str]
    problem: str


@dataclass(slots=True)
class Preview:
    """The head of a file: `sampled` rows were looked at."""

    columns: list[ColumnShown]
    rows: list[RowShown]
    sampled: int
    is_whole: bool
    """Whether the sampled rows are all there are."""
    warnings: list[Warned]
    format: str
    encoding: str | None
    delimiter: str | None
    header: bool | None
    list_paths: list[str]
    """Paths such as `choices.text` at which objects hold lists."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


def preview(stream: RowStream) -> Preview:
    """The first rows, and what the first 200 say of each column. Raises `Refused` where nothing can be read."""
    rows = list(islice(stream.rows(), SAMPLED + 1))
    is_whole, rows = len(rows) <= SAMPLED, rows[:SAMPLED]
    names = [column.name for column in stream.columns] if stream.columns is not None else []
    names = list(dict.fromkeys([*names, *(name for row in rows for name in row.values)]))[:MOST_COLUMNS]
    columns = [_column(name, rows) for name in names]
    shown = [
        RowShown(row.number, row.line, [cell_text(row.values.get(name)) for name in names], redact(row.problem))
        for row in rows[:SHOWN_ROWS]
    ]
    return Preview(
        columns=columns,
        rows=shown,
        sampled=len(rows),
        is_whole=is_whole,
        warnings=[*stream.warnings, *_warnings(stream, rows)],
        format=stream.format,
        encoding=stream.encoding,
        delimiter=stream.delimiter,
        header=stream.header,
        list_paths=_list_paths(rows),
    )


def _kind(value: Any) -> str:
    """The kind of a value; empty for none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, Number):
        return "number"
    if isinstance(value, list):
        return "list"
    if isinstance(value, dict):
        return "object"
    text = value.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            return "list" if isinstance(json.loads(text), list) else "text"
        except (ValueError, RecursionError):
            return "text"
    return "number" if len(text) < 40 and _NUMBER.fullmatch(text) else "text"


def _column(name: str, rows: Sequence[Row]) -> ColumnShown:
    values = [row.values.get(name) for row in rows if not row.problem]
    kinds = Counter(filter(None, map(_kind, values)))
    texts = {json.dumps(value) if isinstance(value, list | dict) else str(value) for value in values if _kind(value)}
    return ColumnShown(
        name=name,
        kinds=tuple(kind for kind, _ in kinds.most_common()),
        is_sometimes_empty=any(not _kind(value) for value in values),
        distinct=len(texts),
        longest=max(map(len, texts), default=0),
    )


def _list_paths(rows: Iterable[Row]) -> list[str]:
    found: dict[str, None] = {}
    for row in rows:
        for name, value in row.values.items():
            if isinstance(value, dict):
                found.update({f"{name}.{key}": None for key, inner in value.items() if isinstance(inner, list)})
    return list(found)[:20]


def _warnings(stream: RowStream, rows: Sequence[Row]) -> list[Warned]:
    found = []
    if bad := [row for row in rows if row.problem]:
        words = "1 row" if len(bad) == 1 else f"{len(bad)} rows"
        found.append(
            Warned(
                "byob_unread_rows", f"{words} cannot be read. Row {bad[0].number}: {redact(bad[0].problem)}.", tuple(r.number for r in bad)
            )
        )
    texts = [(row.number, text) for row in rows for text in _texts(row.values)]
    if numbers := sorted({number for number, text in texts if holds_credential(text)}):
        words = "1 row has" if len(numbers) == 1 else f"{len(numbers)} rows have"
        message = f"{words} text shaped like a credential. It is hidden here, and would be sent to the model: take real credentials out."
        found.append(Warned("byob_credential_shaped", message, tuple(numbers[:10])))
    if numbers := sorted({number for number, text in texts if "\ufffd" in text}):
        message = "Some text was damaged before it came here: it holds the character U+FFFD, which stands for one that could not be read."
        found.append(Warned("byob_replaced_characters", message, tuple(numbers[:10])))
    names = [column.name for column in stream.columns or ()]
    if repeated := [name for name, times in Counter(names).items() if times > 1]:
        found.append(
            Warned(
                "byob_duplicate_column",
                f'Several columns are named "{redact(repeated[0])}". Only columns with a name of their own can be chosen.',
            )
        )
    return found


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def cell_text(value: Any) -> str:
    """A cell as a short text, credentials hidden."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = redact(text[: 4 * MAX_CELL])
    return text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"


@dataclass(slots=True)
class Delivered:
    """A row as the model would get it. Where it cannot be, `problem` says why and `leaks` whether its own answer would be sent."""

    number: int
    messages: list[dict[str, str]] = field(default_factory=list)
    answer: str = ""
    """What it is graded against, after the answer pattern, as text."""
    cell: str = ""
    """The answer's cell as the file has it."""
    problem: str = ""
    leaks: bool = False
    reference: Any = None
    choices: list[str] | None = None


def delivered(stream: RowStream, manifest: ImportManifest, count: int = DELIVERED) -> list[Delivered]:
    """The first rows as they would be sent and graded, each with what is wrong with it. Raises `Refused` for a column that is missing."""
    extract = answer_pattern(manifest.answer_pattern) if manifest.answer_pattern is not None else None
    mapped = row_mapper(manifest)
    found = []
    for row in islice(stream.rows(manifest.columns.chosen), count):
        shown = Delivered(row.number)
        found.append(shown)
        cell = row.values.get(manifest.columns.answer)
        shown.cell = cell_text(cell)
        try:
            if row.problem:
                raise RowProblem(row.problem)
            values = prompt_values(row, manifest)
            shown.choices = values.get("choices")
            shown.messages = [
                {**message, "content": redact(message["content"])} for message in render_messages(_template(manifest), values)
            ]
            taken = extract(cell) if extract is not None and isinstance(cell, str) else None
            shown.answer = cell_text(taken if extract is not None else cell)
            task = mapped(row).task
            shown.reference = task.reference
            shown.answer = cell_text(task.reference if not isinstance(task.reference, list) else _joined(task.reference))
            check_rows(_only(stream, row), replace(manifest, leave_out_leaking_rows=False), _template(manifest))
        except RowProblem as problem:
            shown.problem = redact(problem.message)
        except Refused as refusal:
            shown.problem = refusal.details.get("rows", [{"message": refusal.message}])[0]["message"]
            shown.leaks = refusal.code == "byob_answer_in_input"
    return found


def require_no_leak(stream: RowStream, manifest: ImportManifest) -> None:
    """Raise `Refused` where the first rows would send the model their own answer, or a column is missing or of the wrong type.

    Other faults of rows are no matter here; the check of all rows lists them.
    """
    limited = replace(stream, read=lambda wanted: islice(stream.read(wanted), GUARDED))
    try:
        check_rows(limited, manifest, _template(manifest))
    except Refused as refusal:
        if refusal.code in {"byob_answer_in_input", "byob_missing_column", "byob_unsupported_column", "byob_duplicate_column"}:
            raise


def _only(stream: RowStream, row: Row) -> RowStream:
    return replace(stream, read=lambda wanted: iter([row]))


def _joined(references: Sequence[Any]) -> str:
    return " or ".join(map(str, references))


def _template(manifest: ImportManifest) -> dict[str, Any]:
    return {"prompt_template": manifest.prompt_template, "system_prompt": manifest.system_prompt}
