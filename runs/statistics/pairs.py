"""Two subjects on the same right-or-wrong tasks, from the 2×2 table of their verdicts."""

from dataclasses import dataclass
from math import comb, exp, lgamma, log, sqrt

from runs.statistics.intervals import Interval, wilson


@dataclass(frozen=True, slots=True)
class Table:
    """How many tasks both got right, only the first, only the second, and neither."""

    both: int
    a_only: int
    b_only: int
    neither: int

    @property
    def n(self) -> int:
        return self.both + self.a_only + self.b_only + self.neither

    @property
    def disagreement(self) -> float:
        """The share of tasks on which the two differ."""
        return (self.a_only + self.b_only) / self.n


def _half_binomial(k: int, m: int) -> tuple[float, float]:
    """P(X ≤ k) and P(X = k) for X ~ Bin(m, ½) and k ≤ m/2."""
    exactly = comb(m, k) / (1 << m) if m <= 1000 else exp(lgamma(m + 1) - lgamma(k + 1) - lgamma(m - k + 1) - m * log(2))
    at_most = term = exactly
    for i in range(k, 0, -1):  # P(X = i−1) = P(X = i)·i/(m−i+1): ever smaller from the middle down
        term *= i / (m - i + 1)
        at_most += term
        if term < at_most * 1e-17:
            break
    return at_most, exactly


def mcnemar(a_only: int, b_only: int) -> tuple[float, float]:
    """The two-sided exact and mid-p values of McNemar's test (Fagerland, Lydersen, Laake 2013)."""
    m = a_only + b_only
    if a_only == b_only:
        return 1.0, 1.0
    at_most, exactly = _half_binomial(min(a_only, b_only), m)
    exact = min(1.0, 2 * at_most)
    return exact, exact - exactly


def newcombe(p1: float, first: Interval, p2: float, second: Interval, phi: float = 0.0) -> Interval:
    """The interval of p1 − p2 from the limits of each and their correlation `phi` (Newcombe 1998, square-and-add)."""

    def reach(x: float, y: float) -> float:
        return sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))

    low = p1 - p2 - reach(p1 - first.low, second.high - p2)
    high = p1 - p2 + reach(first.high - p1, p2 - second.low)
    return Interval(max(-1.0, low), min(1.0, high), "newcombe")


def newcombe_paired(table: Table) -> tuple[float, Interval]:
    """The paired difference of two shares and its interval: method 10 of Newcombe 1998. Raises ValueError for an empty table."""
    a, b, c, d = table.both, table.a_only, table.b_only, table.neither
    n = table.n
    first, second = wilson(a + b, n), wilson(a + c, n)
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    covariance = float(a * d - b * c)
    if covariance > 0:
        covariance = max(0.0, covariance - n / 2)
    phi = covariance / sqrt(margins) if margins else 0.0
    return (b - c) / n, newcombe((a + b) / n, first, (a + c) / n, second, phi)
