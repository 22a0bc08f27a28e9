"""The executor's loop: whom it serves, what it survives, and when it ends."""

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import LazySettings
from django.db import OperationalError

from gateway.models import Call
from runs.engine import executor
from runs.engine.executor import Executor
from runs.models import Event, Run, Sample, Shard
from runs.runners.builtin import BuiltinRunner
from tests import factories
from tests.runs.handwork import Hand, assert_books, die, execute, positions, shards_of, subject_of, verdicts, work_out
from tests.runs.working import start, sums
from tests.standins.chat import ChatServer, Faults
from tests.standins.http import Reply
from workspaces.actors import SYSTEM

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]

type Start = Callable[..., Run]


def theirs(endpoint: str, *, tasks: int = 20, **request: Any) -> Run:
    """A run of another workspace."""
    workspace = factories.make_workspace("Theirs", credit=10_000_000)
    version, route = factories.make_version(tasks=tasks), factories.make_route(endpoint=endpoint, model="theirs")
    return start(workspace, SYSTEM, model=route.route_id, benchmark=version.profile_id, coverage={"mode": "full"}, **request)


def test_executor_without_work_ends(start_sums: Start) -> None:
    assert execute() == 0


def test_slots_of_the_process_bound_what_is_in_flight_over_all_runs(start_sums: Start) -> None:
    with ChatServer(sums, latency=0.05) as server:
        runs = [start_sums(tasks=30, routes=2, endpoint=server.url, concurrency=8), theirs(server.url, concurrency=8)]
        execute(slots=6)
        assert server.stats.in_flight_max == 6
    for run in runs:
        assert Run.objects.get(pk=run.pk).phase == "finalizing"
        assert_books(run)


