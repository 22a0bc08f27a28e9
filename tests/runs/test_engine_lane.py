"""One subject's limiter: how many tries are in flight, when all wait, and when single probes go out."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gateway.chat import CallError
from gateway.enums import ErrorCode
from runs.engine import lane as lanes
from runs.engine.lane import CellLane, Lane

LIMITED = CallError(ErrorCode.RATE_LIMITED, "slow down", status=429, retry_after=0.05)
BROKEN = CallError(ErrorCode.PROVIDER_ERROR, "broken", status=500)
REFUSED = CallError(ErrorCode.CONTEXT_EXCEEDED, "too long", status=400)


def run[T](work: Callable[[], Awaitable[T]]) -> T:
    async def limited() -> T:
        return await asyncio.wait_for(work(), timeout=5)

    return asyncio.run(limited())


def new_lane(slots: int = 4, *, waiting: bool = False) -> Lane:
    return Lane(slots, on_room=lambda: None, waiting=waiting)


@pytest.fixture(autouse=True)
def short_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "PROBE_PAUSES", (0.01,))


def test_no_more_tries_are_in_flight_than_slots_and_the_first_to_come_is_the_first_served() -> None:
    async def work() -> tuple[list[int], int]:
        lane, order, most = new_lane(2), [], 0

        async def one(number: int) -> None:
            nonlocal most
            async with CellLane(lane).slot():
                order.append(number)
                most = max(most, lane.in_flight)
                await asyncio.sleep(0.001)

        await asyncio.gather(*(one(number) for number in range(6)))
        assert (lane.in_flight, lane.room()) == (0, 2)
        return order, most

    assert run(work) == (list(range(6)), 2)


def test_wait_for_a_slot_that_is_cancelled_while_others_are_released_ends_as_cancelled() -> None:
    """A release passes over a cancelled waiter; that one must still end as cancelled and take no slot with it."""

    async def work() -> None:
        lane = new_lane(1)
        await lane.acquire()
        waiters = [asyncio.create_task(lane.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        for waiter in waiters:
            waiter.cancel()
        lane.release()
        ended = await asyncio.gather(*waiters, return_exceptions=True)
        assert [type(each) for each in ended] == [asyncio.CancelledError] * 3
        assert (lane.in_flight, lane.room()) == (0, 1)

    run(work)


def test_slot_that_was_given_to_a_cancelled_wait_goes_to_the_next() -> None:
    async def work() -> None:
        lane = new_lane(1)
        await lane.acquire()
        first, second = asyncio.create_task(lane.acquire()), asyncio.create_task(lane.acquire())
        await asyncio.sleep(0)
        lane.release()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await second
        assert lane.in_flight == 1

    run(work)


def test_fewer_slots_let_nothing_more_out_and_more_slots_wake_who_waits() -> None:
    async def work() -> None:
        lane = new_lane(2)
        await lane.acquire()
        await lane.acquire()
        lane.resize(1)
        waiter = asyncio.create_task(lane.acquire())
        await asyncio.sleep(0)
        lane.release()
        await asyncio.sleep(0)
        assert (waiter.done(), lane.in_flight) == (False, 1)
        lane.resize(3)
        await waiter
        assert (lane.in_flight, lane.capacity) == (2, 3)

    run(work)


def test_without_slots_nothing_goes_out() -> None:
    async def work() -> tuple[int, int]:
        return new_lane(0).room(), new_lane(0, waiting=True).capacity

    assert run(work) == (0, 0)


def test_a_few_rate_limits_hold_nobody_else_up() -> None:
    async def work() -> tuple[float, float, bool]:
        lane = new_lane(64)
        for number in range(64):
            if number % 20 == 0:
                lane.failed(LIMITED)
            else:
                lane.succeeded()
        return lane.limit, lane.retry_at, lane.retry_at_changed

    assert run(work) == (64.0, 0.0, False)


def test_when_most_tries_are_rate_limited_all_wait_and_fewer_go_out() -> None:
    async def work() -> None:
        lane = new_lane(16)
        for _ in range(16):
            lane.failed(LIMITED)
        assert (lane.limit, lane.retry_at_changed, lane.room()) == (16 * lanes.NARROW_BY, True, 0)
        await lane.ready()
        assert lane.room() == 11

    run(work)


def test_limit_widens_again_while_answers_come() -> None:
    async def work() -> float:
        lane = new_lane(16)
        lane.limit = 4.0
        for _ in range(200):
            lane.succeeded()
        return lane.limit

    assert run(work) == 16.0


def test_twenty_failures_in_a_row_begin_single_probes_which_do_not_count() -> None:
    async def work() -> None:
        lane = new_lane(8)
        counted = [not lane.failed(BROKEN) for _ in range(25)]
        assert counted == [True] * 19 + [False] * 6
        assert (lane.probing, lane.capacity, lane.room()) == (True, 1, 0)

    run(work)


def test_failures_between_answers_are_not_in_a_row() -> None:
    async def work() -> bool:
        lane = new_lane(8)
        for _ in range(5):
            for _ in range(19):
                lane.failed(BROKEN)
            lane.succeeded()
        return lane.probing

    assert run(work) is False


def test_one_answer_ends_the_wait_for_all() -> None:
    async def work() -> None:
        lane, passed = new_lane(8, waiting=True), []

        async def one(number: int) -> None:
            await lane.ready()
            async with CellLane(lane).slot():
                passed.append((number, lane.in_flight))
                await asyncio.sleep(0.02)
                lane.succeeded()

        await asyncio.gather(*(one(number) for number in range(6)))
        assert passed[0] == (0, 1)
        assert sorted(number for number, _ in passed) == list(range(6))
        assert (lane.probing, lane.capacity) == (False, 8)

    run(work)


def test_single_probes_go_out_one_at_a_time() -> None:
    async def work() -> int:
        lane, most, tries = new_lane(8, waiting=True), 0, 0

        async def one() -> None:
            nonlocal most, tries
            while tries < 12:
                await lane.ready()
                async with CellLane(lane).slot():
                    tries += 1
                    most = max(most, lane.in_flight)
                    await asyncio.sleep(0.003)
                    assert lane.failed(BROKEN)

        await asyncio.gather(*(one() for _ in range(5)))
        return most

    assert run(work) == 1


def test_refusal_is_an_answer_and_ends_the_wait() -> None:
    """The last attempt of a waiting subject may end so: were it still waiting then, nobody would ever probe again."""

    async def work() -> tuple[bool, bool]:
        lane = new_lane(8, waiting=True)
        return lane.failed(REFUSED), lane.probing

    assert run(work) == (False, False)


def test_closed_lane_has_no_room_and_lets_nobody_wait() -> None:
    async def work() -> int:
        lane = new_lane(8, waiting=True)
        lane.retry_at = asyncio.get_running_loop().time() + 100
        lane.close()
        await lane.ready()
        return lane.room()

    assert run(work) == 0


def test_cell_knows_whether_its_try_is_on_its_way() -> None:
    async def work() -> None:
        cell = CellLane(new_lane(1))
        async with cell.slot():
            assert cell.is_sending
        assert not cell.is_sending
        with pytest.raises(CallError):
            async with cell.slot():
                raise BROKEN
        assert not cell.is_sending

        async def sent() -> None:
            async with cell.slot():
                await asyncio.sleep(10)

        task = asyncio.create_task(sent())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert cell.is_sending

    run(work)
