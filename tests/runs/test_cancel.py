"""Cancelling: nothing new starts, what is on its way may end, what does not is of unknown outcome and costs nothing."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from common.errors import Conflict, Forbidden, Refused
from gateway.models import Call
from runs.actions import cancel_run, continue_run, start_run
from runs.engine import executor
from runs.models import Event, Run, Sample, Shard
from tests import factories
from tests.runs.handwork import Hand, answers, assert_books, end, event_types, execute, positions, shards_of, subject_of, work_out
from tests.runs.working import sums
from tests.standins.chat import Asked, ChatServer, error_body
from tests.standins.http import Reply
from workspaces.actors import Actor, actor_of_user
from workspaces.models import User, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]

type Start = Callable[..., Run]


@pytest.fixture
def cancel_at(actor: Actor, monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> Callable[[Run, Callable[[], bool]], None]:
    """Has the run cancelled as soon as the condition holds, between two writes of the executor."""
    settings.ENGINE_RENEW_SECONDS = 0.02
    original = executor.exchange

    def arrange(run: Run, condition: Callable[[], bool]) -> None:
        def exchange(*args: Any) -> Any:
            if condition() and Run.objects.get(pk=run.pk).cancel_requested_at is None:
                cancel_run(run, actor=actor)
            return original(*args)

        monkeypatch.setattr(executor, "exchange", exchange)

    return arrange


def test_calls_on_their_way_end_graded_and_charged_and_nothing_more_is_sent(
    start_sums: Start, cancel_at: Callable[[Run, Callable[[], bool]], None]
) -> None:
    with ChatServer(sums, latency=0.05) as server:
        run = start_sums(tasks=60, endpoint=server.url, concurrency=5)
        cancel_at(run, lambda: server.stats.requests >= 10)
        work_out(run)
        sent = server.stats.requests
    assert (run.status, run.interruption["reason"], run.interruption["unfinished"]) == ("cancelled", "cancelled", 60 - sent)
    assert 10 <= sent <= 20
    assert (Sample.objects.filter(subject__run=run, status="graded").count(), Shard.objects.get().unknown) == (sent, [])
    assert run.spend_microusd == sum(call.charge_microusd for call in Call.objects.all()) > 0
    assert run.cancelled_by_label != ""


def test_calls_that_do_not_end_are_recorded_as_unknown_and_cost_nothing(
    start_sums: Start, cancel_at: Callable[[Run, Callable[[], bool]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "GRACE_SECONDS", 0.1)

    def slow(asked: Asked) -> Reply | None:
        return Reply(delay=30, body={}) if int(asked.question.split()[2]) in {2, 3} else None

    with ChatServer(sums, reply=slow) as server:
        run = start_sums(tasks=30, endpoint=server.url, concurrency=2)
        cancel_at(run, lambda: server.stats.in_flight == 2)
        work_out(run)
    assert (run.status, positions(run)) == ("cancelled", [0, 1])
    assert Shard.objects.get().unknown == [2, 3]
    unknown = list(Call.objects.filter(outcome="unknown"))
    assert [(call.charge_microusd, call.tries, call.reserved_microusd > 0) for call in unknown] == [(0, 1, True)] * 2


def test_attempts_that_wait_for_their_next_try_end_at_once(start_sums: Start, cancel_at: Callable[[Run, Callable[[], bool]], None]) -> None:
    """They have nothing on their way: nobody waits for them, and their outcome is not unknown."""
    with ChatServer(reply=lambda asked: Reply(429, error_body("Slow down."), {"Retry-After": "50"}, hold=False)) as server:
        run = start_sums(tasks=10, endpoint=server.url, concurrency=5)
        cancel_at(run, lambda: server.stats.requests >= 5)
        began = time.monotonic()
        work_out(run)
    assert time.monotonic() - began < 10
    assert (run.status, run.processed, Shard.objects.get().unknown, Call.objects.count()) == ("cancelled", 0, [], 0)


def test_many_attempts_that_wait_for_a_slot_end_as_unfinished_not_as_errors(
    start_sums: Start, cancel_at: Callable[[Run, Callable[[], bool]], None]
) -> None:
    def limited(asked: Asked) -> Reply | None:
        return Reply(429, error_body("Slow down."), {"Retry-After": "0.01"}, hold=False) if asked.number <= 3 else None

    with ChatServer(sums, latency=0.02, reply=limited) as server:
        run = start_sums(tasks=100, endpoint=server.url, concurrency=32)
        cancel_at(run, lambda: server.stats.requests >= 90)
        work_out(run)
    assert (run.status, run.errors) == ("cancelled", 0)


def test_waiting_subject_is_cancelled_without_waiting_for_its_provider(
    start_sums: Start, cancel_at: Callable[[Run, Callable[[], bool]], None]
) -> None:
    with ChatServer(reply=lambda asked: Reply(503, error_body("Gone."), hold=False)) as server:
        run = start_sums(tasks=30, endpoint=server.url, concurrency=10)
        cancel_at(run, lambda: "capacity.waiting" in event_types(run))
        work_out(run)
    assert (run.status, run.processed, subject_of(run).status) == ("cancelled", 0, "done")


def test_cancelling_again_changes_nothing(start_sums: Start, actor: Actor, member: User) -> None:
    run = start_sums()
    first = cancel_run(run, actor=actor)
    again = cancel_run(Run.objects.get(pk=run.pk), actor=actor_of_user(member))
    assert (again.cancel_requested_at, again.cancelled_by_label) == (first.cancel_requested_at, first.cancelled_by_label)
    assert event_types(run) == ["run.queued", "run.cancel_requested"]


def test_ended_or_ending_run_cannot_be_cancelled(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(tasks=3), Hand()
    hand.finish(hand.take(shards_of(run)[0]), 3)
    for _ in range(2):
        with pytest.raises(Conflict) as caught:
            cancel_run(Run.objects.get(pk=run.pk), actor=actor)
        assert (caught.value.code, caught.value.status) == ("run_ended", 409)
        end(run)
    assert run.status == "completed"


def test_viewer_and_stranger_may_not_cancel(start_sums: Start, viewer: User, stranger: User) -> None:
    run = start_sums()
    for person in (viewer, stranger):
        with pytest.raises(Forbidden):
            cancel_run(run, actor=actor_of_user(person))
    assert Run.objects.get().cancel_requested_at is None


def test_cancel_that_comes_with_the_last_answer_leaves_a_completed_run(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(tasks=3), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 3)
    cancel_run(run, actor=actor)
    ack = hand.hand_in(grant, answers(grant, 3), release=True)
    assert ack.run_closing
    assert (end(run).status, run.interruption) == ("completed", None)
    assert_books(run)


def test_deadline_ends_a_run_as_a_cancel_does_and_is_named(
    start_sums: Start, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ENGINE_RENEW_SECONDS = 0.02
    monkeypatch.setattr(executor, "GRACE_SECONDS", 0.1)
    with ChatServer(sums, reply=lambda asked: Reply(delay=30, body={}) if asked.question == "What is 5 + 5?" else None) as server:
        run = start_sums(tasks=2_000, endpoint=server.url, concurrency=2)
        Run.objects.filter(pk=run.pk).update(deadline_at=timezone.now() + timedelta(seconds=1.5))
        work_out(run)
    assert (run.status, run.interruption["reason"]) == ("partial", "time_limit")
    assert [position for shard in Shard.objects.filter(run=run) for position in shard.unknown] in ([5], [])
    assert run.processed > 0


def cancelled_with_unknown(start_sums: Start, actor: Actor, **request: Any) -> Run:
    """A run of 20 tasks that was cancelled with five answers, and two calls of unknown outcome."""
    run, hand = start_sums(**request), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 7)
    hand.hand_in(grant, answers(grant, 5))
    cancel_run(run, actor=actor)
    hand.hand_in(grant, unknown=[5, 6])
    hand.hand_in(grant, release=True, is_done=False)
    assert end(run).status == "cancelled"
    assert_books(run)
    return run


def refusal(run: Run, actor: Actor, **options: Any) -> tuple[str, dict[str, Any]]:
    with pytest.raises(Refused) as caught:
        continue_run(run, actor=actor, **options)
    return caught.value.code, caught.value.details


def test_continuing_a_cancelled_run_needs_each_consent_by_itself(start_sums: Start, actor: Actor) -> None:
    run = cancelled_with_unknown(start_sums, actor)
    assert refusal(run, actor) == ("cancelled_run", {})
    assert refusal(run, actor, include_cancelled=True) == ("unknown_outcomes_left_out", {"unknown": 2})
    assert refusal(run, actor, include_cancelled=True, retry_unknown=True, retry_unknown_max=1) == (
        "too_many_unknown_outcomes",
        {"unknown": 2},
    )
    again = continue_run(run, actor=actor, include_cancelled=True, retry_unknown=True, retry_unknown_max=2)
    assert {name: again.plan_document["continuation"][name] for name in ("reused", "rerun", "pending", "unknown_retry", "left_out")} == {
        "reused": 5, "rerun": 0, "pending": 15, "unknown_retry": 2, "left_out": [],
    }  # fmt: skip
    rest = continue_run(run, actor=actor, include_cancelled=True, accept_left_out=True)
    assert rest.plan_document["continuation"]["left_out"] == [{"reason": "unknown_outcome", "count": 2}]
    assert rest.ceiling_microusd < again.ceiling_microusd


def test_own_endpoint_needs_consent_to_being_billed_twice(workspace: Workspace, start_sums: Start, actor: Actor) -> None:
    factories.make_connection(workspace, name="ours")
    run = cancelled_with_unknown(start_sums, actor, routes=0, model="connection:ours")
    consent = {"include_cancelled": True, "retry_unknown": True}
    assert refusal(run, actor, **consent)[0] == "duplicate_provider_charges"
    assert continue_run(run, actor=actor, **consent, accept_duplicate_provider_charges=True).ceiling_microusd == 0


def test_left_out_cells_are_not_run_and_stay_unknown_for_the_next_continuation(start_sums: Start, actor: Actor) -> None:
    run = cancelled_with_unknown(start_sums, actor)
    quote = continue_run(run, actor=actor, include_cancelled=True, accept_left_out=True)
    with ChatServer(sums) as server:
        subject_of(run).route.__class__.objects.update(endpoint=server.url)  # type: ignore[union-attr]
        again = work_out(start_run(quote, actor=actor)[0])
        assert server.stats.requests == 13
        assert (again.status, again.interruption["reason"], again.interruption["unfinished"]) == ("cancelled", "cancelled", 2)
        assert sorted(set(range(20)) - set(positions(again))) == [5, 6]
        assert refusal(again, actor, include_cancelled=True)[0] == "unknown_outcomes_left_out"
        assert refusal(again, actor, include_cancelled=True, accept_left_out=True)[0] == "nothing_to_continue"
        last = start_run(continue_run(again, actor=actor, include_cancelled=True, retry_unknown=True), actor=actor)[0]
        work_out(last)
        assert server.stats.requests == 15
    assert (last.status, positions(last)) == ("completed", list(range(20)))


@pytest.mark.usefixtures("small_shards")
def test_shard_with_nothing_but_left_out_cells_is_not_leased_and_does_not_keep_the_run_alive(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(tasks=30), Hand()
    first, second = (hand.take(shard, slots=8) for shard in shards_of(run))
    hand.reserve(first, 3)
    hand.hand_in(first, answers(first, 3))
    hand.reserve(second, 10)
    hand.hand_in(second, answers(second, 8))
    cancel_run(run, actor=actor)
    hand.hand_in(second, unknown=[28, 29])
    for grant in (first, second):
        hand.hand_in(grant, release=True, is_done=False)
    end(run)
    again = start_run(continue_run(run, actor=actor, include_cancelled=True, accept_left_out=True), actor=actor)[0]
    assert [(shard.start, shard.is_done, shard.unknown) for shard in shards_of(again)] == [(0, False, []), (20, True, [28, 29])]
    grant = hand.take(shards_of(again)[0])
    hand.reserve(grant, 17)
    hand.hand_in(grant, answers(grant, 17), release=True)
    assert (end(again).status, again.interruption["unfinished"]) == ("cancelled", 2)
    assert_books(again)


def latched(condition: Callable[[], bool]) -> Callable[[], bool]:
    """What was true once stays true, as a signal does."""
    seen: list[bool] = []

    def so() -> bool:
        if not seen and condition():
            seen.append(True)
        return bool(seen)

    return so


def test_worker_that_is_told_to_stop_gives_its_leases_back_and_another_finishes(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "SHUTDOWN_SECONDS", 0.1)
    stalling = threading.Event()

    def stall(asked: Asked) -> Reply | None:
        if len(server.requests) > 20 and not stalling.is_set():
            return Reply(delay=30, body={})
        return None

    with ChatServer(sums, reply=stall) as server:
        run = start_sums(tasks=60, endpoint=server.url, concurrency=4)
        execute(should_stop=latched(lambda: server.stats.in_flight == 4 and server.stats.requests > 20))
        shard = Shard.objects.get()
        assert (shard.lease_expires_at, shard.slots, shard.unknown, Run.objects.get().phase) == (None, 0, [], "running")
        assert_books(run)
        stalling.set()
        work_out(run)
    assert (run.status, subject_of(run).correct) == ("completed", 60)


def test_own_endpoint_that_was_cut_off_by_a_stop_may_bill_twice_and_says_so(
    workspace: Workspace, start_sums: Start, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    monkeypatch.setattr(executor, "SHUTDOWN_SECONDS", 0.05)
    with ChatServer(sums, reply=lambda asked: Reply(delay=30, body={})) as server:
        factories.make_connection(workspace, name="ours", endpoint=server.url)
        run = start_sums(tasks=10, routes=0, model="connection:ours")
        execute(should_stop=latched(lambda: server.stats.in_flight == 10))
    assert subject_of(run).notes == ["possible_duplicate_provider_charge"]
    assert Event.objects.filter(run=run, type="capacity.lease_lost").count() == 0
