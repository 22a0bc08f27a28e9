"""What a grader says of one answer."""

from dataclasses import dataclass

EXTRACTED_LIMIT = 500
"""Characters of the extracted value that are kept; comparing is always done on the whole."""
DETAIL_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Step:
    """One thing the grader did on its way: `Step("last number", "18")`."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Right or wrong, and why.

    `readable` is False where no answer could be taken out of the output: that scores 0 too, but is not the same as a wrong answer.
    `reason` is a stable word: `matched`, `within_tolerance`, `different`, or what was missing, such as `no_number`.
    """

    correct: bool
    score: float
    extracted: str | None
    readable: bool
    reason: str
    steps: tuple[Step, ...]


def unreadable(reason: str, *steps: Step) -> Verdict:
    """Nothing could be read as an answer."""
    return Verdict(False, 0.0, None, False, reason, steps)


def read(correct: bool, extracted: str, *steps: Step, reason: str | None = None) -> Verdict:
    """An answer was read and compared. Without a `reason` it is `matched` or `different`."""
    return Verdict(
        correct,
        1.0 if correct else 0.0,
        extracted if len(extracted) <= EXTRACTED_LIMIT else clipped(extracted, EXTRACTED_LIMIT),
        True,
        reason or ("matched" if correct else "different"),
        steps,
    )


def clipped(text: str, limit: int = DETAIL_LIMIT) -> str:
    """The text, cut to `limit` characters with an ellipsis where it is longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
