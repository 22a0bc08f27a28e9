"""Statistics from one value a task: means, clusters, bootstrap, and which of them is chosen when."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.statistics import ACCURACY, Estimate, Metric, wilson
from runs.statistics.bootstrap import bootstrap_mean, bootstrap_p, draws, median, ratio, resampled_means, resampled_medians
from runs.statistics.choosing import estimate_difference, estimate_score, has_few_clusters
from runs.statistics.means import (
    Clusters,
    Values,
    clustered_standard_error,
    clustered_t,
    design_effect,
    mean_t,
    standard_error,
    t_quantile,
    t_test,
)

GRADED = Metric(key="overlap", name="Overlap", is_binary=False)
UNBOUNDED = Metric(key="seconds", name="Seconds", is_binary=False, low=None, high=None)

CLUSTERED = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1], dtype=float)
FIVE_CLUSTERS = Clusters.of([0] * 4 + [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4)


def numbered(estimate: Estimate | None) -> tuple[float, float, float, str]:
    """The estimate's value and limits to four digits, and its method."""
    assert estimate
    assert estimate.interval
    return round(estimate.value, 4), round(estimate.interval.low, 4), round(estimate.interval.high, 4), estimate.interval.method


def test_clusters_reference_values_give_the_reference_errors() -> None:
    naive, clustered = standard_error(CLUSTERED), clustered_standard_error(CLUSTERED, FIVE_CLUSTERS)
    assert naive
    assert clustered
    assert CLUSTERED.mean() == 0.6
    assert (round(naive, 4), round(clustered, 4), round(clustered * (4 / 5) ** 0.5, 4)) == (0.1124, 0.2031, 0.1817)
    assert round(t_quantile(4), 3) == 2.776
    assert design_effect(CLUSTERED, FIVE_CLUSTERS) == pytest.approx((clustered / naive) ** 2)


def test_clustered_t_spans_t_times_the_clustered_error() -> None:
    assert numbered(clustered_t(CLUSTERED, FIVE_CLUSTERS)) == (0.6, 0.0361, 1.1639, "clustered_t")
    assert numbered(clustered_t(CLUSTERED, FIVE_CLUSTERS, 0, 1)) == (0.6, 0.0361, 1.0, "clustered_t")


def test_clusters_of_one_give_the_plain_error() -> None:
    values = np.array([0.1, 0.4, 0.35, 0.9, 0.2])
    assert clustered_standard_error(values, Clusters.of(range(5))) == pytest.approx(standard_error(values))


def test_clusters_empty_labels_stand_alone() -> None:
    clusters = Clusters.of(["p", "", "q", "p", ""])
    assert (clusters.codes.tolist(), clusters.count) == ([0, 1, 2, 0, 3], 4)
    some = clusters.at([2, 4, 0, 3])
    assert (some.codes.tolist(), some.count) == ([1, 2, 0, 0], 3)


def test_mean_t_agrees_with_scipy() -> None:
    from scipy import stats

    values = np.random.default_rng(3).normal(2, 5, 40)
    ours = mean_t(values)
    low, high = stats.t.interval(0.95, 39, loc=values.mean(), scale=stats.sem(values))
    assert ours.interval
    assert (ours.interval.low, ours.interval.high, ours.stderr) == pytest.approx((low, high, stats.sem(values)))
    assert t_test(ours.value, ours.stderr or 0, 39) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)


def test_mean_t_one_value_has_no_error_and_none_is_refused() -> None:
    assert mean_t([0.5]) == Estimate(0.5, 1, None, None)
    for wrong in ([], [0.5, float("nan")], [float("inf")]):
        with pytest.raises(ValueError, match="must be a number"):
            mean_t(wrong)


def test_bootstrap_same_seed_draws_alike_and_ten_thousand_times() -> None:
    values = np.array([0.0, 0.2, 0.5, 0.9, 1.0])
    assert resampled_means(values, 7).size == 10_000
    assert bootstrap_mean(values, 7) == bootstrap_mean(values, 7)
    assert (resampled_means(values, 7) != resampled_means(values, 8)).any()
    assert resampled_means(values - 0.25, 7) == pytest.approx(resampled_means(values, 7) - 0.25)


def test_bootstrap_blocks_of_draws_add_up() -> None:
    blocks = list(draws(1500, 1))
    assert len(blocks) > 1
    assert sum(len(block) for block in blocks) == 10_000
    assert all((block.sum(axis=1) == 1500).all() for block in blocks)


def test_bootstrap_mean_agrees_with_scipy_within_what_drawing_leaves_open() -> None:
    from scipy import stats

    values = np.random.default_rng(5).beta(2, 3, 25)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", random_state=np.random.default_rng(1))
    ours = bootstrap_mean(values, 0).interval
    assert ours
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.004)


def test_bootstrap_of_clusters_is_wider_than_of_tasks() -> None:
    tasks, clusters = bootstrap_mean(CLUSTERED, 0).interval, bootstrap_mean(CLUSTERED, 0, FIVE_CLUSTERS).interval
    assert tasks
    assert clusters
    assert clusters.high - clusters.low > 1.3 * (tasks.high - tasks.low)


