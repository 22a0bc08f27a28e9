"""Statistics from counts, against published and recomputed reference values, to the digits shown."""

import subprocess
import sys
from itertools import combinations
from math import comb, isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.statistics import (
    Table,
    holm,
    items_needed,
    letters,
    mcnemar,
    missing_bounds,
    newcombe_paired,
    rank_ranges,
    smallest_difference,
    smallest_difference_seen,
    wilson,
)

tables = st.builds(Table, *[st.integers(0, 400)] * 4).filter(lambda table: table.n > 0)


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [
        (0, 20, 0, 0.1611),
        (20, 20, 0.8389, 1),
        (1, 20, 0.0089, 0.2361),
        (15, 20, 0.5313, 0.8881),
        (25, 30, 0.6644, 0.9266),
        (150, 200, 0.6857, 0.8049),
        (164, 164, 0.9771, 1),
        (742, 1319, 0.5356, 0.5891),
    ],
)
def test_wilson_reference_counts_give_the_reference_limits(right: int, n: int, low: float, high: float) -> None:
    interval = wilson(right, n)
    assert (round(interval.low, 4), round(interval.high, 4), interval.method, interval.level) == (low, high, "wilson", 0.95)


@given(st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_any_counts_give_an_interval_with_width_around_the_share(counts: tuple[int, int]) -> None:
    right, n = counts
    interval, mirrored = wilson(right, n), wilson(n - right, n)
    assert 0 <= interval.low <= right / n <= interval.high <= 1
    assert interval.low < interval.high
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1 - interval.low), abs=1e-12)


@pytest.mark.parametrize(("right", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_wilson_impossible_counts_are_refused(right: int, n: int) -> None:
    with pytest.raises(ValueError, match="is no share"):
        wilson(right, n)


@pytest.mark.parametrize(
    ("a_only", "b_only", "exact", "mid"),
    [
        (5, 0, 0.0625, 0.03125),
        (8, 2, 0.10938, 0.06543),
        (10, 2, 0.03857, 0.02246),
        (15, 5, 0.04139, 0.02660),
        (60, 40, 0.05689, 0.04604),
    ],
)
def test_mcnemar_reference_counts_give_the_reference_p(a_only: int, b_only: int, exact: float, mid: float) -> None:
    assert tuple(round(p, 5) for p in mcnemar(a_only, b_only)) == (exact, mid)


@pytest.mark.parametrize("both", [0, 1, 7, 5000])
def test_mcnemar_equal_counts_give_one(both: int) -> None:
    assert mcnemar(both, both) == (1.0, 1.0)


@given(st.integers(0, 600), st.integers(0, 600))
def test_mcnemar_any_counts_agree_with_the_sum_of_whole_numbers(a_only: int, b_only: int) -> None:
    exact, mid = mcnemar(a_only, b_only)
    m, k = a_only + b_only, min(a_only, b_only)
    if a_only == b_only:
        assert (exact, mid) == (1, 1)
    else:
        assert exact == pytest.approx(min(1.0, 2 * sum(comb(m, i) for i in range(k + 1)) / 2**m), rel=1e-12)
        assert mid == pytest.approx(2 * sum(comb(m, i) for i in range(k)) / 2**m + comb(m, k) / 2**m, rel=1e-11, abs=1e-300)
    assert mcnemar(b_only, a_only) == (exact, mid)


@pytest.mark.parametrize(("a_only", "b_only"), [(501, 500), (600, 401), (12_000, 12_300), (50_000, 49_000), (90_000, 10)])
def test_mcnemar_many_tasks_agree_with_scipy(a_only: int, b_only: int) -> None:
    from scipy.special import bdtr

    m, k = a_only + b_only, min(a_only, b_only)
    assert mcnemar(a_only, b_only)[0] == pytest.approx(2 * float(bdtr(k, m, 0.5)), rel=1e-8)


@pytest.mark.parametrize(
    ("table", "difference", "low", "high"),
    [
        (Table(70, 8, 2, 20), 0.06, -0.0046, 0.1261),
        (Table(150, 15, 5, 30), 0.05, 0.0053, 0.0961),
        (Table(700, 60, 40, 200), 0.02, 0.0003, 0.0397),
        (Table(20, 0, 0, 0), 0, -0.1611, 0.1611),
    ],
)
def test_newcombe_reference_tables_give_the_reference_limits(table: Table, difference: float, low: float, high: float) -> None:
    value, interval = newcombe_paired(table)
    assert (value, round(interval.low, 4), round(interval.high, 4), interval.method) == (difference, low, high, "newcombe")


@given(tables)
def test_newcombe_any_table_gives_an_interval_with_width_around_the_difference(table: Table) -> None:
    value, interval = newcombe_paired(table)
    assert -1 <= interval.low <= value <= interval.high <= 1
    assert interval.low < interval.high
    opposite, mirrored = newcombe_paired(Table(table.both, table.b_only, table.a_only, table.neither))
    assert (opposite, mirrored.low, mirrored.high) == pytest.approx((-value, -interval.high, -interval.low), abs=1e-12)


def test_newcombe_empty_table_is_refused() -> None:
    with pytest.raises(ValueError, match="is no share"):
        newcombe_paired(Table(0, 0, 0, 0))


def test_holm_reference_values_are_adjusted() -> None:
    assert holm([0.001, 0.01, 0.02, 0.03, 0.04, 0.2]) == pytest.approx([0.006, 0.05, 0.08, 0.09, 0.09, 0.2])


def test_holm_keeps_the_order_given() -> None:
    assert holm([0.2, 0.001, 0.04]) == pytest.approx([0.2, 0.003, 0.08])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=28))
