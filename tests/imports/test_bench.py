"""The grader's bench decides as a run does, and has an answer of each kind to show."""

import json
from typing import Any

import pytest

from catalog.graders import grade
from common.errors import Refused
from imports.bench import Outcome, examples, try_answer

FOUR = ["Paris", "Rome", "Oslo", "Bern"]
GRADERS: list[tuple[str, dict[str, Any], Any, list[str] | None]] = [
    ("multiple_choice", {}, "B", FOUR),
    ("exact_match", {}, ["Oslo"], None),
    ("exact_match", {"extract": "last_line"}, ["Oslo"], None),
    ("exact_match", {"extract": "answer_prefix"}, ["Oslo"], None),
    ("regex_match", {"pattern": r"answer is (\w+)", "anchored": False}, ["Oslo"], None),
    ("numeric", {}, "1250", None),
    ("numeric", {"extract": "answer_prefix", "abs_tol": 0.5}, "-3.5", None),
    ("json_field_match", {"fields": ["city", "size.km"], "extract": "first_object"}, {"city": "Oslo", "size": {"km": 4}}, None),
    ("json_field_match", {"fields": ["city"]}, {"city": "Oslo"}, None),
]


def test_the_steps_are_the_graders_own() -> None:
    trial = try_answer("numeric", {}, "18", None, "First 7, then 11, so 18 in all.")
    assert trial.document() == {
        "output": "First 7, then 11, so 18 in all.",
        "outcome": "right",
        "reason": "matched",
        "words": "What was read equals the reference.",
        "extracted": "18",
        "steps": [{"name": "last number", "detail": "18"}],
        "expected": "18",
    }


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ("The answer is (B).", "right", "matched"),
        ("Rome", "right", "matched"),
        ("Answer: C", "wrong", "different"),
        ("Answer: Z", "wrong", "not_a_listed_choice"),
        ("Answer: A, B and C", "unreadable", "several_letters"),
        ("I cannot say.", "unreadable", "no_letter"),
        ("", "unreadable", "empty_answer"),
    ],
)
def test_a_pasted_answer_is_right_wrong_or_unreadable(text: str, outcome: str, reason: str) -> None:
    trial = try_answer("multiple_choice", {}, "B", FOUR, text)
    assert (str(trial.outcome), trial.reason) == (outcome, reason)
    assert trial.words.endswith(".")


@pytest.mark.parametrize(("grader", "options", "reference", "choices"), GRADERS, ids=lambda value: str(value)[:30])
def test_there_is_an_example_of_each_kind_and_each_is_graded_as_in_a_run(
    grader: str, options: dict[str, Any], reference: Any, choices: list[str] | None
) -> None:
    found = examples(grader, options, reference, choices)
    assert [trial.outcome for trial in found] == [Outcome.RIGHT, Outcome.WRONG, Outcome.UNREADABLE]
    for trial in found:
        verdict = grade(grader, options, trial.output, reference, choices=choices)
        assert (verdict.correct, verdict.readable) == (trial.outcome == Outcome.RIGHT, trial.outcome != Outcome.UNREADABLE)
        assert verdict.steps == trial.steps
    assert json.dumps([trial.document() for trial in found])


def test_options_that_the_grader_does_not_take_are_refused() -> None:
    with pytest.raises(Refused) as caught:
        try_answer("numeric", {"extract": "middle"}, "1", None, "1")
    assert caught.value.code == "invalid_grader_options"


def test_a_huge_answer_is_looked_at_in_part() -> None:
    trial = try_answer("numeric", {}, "1", None, "1 " + "x" * 200_000 + " 2")
    assert (trial.outcome, len(trial.output)) == (Outcome.RIGHT, 100_000)
