"""A plain file of predictions for the tasks of a benchmark that is there: an ID and an answer a row, and what else the columns say."""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, cast

from common.errors import Refused
from imports.reading import open_rows
from imports.recorded.collecting import Collector
from imports.recorded.files import OldFile, unreadable
from imports.recorded.texts import value_at

FORMAT = "predictions"
ROLES = {
    "id": ("id", "task_id", "question_id", "doc_id", "uid"),
    "answer": ("answer", "prediction", "output", "response", "completion", "text"),
    "model": ("model", "model_name", "provider"),
    "correct": ("correct", "is_correct", "was_correct", "passed"),
    "extracted": ("extracted", "pred", "parsed"),
    "reasoning": ("reasoning",),
    "finish_reason": ("finish_reason", "stop_reason"),
}
"""The columns of each role that are taken where the request names none, the most wanted first."""
_RIGHT = {"true", "1", "1.0", "yes", "right", "correct", "pass", "c"}
_WRONG = {"false", "0", "0.0", "no", "wrong", "incorrect", "fail", "i"}


def recognises(files: Sequence[OldFile]) -> bool:
    """Never by itself: a file of predictions looks like any other table."""
    return False


def read(files: Sequence[OldFile], into: Collector, options: Mapping[str, Any]) -> None:
    """Rows in their order; `options["columns"]` names columns by role, dotted for a part of an object, `options["model"]` the model.

    Without an ID column the row's number is the ID, as it is for a benchmark without one. Raises `Refused` as `open_rows` does, and
    `recorded_missing_column`.
    """
    into.wants_rows = False
    stated = {role: column for role, column in (options.get("columns") or {}).items() if column}
    for file in files:
        stream = open_rows(cast(BinaryIO, file.file), file.name)
        columns: dict[str, str] | None = None
        for row in stream.rows():
            if row.problem:
                raise unreadable(file.name, f"row {row.number} {row.problem}")
            if columns is None:
                columns = {**_guessed(row.values, stated), **stated}
                _check(file.name, columns, row.values)
            _row(row.number, row.values, columns, str(options.get("model") or ""), into)
        if columns and len(files) == 1:
            into.note("Columns taken: " + ", ".join(f"{role} from {column}" for role, column in columns.items()) + ".")


def _guessed(values: Mapping[str, Any], stated: Mapping[str, str]) -> dict[str, str]:
    """Columns by their names. Where an answer is named explicitly nothing but the ID is guessed: the file is a wide one."""
    roles = ("id",) if "answer" in stated else tuple(ROLES)
    found = {role: next((name for name in ROLES[role] if name in values), "") for role in roles if role not in stated}
    return {role: name for role, name in found.items() if name}


def _check(name: str, columns: Mapping[str, str], values: Mapping[str, Any]) -> None:
    if "answer" not in columns:
        raise _missing(name, "answer", values)
    for role, column in columns.items():
        if column not in values and column.partition(".")[0] not in values:
            raise _missing(name, role, values, column)


def _missing(name: str, role: str, values: Mapping[str, Any], column: str = "") -> Refused:
    has = ", ".join(f'"{each}"' for each in list(values)[:30])
    what = f'no column "{column}"' if column else "no column that looks like the answers"
    message = f"{name} has {what}. Name the column for the {role}; the file has {has}."
    return Refused("recorded_missing_column", message, details={"role": role, "columns": list(values)[:100]})


def _row(number: int, values: Mapping[str, Any], columns: Mapping[str, str], model: str, into: Collector) -> None:
    taken = {role: value_at(values, column) for role, column in columns.items()}
    key = _text(taken["id"]).strip() if "id" in taken else str(number)
    answer = taken["answer"]
    if not key or answer is None or isinstance(answer, dict | list):
        into.leave_out("no_answer")
        return
    into.answer(
        model or _text(taken.get("model")) or "predictions",
        key,
        _text(answer),
        reasoning=_text(taken.get("reasoning")),
        finish_reason=_text(taken.get("finish_reason")),
        was_correct=_verdict(taken.get("correct")),
        extracted=_text(taken.get("extracted")),
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if type(value) is str else str(value) if isinstance(value, str) else ""


def _verdict(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else ""
    return True if text in _RIGHT else False if text in _WRONG else None
