"""Many at once, on PostgreSQL, each in a connection of its own; where a lock decides, a control shows the race without it."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from django.db import DatabaseError, connection, connections
from django.db.models import QuerySet
from django.utils import timezone

from billing.actions import grant_credit
from billing.models import Hold
from common.errors import Conflict
from runs.actions import cancel_run, continue_run, create_quote, start_run
from runs.engine.sweeping import sweep, take_back_lease
from runs.enums import Phase
from runs.finalizing import finalize_run
from runs.models import Quote, ResultVersion, Run, Sample, Shard
from runs.queries import events_after
from tests import factories
from tests.runs.handwork import Hand, answers, assert_books, end, expire, pending_of, shards_of, stop, subject_of
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("services"), pytest.mark.django_db(transaction=True)]

type Start = Callable[..., Run]


@pytest.fixture(autouse=True)
def postgresql(transactional_db: None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL: make test-services")


@pytest.fixture(params=[True, False], ids=["locked", "control"])
def locked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether `select_for_update` locks; in the control it does not, and everyone waits a little after reading."""
    if not request.param:
        real = QuerySet.get

        def slow(self: QuerySet, *args: object, **options: object) -> object:  # type: ignore[type-arg]
            found = real(self, *args, **options)
            if getattr(self, "unlocked", False):
                time.sleep(0.1)
            return found

        def unlocked(self: QuerySet, **options: object) -> QuerySet:  # type: ignore[type-arg]
            self.unlocked = True  # type: ignore[attr-defined]
            return self

        monkeypatch.setattr(QuerySet, "select_for_update", unlocked)
        monkeypatch.setattr(QuerySet, "get", slow)
    return bool(request.param)


def at_once[T](*works: Callable[[], T]) -> list[T | Exception]:
    """Run them in threads that begin together; their results, or what they raised."""
    barrier = Barrier(len(works))

    def one(work: Callable[[], T]) -> T | Exception:
        barrier.wait()
        try:
            return work()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(one, works))


def test_quote_started_by_many_at_once_is_one_run(workspace: Workspace, actor: Actor) -> None:
    version, route = factories.make_version(), factories.make_route()
    request = {"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}, "max_charge_microusd": "1000"}
    quote = create_quote(workspace, actor=actor, request=request)
    copies = [Quote.objects.get(pk=quote.pk) for _ in range(4)]
    started = at_once(*(lambda copy=copy: start_run(copy, actor=actor) for copy in copies))
    runs = [each for each in started if isinstance(each, tuple)]
    assert len(runs) == 4
    assert ({run.pk for run, _ in runs}, sorted(created for _, created in runs)) == ({Run.objects.get().pk}, [False, False, False, True])
    assert Hold.objects.count() == 1
    assert_books(Run.objects.get())


def test_run_continued_by_two_quotes_at_once_is_continued_once(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.hand_in(grant, stop=stop())
    hand.hand_in(grant, release=True, is_done=False)
    end(run)
    quotes = [continue_run(run, actor=actor) for _ in range(2)]
    results = at_once(*(lambda quote=quote: start_run(quote, actor=actor) for quote in quotes))
    refused = [each for each in results if isinstance(each, Conflict)]
    assert ([each.code for each in refused], Run.objects.count()) == (["continuation_exists"], 2)
    assert sorted(Quote.objects.filter(source_run=run).values_list("status", flat=True)) == ["open", "started"]


def test_slots_granted_to_many_at_once_stay_within_the_concurrency(start_sums: Start, locked: bool) -> None:
    run, first = start_sums(tasks=2_000, concurrency=10), Hand()
    first.hand_in(first.take(shards_of(run)[0]), release=True, is_done=False)  # the run has begun
    works = [lambda shard=shard, n=n: Hand(f"hand {n}").try_to_take(shard, slots=6) for n, shard in enumerate(shards_of(run))]
    at_once(*works)
    granted = sum(Shard.objects.filter(run=run).values_list("slots", flat=True))
    assert (granted == 10) is locked
    assert (granted > 10) is not locked


def test_shard_is_leased_to_one_of_many(start_sums: Start) -> None:
    run = start_sums()
    shard = shards_of(run)[0]
    grants = at_once(*(lambda n=n: Hand(f"hand {n}").try_to_take(shard) for n in range(4)))
    assert sum(grant is not None for grant in grants) == 1
    assert Shard.objects.get().fence == 1


def test_events_and_counters_written_at_once_have_no_gap_and_lose_nothing(start_sums: Start, locked: bool) -> None:
    run = start_sums(tasks=12, routes=3)
    hands = [Hand(f"hand {index}") for index in range(3)]
    grants = [hand.take(shards_of(run, index)[0]) for index, hand in enumerate(hands)]
    for hand, grant in zip(hands, grants, strict=True):
        hand.reserve(grant, 12)

    def write(index: int) -> None:
        for _ in range(6):
            hands[index].hand_in(grants[index], answers(grants[index], 2))

    results = at_once(*(lambda index=index: write(index) for index in range(3)))
    run.refresh_from_db()
    if locked:
        assert (results, run.processed) == ([None] * 3, 36)
        assert_books(run)
    else:
        assert any(isinstance(result, DatabaseError) for result in results) or run.processed < 36


def test_reader_that_saw_an_event_never_finds_an_earlier_one_later(start_sums: Start) -> None:
    run = start_sums(tasks=20, routes=3)
    hands = [Hand(f"hand {index}") for index in range(3)]
    grants = [hand.take(shards_of(run, index)[0]) for index, hand in enumerate(hands)]
    over, seen = Event(), []

    def read() -> None:
        while not over.is_set():
            found = [event.sequence for event in events_after(run, seen[-1] if seen else 0)]
            seen.extend(found)

    def write(index: int) -> None:
        for _ in range(10):
            hands[index].reserve(grants[index], 2)
            hands[index].hand_in(grants[index], answers(grants[index], 2))

    def writers() -> None:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda index: (write(index), connections.close_all()), range(3)))
        over.set()

    at_once(read, writers)
    seen.extend(event.sequence for event in events_after(run, seen[-1]))
    assert seen == list(range(1, Run.objects.get().last_sequence + 1))
    assert_books(run)