@pytest.mark.usefixtures("small_shards")
def test_workspace_with_much_work_gives_way_to_another_after_its_turn(
    start_sums: Start, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shards are short and pass their slots on from one to the next: none of its leases is ever as old as a turn."""
    settings.ENGINE_TURN_SECONDS = 0.1
    with ChatServer(sums, latency=0.004) as server:
        long = start_sums(tasks=1_500, endpoint=server.url, concurrency=4)
        late = theirs(server.url, concurrency=4)
        Shard.objects.filter(run=late).update(parked_need_microusd=1)
        original = executor.exchange

        def exchange(*args: Any) -> Any:
            if server.stats.by_model["m0"] > 40:
                Shard.objects.filter(run=late).update(parked_need_microusd=None)  # it arrives
            return original(*args)

        monkeypatch.setattr(executor, "exchange", exchange)
        execute(slots=4, should_stop=lambda: server.stats.by_model["theirs"] == 20)
    assert subject_of(late).graded == 20
    assert subject_of(long).processed < 1_000
    for run in (long, late):
        assert_books(run)


@pytest.mark.usefixtures("small_shards")
def test_run_of_several_shards_is_worked_in_order(start_sums: Start) -> None:
    with ChatServer(sums) as server:
        run = work_out(start_sums(tasks=130, endpoint=server.url, concurrency=6))
        order = [int(asked.question.split()[2]) for asked in server.requests]
    assert (run.status, subject_of(run).correct) == ("completed", 130)
    assert max(order[:14]) < 20
    assert Event.objects.filter(run=run, type="capacity.lease_lost").count() == 0


def test_write_that_fails_is_made_again_and_nothing_is_lost_or_doubled(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    original, calls = executor.exchange, 0

    def exchange(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % 3 == 0:
            raise OperationalError("database is locked")
        acks = original(*args)
        if calls % 5 == 0:
            raise OperationalError("the connection was lost after the commit")
        return acks

    monkeypatch.setattr(executor, "exchange", exchange)
    with ChatServer(sums, latency=0.002) as server:
        run = work_out(start_sums(tasks=80, routes=2, endpoint=server.url, concurrency=5))
        assert server.stats.answered == 160
    assert (run.status, run.processed, Call.objects.count()) == ("completed", 160, 160)


def test_leasing_that_fails_is_tried_again(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("candidates", "take_lease", "load_subject", "load_pending"):
        original, failed = getattr(executor, name), []

        def once(*args: Any, original: Any = original, failed: list[int] = failed, **options: Any) -> Any:
            if not failed:
                failed.append(1)
                raise OperationalError("the server closed the connection")
            return original(*args, **options)

        monkeypatch.setattr(executor, name, once)
    monkeypatch.setattr(executor, "IDLE_SECONDS", 0.3)
    with ChatServer(sums) as server:
        run = work_out(start_sums(tasks=20, endpoint=server.url))
    assert (run.status, subject_of(run).correct) == ("completed", 20)


def test_write_that_always_fails_for_one_run_does_not_stop_another(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    original = executor.exchange

    def exchange(owner: str, run_id: int, batches: Any) -> Any:
        if run_id == bad.pk:
            raise ValueError("something that was not thought of")
        return original(owner, run_id, batches)

    monkeypatch.setattr(executor, "exchange", exchange)
    with ChatServer(sums, latency=0.002) as server:
        bad, good = start_sums(tasks=20, endpoint=server.url), start_sums(tasks=60, endpoint=server.url, concurrency=4)
        monkeypatch.setattr(executor, "LIFETIME_SECONDS", 1.0)
        monkeypatch.setattr(Executor, "_retire", lambda self: self.leases.clear())  # it would try the bad one for ever
        execute()
    assert subject_of(good).correct == 60
    assert Sample.objects.filter(subject__run=bad).count() == 0


def test_subject_that_cannot_be_loaded_is_stopped_and_the_others_finish(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    original = executor.load_subject

    def load(subject_id: int, run_benchmark_id: int) -> Any:
        if subject_id == broken:
            raise KeyError("a manifest without a grader")
        return original(subject_id, run_benchmark_id)

    monkeypatch.setattr(executor, "load_subject", load)
    with ChatServer(sums) as server:
        run = start_sums(tasks=20, routes=2, endpoint=server.url)
        broken = subject_of(run).pk
        work_out(run)
    first, second = run.subjects.all()
    assert (first.stopped_code, second.correct, run.status) == ("internal_error", 20, "partial")


def test_grader_that_breaks_on_an_answer_makes_that_cell_an_uncharged_error(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    original = BuiltinRunner.grade

    def grade(self: BuiltinRunner, spec: Any, answer: str) -> Any:
        if spec.position == 3:
            raise RecursionError("nested too deep")
        return original(self, spec, answer)

    monkeypatch.setattr(BuiltinRunner, "grade", grade)
    with ChatServer(sums) as server:
        run = start_sums(tasks=30, routes=1, endpoint=server.url)
        work_out(run)
        assert server.stats.requests == 30
        both = work_out(start_sums(tasks=30, routes=0, model="most-frequent-answer"))
    for each in (run, both):
        sample = Sample.objects.get(subject__run=each, position=3)
        assert (each.status, sample.status, sample.error_code, sample.charge_microusd) == ("completed", "error", "internal_error", 0)


def test_loop_that_has_had_its_time_gives_its_leases_back_and_the_next_goes_on(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "LIFETIME_SECONDS", 0.15)
    with ChatServer(sums, latency=0.02) as server:
        run = start_sums(tasks=60, endpoint=server.url, concurrency=4)
        execute()
        assert 0 < subject_of(run).processed < 60
        assert (Shard.objects.get().lease_expires_at, Shard.objects.get().suspects) == (None, {})
        assert_books(run)
        monkeypatch.setattr(executor, "LIFETIME_SECONDS", 60)
        work_out(run)
        assert server.stats.requests == 60
    assert run.status == "completed"


def test_loop_that_has_had_its_time_does_not_wait_for_a_provider_that_is_gone(
    start_sums: Start, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ENGINE_RENEW_SECONDS = 0.02
    monkeypatch.setattr(executor, "LIFETIME_SECONDS", 0.4)
    with ChatServer(reply=lambda asked: Reply(503, {"error": {"message": "Gone."}}, hold=False)) as server:
        run = start_sums(tasks=30, endpoint=server.url)
        execute()
    assert (subject_of(run).status, Shard.objects.get().lease_expires_at) == ("waiting", None)
    assert_books(run)


def test_lease_that_is_lost_is_dropped_and_its_calls_are_cancelled(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a worker that froze: while it holds calls in flight its lease goes to another, who finishes; its own write is refused."""
    original, done = executor.exchange, []

    def exchange(*args: Any) -> Any:
        if len(server.requests) >= 10 and not done:
            done.append(1)
            shard = shards_of(run)[0]
            Shard.objects.filter(pk=shard.pk).update(lease_expires_at="2020-01-01T00:00:00Z")
            die()
            other = Hand("other")
            grant = other.take(shard)
            other.finish(grant, 40)
        return original(*args)

    monkeypatch.setattr(executor, "exchange", exchange)
    with ChatServer(sums, latency=0.01) as server:
        run = start_sums(tasks=40, endpoint=server.url, concurrency=4)
        work_out(run)
        assert len(server.requests) < 40
    assert (run.status, positions(run)) == ("completed", list(range(40)))
    assert verdicts(run) == {(0, position): ("graded", True) for position in range(40)}


@pytest.mark.usefixtures("small_shards")
def test_lease_that_lived_on_the_slots_of_a_lost_one_is_given_back(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had none of its own: it would have been renewed for a day without a call."""
    original, done = executor.exchange, []

    def exchange(owner: str, run_id: int, batches: Any) -> Any:
        slotted = Shard.objects.filter(lease_owner=owner, slots__gt=0)
        if Shard.objects.filter(lease_owner=owner).count() == 2 and not done:
            done.append(1)
            slotted.update(lease_expires_at="2020-01-01T00:00:00Z")
            die()
        return original(owner, run_id, batches)

    monkeypatch.setattr(executor, "exchange", exchange)
    with ChatServer(sums, latency=0.002, faults=Faults(rate_500=0.05)) as server:
        run = start_sums(tasks=90, endpoint=server.url, concurrency=8)
        work_out(run)
    assert (run.status, subject_of(run).correct, done) == ("completed", 90, [1])


@pytest.mark.usefixtures("small_shards")
def test_two_executors_one_after_the_other_share_a_run_without_doubling(start_sums: Start) -> None:
    with ChatServer(sums, latency=0.003) as server:
        run = start_sums(tasks=130, endpoint=server.url, concurrency=8)
        for mark in (30, 60, 90):
            execute(should_stop=lambda mark=mark: server.stats.answered >= mark)
            assert_books(run)
        work_out(run)
        assert server.stats.answered_twice == 0
    assert (run.status, subject_of(run).correct) == ("completed", 130)


def test_attempt_that_is_ended_before_it_began_is_given_back(start_sums: Start) -> None:
    """A task that is cancelled before its first step never runs: its cell stayed on its way for ever, and its lease with it."""
    stopping: list[int] = []

    class Hasty(Executor):
        def _start(self, *args: Any) -> None:
            super()._start(*args)
            stopping.append(1)
            self._shut_down()
            self._cut_off_overdue()

    with ChatServer(sums) as server:
        run = start_sums(tasks=30, endpoint=server.url)
        async_to_sync(Hasty(should_stop=lambda: bool(stopping)).run)()
        assert server.stats.requests == 0
        assert (Shard.objects.get().lease_expires_at, subject_of(run).processed) == (None, 0)
        assert_books(run)
        assert work_out(run).status == "completed"


def test_loop_that_only_waits_for_a_slow_answer_writes_nothing_meanwhile(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    original, writes = executor.exchange, 0

    def exchange(*args: Any) -> Any:
        nonlocal writes
        writes += 1
        return original(*args)

    monkeypatch.setattr(executor, "exchange", exchange)
    with ChatServer(sums, latency=0.5) as server:
        work_out(start_sums(tasks=4, endpoint=server.url))
    assert writes < 15  # a loop that spins would write a hundred times


def test_process_without_a_share_in_a_saturated_subject_ends_without_trying_to_lease_it(
    start_sums: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start_sums(tasks=1_000, concurrency=4)
    Hand().take(shards_of(run)[0], slots=4)
    tries: list[Any] = []
    monkeypatch.setattr(executor, "take_lease", lambda *args, **options: tries.append(args))
    assert (execute(), tries) == (0, [])
