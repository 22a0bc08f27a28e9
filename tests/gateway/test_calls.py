"""A call from its first try to its rows: retries and their waits, the lane's part, money, and what is kept."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest

from gateway import calls
from gateway.calls import CallRecord, call, call_rows, wait_before_retry
from gateway.client import CallError, ChatClient
from gateway.enums import ErrorCode, Outcome, Purpose
from gateway.metering import FREE, Price, worst_case
from gateway.models import Call, CallContent
from tests.gateway.asking import always, in_turn, request, target_at
from tests.standins.chat import ChatServer, Faults, completion, error_body
from tests.standins.http import Reply
from workspaces.models import Workspace

PRICE = Price(None, Decimal(400_000), Decimal(100_000), Decimal(1_600_000), Decimal(5))
SOURCE = uuid.UUID(int=7)
BUSY = Reply(503, error_body("busy"))


class Lane:
    """A lane that lets everything pass and notes what it is told."""

    def __init__(self, slots: int = 100) -> None:
        self.slots = asyncio.Semaphore(slots)
        self.held = self.held_max = 0
        self.closing = False
        self.probing = False
        self.told: list[str] = []
        self.pauses = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        async with self.slots:
            self.held += 1
            self.held_max = max(self.held, self.held_max)
            try:
                yield
            finally:
                self.held -= 1

    async def ready(self) -> None:
        self.pauses += 1

    def succeeded(self) -> None:
        self.told.append("succeeded")

    def failed(self, error: CallError) -> bool:
        self.told.append(error.code.value)
        return self.probing


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, so that eight tries take no second."""
    monkeypatch.setattr(calls, "FIRST_WAIT_SECONDS", 0.002)
    monkeypatch.setattr(calls, "WATCH_SECONDS", 0.01)


def make(server: ChatServer, *, lane: Lane | None = None, price: Price = FREE, reserved: int = 0, **target: Any) -> CallRecord:
    async def once() -> CallRecord:
        async with ChatClient() as client:
            return await call(
                client,
                target_at(server.url, **target),
                request(),
                lane=lane or Lane(),
                price=price,
                reserved_microusd=reserved,
                workspace_id=1,
                source_id=SOURCE,
            )

    return asyncio.run(once())


def test_first_answer_is_recorded_with_its_charge() -> None:
    reserved = worst_case(12, 1, 64, PRICE)
    lane = Lane()
    with ChatServer("The answer is 4", latency=0.03) as server:
        record = make(server, lane=lane, price=PRICE, reserved=reserved)

    assert (record.outcome, record.error_code, record.tries, record.provider_status) == (Outcome.ANSWERED, "", 1, 200)
    assert (record.response, record.finish_reason, record.served_model) == ("The answer is 4", "stop", "m")
    # Three words in and four out: 1.2 + 6.4 = 7.6, so 8, and 5% of it is 0.4, so 1.
    assert (record.input_tokens, record.output_tokens, record.usage_microusd, record.fee_microusd) == (3, 4, 8, 1)
    assert (record.charge_microusd, record.absorbed_microusd, record.reserved_microusd) == (9, 0, reserved)
    assert record.latency_ms >= 30
    assert record.parameters == {"max_tokens": 64, "temperature": 0.0}
    assert lane.told == ["succeeded"]


def test_usage_above_the_reservation_is_charged_up_to_it() -> None:
    usage = {"prompt_tokens": 5_000, "completion_tokens": 90_000_000}
    reserved = worst_case(12, 1, 64, PRICE)
    with ChatServer(reply=always(Reply(body={**completion("4"), "usage": usage}))) as server:
        record = make(server, price=PRICE, reserved=reserved)

    assert record.charge_microusd == reserved
    assert record.absorbed_microusd == 144_002_000 + 7_200_100 - reserved
    assert (record.input_tokens, record.output_tokens) == (5_000, 90_000_000)


def test_without_usage_an_estimate_is_charged_and_marked() -> None:
    with ChatServer("x" * 400, usage=False) as server:
        record = make(server, price=PRICE, reserved=10_000)

    assert (record.input_tokens, record.output_tokens, record.is_estimated) == (3, 100, True)
    assert record.usage_microusd == 162


