"""From a row of a file to a task: the roles' values, the reference, the ID. What is wrong with a row is said in words about its columns."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from catalog.enums import Grader
from catalog.graders import checked_reference
from catalog.manifests import TaskRow
from common.errors import Refused
from imports.manifests import MAX_CHOICES, Columns, ImportManifest, answer_pattern
from imports.reading import Kind, Number, Row, RowStream

MAX_LABEL = 200
"""Characters of an ID, a group or a cluster."""
_MISSING_ANSWERS = frozenset({"nan", "n/a", "#n/a"})
_ABSENT = object()


class RowProblem(Exception):
    """Why a row is refused: `column` is the one at fault, empty where it is the row as a whole."""

    def __init__(self, message: str, *, column: str = "", code: str = "byob_invalid_rows") -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.code = code


@dataclass(frozen=True, slots=True)
class MappedRow:
    number: int
    line: int | None
    task: TaskRow
    answer_texts: tuple[str, ...]
    """The answer as the file writes it and as it is accepted: what must not stand in the prompt. Empty for multiple choice."""


def check_columns(columns: Columns, stream: RowStream) -> None:
    """Raise `Refused` where a mapped column is missing, or where the file declares a type that its role cannot take."""
    for name in sorted({columns.answer, *columns.prompt.values(), *columns.ids, columns.group or "", columns.cluster or ""} - {""}):
        column = stream.column(name)
        allowed = {Kind.SCALAR, Kind.LIST, Kind.OBJECT} if name == columns.answer else {Kind.SCALAR}
        _check_kind(name, column.kind if column else None, allowed)
    for name in columns.choices:
        known = stream.columns is None or any(column.name == name for column in stream.columns)
        root, _, path = name.partition(".")
        column = stream.column(name if known or not path else root)
        if columns.choices_in_one:
            _check_kind(name, column.kind if column else None, {Kind.OBJECT} if path and not known else {Kind.LIST, Kind.SCALAR})
        else:
            _check_kind(name, column.kind if column else None, {Kind.SCALAR})


def _check_kind(name: str, kind: Kind | None, allowed: set[Kind]) -> None:
    if kind is not None and kind not in allowed:
        message = f'The column "{name}" holds {kind}, and its role takes {" or ".join(sorted(allowed))}. Map another column.'
        raise Refused("byob_unsupported_column", message, details={"column": name})


def row_mapper(manifest: ImportManifest) -> Callable[[Row], MappedRow]:
    """A function from a row to its task, with all that does not depend on the row done once. It raises `RowProblem`."""
    columns, grader, options = manifest.columns, manifest.grader, manifest.grader_options
    extract = answer_pattern(manifest.answer_pattern) if manifest.answer_pattern is not None else None
    is_choice = grader == Grader.MULTIPLE_CHOICE

    def mapped(row: Row) -> MappedRow:
        if row.problem:
            raise RowProblem(row.problem)
        values = prompt_values(row, manifest)
        choices = values.get("choices")
        raw = _answer(row, columns.answer, extract, may_be_any=is_choice)
        cell = row.values[columns.answer]
        try:
            reference = checked_reference(grader, options, _as_grader_reads(raw, grader, options), choices=choices)
        except (ValueError, RecursionError) as error:
            words = str(error) if isinstance(error, ValueError) else "the answer is nested too deeply"
            raise RowProblem(words, column=columns.answer) from None
        _require_storable(reference, columns.answer)
        task = TaskRow(
            task_id=_task_id(row, columns),
            values=values,
            reference=reference,
            group=_label(row, columns.group) if columns.group else "",
            cluster=_label(row, columns.cluster) if columns.cluster else "",
        )
        return MappedRow(row.number, row.line, task, () if is_choice else _answer_texts(cell, raw, reference))

    return mapped


def prompt_values(row: Row, manifest: ImportManifest) -> dict[str, Any]:
    """The values that the row's prompt is made of: each role's text, and `choices` as a list. Raises `RowProblem`."""
    columns = manifest.columns
    values: dict[str, Any] = {role: _prompt_text(row, column) for role, column in columns.prompt.items()}
    if values and not any(value.strip() for value in values.values()):
        raise RowProblem("every mapped prompt column is empty", column=next(iter(columns.prompt.values())))
    if manifest.grader == Grader.MULTIPLE_CHOICE:
        values["choices"] = _choices(row, columns)
    return values


def _cell(row: Row, column: str) -> Any:
    if column not in row.values:
        raise RowProblem(f'has no column "{column}"', column=column, code="byob_missing_column")
    return row.values[column]


def _name_of(value: Any) -> str:
    if value is None:
        return "null"
    return {dict: "an object", list: "a list", bool: "true or false"}.get(type(value), "text")


def _text(value: Any, column: str) -> str:
    """The text of a text or a number. Raises `RowProblem` for everything else, and for text that no database holds."""
    if not isinstance(value, str):
        raise RowProblem(f"column '{column}' must be text or a number, not {_name_of(value)}", column=column)
    _require_storable(value, column)
    return str(value)


def _require_storable(value: Any, column: str) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise RowProblem(f"column '{column}' holds a NUL character", column=column)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise RowProblem(f"column '{column}' holds half of a surrogate pair, which is no character", column=column) from None
    elif isinstance(value, dict):
        for key, item in value.items():
            _require_storable(key, column)
            _require_storable(item, column)
    elif isinstance(value, list):
        for item in value:
            _require_storable(item, column)


def _prompt_text(row: Row, column: str) -> str:
    return _text(_cell(row, column), column)


def _label(row: Row, column: str) -> str:
    """A group or cluster: short text, empty where the file has null."""
    value = _cell(row, column)
    text = "" if value is None else _text(value, column).strip()
    if len(text) > MAX_LABEL:
        raise RowProblem(f"column '{column}' has {len(text):,} characters; at most {MAX_LABEL} are allowed", column=column)
    return text


def _task_id(row: Row, columns: Columns) -> str:
    """The row's ID: its column's text, several joined by "/", else its number."""
    if not columns.ids:
        return str(row.number)
    parts = [_text(_cell(row, column), column).strip() for column in columns.ids]
    for column, part in zip(columns.ids, parts, strict=True):
        if not part:
            raise RowProblem(f"column '{column}' is empty, and every row needs its ID", column=column)
    text = "/".join(parts)
    if len(text) > MAX_LABEL:
        raise RowProblem(f"the ID has {len(text):,} characters; at most {MAX_LABEL} are allowed", column=columns.ids[0])
    return text


def _choices(row: Row, columns: Columns) -> list[str]:
    if columns.choices_in_one:
        column = columns.choices[0]
        items = _choice_list(row, column)
        if not 2 <= len(items) <= MAX_CHOICES:
            raise RowProblem(f"has {len(items)} choices; there must be 2 to {MAX_CHOICES}", column=column)
        choices = [_text(item, column) for item in items]
    else:
        column = columns.choices[0]
        choices = [_text(_cell(row, name), name) for name in columns.choices]
    for position, choice in enumerate(choices, start=1):
        if not choice.strip():
            at = column if columns.choices_in_one else columns.choices[position - 1]
            raise RowProblem(f"choice {position} is empty", column=at)
    return choices


def _choice_list(row: Row, column: str) -> list[Any]:
    """The list in a cell, as a value or as JSON text; `choices.text` reads the list `text` of the object in `choices`."""
    value = row.values.get(column, _ABSENT)
    if value is _ABSENT:
        root, _, path = column.partition(".")
        value = _cell(row, root if path else column)
        for key in path.split("."):
            value = value.get(key, _ABSENT) if isinstance(value, dict) else _ABSENT
        if value is _ABSENT:
            raise RowProblem(f"column '{root}' has no list at {column}", column=column, code="byob_missing_column")
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value, parse_int=Number, parse_float=Number)
        except (ValueError, RecursionError):
            raise RowProblem(f'column \'{column}\' is not a list in JSON, such as ["one", "two"]', column=column) from None
    if not isinstance(value, list):
        raise RowProblem(f'column \'{column}\' must hold a list of choices such as ["one", "two"], not {_name_of(value)}', column=column)
    return value


def _answer(row: Row, column: str, extract: Callable[[str], str | None] | None, *, may_be_any: bool) -> Any:
    """The row's answer before its grader reads it: the cell, or what `answer_pattern` takes out of it.

    `may_be_any` where it is checked against the row's choices, so that a text for "missing" may be one of them.
    """
    raw = _cell(row, column)
    if extract is not None:
        found = extract(_text(raw, column))
        if found is None:
            raise RowProblem(f"answer_pattern does not match column '{column}'", column=column)
        raw = found.strip()
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        raise RowProblem("the answer is empty" if raw is not None else "the answer is null", column=column)
    if isinstance(raw, str) and raw.strip().lower() in _MISSING_ANSWERS and not may_be_any:
        words = f'the answer "{raw.strip()}" stands for a missing value; where it is meant, write it as a list: ["{raw.strip()}"]'
        raise RowProblem(words, column=column)
    return raw


def _as_grader_reads(raw: Any, grader: str, options: dict[str, Any]) -> Any:
    """The answer with its numbers as the grader wants them: as written where it compares text, as numbers in JSON and for an index."""
    if isinstance(raw, Number):
        if grader == Grader.JSON_FIELD_MATCH:
            return int(raw) if raw.lstrip("-").isdigit() else Decimal(raw)
        return float(raw) if options.get("answer_format") == "index" else str(raw)
    if isinstance(raw, list):
        return [_as_grader_reads(item, grader, options) for item in raw]
    if isinstance(raw, dict):
        return {key: _as_grader_reads(item, grader, options) for key, item in raw.items()}
    return raw


def _answer_texts(cell: Any, raw: Any, reference: Any) -> tuple[str, ...]:
    texts = {item for item in (cell, raw) if isinstance(item, str)}
    if isinstance(reference, list):
        texts.update(item for item in reference if isinstance(item, str))
    if isinstance(reference, dict | list):
        texts.update(json.dumps(reference, ensure_ascii=False, separators=pair) for pair in ((", ", ": "), (",", ":")))
    return tuple(sorted(str(text) for text in texts))
