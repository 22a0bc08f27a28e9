"""pass@k and pass^k against a count of every sample of k attempts, and what is unbiased about them."""

from itertools import combinations, product
from math import sqrt

import pytest

from runs.statistics import wilson
from runs.statistics.attempts import all_right, any_right, pass_at_k, pass_hat_k
from runs.statistics.means import Clusters, clustered_t, mean_t


def test_every_count_of_up_to_eight_attempts_gives_the_share_of_samples():
    for attempts in range(1, 9):
        for right in range(attempts + 1):
            verdicts = [place < right for place in range(attempts)]
            for k in range(1, attempts + 1):
                samples = list(combinations(verdicts, k))
                assert any_right(right, attempts, k) == pytest.approx(sum(map(any, samples)) / len(samples), abs=1e-12)
                assert all_right(right, attempts, k) == pytest.approx(sum(map(all, samples)) / len(samples), abs=1e-12)


def test_the_ends_are_exact():
    for attempts in (1, 2, 7, 16):
        for k in range(1, attempts + 1):
            assert (any_right(0, attempts, k), any_right(attempts, attempts, k)) == (0.0, 1.0)
            assert (all_right(0, attempts, k), all_right(attempts, attempts, k)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("right", "attempts", "k", "at_least_one", "all_of_them"),
    [
        (1, 2, 1, 0.5, 0.5),
        (1, 2, 2, 1.0, 0.0),
        (3, 10, 5, 1 - 21 / 252, 0.0),  # C(7, 5) / C(10, 5)
        (8, 16, 4, 1 - 70 / 1820, 70 / 1820),  # C(8, 4) / C(16, 4)
    ],
)
def test_reference_values(right, attempts, k, at_least_one, all_of_them):
    assert any_right(right, attempts, k) == pytest.approx(at_least_one, abs=1e-12)
    assert all_right(right, attempts, k) == pytest.approx(all_of_them, abs=1e-12)


def test_thousands_of_attempts_give_numbers():
    # C(10000, 5000) is no float; none of 5,000 in 10,000 with half of them right is a chance that only the product can tell from 0.
    assert any_right(5000, 10_000, 5000) == 1.0
    assert all_right(9_999, 10_000, 5000) == pytest.approx(0.5, abs=1e-9)


def test_the_estimate_is_unbiased():
    # A task that is right with chance 0.3, over every outcome of four attempts with its own chance.
    chance, attempts = 0.3, 4
    for k in range(1, attempts + 1):
        at_least_one = every = 0.0
        for outcome in product((0, 1), repeat=attempts):
            right = sum(outcome)
            weight = chance**right * (1 - chance) ** (attempts - right)
            at_least_one += weight * any_right(right, attempts, k)
            every += weight * all_right(right, attempts, k)
        assert at_least_one == pytest.approx(1 - (1 - chance) ** k, abs=1e-12)
        assert every == pytest.approx(chance**k, abs=1e-12)


def test_one_attempt_is_a_share_with_the_interval_of_wilson():
    right = [1] * 25 + [0] * 5
    for estimate in (pass_at_k(right, 1, 1), pass_hat_k(right, 1, 1)):
        assert (estimate.value, estimate.n, estimate.interval) == (25 / 30, 30, wilson(25, 30))
        assert estimate.stderr == pytest.approx(sqrt(25 / 30 * 5 / 30 / 29), abs=1e-12)


def test_the_error_is_over_tasks():
    right = [0, 1, 2, 3, 4] * 8
    for function, of_task in ((pass_at_k, any_right), (pass_hat_k, all_right)):
        for k in (1, 2, 3):
            assert function(right, 4, k) == mean_t([of_task(count, 4, k) for count in right], 0.0, 1.0)


def test_one_of_all_and_all_of_all_are_shares_of_tasks():
    right = [0, 1, 2, 3, 4] * 8
    assert pass_at_k(right, 4, 4).interval == wilson(32, 40)
    assert pass_hat_k(right, 4, 4).interval == wilson(8, 40)
    assert (pass_at_k(right, 4, 4).value, pass_hat_k(right, 4, 4).value) == (0.8, 0.2)


def test_the_first_of_each_is_the_mean_of_the_tasks():
    right = [0, 1, 2, 3, 4] * 8
    assert pass_at_k(right, 4, 1).value == pass_hat_k(right, 4, 1).value == pytest.approx(0.5, abs=1e-12)


def test_tasks_all_alike_leave_an_interval_with_a_width():
    for right in ([4] * 20, [0] * 20):
        for function in (pass_at_k, pass_hat_k):
            estimate = function(right, 4, 2)
            assert estimate.stderr == 0.0
            assert estimate.interval == wilson(20 * estimate.value, 20)


def test_few_tasks_take_the_bootstrap_and_the_same_seed_the_same_draws():
    right = [0, 1, 2, 3, 4, 4, 4]
    estimate = pass_at_k(right, 4, 2, seed=7)
    assert estimate.interval is not None
    assert estimate.interval.method == "bootstrap"
    assert estimate == pass_at_k(right, 4, 2, seed=7)


def test_clusters_of_tasks_are_used():
    right = [0, 1, 2, 3, 4, 0, 4, 4] * 6
    clusters = Clusters.of([f"passage {place // 4}" for place in range(len(right))])
    assert pass_at_k(right, 4, 2, clusters) == clustered_t([any_right(count, 4, 2) for count in right], clusters, 0.0, 1.0)


@pytest.mark.parametrize(("right", "attempts", "k"), [([], 4, 1), ([1], 4, 0), ([1], 4, 5), ([5], 4, 1), ([-1], 4, 1)])
def test_what_cannot_be_is_refused(right, attempts, k):
    for function in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match=r"attempt|tasks"):
            function(right, attempts, k)
