"""Which tasks a sample holds: the same on every machine, each group its share."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.sampling import Candidate, draw, task_list_sha256

FLAT = [Candidate(ordinal, f"t{ordinal}", "") for ordinal in range(100)]
GROUPED = [Candidate(ordinal, f"t{ordinal}", "big" if ordinal < 60 else "small" if ordinal < 90 else "tiny") for ordinal in range(100)]


def groups_of(ordinals: list[int]) -> Counter[str]:
    return Counter(GROUPED[ordinal].group for ordinal in ordinals)


def test_same_seed_draws_the_same_tasks_in_the_same_order() -> None:
    assert draw(FLAT, count=10, seed=42) == draw(list(reversed(FLAT)), count=10, seed=42)


def test_draw_is_what_it_was_when_it_was_first_released() -> None:
    """A frozen list: a change of the order by which tasks are drawn would change every sample that people repeat by its seed."""
    assert draw(FLAT, count=8, seed=0) == [61, 34, 94, 17, 23, 90, 69, 60]


def test_other_seed_draws_others() -> None:
    assert draw(FLAT, count=10, seed=1) != draw(FLAT, count=10, seed=2)


def test_larger_sample_of_the_same_seed_begins_with_the_smaller_one() -> None:
    assert draw(FLAT, count=40, seed=7)[:15] == draw(FLAT, count=15, seed=7)


@pytest.mark.parametrize(("count", "shares"), [(10, (6, 3, 1)), (20, (12, 6, 2)), (100, (60, 30, 10)), (7, (4, 2, 1)), (1, (1, 0, 0))])
def test_groups_give_their_share_by_largest_remainders(count: int, shares: tuple[int, int, int]) -> None:
    drawn = groups_of(draw(GROUPED, count=count, seed=3))
    assert (drawn["big"], drawn["small"], drawn["tiny"]) == shares


def test_drawn_groups_are_mixed_so_that_a_run_cut_short_saw_all() -> None:
    assert set(groups_of(draw(GROUPED, count=50, seed=5)[:12])) == {"big", "small", "tiny"}


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8), data=st.data())
def test_every_sample_has_its_count_and_no_task_twice(sizes: list[int], data: st.DataObject) -> None:
    candidates = [
        Candidate(ordinal, f"t{ordinal}", f"g{group}")
        for ordinal, group in enumerate(group for group, size in enumerate(sizes) for _ in range(size))
    ]
    count = data.draw(st.integers(1, len(candidates)))
    drawn = draw(candidates, count=count, seed=data.draw(st.integers(0, 2**53)))
    assert len(drawn) == len(set(drawn)) == count
    by_group = Counter(candidates[ordinal].group for ordinal in drawn)
    for group, size in enumerate(sizes):
        exact = size * count / len(candidates)
        assert abs(by_group[f"g{group}"] - exact) < 1


def test_hash_of_a_task_list_depends_on_its_order() -> None:
    assert task_list_sha256(["a", "b"]) != task_list_sha256(["b", "a"])
    assert task_list_sha256(["a", "b"]) == "7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78"
