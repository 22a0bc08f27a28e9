"""Intervals, and what can be said of a score from counts alone."""

from dataclasses import dataclass
from math import sqrt

Z = 1.959964
"""The 97.5% point of the normal distribution."""

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and the name of the method that gave it."""

    low: float
    high: float
    method: str
    level: float = LEVEL

    def clipped(self, low: float | None, high: float | None) -> "Interval":
        """The interval inside a metric's range."""
        least = self.low if low is None else max(self.low, low)
        most = self.high if high is None else min(self.high, high)
        return Interval(least, most, self.method, self.level)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of `n` values. `stderr` is None for a single value, `interval` is None where none can be given."""

    value: float
    n: int
    stderr: float | None
    interval: Interval | None


def wilson(right: float, n: int) -> Interval:
    """Wilson's score interval for `right` of `n` (Wilson 1927). Never of zero width, never outside [0, 1]. Raises ValueError for n < 1.

    `right` may be a sum of shares: of all values in [0, 1] with one mean, zeros and ones spread the most, so the interval is then too wide
    rather than too narrow.
    """
    if n < 1 or not 0 <= right <= n:
        raise ValueError(f"{right} of {n} is no share.")
    p = right / n
    shrink = 1 + Z * Z / n
    centre = (p + Z * Z / (2 * n)) / shrink
    half = Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / shrink
    # At the ends one limit is exact; rounding must not move it inside or outside.
    low = 0.0 if right == 0 else max(0.0, centre - half)
    high = 1.0 if right == n else min(1.0, centre + half)
    return Interval(low, high, "wilson")


def missing_bounds(total: float, n: int, planned: int, low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
    """The least and the greatest mean of all `planned` values, of which `n` with sum `total` are known and each other is in [low, high]."""
    missing = planned - n
    if planned < 1 or missing < 0:
        raise ValueError(f"{n} of {planned} values cannot be known.")
    return (total + low * missing) / planned, (total + high * missing) / planned