def test_reservations_asked_for_at_once_stay_within_the_cap(start_sums: Start) -> None:
    run = start_sums(routes=4, max_charge_microusd="1000")
    hands = [Hand(f"hand {index}") for index in range(4)]
    grants = [hand.take(shards_of(run, index)[0]) for index, hand in enumerate(hands)]
    acks = at_once(*(lambda n=n: hands[n].hand_in(grants[n], wanted=400, least=400) for n in range(4)))
    assert sorted(ack.granted for ack in acks if not isinstance(ack, Exception)) == [0, 0, 400, 400]
    assert_books(run)


def test_dead_lease_taken_back_by_many_at_once_counts_once(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 3)
    expire(grant)
    now = timezone.now()
    taken = at_once(*(lambda: take_back_lease(grant.shard_id, now) for _ in range(3)))
    assert sorted(map(str, taken)) == ["False", "False", "True"]
    assert Shard.objects.get().suspects == {"0": 1, "1": 1, "2": 1}
    assert_books(run)


def test_result_is_written_by_one_of_many(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    hand.finish(hand.take(shards_of(run)[0]), 20)
    results = at_once(*(lambda: finalize_run(run.pk) for _ in range(3)))
    assert sum(isinstance(result, ResultVersion) for result in results) == 1
    assert not any(isinstance(result, Exception) for result in results)
    assert_books(run)


def test_cancel_and_last_answer_at_once_end_the_run_in_one_way(start_sums: Start, actor: Actor) -> None:
    for _ in range(4):
        run, hand = start_sums(tasks=2), Hand()
        grant = hand.take(shards_of(run)[0])
        hand.reserve(grant, 2)
        outcomes = answers(grant, 2)
        results = at_once(
            lambda run=run: cancel_run(run, actor=actor),
            lambda hand=hand, grant=grant, out=outcomes: hand.hand_in(grant, out, release=True),
        )
        assert not any(isinstance(result, DatabaseError) for result in results)
        assert end(run).status == "completed"
        assert_books(run)


def test_workers_that_take_write_die_and_are_swept_at_once_finish_every_cell_once_without_a_deadlock(start_sums: Start) -> None:
    run = start_sums(tasks=48, routes=3, concurrency=6)
    subjects = [subject_of(run, index) for index in range(3)]
    Shard.objects.filter(run=run).delete()
    benchmark = run.benchmarks.get()
    Shard.objects.bulk_create(
        Shard(run=run, run_benchmark=benchmark, subject=subject, start=start, stop=start + 8, sent_through=start)
        for subject in subjects
        for start in range(0, 48, 8)
    )
    over = Event()

    def is_over() -> bool:
        return over.is_set() or Run.objects.filter(pk=run.pk, phase=Phase.DONE).exists()

    def work(number: int) -> None:
        chance, hand = random.Random(number), Hand(f"hand {number}")
        while not is_over():
            free = list(Shard.objects.filter(run=run, is_done=False, lease_expires_at__isnull=True).order_by("?")[:1])
            grant = hand.try_to_take(free[0], slots=2) if free else None
            if grant is None:
                continue
            cells = min(len(pending_of(grant)), chance.randint(1, 8))
            hand.reserve(grant, cells)
            if chance.random() < 0.15:
                expire(grant)  # it freezes before it has handed in, and goes on when others may have the shard
                time.sleep(0.02)
            hand.hand_in(grant, answers(grant, cells))
            hand.hand_in(grant, release=True)

    def tidy() -> None:
        while not is_over():
            sweep()
            finalize_run(run.pk)

    def pay() -> None:
        while not is_over():
            grant_credit(run.workspace, actor=SYSTEM, amount_microusd=1, reason="a drop")
            Shard.objects.filter(run=run).exists()

    deadline = time.monotonic() + 60

    def watch() -> None:
        while not is_over() and time.monotonic() < deadline:
            time.sleep(0.05)
        over.set()

    results = at_once(*(lambda n=n: work(n) for n in range(4)), tidy, tidy, pay, watch)
    assert results == [None] * len(results)
    run.refresh_from_db()
    assert (run.phase, Sample.objects.filter(subject__run=run).count()) == ("done", 144)
    assert_books(run)
