"""Which method when: the interval of a score and the comparison of two, from one value a task."""

from dataclasses import dataclass

import numpy as np

from runs.statistics.bootstrap import bootstrap_mean, bootstrap_p, resampled_means
from runs.statistics.intervals import Estimate, Interval, wilson
from runs.statistics.means import Clusters, Values, clustered_t, mean_t, standard_error, t_test
from runs.statistics.metric import Metric
from runs.statistics.pairs import Table, mcnemar, newcombe, newcombe_paired

FEWEST_CLUSTERS = 10
"""Below this the number of clusters says too little, and the unclustered method is used with a notice."""

FEWEST_FOR_T = 30
"""Below this many graded values the bootstrap is used."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What two subjects' values on the same tasks say of their difference, first minus second."""

    estimate: Estimate
    p_value: float
    p_method: str
    table: Table | None = None
    """Of right-or-wrong metrics."""
    p_exact: float | None = None
    p_mid: float | None = None


def has_few_clusters(clusters: Clusters | None) -> bool:
    """True where the values come in clusters, too few to be used: the notice `few_clusters`."""
    return clusters is not None and clusters.count < min(FEWEST_CLUSTERS, clusters.codes.size)


def estimate_score(values: Values, metric: Metric, clusters: Clusters | None = None, seed: int = 0) -> Estimate | None:
    """The mean and its 95% interval; None without values. `clusters` is parallel to the values."""
    n = values.size
    if not n:
        return None
    if not np.ptp(values):
        return _estimate_of_equals(values, metric)
    if (used := _usable(clusters)) is not None:
        clustered = clustered_t(values, used, metric.low, metric.high)
        if _varies(clustered.stderr):
            return clustered
    if metric.is_binary:
        return Estimate(float(values.mean()), n, standard_error(values), wilson(float(values.sum()), n))
    if n >= FEWEST_FOR_T:
        return mean_t(values, metric.low, metric.high)
    return bootstrap_mean(values, seed)


def estimate_difference(a: Values, b: Values, metric: Metric, clusters: Clusters | None = None, seed: int = 0) -> Difference:
    """The paired difference of two subjects on the same tasks, its interval and its p. Raises ValueError without tasks."""
    if not a.size:
        raise ValueError("Two subjects without a common task have no difference.")
    differences = a - b
    table = _table(a, b) if metric.is_binary else None
    exact, mid = mcnemar(table.a_only, table.b_only) if table else (None, None)
    if (used := _usable(clusters)) is not None and np.ptp(differences):
        estimate = clustered_t(differences, used, *_difference_range(metric))
        if _varies(estimate.stderr):
            p = t_test(estimate.value, estimate.stderr or 0.0, used.count - 1)
            return Difference(estimate, p, "clustered_t", table, exact, mid)
    if table and mid is not None:
        value, interval = newcombe_paired(table)
        return Difference(Estimate(value, a.size, standard_error(differences), interval), mid, "mcnemar_mid", table, exact, mid)
    return _graded_difference(a, b, metric, seed)


def _graded_difference(a: Values, b: Values, metric: Metric, seed: int) -> Difference:
    differences = a - b
    n, different = a.size, int(np.count_nonzero(differences))
    method = "t" if n >= FEWEST_FOR_T else "bootstrap"
    if not np.ptp(differences):
        # Every task says the same: the sign test is all there is, and an interval of no width would claim too much.
        value = float(differences.mean())
        interval = None
        if metric.is_share:
            interval = newcombe(float(a.mean()), wilson(float(a.sum()), n), float(b.mean()), wilson(float(b.sum()), n))
        return Difference(Estimate(value, n, standard_error(differences), interval), min(1.0, 2.0 ** (1 - different)), method)
    if method == "t":
        estimate = mean_t(differences, *_difference_range(metric))
        return Difference(estimate, t_test(estimate.value, estimate.stderr or 0.0, n - 1), method)
    estimate = bootstrap_mean(differences, seed)
    return Difference(estimate, bootstrap_p(resampled_means(differences, seed), different), method)


def _estimate_of_equals(values: Values, metric: Metric) -> Estimate:
    """All right, all wrong, or all alike: Wilson, whose width is never zero; no interval for metrics that are no shares."""
    value, n = float(values[0]), values.size
    interval: Interval | None = wilson(value * n, n) if metric.is_share else None
    return Estimate(value, n, 0.0 if n > 1 else None, interval)


def _usable(clusters: Clusters | None) -> Clusters | None:
    """The clusters where they are enough to be used, and some value does not stand alone."""
    return clusters if clusters is not None and FEWEST_CLUSTERS <= clusters.count < clusters.codes.size else None


def _varies(stderr: float | None) -> bool:
    """False for what rounding leaves of a zero: clusters that cancel out exactly say nothing of the error."""
    return stderr is not None and stderr > 1e-12


def _table(a: Values, b: Values) -> Table:
    both, first, second = int(a @ b), int(a.sum()), int(b.sum())
    return Table(both, first - both, second - both, a.size - first - second + both)


def _difference_range(metric: Metric) -> tuple[float | None, float | None]:
    if metric.low is None or metric.high is None:
        return None, None
    return metric.low - metric.high, metric.high - metric.low
