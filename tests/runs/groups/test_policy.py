"""Checks: what passes, what fails, and when they cannot tell, to the threshold itself."""

from typing import Any

import pytest

from runs.groups.policy import Candidate, Policy, decide


def candidate(member: int = 1, **fields: Any) -> Candidate:
    """Alike, finished, 80% right (78 to 82), one point below the baseline (−2 to 0), unless said otherwise."""
    values: dict[str, Any] = {
        "label": "m1",
        "score": 0.8,
        "interval": {"low": 0.78, "high": 0.82},
        "graded": 1000,
        "planned": 1000,
        "difference": -0.01,
        "difference_interval": {"low": -0.02, "high": 0.0},
        "tasks_compared": 1000,
        "tasks_planned": 1000,
    }
    return Candidate(member, **(values | fields))


def outcome(policy: Policy, *candidates: Candidate) -> tuple[str | None, list[str]]:
    """The decision, and the codes of its reasons."""
    verdict = decide(policy, candidates or (candidate(),))
    return verdict.decision, [reason["code"] for reason in verdict.reasons]


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (0.78, ("pass", ["score_met"])),
        (0.7799999999, ("pass", ["score_met"])),
        (0.7800000001, ("inconclusive", ["score_too_uncertain"])),
        (0.8, ("inconclusive", ["score_too_uncertain"])),
        (0.82, ("inconclusive", ["score_too_uncertain"])),
        (0.8200000001, ("fail", ["score_below_minimum"])),
        (0.0, ("pass", ["score_met"])),
        (1.0, ("fail", ["score_below_minimum"])),
    ],
)
def test_a_score_passes_where_its_whole_interval_reaches_the_least(least: float, expected: tuple[str, list[str]]) -> None:
    assert outcome(Policy(min_score=least)) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.02, 0.0, ("pass", ["drop_within_limit"])),
        (-0.0200000001, 0.0, ("inconclusive", ["drop_too_uncertain"])),
        (-0.05, -0.02, ("inconclusive", ["drop_too_uncertain"])),
        (-0.05, -0.0200000001, ("fail", ["drop_exceeds_limit"])),
        (0.01, 0.05, ("pass", ["drop_within_limit"])),
    ],
)
def test_a_drop_passes_where_its_whole_interval_is_within_the_largest(low: float, high: float, expected: tuple[str, list[str]]) -> None:
    between = candidate(difference=(low + high) / 2, difference_interval={"low": low, "high": high})
    assert outcome(Policy(max_drop=0.02), between) == expected


def test_no_drop_at_all_passes_only_what_is_shown_not_to_be_worse() -> None:
    none = Policy(max_drop=0.0)
    assert outcome(none, candidate(difference=0.0, difference_interval={"low": -0.001, "high": 0.001}))[0] == "inconclusive"
    assert outcome(none, candidate(difference=0.02, difference_interval={"low": 0.0, "high": 0.04}))[0] == "pass"


@pytest.mark.parametrize(("graded", "expected"), [(950, "pass"), (949, "fail"), (0, "fail")])
def test_coverage_is_counted_and_always_told(graded: int, expected: str) -> None:
    assert outcome(Policy(min_coverage=0.95), candidate(graded=graded))[0] == expected


def test_without_checks_nothing_is_decided() -> None:
    assert outcome(Policy()) == (None, [])


def test_one_failure_of_one_candidate_fails_and_one_doubt_is_inconclusive() -> None:
    good, doubtful = candidate(1), candidate(2, interval={"low": 0.6, "high": 0.9})
    bad = candidate(3, interval={"low": 0.1, "high": 0.2})
    policy = Policy(min_score=0.7, max_drop=0.02)
    assert decide(policy, [good]).decision == "pass"
    assert [reason["member"] for reason in decide(policy, [good, doubtful]).reasons] == [2]
    verdict = decide(policy, [good, doubtful, bad])
    assert (verdict.decision, [(reason["member"], reason["code"]) for reason in verdict.reasons]) == ("fail", [(3, "score_below_minimum")])
    assert len(verdict.checks) == 6


def test_an_unlike_candidate_is_never_decided_and_each_difference_is_named_once() -> None:
    apart = candidate(2, unlike=[("version_differs", "Another version."), ("output_limit_differs", "Another limit.")], graded=1)
    policy = Policy(min_score=0.5, max_drop=0.5, min_coverage=0.5)
    assert outcome(policy, apart) == ("inconclusive", ["version_differs", "output_limit_differs"])
    assert outcome(policy, candidate(), apart) == ("inconclusive", ["version_differs", "output_limit_differs"])
    assert [check.code for check in decide(policy, [apart]).checks] == ["version_differs"] * 3


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"stopped": "silent_zero"}, "result_stopped"),
        ({"baseline_stopped": "silent_zero"}, "result_stopped"),
        ({"tasks_compared": 949}, "too_many_missing"),
        ({"difference": None, "difference_interval": None}, "no_difference"),
    ],
)
def test_a_drop_that_cannot_be_known_is_not_guessed(fields: dict[str, Any], code: str) -> None:
    assert outcome(Policy(max_drop=0.5), candidate(**fields)) == ("inconclusive", [code])


def test_a_score_with_more_than_one_in_twenty_answers_missing_is_not_checked() -> None:
    assert outcome(Policy(min_score=0.5), candidate(graded=950))[0] == "pass"
    assert outcome(Policy(min_score=0.5), candidate(graded=949)) == ("inconclusive", ["too_many_missing"])
    assert outcome(Policy(min_score=0.5), candidate(score=None, interval=None)) == ("inconclusive", ["nothing_graded"])


def test_messages_say_the_figures_and_about_how_many_tasks_would_tell() -> None:
    (score,) = decide(Policy(min_score=0.79), [candidate()]).reasons
    assert score["message"] == (
        "m1 scores 80.0% (78.0 to 82.0%): that may be above or below the 79.0% that are asked. "
        "About 4,000 tasks would tell, if it stays so."
    )
    (drop,) = decide(Policy(max_drop=0.015), [candidate()]).reasons
    assert drop["message"] == (
        "m1 is 1.0 points below the baseline (−2.0 to 0.0 points): that may be a drop of more or of less than 1.5 points. "
        "About 4,000 tasks would tell, if it stays so."
    )
    (level,) = decide(Policy(max_drop=0.02), [candidate(difference=0.0, difference_interval={"low": -0.01, "high": 0.01})]).reasons
    assert level["message"] == "m1 is level with the baseline (−1.0 to +1.0 points): no drop of more than 2.0 points."
