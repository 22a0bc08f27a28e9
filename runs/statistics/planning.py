"""How small a difference a number of tasks can show, and how many a difference needs: 80% power, two-sided 5%."""

from math import ceil, floor, log2, sqrt
from statistics import NormalDist

ASSUMED_DISAGREEMENT = 0.2
"""The share of tasks on which two models are taken to differ, before there is data."""

_LEAST_DISAGREEMENTS = 5
"""Below five disagreements, all for the same model, McNemar's mid-p cannot come under 0.05."""

_REACH = 2.80
"""1.96 + 0.8416: standard errors between no difference and one that is found four times in five."""


def smallest_difference(n: int, disagreement: float = ASSUMED_DISAGREEMENT) -> float:
    """The least difference of two shares that `n` tasks find (Miller 2024), at most 1. Raises ValueError for n < 1."""
    if n < 1:
        raise ValueError("Without tasks there is no difference to find.")
    return min(1.0, _REACH * sqrt(disagreement / n))


def smallest_difference_seen(n: int, disagreements: int) -> float:
    """The same after the fact, from the number of tasks on which the two did differ; few disagreements are no sign of a sharp eye."""
    return smallest_difference(n, max(disagreements, _LEAST_DISAGREEMENTS) / n)


def smallest_mean_difference(stderr: float) -> float:
    """The same for a mean of differences with this standard error."""
    return _REACH * stderr


def items_needed(difference: float, disagreement: float = ASSUMED_DISAGREEMENT, pairs: int = 1) -> int:
    """The tasks needed to find a difference of two shares (Miller 2024). Raises ValueError outside 0 < difference ≤ 1.

    `pairs` is how many pairs the p is adjusted for: the level is then 5% divided by it.
    """
    if not 0 < difference <= 1:
        raise ValueError(f"{difference} is no difference of two shares.")
    q = max(disagreement, difference)  # who differs by δ disagrees on at least δ of the tasks
    return ceil((_critical(pairs) * sqrt(q) + 0.8416 * sqrt(q - difference**2)) ** 2 / difference**2)


def more_items_needed(n: int, difference: float, disagreements: int, pairs: int = 1) -> int:
    """How many more tasks would find the difference of two shares that `n` tasks showed, if it and the disagreements stay as they are.

    At least so many that McNemar's mid-p can come under the level at all. Raises ValueError without a difference.
    """
    needed = items_needed(min(1.0, abs(difference)), disagreements / n, pairs)
    least = floor(log2(20 * pairs)) + 1  # 2^−m is the mid-p of m disagreements for one model
    return max(0, needed - n, ceil(least * n / disagreements) - n)


def more_values_needed(n: int, difference: float, stderr: float, pairs: int = 1) -> int:
    """The same for the mean of `n` differences with this standard error: n·(2.80·SE/d)² − n. Raises ValueError without a difference."""
    if not difference:
        raise ValueError("No number of tasks shows a difference that is none.")
    reach = _REACH if pairs == 1 else _critical(pairs) + 0.8416
    return max(0, ceil(n * (reach * stderr / difference) ** 2) - n)


def _critical(pairs: int) -> float:
    """Standard errors from zero at which a two-sided p is under 5% divided by `pairs`."""
    return 1.96 if pairs == 1 else NormalDist().inv_cdf(1 - 0.025 / pairs)