def test_empty_answer_is_answered_and_marked_empty() -> None:
    with ChatServer(reply=always(Reply(body=completion(None, reasoning_content="hm", finish_reason="length")))) as server:
        record = make(server)

    assert (record.outcome, record.is_empty, record.is_truncated) == (Outcome.ANSWERED, True, True)
    assert (record.response, record.reasoning) == ("", "hm")


@pytest.mark.usefixtures("quick")
def test_failed_tries_are_repeated_and_only_the_answer_is_charged() -> None:
    lane = Lane()
    with ChatServer("4", reply=in_turn(BUSY, Reply(drop=True), Reply(200, b"<html>"), Reply(429, error_body("slow")))) as server:
        record = make(server, lane=lane, price=PRICE, reserved=1_000)

    assert (record.outcome, record.tries, record.error_code, record.error_message) == (Outcome.ANSWERED, 5, "", "")
    assert record.charge_microusd == 4
    assert lane.told == ["provider_overloaded", "connection_error", "malformed_response", "rate_limited", "succeeded"]
    assert lane.pauses == 5


@pytest.mark.usefixtures("quick")
def test_eight_failed_tries_end_the_call_at_no_charge() -> None:
    with ChatServer(reply=always(Reply(500, error_body("boom")))) as server:
        record = make(server, price=PRICE, reserved=1_000)

    assert server.stats.requests == record.tries == 8
    assert (record.outcome, record.error_code, record.provider_status) == (Outcome.FAILED, "provider_error", 500)
    assert record.error_message == "The endpoint answered 500: boom"
    assert (record.charge_microusd, record.reserved_microusd, record.is_empty, record.is_abandoned) == (0, 1_000, False, False)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(401, error_body("no")), ErrorCode.AUTHENTICATION),
        (Reply(429, error_body("no", code="insufficient_quota")), ErrorCode.NO_QUOTA),
        (Reply(404, error_body("no")), ErrorCode.MODEL_NOT_FOUND),
        (Reply(400, error_body("maximum context length")), ErrorCode.CONTEXT_EXCEEDED),
        (Reply(400, error_body("no")), ErrorCode.BAD_REQUEST),
    ],
)
def test_what_no_retry_can_mend_ends_at_once(reply: Reply, code: ErrorCode) -> None:
    lane = Lane()
    with ChatServer(reply=always(reply)) as server:
        record = make(server, lane=lane)

    assert (record.outcome, record.error_code, record.tries) == (Outcome.FAILED, code.value, 1)
    assert lane.told == [code.value]


@pytest.mark.usefixtures("quick")
def test_tries_of_a_probing_lane_do_not_count() -> None:
    lane = Lane()
    lane.probing = True
    with ChatServer("4", reply=in_turn(*[BUSY] * 12)) as server:
        record = make(server, lane=lane)

    assert (record.outcome, record.tries) == (Outcome.ANSWERED, 13)


def test_retry_after_is_waited_for_without_a_slot() -> None:
    lane = Lane(slots=1)

    async def two(url: str) -> tuple[list[str], float]:
        started = time.monotonic()
        order: list[str] = []

        async def one(name: str, url: str) -> None:
            async with ChatClient() as client:
                await call(
                    client, target_at(url), request(name), lane=lane, price=FREE, reserved_microusd=0, workspace_id=1, source_id=SOURCE
                )
                order.append(name)

        await asyncio.gather(one("first", url), one("second", url))
        return order, time.monotonic() - started

    with ChatServer(reply=in_turn(Reply(429, error_body("slow"), {"Retry-After": "0.4"}))) as server:
        order, seconds = asyncio.run(two(server.url))

    assert order == ["second", "first"]
    assert seconds >= 0.4
    assert lane.held_max == 1


@pytest.mark.parametrize(
    ("failures", "retry_after", "least", "most"),
    [
        (1, None, 0.125, 0.25),
        (2, None, 0.25, 0.5),
        (7, None, 8.0, 16.0),
        (8, None, 10.0, 20.0),
        (50, None, 10.0, 20.0),
        (0, None, 0.125, 0.25),
        (3, 1.0, 1.0, 1.05),
        (3, 86_400.0, 60.0, 63.0),
        (1, 0.0, 0.125, 0.25),
    ],
)
def test_waits_grow_with_jitter_and_are_capped(failures: int, retry_after: float | None, least: float, most: float) -> None:
    waits = [wait_before_retry(failures, retry_after) for _ in range(200)]

    assert least <= min(waits)
    assert max(waits) <= most
    assert len(set(waits)) > 100


