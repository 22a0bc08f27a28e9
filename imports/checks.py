"""Checking every row of a file before anything is written: one pass, in memory that does not grow with the file's size but for its IDs."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from catalog.graders.texts import normalizer
from catalog.rendering import MAX_RENDERED, render_messages
from common.errors import Refused
from common.redaction import holds_credential, redact
from imports.manifests import ImportManifest
from imports.mapping import MappedRow, RowProblem, check_columns, row_mapper
from imports.reading import RowStream, Warned
from imports.reading.rows import missing_column, unreadable

MAX_TEXT_CHARS = 256 * 1024 * 1024
"""Of all mapped values together. A text file cannot reach it; a small Parquet file that repeats long texts can."""
MIN_GUARDED_CHARS = 20
MAX_PROBLEMS = 50
MAX_EXAMPLES = 10
PREVIEW_ROWS = 3
WITHOUT_COLUMN = "Map another column, or leave such rows out with leave_out_leaking_rows."

ANSWER_IN_INPUT = "byob_answer_in_input"
_DUPLICATE_ID = "byob_duplicate_id"
_INVALID_ROWS = "byob_invalid_rows"
_LETTERS_STATED = re.compile(r"\bA\s*(?:-|–|—|to|through)\s*([B-Z])\b|\bA(?:\s*,\s*[B-Y])*,?\s*(?:and|or)\s+([B-Z])\b")
_comparable = normalizer()

type OnProblem = Callable[[int, int | None, str, str], None]
"""Called with a bad row's number, its line, the column at fault (empty: the row as a whole) and what is wrong."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A file whose rows are all good."""

    rows: int
    preview: list[dict[str, Any]]
    """The first rows as the model would receive them, credentials redacted."""
    warnings: list[Warned]
    left_out: list[int]
    """The numbers of all rows that hold their own answer, where the manifest leaves them out. `rows` does not count them."""
    left_out_listed: list[dict[str, Any]]
    """The first of them, with their IDs and the column at fault."""


def check_rows(
    stream: RowStream,
    manifest: ImportManifest,
    template: dict[str, Any],
    *,
    tell: Callable[[int], None] | None = None,
    on_problem: OnProblem | None = None,
) -> Checked:
    """Read and check every row. `template` is what `catalog.rendering.render_messages` takes as the manifest.

    `tell` is called with the number of each row that is done, `on_problem` with each bad one.

    Raises `Refused`: `byob_missing_column`, `byob_unsupported_column`, `byob_unreadable_file`, `upload_row_limit`, `byob_no_rows`,
    `private_benchmark_too_large`, and for the rows `byob_answer_in_input`, `byob_duplicate_id` or `byob_invalid_rows`, whose details
    list the first problems and count them all.
    """
    check_columns(manifest.columns, stream)
    mapped = row_mapper(manifest)
    problems, notes, left_out = _Problems(on_problem), _Notes(manifest), _LeftOut()
    preview: list[dict[str, Any]] = []
    first_rows: dict[str, int] = {}
    count = chars = 0
    for row in stream.rows(manifest.columns.chosen):
        count += 1
        if tell is not None:
            tell(count)
        chars += _chars(row.values)
        if chars > MAX_TEXT_CHARS:
            message = f"The mapped columns exceed {MAX_TEXT_CHARS:,} characters by row {row.number}. Take a sample of the rows."
            raise Refused("private_benchmark_too_large", message, status=413)
        try:
            found = mapped(row)
            first = first_rows.setdefault(found.task.task_id, row.number)
            if first != row.number:
                problems.duplicate(found.task.task_id, first, row.number)
                raise RowProblem(f'the ID "{found.task.task_id}" is also that of row {first}', code=_DUPLICATE_ID)
            messages = render_messages(template, found.task.values)
            if (leak := _leak(messages, found, manifest)) is not None:
                if not manifest.leave_out_leaking_rows:
                    raise leak
                left_out.add(found, leak)
                continue
        except RowProblem as problem:
            problems.add(row.number, row.line, problem, is_unread=bool(row.problem))
            continue
        notes.add(found)
        if len(preview) < PREVIEW_ROWS:
            shown = [{**message, "content": redact(message["content"])} for message in messages]
            preview.append({"row": row.number, "task_id": redact(found.task.task_id), "messages": shown})
    if count == 0:
        raise Refused("byob_no_rows", "The file has no rows.")
    problems.refuse(count, stream)
    if len(left_out.numbers) == count:  # then it is no row but the mapping that is wrong
        raise Refused(ANSWER_IN_INPUT, "Every row would send the model its own answer. Map another column.", details={"total": count})
    warnings = [*stream.warnings, *left_out.warnings(), *notes.warnings()]
    return Checked(count - len(left_out.numbers), preview, warnings, left_out.numbers, left_out.listed)


