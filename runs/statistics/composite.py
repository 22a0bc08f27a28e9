"""A weighted mean of scores on different benchmarks."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from runs.statistics.intervals import Estimate, Interval

METHOD = "weighted"


def weighted(scores: Sequence[Mapping[str, Any]], weights: Sequence[float]) -> Estimate:
    """The mean of independent scores, each with `value`, `n`, `stderr` and `interval`, by weights that need not add up to 1.

    The interval combines the scores' own limits by square and add (Zou and Donner 2008, Stat Med 27:1693), so that it keeps the shape of
    theirs: a score of all right still has a limit below it. Without an interval of each there is none. Raises ValueError for no scores.
    """
    if not scores or len(scores) != len(weights) or min(weights) <= 0:
        raise ValueError("Each of the scores needs a weight above 0.")
    shares = [weight / sum(weights) for weight in weights]
    value = sum(share * score["value"] for share, score in zip(shares, scores, strict=True))
    errors = [score["stderr"] for score in scores]
    stderr = None if None in errors else sqrt(sum((share * error) ** 2 for share, error in zip(shares, errors, strict=True)))
    n = sum(score["n"] for score in scores)
    if any(score["interval"] is None for score in scores):
        return Estimate(value, n, stderr, None)
    parts = list(zip(shares, scores, strict=True))
    below = sqrt(sum((share * (score["value"] - score["interval"]["low"])) ** 2 for share, score in parts))
    above = sqrt(sum((share * (score["interval"]["high"] - score["value"])) ** 2 for share, score in parts))
    return Estimate(value, n, stderr, Interval(value - below, value + above, METHOD))
