"""What a lease hands in and asks for: money and mark ahead of what it starts, nothing twice, nothing kept idle."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from gateway.metering import Price
from runs.engine.handing import AHEAD, LEAST_AHEAD, collect, take_back
from runs.engine.lane import Lane
from runs.engine.loading import SubjectWork
from runs.engine.work import Batch, Grant, Lease, Outcome
from runs.runners.builtin import TaskSpec

SUBJECT, BENCHMARK = 7, 3
PRICE = Price(1, Decimal(1_000_000), Decimal(1_000_000), Decimal(1_000_000), Decimal(0))


class Worst:
    """A runner that only knows what an attempt may cost: its task's `prompt_bytes`."""

    @staticmethod
    def worst_case(spec: TaskSpec, output_limit: int, price: Price) -> int:
        return spec.prompt_bytes


def spec(position: int, worst: int = 10) -> TaskSpec:
    return TaskSpec(position, position, position, f"t{position}", worst, 1, {}, "1", cell=position)


def subject_work(price: Price = PRICE) -> SubjectWork:
    view = SimpleNamespace(price=price, output_limit=64)
    return cast(SubjectWork, SimpleNamespace(view=view, runner=Worst(), calls_nothing=False, target=None))


def lease(worsts: Sequence[int], *, slots: int = 4, shard: int = 1, slice_: int = 0, primed: bool = True) -> Lease:
    grant = Grant(1, uuid4(), 1, SUBJECT, BENCHMARK, shard, 1, slots, 0, 10_000, 0)
    made = Lease(grant, deque(spec(position, worst) for position, worst in enumerate(worsts)), slots, 0)
    made.is_primed, made.slice_microusd = primed, slice_
    return made


def in_loop[T](work: Callable[[], T]) -> T:
    """A lane belongs to a running loop."""

    async def run() -> T:
        return work()

    return asyncio.run(run())


def collected(*leases: Lease, lane: Lane | None = None, price: Price = PRICE, now: float = 0.0) -> dict[int, Batch]:
    def work() -> dict[int, Batch]:
        known = lane or Lane(sum(each.slots for each in leases), on_room=lambda: None)
        found = collect(leases, {SUBJECT: known}, {(SUBJECT, BENCHMARK): subject_work(price)}, now)
        return {batch.shard_id: batch for _, batch in found}

    return in_loop(work)


def finish(each: Lease, cells: int) -> None:
    """Start the next cells and let them end."""
    for _ in range(cells):
        done = each.pending.popleft()
        each.used_microusd += done.prompt_bytes
        each.outcomes.append(Outcome(done, uuid4(), "graded", done.prompt_bytes))


def test_first_batch_asks_for_money_and_mark_ahead() -> None:
    fresh = lease([10] * 100, slots=4, primed=False)
    batch = collected(fresh)[1]
    ahead = max(LEAST_AHEAD, AHEAD * 4)
    assert (batch.slice_wanted, batch.slice_least, batch.sent_through, batch.release) == (10 * ahead, 10, ahead, False)


def test_lease_with_nothing_new_hands_in_nothing_until_it_must_be_renewed() -> None:
    quiet = lease([10] * 100, slice_=160)
    assert collected(quiet) == {}
    assert list(collected(quiet, now=5.0)) == [1]


def test_finished_cells_lower_the_slice_by_what_they_had_reserved() -> None:
    working = lease([10] * 100, slice_=160)
    finish(working, 3)
    batch = collected(working)[1]
    assert (len(batch.outcomes), batch.slice_kept, working.used_microusd, working.outcomes) == (3, 130, 0, [])


def test_slice_that_covers_half_of_what_is_ahead_but_not_the_next_attempt_asks_for_it() -> None:
    """It was as much as half of what is ahead, so nothing was asked for, and nothing could be started: the loop spun for ever."""
    stuck = lease([100], slice_=60)
    stuck.is_dirty = True
    batch = collected(stuck)[1]
    assert (batch.slice_wanted, batch.slice_least) == (40, 40)


@given(
    worsts=st.lists(st.integers(1, 200), min_size=1, max_size=40),
    slice_=st.integers(0, 5_000),
    slots=st.integers(1, 20),
    starved=st.booleans(),
)
def test_lease_whose_next_attempt_is_not_covered_always_asks_for_it(worsts: list[int], slice_: int, slots: int, starved: bool) -> None:
    asking = lease(worsts, slice_=slice_, slots=slots)
    asking.is_dirty, asking.is_starved = True, starved
    batch = collected(asking)[1]
    missing = asking.pending[0].prompt_bytes - asking.free_microusd
    assert batch.slice_kept == asking.slice_microusd <= slice_
    if missing > 0:
        assert batch.slice_least == missing
        assert batch.slice_wanted >= missing
    else:
        assert batch.slice_least == 0