def _chars(value: Any) -> int:
    """The characters of all texts in a value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_chars, value.values()))
    return sum(map(_chars, value)) if isinstance(value, list) else 0


def _leak(messages: Sequence[dict[str, str]], row: MappedRow, manifest: ImportManifest) -> RowProblem | None:
    """Where the messages hold the row's own answer. Raises `RowProblem` for a prompt that is too long."""
    length = len(messages[-1]["content"])
    if length > MAX_RENDERED:
        raise RowProblem(f"the rendered prompt has {length:,} characters; at most {MAX_RENDERED:,} are allowed")
    guarded = [text for text in map(_comparable, row.answer_texts) if len(text) >= MIN_GUARDED_CHARS]
    if not guarded:
        return None
    contents = [_comparable(message["content"]) for message in messages]
    leaked = next((text for text in guarded if any(text in content for content in contents)), None)
    if leaked is None:
        return None
    for role, column in manifest.columns.prompt.items():
        if leaked in _comparable(row.task.values[role]):
            words = f"column '{column}', delivered as {{{role}}}, holds the row's own answer"
            return RowProblem(words, column=column, code=ANSWER_IN_INPUT)
    where = "system_prompt" if len(contents) > 1 and leaked in contents[0] else "prompt_template"
    return RowProblem(f"the messages that {where} makes hold the row's own answer", code=ANSWER_IN_INPUT)


