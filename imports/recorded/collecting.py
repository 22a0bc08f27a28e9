"""What a reader finds, gathered in bounded memory: rows and answers lie in temporary files, only their keys are held."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Self

import orjson

from common.errors import Refused
from common.redaction import redact

MAX_ROWS = 100_000
MAX_ANSWERS = 800_000
MAX_MODELS = 64
MAX_ANSWER_CHARS = 262_144
MAX_KEY = 200
MAX_EXAMPLES = 5
IN_MEMORY = 4 * 1024 * 1024

LEFT_OUT = {
    "no_reference": "The file states no expected answer that a grader of ours could compare with.",
    "not_text": "The prompt holds more than text, such as an image.",
    "no_prompt": "There is no prompt in the file.",
    "later_epoch": "A later epoch or repetition of a task: the first one is taken.",
    "no_answer": "The old evaluation recorded no answer, such as after an error.",
    "answer_too_long": f"The answer is longer than {MAX_ANSWER_CHARS:,} characters.",
    "unknown_task": "The benchmark has no task of that ID.",
    "twice": "The task was answered before in the file; the first answer is taken.",
}
"""Why something of the file was left out, in words."""


@dataclass(slots=True)
class OldGrader:
    """A grader as the file names it, how many answers it graded, and ours that matches it. `task` is empty where none does."""

    name: str
    task: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    answers: int = 0
    examples: list[str] = field(default_factory=list)
    """Some of the rows that it graded."""

    def document(self) -> dict[str, Any]:
        mapped = {"task": self.task, "grader_options": self.options} if self.task else None
        return {"name": self.name, "answers": self.answers, "mapped": mapped, "note": self.note or None, "examples": self.examples}


class Collector:
    """Takes rows, answers, graders and remarks from a reader. Use it as a context manager: its files end with it."""

    def __init__(self) -> None:
        self.name = ""
        self.keys: dict[str, int] = {}
        """Each row's key with its position."""
        self.models: dict[str, int] = {}
        """Each model with how many answers it has."""
        self.graders: dict[str, OldGrader] = {}
        self.left_out: Counter[str] = Counter()
        self.notes: list[str] = []
        self.flattened = 0
        self.has_choices = False
        self.has_groups = False
        self.systems: set[str] = set()
        self.wants_rows = True
        """False where the answers belong to a benchmark that is there."""
        self._answered: list[bytearray] = []
        """For each model which rows it answered."""
        self._count = 0
        self._rows: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._answers: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.close()
        self._answers.close()

    # What a reader says

    def row(
        self,
        key: str,
        *,
        prompt: str,
        reference: Any,
        system: str = "",
        choices: list[str] | None = None,
        group: str = "",
        flat: bool = False,
    ) -> bool:
        """Take a row, once for each key. False where it was left out, and its answers should be too."""
        key = checked_key(key)
        if key in self.keys:
            return True
        if not prompt.strip() and not choices:
            self.left_out["no_prompt"] += 1
            return False
        if reference is None or reference == [] or (isinstance(reference, str) and not reference.strip()):
            self.left_out["no_reference"] += 1
            return False
        if len(self.keys) >= MAX_ROWS:
            raise Refused("upload_row_limit", f"The evaluation has more than {MAX_ROWS:,} rows.", status=413)
        self.keys[key] = len(self.keys)
        self.systems = self.systems if len(self.systems) > 1 else self.systems | {system}
        self.has_choices = self.has_choices or choices is not None
        self.has_groups = self.has_groups or bool(group)
        self.flattened += flat
        row = {"id": key, "system": system, "prompt": prompt, "choices": choices, "answer": reference, "group": group[:200]}
        self._rows.write(orjson.dumps(row) + b"\n")
        return True

    def answer(
        self,
        model: str,
        key: str,
        text: str,
        *,
        reasoning: str = "",
        finish_reason: str = "",
        was_correct: bool | None = None,
        extracted: str = "",
    ) -> None:
        """Take a model's answer to a row, once for each."""
        key, model = checked_key(key), one_line(model, 120) or "unnamed model"
        if self.wants_rows and key not in self.keys:
            return
        if model not in self.models and len(self.models) >= MAX_MODELS:
            raise Refused("recorded_too_many_models", f"The file has more than {MAX_MODELS} models. Is the right column their name?")
        if len(text) > MAX_ANSWER_CHARS:
            self.left_out["answer_too_long"] += 1
            return
        position = self.keys.setdefault(key, len(self.keys))
        if self._count >= MAX_ANSWERS or len(self.keys) > MAX_ROWS:
            raise Refused("upload_row_limit", f"The file has more than {MAX_ROWS:,} tasks or {MAX_ANSWERS:,} answers.", status=413)
        number = list(self.models).index(model) if model in self.models else len(self.models)
        if number == len(self._answered):
            self._answered.append(bytearray(MAX_ROWS))
        if self._answered[number][position]:
            self.left_out["twice"] += 1
            return
        self._answered[number][position] = 1
        self._count += 1
        self.models[model] = self.models.get(model, 0) + 1
        texts = [storable(text), storable(reasoning)[:MAX_ANSWER_CHARS], finish_reason[:30], was_correct, storable(extracted)[:500]]
        self._answers.write(orjson.dumps([model, key, *texts]) + b"\n")

    def grader(self, name: str, key: str, *, task: str = "", options: dict[str, Any] | None = None, note: str = "") -> None:
        """Note that an answer to a row was graded so; the same name is the same grader."""
        found = self.graders.setdefault(name[:120], OldGrader(name[:120], task, options or {}, note))
        found.answers += 1
        if len(found.examples) < MAX_EXAMPLES and (key := checked_key(key)) not in found.examples:
            found.examples.append(key)

    def note(self, words: str) -> None:
        """Something that a person should know, once."""
        if words not in self.notes and len(self.notes) < 50:
            self.notes.append(words)

    def new_name(self, model: str) -> str:
        """The name for the answers of another log: the model's, numbered where one of that name was read before."""
        name, number = one_line(model, 110), 2
        while (given := name if number == 2 else f"{name} ({number - 1})") in self.models:
            number += 1
        return given

    def leave_out(self, reason: str) -> None:
        self.left_out[reason] += 1

    # What was found

    def suggested(self) -> OldGrader | None:
        """The grader of ours that matches the old one of most answers; None where none does."""
        mapped = [each for each in self.graders.values() if each.task]
        return max(mapped, key=lambda each: each.answers, default=None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows in the file's order."""
        self._rows.seek(0)
        for line in self._rows:
            yield orjson.loads(line)

    def answers(self) -> Iterator[list[Any]]:
        """Model, key, text, reasoning, finish reason, old verdict and what was read, in the file's order."""
        self._answers.seek(0)
        for line in self._answers:
            yield orjson.loads(line)

    @property
    def one_system(self) -> str:
        """The system prompt that all rows have; empty where they differ."""
        return next(iter(self.systems)) if len(self.systems) == 1 else ""

    def normalized(self) -> IO[bytes]:
        """The rows as a JSON Lines file for the importer, at its start: id, prompt, choices, answer, group. The caller closes it."""
        written: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        for row in self.rows():
            system = row.pop("system")
            if system and not self.one_system:
                row["prompt"] = f"{system}\n\n{row['prompt']}"
            if not self.has_choices:
                del row["choices"]
            written.write(orjson.dumps({name: _plain(value) for name, value in row.items()}) + b"\n")
        written.seek(0)
        return written

    def document(self) -> dict[str, Any]:
        """What was understood, as the API and the page say it."""
        notes = list(self.notes)
        if self.flattened:
            notes.append(f"{self.flattened:,} rows are conversations; each is written out as one prompt.")
        if len(self.systems) > 1:
            notes.append("The rows have different system prompts; each stands before its row's prompt.")
        if unmapped := [each.name for each in self.graders.values() if not each.task]:
            follows = "Verdicts may differ for that." if self.suggested() else "Choose the one that answers are graded with here."
            notes.append(f"No grader of ours does the same as {', '.join(unmapped)}. {follows}")
        return {
            "name": self.name,
            "rows": len(self.keys) if self.wants_rows else None,
            "models": [{"name": redact(model), "answers": count} for model, count in self.models.items()],
            "graders": [each.document() for each in self.graders.values()],
            "left_out": [{"reason": code, "count": count, "message": LEFT_OUT[code]} for code, count in self.left_out.items()],
            "notes": notes,
        }


def checked_key(key: str) -> str:
    """A row's ID that fits: a longer one keeps its beginning and gets a hash, so that it stays the same and alone."""
    key = one_line(key, 10_000)
    return key if len(key) <= MAX_KEY else f"{key[:150]}…{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def one_line(text: str, limit: int) -> str:
    return storable(" ".join(text.split()))[:limit]


def storable(text: str) -> str:
    """The text without what no database holds: a NUL is shown as the sign for an unknown character."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in text else text


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value
