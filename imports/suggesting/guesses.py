"""What a suggestion is made of: guesses that are marked as such, each with a reason in a sentence."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

COLUMN = "columns."


class Certainty(StrEnum):
    """How much a guess can be relied on. A low one is a place to start from: it wants to be looked at."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Guess:
    """A value for a key of the manifest, and why."""

    value: Any
    certainty: Certainty
    why: str

    def document(self) -> dict[str, Any]:
        return {"value": self.value, "certainty": str(self.certainty), "why": self.why}


@dataclass(frozen=True, slots=True)
class Withheld:
    """A column that was not proposed for the prompt because it tells the answer or is about it."""

    column: str
    why: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """How a file might become a benchmark.

    `guesses` are by the manifest's key: `task`, `grader_options`, `answer_pattern`, `prompt_template`, `max_output_tokens`, `header`,
    `delimiter`, `encoding`, and `columns.answer`, `columns.id`, `columns.choices`, … for each role. What stands in none was not guessed.
    """

    guesses: dict[str, Guess]
    withheld: tuple[Withheld, ...] = ()
    problems: tuple[str, ...] = ()
    """Why the file cannot become a benchmark as it stands, in sentences; empty where it can."""
    rows: int = 0
    """Rows that were read for this."""
    is_whole: bool = True
    """Whether these are all rows of the file."""
    unreadable_rows: int = field(default=0)

    @property
    def columns(self) -> dict[str, Guess]:
        """The columns' guesses by role."""
        return {key.removeprefix(COLUMN): guess for key, guess in self.guesses.items() if key.startswith(COLUMN)}

    def manifest(self) -> dict[str, Any]:
        """The guesses as keys of a manifest. Name, licence and the statement of rights are a person's to add."""
        keys = {key: guess.value for key, guess in self.guesses.items() if not key.startswith(COLUMN) and guess.value is not None}
        columns = {role: guess.value for role, guess in self.columns.items() if guess.value is not None}
        return {**keys, "columns": columns} if columns else keys

    def document(self) -> dict[str, Any]:
        """As JSON, for a draft or a page's data."""
        return {
            "guesses": {key: guess.document() for key, guess in self.guesses.items()},
            "withheld": [{"column": each.column, "why": each.why} for each in self.withheld],
            "problems": list(self.problems),
            "rows": self.rows,
            "is_whole": self.is_whole,
        }
