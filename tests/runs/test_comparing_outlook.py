"""What a comparison says more tasks would show: by hand, for the pairs that were not told apart and for no others."""

from math import ceil, sqrt
from statistics import NormalDist

import pytest

from runs.comparing import CompareInputs, compare
from runs.statistics import Metric, holm, holm_factors, items_needed, more_items_needed, more_values_needed
from tests.runs.test_comparing import GRADED, compared, subject, verdicts

A_LOT = 10_000


def test_two_models_need_the_tasks_of_the_formula() -> None:
    # 400 tasks, 24 against 16: δ = 0.02, q = 0.1.
    a, b = verdicts(280, 24, 16, 80)
    document = compared(subject(0, a), subject(1, b), population=A_LOT)
    q, delta = 0.1, 0.02
    by_hand = ceil((1.96 * sqrt(q) + 0.8416 * sqrt(q - delta**2)) ** 2 / delta**2) - 400
    assert (by_hand, document["pairs"][0]["tasks_needed"]) == (1560, 1560)
    assert document["outlook"] == "About 1,600 more tasks would separate A and B at this difference (an estimate)."


def test_told_apart_or_alike_need_no_more_tasks() -> None:
    for a, b in (verdicts(150, 15, 5, 30), verdicts(10, 3, 3, 4)):
        document = compared(subject(0, a), subject(1, b), population=A_LOT)
        assert (document["pairs"][0]["tasks_needed"], document["outlook"]) == (None, None)


def test_more_than_the_benchmark_has_is_said() -> None:
    a, b = verdicts(280, 24, 16, 80)
    part = compared(subject(0, a), subject(1, b), population=1319)
    assert part["outlook"] == (
        "About 1,600 more tasks would separate A and B at this difference (an estimate): more than the benchmark has (1,319)."
    )
    whole = compared(subject(0, a), subject(1, b), population=400)
    assert whole["outlook"] == (
        "Every task was used. To tell A and B apart at this difference would take about 2,000 tasks in all (an estimate), "
        "more than the benchmark has (400)."
    )


def test_many_missing_answers_leave_the_outlook_open() -> None:
    a, b = verdicts(280, 24, 16, 80)
    document = compared(subject(0, [*a, *([None] * 50)]), subject(1, [*b, *([1.0] * 50)]), population=A_LOT)
    assert (document["winner_named"], document["outlook"]) == (False, None)


def test_several_models_need_more_since_each_pair_is_adjusted_for_the_others() -> None:
    n = 400
    a, b = verdicts(280, 24, 16, 80)
    c = [1.0] * 60 + [0.0] * (n - 60)
    document = compared(subject(0, a), subject(1, b), subject(2, c), population=A_LOT)
    pairs = {(pair["a"], pair["b"]): pair for pair in document["pairs"]}
    # The other two are far apart, so the last pair's p is multiplied by one.
    assert (pairs[0, 1]["tasks_needed"], pairs[0, 2]["tasks_needed"], pairs[1, 2]["tasks_needed"]) == (1560, None, None)

    c = [0.0 if place in (1, 300, 301) else value for place, value in enumerate(b)]
    document = compared(subject(0, a), subject(1, b), subject(2, c), population=A_LOT)
    factors = holm_factors([pair["p_value"] for pair in document["pairs"]])
    assert sorted(factors) == [1, 2, 3]
    for pair, factor in zip(document["pairs"], factors, strict=True):
        disagreements, delta = pair["a_only"] + pair["b_only"], pair["difference"]
        critical = 1.96 if factor == 1 else NormalDist().inv_cdf(1 - 0.025 / factor)
        q = disagreements / n
        by_hand = ceil((critical * sqrt(q) + 0.8416 * sqrt(q - delta**2)) ** 2 / delta**2) - n
        least = {1: 5, 2: 6, 3: 6}[factor]  # 2^-5 < 0.05, 2^-6 < 0.025 and 0.0167
        assert pair["tasks_needed"] == (max(by_hand, ceil(least * n / disagreements) - n) if not pair["separable"] else None)
    assert document["outlook"].startswith("About ")
    assert "separate A and" in document["outlook"]


def test_graded_scores_use_the_error_of_the_paired_difference() -> None:
    n = 100
    a = [0.5 + 0.3 * (place % 2) for place in range(n)]
    b = [value - (0.2 if place % 3 else -0.35) for place, value in enumerate(a)]
    (pair,) = compared(subject(0, a), subject(1, b), metric=GRADED, population=A_LOT)["pairs"]
    assert not pair["separable"]
    assert pair["tasks_needed"] == ceil(n * (2.80 * pair["stderr"] / pair["difference"]) ** 2) - n > 0


def test_a_pair_without_an_error_says_nothing() -> None:
    document = compared(subject(0, [0.5] * 4), subject(1, [0.4] * 4), metric=GRADED, population=A_LOT)
    assert (document["pairs"][0]["separable"], document["pairs"][0]["tasks_needed"]) == (False, None)


def test_few_disagreements_need_at_least_those_that_the_test_can_tell() -> None:
    # Of ten tasks one: five of them at least, whatever the formula says, and for a p that is multiplied by 28 ten.
    assert more_items_needed(10, 1 / 10, 1) == max(items_needed(0.1, 0.1) - 10, 40)
    assert more_items_needed(3, 1.0, 3) == 2
    assert more_items_needed(3, 1.0, 3, pairs=28) == max(items_needed(1.0, 1.0, 28) - 3, 7)


def test_factors_are_those_of_the_adjustment() -> None:
    p_values = [0.2, 0.001, 0.04, 0.01, 0.03, 0.02]
    factors = holm_factors(p_values)
    assert factors == [1, 6, 2, 5, 3, 4]
    adjusted = holm(p_values)
    assert [round(p, 3) for p in adjusted] == [0.2, 0.006, 0.09, 0.05, 0.09, 0.08]


def test_means_without_a_difference_are_refused() -> None:
    with pytest.raises(ValueError, match="difference"):
        more_values_needed(10, 0.0, 0.1)
    assert more_values_needed(100, 0.1, 0.1) == 684  # 100 · 2.80² − 100


def test_metrics_of_any_unit_have_an_outlook() -> None:
    seconds = Metric(key="seconds", name="Seconds", is_binary=False, low=None, high=None)
    a = [float(place % 7) for place in range(60)]
    b = [value + (1.0 if place % 2 else -0.7) for place, value in enumerate(a)]
    document = compare(CompareInputs("r", "x@1", [subject(0, a), subject(1, b)], metric=seconds, population=A_LOT))
    assert document["pairs"][0]["tasks_needed"] > 0
    assert "would separate B and A" in document["outlook"]
