"""The sweep: workers that died, runs that nobody works, and whatever a lost message left undone."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from billing.models import Budget
from gateway.models import Call
from runs.actions import cancel_run, continue_run, start_run
from runs.engine import sweeping
from runs.engine.sweeping import sweep, take_back_lease
from runs.finalizing import finalize_run
from runs.models import Event, Run, Sample, Shard
from tests import factories
from tests.runs.handwork import (
    Hand,
    answers,
    assert_books,
    die,
    end,
    event_types,
    expire,
    pending_of,
    positions,
    shards_of,
    stop,
    subject_of,
    verdicts,
)
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

type Start = Callable[..., Run]


def die_with(hand: Hand, run: Run, cells: int) -> None:
    """A worker that leases the run's first shard, sends so many cells and dies."""
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, cells)
    die(grant)


def test_dead_lease_returns_its_reservation_and_remembers_what_was_perhaps_sent(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 6)
    hand.hand_in(grant, answers(grant, 2))
    assert Budget.objects.get().reserved_microusd > 0
    die(grant)
    shard = Shard.objects.get()
    assert (shard.lease_owner, shard.lease_expires_at, shard.slots, shard.slice_microusd) == ("", None, 0, 0)
    assert shard.suspects == {"2": 1, "3": 1, "4": 1, "5": 1}
    assert (Budget.objects.get().reserved_microusd, Run.objects.get().phase) == (0, "running")
    assert Event.objects.get(type="capacity.lease_lost").data == {"subject_index": 0, "start": 0, "stop": 20, "perhaps_sent": 4}
    assert_books(run)


def test_live_lease_and_free_shard_are_left_alone(start_sums: Start) -> None:
    run, hand = start_sums(tasks=1_000), Hand()
    grant = hand.take(shards_of(run)[0])
    now = timezone.now()
    assert [take_back_lease(shard.pk, now) for shard in shards_of(run)] == [False, False]
    assert Shard.objects.get(pk=grant.shard_id).lease_owner == "first"


def test_lease_is_taken_back_once(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 3)
    expire(grant)
    now = timezone.now()
    assert [take_back_lease(grant.shard_id, now) for _ in range(2)] == [True, False]
    assert Shard.objects.get().suspects == {"0": 1, "1": 1, "2": 1}
    assert_books(run)


def test_run_whose_workers_die_ends_with_the_verdicts_and_the_charge_of_a_calm_one(start_sums: Start) -> None:
    calm, hand = start_sums(tasks=12), Hand()
    hand.finish(hand.take(shards_of(calm)[0]), 12)
    end(calm)
    stormy = start_sums(tasks=12)
    for finished in (3, 4):
        grant = hand.take(shards_of(stormy)[0])
        hand.reserve(grant, 9)
        hand.hand_in(grant, answers(grant, finished))
        die(grant)
    hand.finish(hand.take(shards_of(stormy)[0]), 12)
    end(stormy)
    assert (stormy.status, stormy.spend_microusd) == ("completed", calm.spend_microusd)
    assert verdicts(stormy) == verdicts(calm)
    assert_books(stormy)


def test_third_dead_lease_makes_the_cells_on_their_way_errors_without_a_charge(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    for _ in range(2):
        die_with(hand, run, 2)
    assert (Shard.objects.get().suspects, Sample.objects.count()) == ({"0": 2, "1": 2}, 0)
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 3)
    hand.hand_in(grant, answers(grant, 1))
    die(grant)
    assert verdicts(run) == {(0, 0): ("graded", True), (0, 1): ("error", None)}
    sample = Sample.objects.get(position=1)
    assert (sample.error_code, sample.charge_microusd, Call.objects.filter(source_id=sample.public_id).count()) == ("worker_lost", 0, 0)
    assert Shard.objects.get().suspects == {"2": 1}
    assert [spec.position for spec in pending_of(hand.take(shards_of(run)[0]))] == list(range(2, 20))
    stored = Event.objects.filter(type="sample.stored").last()
    assert stored is not None
    assert (stored.data["count"], stored.data["errors"]) == (1, {"worker_lost": 1})
    assert_books(run)


def test_run_of_which_the_last_cells_were_lost_ends_and_continues_with_them(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(tasks=30), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 28)
    hand.hand_in(grant, answers(grant, 28), release=True, is_done=False)
    for _ in range(3):
        die_with(hand, run, 2)
    assert (subject_of(run).status, event_types(run)[-2:]) == ("done", ["subject.finished", "run.finalizing"])
    end(run)
    assert (run.status, run.interruption, subject_of(run).errors) == ("completed", None, 2)
    quote = continue_run(run, actor=actor)
    assert {key: quote.plan_document["continuation"][key] for key in ("reused", "rerun", "pending")} == {
        "reused": 28, "rerun": 2, "pending": 0,
    }  # fmt: skip
    again, _ = start_run(quote, actor=actor)
    grant = hand.take(shards_of(again)[0])
    assert [spec.position for spec in pending_of(grant)] == [28, 29]
    hand.finish(grant, 2)
    assert (end(again).status, subject_of(again).correct) == ("completed", 30)
    assert_books(again)


def test_cells_that_answered_meanwhile_are_no_longer_suspects(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    die_with(hand, run, 3)
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 3)
    hand.hand_in(grant, answers(grant, 3))
    die(grant)
    assert Shard.objects.get().suspects == {}