@pytest.mark.usefixtures("quick")
def test_closing_lane_abandons_a_waiting_call() -> None:
    lane = Lane()

    async def closed_while_waiting(url: str) -> CallRecord:
        async with ChatClient() as client:
            made = asyncio.create_task(
                call(client, target_at(url), request(), lane=lane, price=FREE, reserved_microusd=0, workspace_id=1, source_id=SOURCE)
            )
            while not lane.told:
                await asyncio.sleep(0.01)
            lane.closing = True
            return await asyncio.wait_for(made, 2)

    with ChatServer(reply=always(Reply(429, error_body("slow"), {"Retry-After": "30"}))) as server:
        record = asyncio.run(closed_while_waiting(server.url))

    assert (record.outcome, record.is_abandoned, record.tries, record.error_code) == (Outcome.FAILED, True, 1, "rate_limited")


def test_closed_lane_lets_no_try_begin() -> None:
    lane = Lane()
    lane.closing = True
    with ChatServer() as server:
        record = make(server, lane=lane)

    assert (record.is_abandoned, record.tries, server.stats.requests) == (True, 0, 0)


def test_cancelling_reaches_through_and_frees_the_slot() -> None:
    lane = Lane()

    async def cancelled(url: str) -> None:
        async with ChatClient() as client:
            made = asyncio.create_task(
                call(client, target_at(url), request(), lane=lane, price=FREE, reserved_microusd=0, workspace_id=1, source_id=SOURCE)
            )
            while not lane.held:
                await asyncio.sleep(0.01)
            made.cancel()
            with pytest.raises(asyncio.CancelledError):
                await made

    with ChatServer(latency=5) as server:
        asyncio.run(cancelled(server.url))

    assert lane.held == 0


@pytest.mark.usefixtures("quick")
def test_every_call_of_a_fault_mix_is_answered() -> None:
    lane = Lane(slots=64)

    async def many(url: str) -> list[CallRecord]:
        async with ChatClient() as client:
            target = target_at(url)
            return await asyncio.gather(
                *(
                    call(client, target, request(f"q{n}"), lane=lane, price=FREE, reserved_microusd=0, workspace_id=1, source_id=SOURCE)
                    for n in range(400)
                )
            )

    with ChatServer(lambda messages: messages[0]["content"], faults=Faults(0.05, 0.02, 0.01, seed=3, retry_after="0.05")) as server:
        records = asyncio.run(many(server.url))

    assert [record.response for record in records] == [f"q{n}" for n in range(400)]
    assert server.stats.answered == 400
    assert server.stats.answered_twice == 0
    assert server.stats.requests == sum(record.tries for record in records) > 420
    assert server.stats.in_flight_max <= lane.held_max == 64


def test_rows_keep_everything_the_record_holds(workspace: Workspace) -> None:
    with ChatServer(reply=always(Reply(body=completion("4", model="served-1", reasoning_content="hm")))) as server:
        record = make(server, price=PRICE, reserved=1_000)
    record.workspace_id = workspace.pk

    row, content = call_rows(record)
    Call.objects.bulk_create([row])
    CallContent.objects.bulk_create([content])

    stored = Call.objects.select_related("content").get(source_id=SOURCE)
    names = [field.attname for field in Call._meta.concrete_fields if field.attname != "id"]
    assert {name: getattr(stored, name) for name in names} == {name: getattr(record, name) for name in names}
    assert (stored.purpose, stored.outcome, stored.charge_microusd) == (Purpose.SUBJECT, Outcome.ANSWERED, record.charge_microusd)
    assert (stored.content.response, stored.content.reasoning, stored.content.error_message) == ("4", "hm", "")
    assert stored.content.parameters == {"max_tokens": 64, "temperature": 0.0}


def test_rows_of_a_failed_call_keep_why(workspace: Workspace) -> None:
    with ChatServer(reply=always(Reply(401, error_body("Bad key")))) as server:
        record = make(server)
    record.workspace_id = workspace.pk

    row, content = call_rows(record)
    row.save()
    content.save()

    stored = Call.objects.select_related("content").get(public_id=record.public_id)
    assert (stored.outcome, stored.error_code, stored.provider_status, stored.charge_microusd) == (
        "failed",
        "provider_authentication",
        401,
        0,
    )
    assert stored.content.error_message == "The endpoint answered 401: Bad key"