def test_idle_money_goes_back() -> None:
    rich = lease([10] * 3, slice_=1_000)
    rich.is_dirty = True
    assert (collected(rich)[1].slice_kept, rich.slice_microusd) == (30, 30)


def test_starved_lease_tries_the_cheapest_first_and_marks_all_of_its_shard() -> None:
    starved = lease([50, 20, 90, 10], slice_=5)
    starved.is_starved = True
    batch = collected(starved)[1]
    assert [each.prompt_bytes for each in starved.pending] == [10, 20, 50, 90]
    assert (batch.slice_least, batch.is_last_ask, batch.sent_through) == (5, True, 10_000)


def test_starved_lease_with_attempts_on_their_way_does_not_give_up_yet() -> None:
    starved = lease([50], slice_=5)
    starved.is_starved = starved.is_dirty = True
    starved.running.add(cast(Any, object()))
    batch = collected(starved)[1]
    assert (batch.is_last_ask, batch.release) == (False, False)


def test_parked_lease_is_released_with_what_it_needs() -> None:
    parked = lease([50, 20], slice_=5)
    parked.is_starved = parked.is_parked = True
    batch = collected(parked)[1]
    assert (batch.release, batch.parked_need, batch.slice_kept, batch.is_done) == (True, 50, 0, False)


def test_lease_without_work_is_released_as_done() -> None:
    batch = collected(lease([], slice_=30))[1]
    assert (batch.release, batch.is_done, batch.slice_kept, batch.parked_need) == (True, True, 0, None)


def test_lease_that_gives_way_waits_for_its_calls_and_is_not_done() -> None:
    giving = lease([10] * 5, slice_=50)
    giving.is_closing = giving.is_dirty = True
    giving.running.add(cast(Any, object()))
    waiting = collected(giving)[1]
    assert (waiting.release, waiting.slice_wanted, waiting.sent_through) == (False, 0, 0)
    giving.running.clear()
    batch = collected(giving)[1]
    assert (batch.release, batch.is_done, batch.parked_need) == (True, False, None)


def test_unprimed_lease_is_never_released_by_its_first_write() -> None:
    assert collected(lease([], primed=False))[1].release is False


def test_slots_of_a_lease_without_work_go_to_one_with_work() -> None:
    ending, going = lease([], slots=8, shard=1), lease([10] * 50, slots=0, shard=2, slice_=500)
    batches = collected(ending, going)
    assert (batches[1].slots, batches[1].release, batches[2].slots) == (0, True, 8)


def test_slots_of_a_lease_that_gives_way_go_to_nobody_here() -> None:
    giving, going = lease([10] * 5, slots=8, shard=1), lease([10] * 50, slots=1, shard=2, slice_=500)
    giving.is_closing = True
    batches = collected(giving, going, now=9.0)
    assert (batches[1].release, batches[2].slots, going.slots) == (True, 1, 1)


def test_free_subject_asks_for_no_money() -> None:
    free = lease([0] * 50, primed=False)
    zero = Price(None, Decimal(0), Decimal(0), Decimal(0), Decimal(0))
    batch = collected(free, price=zero)[1]
    assert (batch.slice_wanted, batch.slice_kept, batch.sent_through) == (0, 0, max(LEAST_AHEAD, AHEAD * 4))


def test_what_could_not_be_written_is_handed_in_again_with_the_same_money() -> None:
    working = lease([10] * 100, slice_=160)
    finish(working, 3)

    def twice() -> tuple[Batch, Batch]:
        lane = Lane(4, on_room=lambda: None)
        lane.retry_at, lane.retry_at_changed = 100.0, True
        args: Any = ([working], {SUBJECT: lane}, {SUBJECT: subject_work()}, 0.0)
        ((_, first),) = collect(*args)
        take_back(working, lane, first)
        ((_, second),) = collect(*args)
        return first, second

    first, second = in_loop(twice)
    assert [outcome.public_id for outcome in first.outcomes] == [outcome.public_id for outcome in second.outcomes]
    assert (first.slice_kept, first.retry_in) == (second.slice_kept, second.retry_in) == (130, 100.0)


def test_mark_never_falls_and_stays_ahead_of_what_may_be_started() -> None:
    working = lease([10] * 100, slots=4, slice_=1_000)
    marks = []
    for _ in range(12):
        finish(working, min(7, len(working.pending)))
        batch = collected(working)[1]
        marks.append(batch.sent_through)
        working.sent_through = batch.sent_through
        working.slice_microusd += batch.slice_wanted
        assert batch.sent_through >= min(100, working.pending[0].position + LEAST_AHEAD if working.pending else 100) or batch.release
    assert marks == sorted(marks)