def test_bootstrap_p_is_never_below_the_sign_test() -> None:
    assert bootstrap_p(resampled_means(np.array([0.2, 0.3]), 0), 2) == 0.5
    assert bootstrap_p(resampled_means(np.full(20, 0.2), 0), 20) == pytest.approx(2 / 10_001)
    assert bootstrap_p(resampled_means(np.array([0.5, -0.5]), 0), 2) == 1.0


def test_median_of_few_values_is_resampled_like_numpy_does() -> None:
    values = np.array([3.0, 9.0, 1.0, 4.0, 7.0, 2.0])
    counts = next(draws(6, 0))[:50]
    assert resampled_medians(values, 0)[:50].tolist() == [float(np.median(np.repeat(values, row.astype(int)))) for row in counts]
    assert numbered(median(values, 0)) == (3.5, 1.5, 8.0, "bootstrap")
    grouped = median(values, 0, Clusters.of([0, 0, 1, 1, 2, 2]))
    assert grouped.value == 3.5


def test_median_of_many_values_takes_order_statistics() -> None:
    assert numbered(median(np.arange(1, 2502)[::-1], 0)) == (1251.0, 1201.0, 1301.0, "order_statistics")


def test_ratio_of_few_is_resampled_and_of_many_is_linearised() -> None:
    random = np.random.default_rng(2)
    cost, right = random.uniform(1, 3, 2400), (random.random(2400) < 0.5).astype(float)
    many, few = ratio(cost, right, 0), ratio(cost[:2000], right[:2000], 0)
    assert many
    assert few
    assert many.interval
    assert few.interval
    assert (many.interval.method, few.interval.method) == ("delta", "bootstrap")
    assert many.value == cost.sum() / right.sum()
    assert few.interval.high - few.interval.low == pytest.approx((many.interval.high - many.interval.low) * 1.2**0.5, rel=0.06)


def test_ratio_without_a_finite_limit_says_so() -> None:
    assert ratio([1, 2], [0, 0], 0) is None
    rarely = ratio([1.0] * 10, [1.0] + [0.0] * 9, 0)
    assert rarely == Estimate(10.0, 10, None, None)


def answers(right: int, n: int) -> Values:
    return np.concatenate([np.ones(right), np.zeros(n - right)])


def test_score_right_or_wrong_takes_wilson() -> None:
    estimate = estimate_score(answers(742, 1319), ACCURACY)
    assert numbered(estimate) == (0.5625, 0.5356, 0.5891, "wilson")
    assert estimate
    assert estimate.stderr
    assert round(estimate.stderr, 4) == 0.0137


def test_score_in_ten_clusters_takes_clusters_and_in_nine_does_not() -> None:
    values = np.tile([1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0], 10)[:60]
    ten, nine, sixty = (Clusters.of(np.arange(60) % count) for count in (10, 9, 60))
    assert numbered(estimate_score(values, ACCURACY, ten))[3] == "clustered_t"
    assert numbered(estimate_score(values, ACCURACY, nine))[3] == "wilson"
    assert numbered(estimate_score(values, GRADED, nine))[3] == "t"
    assert (has_few_clusters(ten), has_few_clusters(nine), has_few_clusters(sixty), has_few_clusters(None)) == (
        False,
        True,
        False,
        False,
    )


def test_score_where_each_task_is_its_own_cluster_is_not_clustered() -> None:
    assert numbered(estimate_score(answers(15, 20), ACCURACY, Clusters.of(range(20))))[3] == "wilson"