def test_possible_double_bill_is_noted_for_connections_only(workspace: Workspace, start_sums: Start) -> None:
    factories.make_connection(workspace, name="ours")
    managed, own = start_sums(), start_sums(routes=0, model="connection:ours")
    for run in (managed, own):
        die_with(Hand(), run, 2)
        die_with(Hand(), run, 2)
    assert (subject_of(managed).notes, subject_of(own).notes) == ([], ["possible_duplicate_provider_charge"])
    hand = Hand()
    hand.finish(hand.take(shards_of(own)[0]), 20)
    end(own)
    assert "possible_duplicate_provider_charge" in own.results.get().document


def test_dead_lease_that_sent_nothing_notes_nothing(workspace: Workspace, start_sums: Start) -> None:
    factories.make_connection(workspace, name="ours")
    run = start_sums(routes=0, model="connection:ours")
    die(Hand().take(shards_of(run)[0]))
    assert (subject_of(run).notes, Shard.objects.get().suspects) == ([], {})


def test_baseline_sends_nothing_however_often_its_worker_dies(start_sums: Start) -> None:
    run = start_sums(routes=0, model="random-choice")
    for _ in range(4):
        die_with(Hand(), run, 20)
    assert (Shard.objects.get().suspects, Sample.objects.count()) == ({}, 0)


def test_cells_of_unknown_outcome_are_no_suspects(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    for _ in range(4):
        grant = hand.take(shards_of(run)[0])
        hand.reserve(grant, 1, mark=4)
        hand.hand_in(grant, unknown=[0, 1, 2, 3])
        die(grant)
    assert (Shard.objects.get().suspects, Sample.objects.count()) == ({}, 0)


def test_money_of_a_dead_lease_wakes_parked_shards(start_sums: Start) -> None:
    run, hand = start_sums(routes=2, max_charge_microusd="1000"), Hand()
    rich, poor = (hand.take(shards_of(run, index)[0]) for index in range(2))
    hand.hand_in(rich, wanted=1_000, least=1_000)
    hand.hand_in(poor, release=True, is_done=False, parked_need=176)
    assert Shard.objects.get(pk=poor.shard_id).parked_need_microusd == 176
    die(rich)
    assert Shard.objects.get(pk=poor.shard_id).parked_need_microusd is None
    assert_books(run)


def test_run_that_is_cancelled_before_anybody_works_it_ends_with_the_sweep(start_sums: Start, actor: Actor) -> None:
    run = start_sums()
    cancel_run(run, actor=actor)
    end(run)
    assert (run.status, run.phase, run.interruption) == (
        "cancelled",
        "done",
        {"reason": "cancelled", "limit": None, "message": "It was cancelled. What was finished is kept.", "unfinished": 20},
    )
    assert_books(run)


def test_cancelled_run_waits_for_its_leases_and_ends_when_they_die(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 5)
    cancel_run(run, actor=actor)
    assert end(run).phase == "running"
    die(grant)
    finalize_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.interruption["unfinished"]) == ("cancelled", 20)
    assert_books(run)


def test_run_past_its_deadline_ends_with_the_sweep_and_continues(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(), Hand()
    hand.finish(hand.take(shards_of(run)[0]), 5)
    Run.objects.update(deadline_at=timezone.now() - timedelta(seconds=1))
    end(run)
    assert (run.status, run.interruption["reason"], run.interruption["unfinished"]) == ("partial", "time_limit", 15)
    assert continue_run(run, actor=actor).plan_document["continuation"]["pending"] == 15
    assert_books(run)


def test_run_of_which_every_subject_was_stopped_ends(start_sums: Start) -> None:
    run, hand = start_sums(routes=2), Hand()
    for index in range(2):
        grant = hand.take(shards_of(run, index)[0])
        hand.hand_in(grant, stop=stop())
        hand.hand_in(grant, release=True, is_done=False)
    assert (end(run).status, run.interruption["reason"]) == ("failed", "subject_stopped")
    assert_books(run)


def test_run_with_work_that_nobody_does_goes_on_waiting(start_sums: Start) -> None:
    run = start_sums()
    assert end(run).phase == "queued"


def test_finalizing_that_was_never_done_is_found_again(start_sums: Start, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    run, hand = start_sums(tasks=3), Hand()
    hand.finish(hand.take(shards_of(run)[0]), 3)
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr(sweeping, "enqueue", lambda *args, **options: sent.append(args))
    sweep()
    Run.objects.update(finalizing_until=timezone.now() + timedelta(seconds=100))
    sweep()
    Run.objects.update(finalizing_until=timezone.now() - timedelta(seconds=1))
    sweep()
    assert sent == [("runs.finalize_run", str(run.public_id))] * 2


def test_work_is_hinted_as_long_as_some_can_be_leased(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    run, hand = start_sums(tasks=1_000, concurrency=4), Hand()
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr(sweeping, "enqueue", lambda *args, **options: sent.append(args))
    sweep()
    grant = hand.take(shards_of(run)[0], slots=4)
    sweep()
    hand.hand_in(grant, release=True, is_done=False)
    sweep()
    assert sent == [("runs.execute",)] * 2


def test_one_run_that_cannot_be_swept_does_not_keep_the_others_waiting(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, sound = start_sums(), start_sums()
    grants = [Hand().take(shards_of(run)[0]) for run in (broken, sound)]
    original = sweeping.take_back_lease

    def take_back(shard_id: int, now: Any) -> bool:
        if shard_id == grants[0].shard_id:
            raise RuntimeError("a row that nobody thought of")
        return original(shard_id, now)

    monkeypatch.setattr(sweeping, "take_back_lease", take_back)
    die(*grants)
    leased = Shard.objects.filter(lease_expires_at__isnull=False)
    assert list(leased.values_list("run_id", flat=True)) == [broken.pk]
    assert positions(sound) == []
