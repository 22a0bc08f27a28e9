"""Leases: who may work a shard, with how many slots, and which shards are looked at."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from runs.actions import cancel_run
from runs.engine.granting import LOOK_AT, Candidate, candidates, workspaces_in_turn
from runs.engine.sweeping import sweep
from runs.models import Run, Shard, Subject
from tests import factories
from tests.runs.handwork import Hand, assert_books, die, event_types, expire, shards_of, subject_of
from tests.runs.working import start
from workspaces.actors import SYSTEM, Actor

pytestmark = pytest.mark.django_db

type Start = Callable[..., Run]


def found(**options: object) -> list[int]:
    return [candidate.shard_id for candidate in candidates(timezone.now(), **options)]  # type: ignore[arg-type]


def test_first_lease_starts_the_run_and_the_second_does_not(start_sums: Start) -> None:
    run = start_sums(tasks=600)
    first, second = shards_of(run)
    grant = Hand().take(first, slots=4)
    assert (grant.start, grant.stop, grant.fence, grant.slots) == (0, 500, 1, 4)
    Hand("second").take(second, slots=4)
    run.refresh_from_db()
    assert (run.status, run.phase, run.started_at is not None) == ("running", "running", True)
    assert event_types(run) == ["run.queued", "run.started"]


def test_leased_shard_is_not_leased_again(start_sums: Start) -> None:
    shard = shards_of(start_sums())[0]
    Hand().take(shard)
    assert Hand("second").try_to_take(shard) is None
    assert Shard.objects.get(pk=shard.pk).lease_owner == "first"


def test_fence_rises_with_each_grant(start_sums: Start) -> None:
    run = start_sums()
    shard = shards_of(run)[0]
    hand = Hand()
    fences = []
    for _ in range(3):
        grant = hand.take(shard)
        fences.append(grant.fence)
        hand.hand_in(grant, release=True)
    die(hand.take(shard))
    fences.append(hand.take(shard).fence)
    assert fences == [1, 2, 3, 5]


def test_slots_of_all_leases_of_a_subject_stay_within_its_concurrency(start_sums: Start) -> None:
    run = start_sums(tasks=2_000, concurrency=10)
    first, second, third, fourth = shards_of(run)
    one, two = Hand("one"), Hand("two")
    granted = [one.take(first, slots=6).slots, two.take(second, slots=6).slots]
    assert granted == [6, 4]
    assert two.try_to_take(third) is None
    assert Shard.objects.get(pk=third.pk).fence == 0
    shared = one.take(third, holds_subject=True)
    assert shared.slots == 0
    one.hand_in(shared, release=True)
    assert_books(run)
    assert Hand("three").try_to_take(fourth) is None


def test_slots_of_a_dead_lease_come_back_with_the_sweep_and_not_before(start_sums: Start) -> None:
    run = start_sums(tasks=1_000, concurrency=10)
    first, second = shards_of(run)
    dead = Hand("dead").take(first, slots=10)
    expire(dead)
    assert Hand().try_to_take(second) is None
    sweep()
    assert Hand().take(second, slots=16).slots == 10
    assert_books(run)


def test_one_subject_takes_no_slots_from_another(start_sums: Start) -> None:
    run = start_sums(routes=2, concurrency=3)
    assert [Hand().take(shards_of(run, index)[0]).slots for index in range(2)] == [3, 3]


def test_shard_that_is_done_parked_or_of_a_stopped_subject_is_not_leased(start_sums: Start) -> None:
    run = start_sums(routes=3)
    done, parked, stopped = (shards_of(run, index)[0] for index in range(3))
    Shard.objects.filter(pk=done.pk).update(is_done=True)
    Shard.objects.filter(pk=parked.pk).update(parked_need_microusd=10)
    Subject.objects.filter(pk=stopped.subject_id).update(status="stopped")
    assert [Hand().try_to_take(shard) for shard in (done, parked, stopped)] == [None] * 3
    assert list(Shard.objects.filter(run=run).values_list("fence", "lease_owner")) == [(0, "")] * 3
    assert found() == []


def test_run_that_was_cancelled_or_ends_is_not_leased(start_sums: Start, actor: Actor) -> None:
    cancelled, ending = start_sums(), start_sums()
    shards = [shards_of(run)[0] for run in (cancelled, ending)]
    cancel_run(cancelled, actor=actor)
    Run.objects.filter(pk=ending.pk).update(phase="finalizing")
    assert [Hand().try_to_take(shard) for shard in shards] == [None, None]
    assert found() == []


def test_candidates_come_in_order_of_task_range_so_that_subjects_keep_pace(start_sums: Start) -> None:
    run = start_sums(tasks=1_200, routes=2)
    assert found() == [
        shard.pk for pair in zip(shards_of(run, 0), shards_of(run, 1), strict=True) for shard in sorted(pair, key=lambda shard: shard.pk)
    ]


def test_subject_that_is_told_to_wait_is_not_looked_at_before_its_time(start_sums: Start) -> None:
    run = start_sums()
    Subject.objects.filter(run=run).update(retry_at=timezone.now() + timedelta(seconds=30))
    assert found() == []
    Subject.objects.filter(run=run).update(retry_at=timezone.now())
    assert found() == [shards_of(run)[0].pk]


def test_run_past_its_deadline_is_not_looked_at(start_sums: Start) -> None:
    run = start_sums()
    Run.objects.filter(pk=run.pk).update(deadline_at=timezone.now())
    assert found() == []


def test_subject_without_free_slots_is_looked_at_by_who_holds_it_alone(start_sums: Start) -> None:
    """Another process could only try and fail, again and again."""
    run = start_sums(tasks=1_000, concurrency=4)
    first, second = shards_of(run)
    Hand().take(first, slots=4)
    assert found() == []
    assert found(held=[subject_of(run).pk]) == [second.pk]


def test_workspace_with_many_shards_does_not_hide_the_others(start_sums: Start, actor: Actor) -> None:
    crowd = start_sums(tasks=2)
    subject = subject_of(crowd)
    Shard.objects.bulk_create(
        Shard(run=crowd, run_benchmark=crowd.benchmarks.get(), subject=subject, start=start, stop=start + 1)
        for start in range(2, 2 + 4 * LOOK_AT)
    )
    late = factories.make_workspace("Late", credit=10_000_000)
    version = factories.make_version(tasks=10)
    other = start(late, SYSTEM, model="random-choice", benchmark=version.profile_id, coverage={"mode": "full"})
    looked_at = found()
    assert len(looked_at) == LOOK_AT + 1
    assert shards_of(other)[0].pk in looked_at


def test_workspaces_take_turns_and_the_one_served_longest_ago_is_first() -> None:
    waiting = [Candidate(shard_id, 0, 0, workspace_id) for shard_id, workspace_id in enumerate([1, 1, 1, 2, 3, 3])]
    turns = workspaces_in_turn(waiting, {1: 5.0, 2: 9.0})
    assert [(each.workspace_id, each.shard_id) for each in turns] == [(3, 4), (1, 0), (2, 3), (3, 5), (1, 1), (1, 2)]
