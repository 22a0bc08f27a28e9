"""How small a difference a number of tasks can show, and how many a difference needs: 80% power, two-sided 5%."""

from math import ceil, sqrt

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


def items_needed(difference: float, disagreement: float = ASSUMED_DISAGREEMENT) -> int:
    """The tasks needed to find a difference of two shares (Miller 2024). Raises ValueError outside 0 < difference ≤ 1."""
    if not 0 < difference <= 1:
        raise ValueError(f"{difference} is no difference of two shares.")
    q = max(disagreement, difference)  # who differs by δ disagrees on at least δ of the tasks
    return ceil((1.96 * sqrt(q) + 0.8416 * sqrt(q - difference**2)) ** 2 / difference**2)
