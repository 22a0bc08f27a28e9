"""Percentile bootstrap over tasks or clusters, and the closed forms that take its place where there are many tasks.

The draws depend on the seed and the number of units alone, so two subjects on the same tasks are drawn alike and the difference of
their resampled statistics is the resampled difference.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import floor, sqrt

import numpy as np
from numpy.typing import ArrayLike

from runs.statistics.intervals import Estimate, Interval, Z
from runs.statistics.means import Clusters, Values, standard_error

DRAWS = 10_000
CLOSED_FORM_ABOVE = 2_000
"""Values above which ratios take the delta method and medians order statistics."""

_CELLS = 4_000_000
"""Numbers held at once: 32 MB."""


def draws(units: int, seed: int) -> Iterator[Values]:
    """How often each of `units` is drawn, in blocks of rows, 10,000 rows in all."""
    rows = max(1, min(DRAWS, _CELLS // units))
    if rows == DRAWS:
        yield _all_draws(units, seed)
        return
    random = np.random.default_rng(seed)
    for start in range(0, DRAWS, rows):
        yield random.multinomial(units, np.full(units, 1 / units), size=min(rows, DRAWS - start)).astype(np.float64)


@lru_cache(maxsize=4)
def _all_draws(units: int, seed: int) -> Values:
    return np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), size=DRAWS).astype(np.float64)


def _resampled(units: int, seed: int, statistic: Callable[[Values], Values]) -> Values:
    return np.concatenate([statistic(counts) for counts in draws(units, seed)])


def resampled_means(values: Values, seed: int, clusters: Clusters | None = None) -> Values:
    """The means of 10,000 draws of the values, or of whole clusters."""
    return resampled_ratios(values, np.ones_like(values), seed, clusters)


def resampled_ratios(above: Values, below: Values, seed: int, clusters: Clusters | None = None) -> Values:
    """Σ above / Σ below in 10,000 draws of tasks, or of whole clusters; infinite where a draw has nothing below."""
    if clusters is not None:
        above, below = clusters.sums(above), clusters.sums(below)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = _resampled(above.size, seed, lambda counts: (counts @ above) / (counts @ below))
    return np.where(np.isnan(ratios), np.inf, ratios)


def resampled_medians(values: Values, seed: int, clusters: Clusters | None = None) -> Values:
    """The medians of 10,000 draws of the values, or of whole clusters."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    units = order if clusters is None else clusters.codes[order]

    def medians(counts: Values) -> Values:
        reached = np.cumsum(counts[:, units], axis=1)
        total = reached[:, -1:]
        lower = np.argmax(reached >= np.floor((total + 1) / 2), axis=1)
        upper = np.argmax(reached >= np.floor(total / 2) + 1, axis=1)
        return (ordered[lower] + ordered[upper]) / 2

    return _resampled(values.size if clusters is None else clusters.count, seed, medians)


def percentile_interval(resampled: Values) -> Interval | None:
    """The middle 95% of the draws; None where more than 2.5% of them have no finite value."""
    low, high = np.quantile(resampled, [0.025, 0.975], method="inverted_cdf")
    return Interval(float(low), float(high), "bootstrap") if np.isfinite(high) else None


def bootstrap_p(resampled: Values, different: int) -> float:
    """The two-sided p of a difference of zero: the level at which the percentile interval touches 0 (Efron and Tibshirani 1993, §15).

    `different` is the number of units whose difference is not zero. Where few differ, a bootstrap knows too little of what
    it has not seen; p is never below the sign test's least, 2^(1−different).
    """
    below, above = int((resampled <= 0).sum()), int((resampled >= 0).sum())
    return min(1.0, max(2 * (min(below, above) + 1) / (resampled.size + 1), 2.0 ** (1 - different)))


def bootstrap_mean(values: ArrayLike, seed: int, clusters: Clusters | None = None) -> Estimate:
    """The mean with its percentile interval."""
    x = np.asarray(values, dtype=np.float64)
    return Estimate(float(x.mean()), x.size, standard_error(x), percentile_interval(resampled_means(x, seed, clusters)))


def median(values: ArrayLike, seed: int, clusters: Clusters | None = None) -> Estimate:
    """The median; its interval by bootstrap, above 2,000 values without clusters by order statistics (Campbell and Gardner 1988)."""
    x = np.sort(np.asarray(values, dtype=np.float64)) if clusters is None else np.asarray(values, dtype=np.float64)
    value, n = float(np.median(x)), x.size
    if clusters is None and n > CLOSED_FORM_ABOVE:
        half = Z * sqrt(n) / 2
        low, high = floor(n / 2 - half + 0.5) - 1, floor(n / 2 + 1 + half + 0.5) - 1
        return Estimate(value, n, None, Interval(float(x[low]), float(x[high]), "order_statistics"))
    resampled = resampled_medians(x, seed, clusters)
    return Estimate(value, n, float(resampled.std()), percentile_interval(resampled))


def ratio(above: ArrayLike, below: ArrayLike, seed: int, clusters: Clusters | None = None) -> Estimate | None:
    """Σ above / Σ below, such as the cost of a right answer; None where nothing is below.

    By bootstrap; above 2,000 tasks by the delta method: residuals above − R·below in the place of deviations from a mean.
    """
    x, y = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    n, whole = x.size, float(y.sum())
    if whole == 0:
        return None
    value = float(x.sum()) / whole
    if n > CLOSED_FORM_ABOVE:
        residuals = x - value * y
        sums = residuals if clusters is None else clusters.sums(residuals)
        stderr = sqrt(sums.size / (sums.size - 1) * float(sums @ sums)) / abs(whole)
        return Estimate(value, n, stderr, Interval(value - Z * stderr, value + Z * stderr, "delta"))
    resampled = resampled_ratios(x, y, seed, clusters)
    interval = percentile_interval(resampled)
    return Estimate(value, n, float(resampled.std()) if interval and np.isfinite(resampled).all() else None, interval)