class _LeftOut:
    """Rows that hold their own answer and that the manifest wants left out: all numbers, the first ones in words."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.listed: list[dict[str, Any]] = []

    def add(self, row: MappedRow, leak: RowProblem) -> None:
        self.numbers.append(row.number)
        if len(self.listed) < MAX_PROBLEMS:
            entry = {"row": row.number, "task_id": redact(row.task.task_id), "column": leak.column or None, "message": redact(leak.message)}
            self.listed.append(entry)

    def warnings(self) -> list[Warned]:
        if not self.numbers:
            return []
        count = len(self.numbers)
        words = "1 row holds its own answer and is" if count == 1 else f"{count:,} rows hold their own answer and are"
        return [Warned("byob_rows_left_out", f"{words} left out of the benchmark.", tuple(self.numbers[:MAX_EXAMPLES]))]


class _Problems:
    """The problems of the rows: the first ones in full, all of them counted."""

    def __init__(self, on_problem: OnProblem | None = None) -> None:
        self._on_problem = on_problem
        self._listed: list[dict[str, Any]] = []
        self._codes: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._duplicates: dict[str, list[int]] = {}
        self._unread = 0

    def add(self, number: int, line: int | None, problem: RowProblem, *, is_unread: bool) -> None:
        self._codes[problem.code] += 1
        self._unread += is_unread
        if self._on_problem is not None:
            self._on_problem(number, line, problem.column, problem.message)
        if problem.code == "byob_missing_column":
            self._missing[problem.column] += 1
        if len(self._listed) < MAX_PROBLEMS:
            entry = {"row": number, "line": line, "column": problem.column, "code": problem.code, "message": redact(problem.message)}
            self._listed.append({key: value for key, value in entry.items() if value not in {None, ""}})

    def duplicate(self, task_id: str, first: int, number: int) -> None:
        if task_id in self._duplicates or len(self._duplicates) < MAX_PROBLEMS:
            rows = self._duplicates.setdefault(task_id, [first])
            if len(rows) < MAX_EXAMPLES:
                rows.append(number)

    def refuse(self, count: int, stream: RowStream) -> None:
        """Raise the refusal that says most: what concerns the whole file first, then a leaked answer, then IDs, then single rows."""
        total = self._codes.total()
        if not total:
            return
        if self._unread == count:
            hint = " A JSON file holds one object a line, or one array of objects." if stream.format == "jsonl" else ""
            raise unreadable(f"No row of the file can be read. {self._described(1)}{hint}", rows=self._listed, total=total)
        for column, times in self._missing.items():
            if times == count:
                names = dict.fromkeys(name for row in islice(stream.rows(), 100) for name in row.values)
                raise missing_column(column, list(names))
        code = next((code for code in (ANSWER_IN_INPUT, _DUPLICATE_ID) if self._codes[code]), _INVALID_ROWS)
        several = f"{self._codes[code] if code != _INVALID_ROWS else total:,} of {count:,} rows"
        message = {
            ANSWER_IN_INPUT: f"{several} would send the model their own answer. {WITHOUT_COLUMN}",
            _DUPLICATE_ID: f"{several} repeat the ID of another. Map columns that are unique together, or no ID.",
            _INVALID_ROWS: f"{several} cannot be used. Correct them and import the file again.",
        }[code]
        details: dict[str, Any] = {"rows": self._listed, "total": total, "row_count": count}
        if self._duplicates:
            details["duplicates"] = [{"id": redact(task_id), "rows": rows} for task_id, rows in self._duplicates.items()]
        raise Refused(code, f"{message} {self._described(3, code)}", details=details)

    def _described(self, limit: int, code: str | None = None) -> str:
        """The first problems in words, those of the code before others."""
        ordered = sorted(self._listed, key=lambda entry: entry["code"] != code)[:limit]
        return " ".join(
            f"Row {entry['row']}{f' (line {entry["line"]})' if 'line' in entry else ''}: {entry['message']}." for entry in ordered
        )


class _Notes:
    """What is not wrong but worth knowing, noted row by row."""

    def __init__(self, manifest: ImportManifest) -> None:
        self._manifest = manifest
        self._rows: dict[str, list[int]] = {}
        self._counts: Counter[str] = Counter()
        self._letters: Counter[str] = Counter()
        self._most_choices = 0
        self._count = 0

    def _note(self, code: str, number: int) -> None:
        self._counts[code] += 1
        rows = self._rows.setdefault(code, [])
        if len(rows) < MAX_EXAMPLES:
            rows.append(number)

    def add(self, row: MappedRow) -> None:
        self._count += 1
        values = row.task.values
        text = "\n".join("\n".join(value) if isinstance(value, list) else value for value in values.values())
        if holds_credential(text):
            self._note("byob_credential_shaped", row.number)
        if "\ufffd" in text:
            self._note("byob_replaced_characters", row.number)
        if any(not values[role].strip() for role in self._manifest.columns.prompt):
            self._note("byob_empty_prompt_value", row.number)
        if self._manifest.columns.group and not row.task.group:
            self._note("byob_empty_group", row.number)
        if (choices := values.get("choices")) is not None:
            self._most_choices = max(self._most_choices, len(choices))
            self._letters[row.task.reference] += 1
            if len({" ".join(choice.split()) for choice in choices}) < len(choices):
                self._note("byob_duplicate_choices", row.number)

    def warnings(self) -> list[Warned]:
        words: dict[str, Callable[[str], str]] = {
            "byob_credential_shaped": lambda rows: f"{rows} text shaped like a credential. It is hidden in previews and sent to the model.",
            "byob_replaced_characters": lambda rows: f"{rows} the character U+FFFD: its text was damaged before it came here.",
            "byob_empty_prompt_value": lambda rows: f"{rows} a mapped prompt column that is empty.",
            "byob_empty_group": lambda rows: f"{rows} no group.",
            "byob_duplicate_choices": lambda rows: f"{rows} the same choice twice; a model may name either.",
        }
        found = [
            Warned(
                code, words[code]("1 row has" if self._counts[code] == 1 else f"{self._counts[code]:,} rows have"), tuple(self._rows[code])
            )
            for code in words
            if self._counts[code]
        ]
        return found + self._choice_warnings() if self._most_choices else found

    def _choice_warnings(self) -> list[Warned]:
        found = []
        instructions = f"{self._manifest.system_prompt or ''}\n{self._manifest.prompt_template}"
        stated = [match[1] or match[2] for match in _LETTERS_STATED.finditer(instructions)]
        last = chr(ord("A") + self._most_choices - 1)
        if stated and max(stated) != last:
            found.append(
                Warned("byob_letters_stated", f"The prompt speaks of the letters A to {max(stated)}, but there are choices up to {last}.")
            )
        if self._count >= 20 and len(self._letters) == 1:
            letter = next(iter(self._letters))
            found.append(
                Warned("byob_constant_answer", f"Choice {letter} is right in every row: a model that always names it scores 100%.")
            )
        options = self._manifest.grader_options
        if self._count >= 20 and options.get("answer_format") == "index" and options.get("index_base") == 0 and not self._letters["A"]:
            found.append(Warned("byob_index_base", "No row's answer is index 0. If the first choice is index 1, set index_base to 1."))
        return found
