"""Four models' recorded answers to the 1,319 questions of GSM8K: the counts, intervals and the pair that their publisher's data give.

What is right is the correctness that was recorded with each answer, so these tests need no grader.
"""

import json
from functools import cache

import numpy as np
import pytest

from runs.statistics import ACCURACY, Table
from runs.statistics.choosing import estimate_difference, estimate_score
from runs.statistics.means import Values
from tests.conftest import SHARED

RECORDED = SHARED / "data" / "gsm8k" / "example_model_solutions.jsonl"
pytestmark = pytest.mark.skipif(not RECORDED.is_file(), reason="The recorded outputs of GSM8K are not beside this repository.")


@cache
def recorded() -> dict[str, Values]:
    """Model → 1 for each question it answered right, else 0."""
    rows = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    names = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
    return {name: np.array([row[name]["is_correct"] for row in rows], dtype=float) for name in names}


@pytest.mark.parametrize(
    ("model", "right", "low", "high"),
    [
        ("6b_finetuning", 286, 0.1954, 0.2399),
        ("6b_verification", 515, 0.3645, 0.4171),
        ("175b_finetuning", 458, 0.3220, 0.3733),
        ("175b_verification", 742, 0.5356, 0.5891),
    ],
)
def test_gsm8k_scores_are_the_recorded_ones(model: str, right: int, low: float, high: float) -> None:
    estimate = estimate_score(recorded()[model], ACCURACY)
    assert estimate
    assert estimate.interval
    assert (round(estimate.value * 1319), estimate.n) == (right, 1319)
    assert (round(estimate.interval.low, 4), round(estimate.interval.high, 4), estimate.interval.method) == (low, high, "wilson")


def test_gsm8k_the_closest_pair_differs_by_what_was_recorded() -> None:
    difference = estimate_difference(recorded()["6b_verification"], recorded()["175b_finetuning"], ACCURACY)
    assert difference.table
    assert difference.estimate.stderr
    assert difference.p_exact
    assert difference.estimate.interval
    assert difference.table == Table(both=306, a_only=209, b_only=152, neither=652)
    assert round(100 * difference.estimate.value, 1) == 4.3
    assert round(100 * difference.estimate.stderr, 4) == 1.4361
    assert round(difference.p_exact, 6) == 0.003151
    assert 0 < difference.estimate.interval.low < difference.estimate.value < difference.estimate.interval.high