@pytest.mark.parametrize("right", [0, 24])
def test_score_all_right_or_all_wrong_takes_wilson_in_clusters_and_graded_too(right: int) -> None:
    expected, twelve = wilson(right, 24), Clusters.of(np.arange(24) // 2)
    for metric, clusters in [(ACCURACY, None), (ACCURACY, twelve), (GRADED, None), (GRADED, twelve)]:
        estimate = estimate_score(answers(right, 24), metric, clusters)
        assert estimate == Estimate(right / 24, 24, 0.0, expected)


def test_score_clusters_that_cancel_out_fall_back_to_wilson() -> None:
    assert numbered(estimate_score(np.tile([1.0, 0.0], 12), ACCURACY, Clusters.of(np.arange(24) // 2)))[3] == "wilson"


def test_score_graded_takes_t_from_thirty_and_bootstrap_below() -> None:
    values = np.random.default_rng(1).beta(8, 2, 40)
    assert numbered(estimate_score(values, GRADED))[3] == "t"
    assert numbered(estimate_score(values[:29], GRADED))[3] == "bootstrap"
    assert estimate_score(values[:0], GRADED) is None


def test_score_that_bounds_nothing_and_does_not_vary_has_no_interval() -> None:
    assert estimate_score(np.full(40, 2.5), UNBOUNDED) == Estimate(2.5, 40, 0.0, None)
    assert estimate_score(np.array([2.5]), UNBOUNDED) == Estimate(2.5, 1, None, None)


def pair(both: int, a_only: int, b_only: int, neither: int) -> tuple[Values, Values]:
    a = np.repeat([1.0, 1.0, 0.0, 0.0], [both, a_only, b_only, neither])
    b = np.repeat([1.0, 0.0, 1.0, 0.0], [both, a_only, b_only, neither])
    return a, b


def test_difference_right_or_wrong_takes_newcombe_and_mid_p() -> None:
    difference = estimate_difference(*pair(150, 15, 5, 30), ACCURACY)
    assert numbered(difference.estimate) == (0.05, 0.0053, 0.0961, "newcombe")
    assert (round(difference.p_value, 5), difference.p_method) == (0.0266, "mcnemar_mid")
    assert difference.p_exact
    assert round(difference.p_exact, 5) == 0.04139
    assert difference.p_mid == difference.p_value


def test_difference_in_clusters_keeps_the_counts_and_takes_the_clustered_test() -> None:
    a, b = pair(40, 16, 6, 38)
    difference = estimate_difference(a, b, ACCURACY, Clusters.of(np.arange(100) % 20))
    assert numbered(difference.estimate)[3] == "clustered_t"
    assert difference.p_method == "clustered_t"
    assert difference.table
    assert (difference.table.a_only, difference.table.b_only) == (16, 6)
    assert difference.p_mid != difference.p_value


def test_difference_of_perfect_twins_in_clusters_is_never_of_no_width() -> None:
    ones = np.ones(20)
    difference = estimate_difference(ones, ones, ACCURACY, Clusters.of(np.arange(20) // 2))
    assert numbered(difference.estimate) == (0.0, -0.1611, 0.1611, "newcombe")
    assert (difference.p_value, difference.p_method) == (1.0, "mcnemar_mid")
    graded = estimate_difference(ones, ones, GRADED, Clusters.of(np.arange(20) // 2))
    assert numbered(graded.estimate) == (0.0, -0.1611, 0.1611, "newcombe")
    assert (graded.p_value, graded.p_method) == (1.0, "bootstrap")


def test_difference_graded_takes_the_paired_t_from_thirty_and_bootstrap_below() -> None:
    from scipy import stats

    random = np.random.default_rng(4)
    a = random.beta(8, 3, 50)
    b = np.clip(a - random.normal(0.04, 0.1, 50), 0, 1)
    many, few = estimate_difference(a, b, GRADED), estimate_difference(a[:20], b[:20], GRADED)
    assert (many.p_method, few.p_method) == ("t", "bootstrap")
    assert many.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert (many.table, many.p_exact, many.p_mid) == (None, None, None)


def test_difference_of_two_tasks_cannot_tell_apart() -> None:
    difference = estimate_difference(np.array([1.0, 0.9]), np.array([0.0, 0.1]), GRADED)
    assert (difference.p_value, difference.p_method) == (0.5, "bootstrap")


def test_difference_the_same_on_every_task_of_an_unbounded_metric_has_no_interval() -> None:
    difference = estimate_difference(np.full(8, 3.0), np.full(8, 1.0), UNBOUNDED)
    assert (difference.estimate, difference.p_value) == (Estimate(2.0, 8, 0.0, None), 2.0**-7)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Metric, Values, Values, Clusters | None]:
    n = draw(st.integers(1, 60))
    metric = draw(st.sampled_from([ACCURACY, GRADED, UNBOUNDED]))
    values = {ACCURACY: st.sampled_from([0.0, 1.0]), GRADED: st.floats(0, 1), UNBOUNDED: st.floats(-1e6, 1e6)}[metric]
    a, b = (np.array(draw(st.lists(values, min_size=n, max_size=n))) for _ in range(2))
    clusters = draw(st.none() | st.lists(st.integers(0, 14), min_size=n, max_size=n))
    return metric, a, b, clusters and Clusters.of(clusters)


@settings(deadline=None)
@given(cases())
def test_any_values_give_finite_figures_inside_the_range(case: tuple[Metric, Values, Values, Clusters | None]) -> None:
    metric, a, b, clusters = case
    score = estimate_score(a, metric, clusters)
    assert score
    assert np.isfinite(score.value)
    if score.interval:
        assert np.isfinite([score.interval.low, score.interval.high]).all()
        assert score.interval.low <= score.interval.high
    if metric.is_share:
        assert score.interval
        assert 0 <= score.interval.low <= score.interval.high <= 1
        assert score.interval.low < score.interval.high
    difference, opposite = estimate_difference(a, b, metric, clusters), estimate_difference(b, a, metric, clusters)
    assert 0 <= difference.p_value <= 1
    assert difference.p_method == opposite.p_method
    assert opposite.estimate.value == pytest.approx(-difference.estimate.value, abs=1e-9)
    if difference.p_method != "bootstrap":
        assert opposite.p_value == pytest.approx(difference.p_value, rel=1e-6, abs=1e-12)
    if metric.is_share:
        assert difference.estimate.interval
        assert -1 <= difference.estimate.interval.low < difference.estimate.interval.high <= 1
