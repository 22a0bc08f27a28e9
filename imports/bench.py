"""The grader's bench: what a grader takes out of an answer, step by step, for a row that somebody looks at before there is a benchmark.

The verdict is the grader's own, as in a run; the words are for people who have not met it yet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from catalog.enums import Grader
from catalog.graders import Step, Verdict, compile_grader, written_answer
from catalog.graders.multiple_choice import LETTERS

MAX_ANSWER = 100_000
"""Characters of an answer that are looked at."""


class Outcome(StrEnum):
    """What became of an answer. An unreadable one scores 0 as a wrong one does, and results count it apart."""

    RIGHT = "right"
    WRONG = "wrong"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Trial:
    """One answer put to the grader."""

    output: str
    outcome: Outcome
    reason: str
    """A stable word as in a sample's grading, such as `different` or `no_number`."""
    words: str
    """The reason in a sentence."""
    extracted: str | None
    steps: tuple[Step, ...]
    """What the grader did, in order: `Step("last number", "18")`."""
    expected: str
    """An answer that would be right."""

    def document(self) -> dict[str, Any]:
        return {
            "output": self.output,
            "outcome": str(self.outcome),
            "reason": self.reason,
            "words": self.words,
            "extracted": self.extracted,
            "steps": [{"name": step.name, "detail": step.detail} for step in self.steps],
            "expected": self.expected,
        }


_WORDS = {
    "matched": "What was read equals the reference.",
    "within_tolerance": "What was read equals the reference within the tolerance.",
    "different": "An answer was read, and it differs from the reference.",
    "no_number": "There is no number in the answer.",
    "not_a_number": "What was taken is not one single number.",
    "no_match": "The pattern does not match.",
    "no_prefix": "The line that begins with the prefix is missing.",
    "no_letter": "No choice could be read: it is neither one letter nor an answer followed by one, nor the text of a choice.",
    "several_letters": "It names more than one letter.",
    "ambiguous_choice": "It equals the text of more than one choice.",
    "not_a_listed_choice": "It names a letter that is none of the row's choices.",
    "empty_answer": "Nothing is left to compare: the answer is empty.",
    "missing_field": "A field is missing from the JSON.",
    "no_json": "There is no JSON object in the answer.",
    "not_json": "What should be JSON cannot be read as JSON.",
    "truncated_json": "The JSON breaks off before its end.",
}


def try_answer(grader: str, options: Mapping[str, Any], reference: Any, choices: Sequence[str] | None, text: str) -> Trial:
    """What the grader makes of the text. `reference` is as a task stores it (`imports.mapping` gives it for a row).

    Raises `Refused` for options that the grader does not take.
    """
    grade = compile_grader(grader, options)
    return _trial(text[:MAX_ANSWER], grade(text[:MAX_ANSWER], reference, choices), written_answer(grader, options, reference, choices))


def examples(grader: str, options: Mapping[str, Any], reference: Any, choices: Sequence[str] | None) -> list[Trial]:
    """An answer that counts as right, one that is wrong and one that cannot be read, each as the grader really decides it.

    Fewer where a kind does not exist: with exact match of the whole output every text can be read. Raises `Refused` as `try_answer`.
    """
    grade = compile_grader(grader, options)
    expected = written_answer(grader, options, reference, choices)
    found: dict[Outcome, Trial] = {}
    for text in (*_right(grader, expected), *_wrong(grader, options, reference, choices, expected), *_unreadable(grader)):
        trial = _trial(text, grade(text, reference, choices), expected)
        found.setdefault(trial.outcome, trial)
    return [found[outcome] for outcome in Outcome if outcome in found]


def _trial(text: str, verdict: Verdict, expected: str) -> Trial:
    outcome = Outcome.RIGHT if verdict.correct else Outcome.WRONG if verdict.readable else Outcome.UNREADABLE
    words = _WORDS.get(verdict.reason) or f"{verdict.reason.replace('_', ' ').capitalize()}."
    return Trial(text, outcome, verdict.reason, words, verdict.extracted, verdict.steps, expected)


def _right(grader: str, expected: str) -> list[str]:
    """Answers that should be right, the chattiest first: what a model would rather say."""
    chatty = {
        Grader.MULTIPLE_CHOICE: f"The first part rules out the others, so the answer is ({expected}).",
        Grader.NUMERIC: f"Added up, that makes {expected}.",
        Grader.JSON_FIELD_MATCH: f"Here it is:\n```json\n{expected}\n```",
    }
    return [chatty.get(Grader(grader), f"Let me see.\n{expected}"), expected]


def _wrong(grader: str, options: Mapping[str, Any], reference: Any, choices: Sequence[str] | None, expected: str) -> list[str]:
    if grader == Grader.MULTIPLE_CHOICE:
        listed = LETTERS[: len(choices or LETTERS)]
        return [f"The answer is ({letter})." for letter in listed if letter != reference]
    if grader == Grader.NUMERIC:
        return [expected.replace(reference, str(int(float(reference)) + 1000), 1) if _is_short(reference) else "0"]
    if grader == Grader.JSON_FIELD_MATCH:
        return ["{}", "[]"]
    return [*(written_answer(grader, options, [other], choices) for other in ("something else", "something")), "something else"]


def _is_short(reference: str) -> bool:
    return len(reference) <= 15


def _unreadable(grader: str) -> list[str]:
    return {
        Grader.MULTIPLE_CHOICE: ["I would need to know more before I choose.", ""],
        Grader.NUMERIC: ["I am not sure.", ""],
        Grader.JSON_FIELD_MATCH: ['{"cut off": "her', "I cannot answer in JSON.", ""],
    }.get(Grader(grader), ["I am not sure.", ""])
