"""What several attempts at each task say: that one of k would be right, and that all k would be.

Every task had the same number n of attempts, of which c were right. The estimate of a task needs no fit of a probability: it is the share
of its samples of k attempts, without putting back, that count. The task is the cluster: one value a task, and the error is over tasks.
"""

from collections.abc import Callable, Sequence

import numpy as np

from runs.statistics.choosing import estimate_score
from runs.statistics.intervals import Estimate
from runs.statistics.means import Clusters
from runs.statistics.metric import Metric


def any_right(right: int, attempts: int, k: int) -> float:
    """Of all samples of k of a task's attempts, the share with at least one right: 1 − C(n−c, k) / C(n, k) (Chen et al. 2021)."""
    return 1.0 - all_right(attempts - right, attempts, k)


def all_right(right: int, attempts: int, k: int) -> float:
    """Of all samples of k of a task's attempts, the share with none wrong: C(c, k) / C(n, k) (Yao et al. 2024, pass^k).

    As a product of k shares, since the binomials of many attempts are too large for floats. Raises ValueError outside 1 ≤ k ≤ n and
    0 ≤ c ≤ n.
    """
    if not 1 <= k <= attempts:
        raise ValueError(f"{attempts} attempts hold no sample of {k}.")
    if not 0 <= right <= attempts:
        raise ValueError(f"{right} of {attempts} attempts cannot be right.")
    share = 1.0
    for drawn in range(min(k, right + 1)):  # its last factor is 0 where fewer than k are right
        share *= (right - drawn) / (attempts - drawn)
    return share


def pass_at_k(right: Sequence[int], attempts: int, k: int, clusters: Clusters | None = None, seed: int = 0) -> Estimate:
    """pass@k: the chance that at least one of k attempts at a task is right, unbiased (Chen et al. 2021, arXiv 2107.03374).

    `right` is the number of right attempts of each task that finished all of its `attempts`. The interval is that of a mean of one value a
    task (`choosing.estimate_score`): t, below thirty tasks by bootstrap, Wilson's where each task counts or does not, as with k = n.
    Clusters of tasks, parallel to `right`, widen it. Raises ValueError without tasks and for k outside 1 to `attempts`.
    """
    return _over_tasks(any_right, right, attempts, k, clusters, seed)


def pass_hat_k(right: Sequence[int], attempts: int, k: int, clusters: Clusters | None = None, seed: int = 0) -> Estimate:
    """pass^k: the chance that all of k attempts at a task are right, unbiased (Yao et al. 2024, arXiv 2406.12045).

    Takes and raises what `pass_at_k` does. Both are the mean of the tasks' means for k = 1.
    """
    return _over_tasks(all_right, right, attempts, k, clusters, seed)


def _over_tasks(
    of_task: Callable[[int, int, int], float], right: Sequence[int], attempts: int, k: int, clusters: Clusters | None, seed: int
) -> Estimate:
    known = {count: of_task(count, attempts, k) for count in set(right)}
    values = np.array([known[count] for count in right], dtype=np.float64)
    metric = Metric(key="pass", name="pass", is_binary=k == attempts)
    estimate = estimate_score(values, metric, clusters, seed)
    if estimate is None:
        raise ValueError("Without tasks there is nothing to estimate.")
    return estimate
