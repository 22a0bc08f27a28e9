"""Means of one value a task, and of the differences of two subjects' values: standard errors, t intervals, t tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runs.statistics.intervals import Estimate, Interval

type Values = NDArray[np.float64]
type Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The clusters that values come in: the number of each value's cluster, from 0 to `count` − 1, each of which occurs."""

    codes: NDArray[np.intp]
    count: int

    @classmethod
    def of(cls, labels: Sequence[object]) -> Self:
        """One cluster for each label; an empty label is a cluster of its own."""
        known: dict[object, int] = {}
        codes = [known.setdefault(("alone", place) if label == "" else label, len(known)) for place, label in enumerate(labels)]
        return cls(np.array(codes, dtype=np.intp), len(known))

    def at(self, which: Flags | Sequence[int]) -> Self:
        """The clusters of some of the values."""
        names, codes = np.unique(self.codes[which], return_inverse=True)
        return type(self)(codes, names.size)

    def sums(self, values: Values) -> Values:
        """The sum of each cluster's values."""
        return np.bincount(self.codes, weights=values, minlength=self.count)


def standard_error(values: ArrayLike) -> float | None:
    """√(Σ(sᵢ−s̄)²/(n(n−1))) (Miller 2024); None for fewer than two values."""
    x = np.asarray(values, dtype=np.float64)
    return float(x.std(ddof=1)) / sqrt(x.size) if x.size > 1 else None


def clustered_standard_error(values: ArrayLike, clusters: Clusters) -> float | None:
    """SE² = (C/(C−1))·n⁻²·Σ_c(Σ_{i∈c}(sᵢ−s̄))² (Miller 2024, with the small-sample factor); None for fewer than two clusters."""
    x = np.asarray(values, dtype=np.float64)
    if clusters.count < 2:
        return None
    sums = clusters.sums(x - x.mean())
    return sqrt(clusters.count / (clusters.count - 1) * float(sums @ sums)) / x.size


def design_effect(values: ArrayLike, clusters: Clusters) -> float | None:
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


def clustered_t(values: ArrayLike, clusters: Clusters, low: float | None = None, high: float | None = None) -> Estimate:
    """The mean of values that come in clusters, with the clustered standard error and C−1 degrees of freedom."""
    x = _checked(values)
    return _around(x, clustered_standard_error(x, clusters), clusters.count - 1, "clustered_t", low, high)


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


def item_means(items: Sequence[int], values: Sequence[float], count: int, attempts: int = 1) -> Values:
    """The mean of each of `count` items' values; NaN for an item with fewer than `attempts` of them, which is not finished."""
    places = np.asarray(items, dtype=np.intp)
    sums, seen = np.bincount(places, weights=np.asarray(values, dtype=np.float64), minlength=count), np.bincount(places, minlength=count)
    return np.where(seen == attempts, sums / attempts, np.nan)
