"""Means of one value a task, and of the differences of two subjects' values: standard errors, t intervals, t tests."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runs.statistics.intervals import Estimate, Interval

type Values = NDArray[np.float64]
type Codes = NDArray[np.intp]
"""The cluster of each value, as an integer."""


def cluster_codes(labels: Sequence[str]) -> Codes:
    """An integer for each label, the same for the same label; an empty one is a cluster of its own."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(label, i) if label else i for i, label in enumerate(labels)], dtype=np.intp)


def cluster_sums(values: Values, clusters: Codes) -> tuple[Values, Values]:
    """The sum of the values of each cluster that has any, and their numbers."""
    _, codes = np.unique(clusters, return_inverse=True)
    return np.bincount(codes, weights=values), np.bincount(codes).astype(np.float64)


def standard_error(values: ArrayLike) -> float | None:
    """√(Σ(sᵢ−s̄)²/(n(n−1))) (Miller 2024); None for fewer than two values."""
    x = np.asarray(values, dtype=np.float64)
    return float(x.std(ddof=1)) / sqrt(x.size) if x.size > 1 else None


def clustered_standard_error(values: ArrayLike, clusters: ArrayLike) -> float | None:
    """SE² = (C/(C−1))·n⁻²·Σ_c(Σ_{i∈c}(sᵢ−s̄))² (Miller 2024, with the small-sample factor); None for fewer than two clusters."""
    x = np.asarray(values, dtype=np.float64)
    sums, _ = cluster_sums(x - x.mean(), np.asarray(clusters))
    return sqrt(sums.size / (sums.size - 1) * float(sums @ sums)) / x.size if sums.size > 1 else None


def design_effect(values: ArrayLike, clusters: ArrayLike) -> float | None:
    """How many times the clusters widen the variance; n divided by it is the effective n. None where the values do not vary."""
    plain, clustered = standard_error(values), clustered_standard_error(values, clusters)
    return (clustered / plain) ** 2 if plain and clustered is not None else None


def t_quantile(degrees: int) -> float:
    """The 97.5% point of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975))


def t_test(mean: float, stderr: float, degrees: int) -> float:
    """The two-sided p of a mean of zero; with a standard error of 0 it is 1 or 0."""
    from scipy.special import stdtr

    if stderr == 0:
        return float(mean == 0)
    return min(1.0, 2 * float(stdtr(degrees, -abs(mean) / stderr)))


def mean_t(values: ArrayLike, low: float | None = None, high: float | None = None) -> Estimate:
    """The mean with mean ± t·SE, n−1 degrees of freedom, clipped to the metric's range. Raises ValueError without values."""
    x = _checked(values)
    return _around(x, standard_error(x), x.size - 1, "t", low, high)


def clustered_t(values: ArrayLike, clusters: ArrayLike, low: float | None = None, high: float | None = None) -> Estimate:
    """The mean of values that come in clusters, with the clustered standard error and C−1 degrees of freedom."""
    x = _checked(values)
    return _around(x, clustered_standard_error(x, clusters), np.unique(np.asarray(clusters)).size - 1, "clustered_t", low, high)


def _checked(values: ArrayLike) -> Values:
    x = np.asarray(values, dtype=np.float64)
    if not x.size or not np.isfinite(x).all():
        raise ValueError("A mean needs values, and each must be a number.")
    return x


def _around(x: Values, stderr: float | None, degrees: int, method: str, low: float | None, high: float | None) -> Estimate:
    mean = float(x.mean())
    if stderr is None:
        return Estimate(mean, x.size, None, None)
    half = t_quantile(degrees) * stderr
    return Estimate(mean, x.size, stderr, Interval(mean - half, mean + half, method).clipped(low, high))
