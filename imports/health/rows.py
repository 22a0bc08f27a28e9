"""What the health of a benchmark is computed from, and what is found."""

import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MAX_EXAMPLES = 10


class Severity(StrEnum):
    """How much a finding matters for what a score means."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class HealthRow:
    """A task: its prompt's values by role without the choices, its choices, its stored reference, and the bytes of its prompt."""

    task_id: str
    values: dict[str, str]
    choices: list[str] | None
    reference: Any
    prompt_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the rows that changes what a score means. Tasks are named by their IDs; no text of a row is in it."""

    code: str
    severity: Severity
    title: str
    text: str
    count: int = 0
    tasks: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": str(self.severity),
            "title": self.title,
            "text": self.text,
            "count": self.count,
            "tasks": self.tasks[:MAX_EXAMPLES],
        }


def plain(text: str) -> str:
    """The text as duplicates are compared: Unicode NFKC, case folded, white space collapsed."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.split()).casefold()


def percent(share: float) -> str:
    """A share for people: "25%", with one decimal below ten, "<0.1%" for what is above nothing."""
    value = 100 * share
    if 0 < value < 0.1:
        return "<0.1%"
    return f"{value:.1f}%" if 0 < value < 10 and round(value, 1) != round(value) else f"{value:.0f}%"


def tasks_words(count: int) -> str:
    return "1 task" if count == 1 else f"{count:,} tasks"