def test_holm_any_values_stay_between_their_own_and_bonferroni(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p, q in zip(p_values, adjusted, strict=True):
        assert p <= q <= min(1.0, max(p, len(p_values) * p) if p else max(adjusted))
    by_p = [q for _, q in sorted(zip(p_values, adjusted, strict=True))]
    assert by_p == sorted(by_p)


def test_ranks_overlap_where_the_middle_cannot_be_told_from_either_end() -> None:
    ahead = [(0, 2)]
    assert rank_ranges(3, ahead) == [(1, 2), (1, 3), (2, 3)]
    assert letters(3, ahead) == ["a", "ab", "b"]


@st.composite
def separations(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 8))
    return count, [pair for pair in combinations(range(count), 2) if draw(st.booleans())]


@given(separations())
def test_letters_any_separations_are_shared_exactly_where_not_told_apart(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, ahead = case
    shown = letters(count, ahead)
    for pair in combinations(range(count), 2):
        assert bool(set(shown[pair[0]]) & set(shown[pair[1]])) == (pair not in ahead)
    assert all(name and name == "".join(sorted(set(name))) for name in shown)
    assert shown[0][0] == "a"


@given(separations())
def test_rank_ranges_any_separations_contain_a_rank(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, ahead = case
    for place, (best, worst) in enumerate(rank_ranges(count, ahead)):
        assert 1 <= best <= place + 1 <= worst <= count


@pytest.mark.parametrize(("n", "points"), [(100, 12.5), (500, 5.6), (1000, 4.0), (2000, 2.8), (25, 25.0)])
def test_smallest_difference_reference_sizes_give_the_reference_points(n: int, points: float) -> None:
    assert round(100 * smallest_difference(n), 1) == points


def test_smallest_difference_one_task_is_everything() -> None:
    assert smallest_difference(1) == 1.0
    with pytest.raises(ValueError, match="Without tasks"):
        smallest_difference(0)


def test_smallest_difference_seen_without_a_disagreement_is_not_zero() -> None:
    assert smallest_difference_seen(400, 0) == smallest_difference_seen(400, 5) == smallest_difference(400, 5 / 400)
    assert smallest_difference_seen(400, 80) == smallest_difference(400, 0.2)


@pytest.mark.parametrize(("difference", "items"), [(0.10, 155), (0.05, 626), (0.03, 1742), (0.02, 3923)])
def test_items_needed_reference_differences_give_the_reference_numbers(difference: float, items: int) -> None:
    assert items_needed(difference) == items


@given(st.floats(0.001, 1), st.floats(0, 1))
def test_items_needed_any_difference_is_a_number_of_tasks(difference: float, disagreement: float) -> None:
    assert items_needed(difference, disagreement) >= 1


@pytest.mark.parametrize("difference", [0.0, -0.1, 1.1])
def test_items_needed_impossible_difference_is_refused(difference: float) -> None:
    with pytest.raises(ValueError, match="no difference"):
        items_needed(difference)


def test_missing_bounds_hold_what_the_missing_answers_could_have_been() -> None:
    assert missing_bounds(30, 80, 100) == (0.30, 0.50)
    assert missing_bounds(80, 80, 80) == (1.0, 1.0)
    assert missing_bounds(-3, 2, 4, low=-2, high=2) == (-1.75, 0.25)
    with pytest.raises(ValueError, match="cannot be known"):
        missing_bounds(1, 2, 1)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500))
def test_missing_bounds_any_counts_hold_the_score_of_what_is_known(right: int, wrong: int, missing: int) -> None:
    if not right + wrong:
        return
    low, high = missing_bounds(right, right + wrong, right + wrong + missing)
    assert isfinite(low)
    assert 0 <= low <= right / (right + wrong) <= high <= 1


def test_import_of_what_needs_counts_alone_is_cheap() -> None:
    code = "import sys, runs.statistics; print(sorted({'numpy', 'scipy', 'django'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
