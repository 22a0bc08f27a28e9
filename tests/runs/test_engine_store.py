"""The store: what is handed in is written once, under the fence, and money moves with it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from billing.models import Budget, Wallet
from common.money import fee_charge
from gateway.models import Call, CallContent
from runs.engine.store import exchange
from runs.engine.sweeping import sweep
from runs.models import EmptyAnswers, Event, Run, Sample, Shard, Subject
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
    worst_of,
)

pytestmark = pytest.mark.django_db

type Start = Callable[..., Run]


def counts(run: Run) -> list[int]:
    """Rows of everything that a batch writes."""
    return [
        Sample.objects.filter(subject__run=run).count(),
        Call.objects.count(),
        CallContent.objects.count(),
        Event.objects.filter(run=run).count(),
        Run.objects.get(pk=run.pk).spend_microusd,
    ]


def test_batch_stores_samples_calls_counters_event_and_charge(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 5)
    right = answers(grant, 5)
    wrong = answers(grant, 5, text="The answer is 9999.")
    hand.hand_in(grant, [right[0], right[1], right[2], wrong[3], answers(grant, 5, code="context_exceeded")[4]])
    subject = subject_of(run)
    assert (subject.processed, subject.graded, subject.correct, subject.errors) == (5, 4, 3, 1)
    sample = Sample.objects.get(subject=subject, position=0)
    # 10 tokens in at 0.40 and 5 out at 1.60 USD a million, each rounded up, and 5% of it rounded up.
    assert (sample.status, sample.correct, sample.extracted, sample.usage_microusd, sample.fee_microusd) == ("graded", True, "0", 12, 1)
    error = Sample.objects.get(subject=subject, position=4)
    assert (error.status, error.error_code, error.correct, error.charge_microusd) == ("error", "context_exceeded", None, 0)
    run.refresh_from_db()
    assert (run.processed, run.errors, run.spend_microusd) == (5, 1, 4 * 13)
    assert Event.objects.get(run=run, type="sample.stored").data == {
        "subject_index": 0, "count": 5, "processed": 5, "planned": 20, "errors": {"context_exceeded": 1}, "spend_microusd": "52",
    }  # fmt: skip
    assert Call.objects.filter(source_id=sample.public_id).values_list("content__response", flat=True).get() == "The answer is 0."
    assert_books(run)


def test_reservation_is_renewed_with_the_lease_and_returned_with_it(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    worst = worst_of(grant, pending_of(grant)[0])
    ack = hand.reserve(grant, 4)
    budget = Budget.objects.get()
    assert (ack.granted, budget.reserved_microusd, Shard.objects.get(pk=grant.shard_id).slice_microusd) == (4 * worst,) * 3
    assert_books(run)
    hand.hand_in(grant, answers(grant, 1))
    assert Budget.objects.get().reserved_microusd == 3 * worst
    assert_books(run)
    hand.hand_in(grant, release=True)
    assert Budget.objects.get().reserved_microusd == 0
    assert_books(run)


def test_same_batch_handed_in_twice_counts_once(start_sums: Start) -> None:
    """The commit went through and its answer was lost: the batch comes again."""
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 4)
    batch = hand.batch(grant, answers(grant, 4), wanted=400, least=100)
    first = exchange("first", run.pk, [batch])
    before = counts(run)
    assert_books(run)
    second = exchange("first", run.pk, [batch])
    assert (first[grant.shard_id].is_lost, second[grant.shard_id].is_lost) == (False, False)
    assert counts(run) == before
    assert first[grant.shard_id].granted == second[grant.shard_id].granted == Budget.objects.get().reserved_microusd
    assert_books(run)


def test_cells_that_come_again_beside_new_ones_are_passed_over(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 6)
    outcomes = answers(grant, 6)
    hand.hand_in(grant, outcomes[:4])
    again = hand.batch(grant, outcomes[4:])
    again.outcomes = outcomes
    exchange("first", run.pk, [again])
    assert positions(run) == [0, 1, 2, 3, 4, 5]
    assert_books(run)


def test_late_write_of_a_frozen_worker_is_refused_and_touches_nothing(start_sums: Start) -> None:
    run, frozen, other = start_sums(), Hand("frozen"), Hand("other")
    old = frozen.take(shards_of(run)[0])
    frozen.reserve(old, 8)
    late = answers(old, 8)
    die(old)
    new = other.take(shards_of(run)[0])
    other.reserve(new, 8)
    other.hand_in(new, answers(new, 3))
    before, shard = counts(run), Shard.objects.values().get(pk=new.shard_id)
    ack = frozen.hand_in(old, late, wanted=1_000, least=1, mark=20, release=True, stop=stop())
    assert ack.is_lost
    assert (counts(run), Shard.objects.values().get(pk=new.shard_id)) == (before, shard)
    assert subject_of(run).status == "running"
    assert_books(run)


def test_late_write_after_the_sweep_and_before_a_new_lease_is_refused_too(start_sums: Start) -> None:
    run, frozen = start_sums(), Hand("frozen")
    old = frozen.take(shards_of(run)[0])
    frozen.reserve(old, 2)
    late = answers(old, 2)
    die(old)
    before = counts(run)
    assert frozen.hand_in(old, late).is_lost
    assert counts(run) == before
    assert_books(run)


def test_worker_that_gets_the_shard_again_cannot_write_under_its_first_fence(start_sums: Start) -> None:
    run, hand = start_sums(), Hand("same")
    old = hand.take(shards_of(run)[0])
    hand.reserve(old, 2)
    late = hand.batch(old, answers(old, 2))
    die(old)
    hand.take(shards_of(run)[0])
    before = counts(run)
    assert exchange("same", run.pk, [late])[old.shard_id].is_lost
    assert counts(run) == before


def test_lease_past_its_time_that_nobody_took_back_still_writes(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 2)
    expire(grant)
    assert not hand.hand_in(grant, answers(grant, 2)).is_lost
    assert Shard.objects.get(pk=grant.shard_id).lease_expires_at > timezone.now() + timedelta(seconds=10)
    assert_books(run)


def test_lost_lease_among_others_loses_only_its_own_cells_and_slots(start_sums: Start) -> None:
    run, hand = start_sums(tasks=1_000, concurrency=8), Hand()
    first, second = (hand.take(shard, slots=4) for shard in shards_of(run))
    for grant in (first, second):
        hand.reserve(grant, 2)
    batches = [hand.batch(grant, answers(grant, 2), slots=slots) for grant, slots in ((first, 0), (second, 8))]
    die(first)
    other = Hand("other").take(shards_of(run)[0], slots=4)
    acks = exchange("first", run.pk, batches)
    assert (acks[first.shard_id].is_lost, acks[second.shard_id].is_lost) == (True, False)
    assert (acks[second.shard_id].slots, other.slots) == (4, 4)
    assert positions(run) == [500, 501]
    assert_books(run)


def test_slots_pass_between_leases_of_a_subject(start_sums: Start) -> None:
    run, hand = start_sums(tasks=1_000, concurrency=8), Hand()
    first = hand.take(shards_of(run)[0], slots=8)
    second = hand.take(shards_of(run)[1], slots=8, holds_subject=True)
    acks = exchange("first", run.pk, [hand.batch(first, slots=0, release=True, is_done=False), hand.batch(second, slots=8)])
    assert acks[second.shard_id].slots == 8
    assert_books(run)


def test_least_that_does_not_fit_is_refused_and_of_more_a_quarter_is_given(start_sums: Start) -> None:
    run, hand = start_sums(max_charge_microusd="1000"), Hand()
    grant = hand.take(shards_of(run)[0])
    assert hand.hand_in(grant, wanted=5_000, least=1_001).granted == 0
    assert hand.hand_in(grant, wanted=5_000, least=100).granted == 250
    assert hand.hand_in(grant, wanted=5_000, least=700).granted == 700
    assert hand.hand_in(grant, wanted=5_000, least=51).granted == 0
    assert_books(run)


def test_run_without_a_cap_holds_as_it_goes(start_sums: Start) -> None:
    run, hand = start_sums(tasks=100), Hand()
    wallet = Wallet.objects.get(workspace=run.workspace)
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 2)
    held = Wallet.objects.get(pk=wallet.pk).held_microusd
    assert Budget.objects.get().reserved_microusd <= held < Budget.objects.get().bound_microusd
    assert_books(run)
    hand.hand_in(grant, answers(grant, 2), release=True)
    assert_books(run)


def test_empty_answers_are_uncharged_until_the_day_s_allowance_is_used(start_sums: Start, settings: LazySettings) -> None:
    settings.EMPTY_ANSWERS_UNCHARGED_A_DAY = 3
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 5)
    hand.hand_in(grant, answers(grant, 5, text=" \n"))
    charges = list(Sample.objects.filter(subject__run=run).order_by("position").values_list("usage_microusd", "fee_microusd", "is_empty"))
    assert charges == [(0, 0, True)] * 3 + [(12, 1, True)] * 2
    assert sorted(Call.objects.values_list("absorbed_microusd", flat=True)) == [0, 0, 13, 13, 13]
    assert EmptyAnswers.objects.get().count == 5
    assert_books(run)


def test_empty_answers_of_a_connection_use_no_allowance(workspace: Any, start_sums: Start) -> None:
    factories.make_connection(workspace, name="ours")
    run, hand = start_sums(routes=0, model="connection:ours"), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.hand_in(grant, answers(grant, 5, text=""))
    assert EmptyAnswers.objects.count() == 0


def test_silent_zero_stops_a_subject_at_16_of_20(start_sums: Start) -> None:
    run, hand = start_sums(tasks=40), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 40)
    hand.hand_in(grant, answers(grant, 4))
    ack = hand.hand_in(grant, answers(grant, 15, text=""))
    assert (ack.subject_stopped, subject_of(run).status) == (False, "running")
    ack = hand.hand_in(grant, answers(grant, 1, text="so the sum", finish="length"))
    subject = subject_of(run)
    assert (ack.subject_stopped, subject.status, subject.stopped_code) == (True, "stopped", "silent_zero")
    assert (subject.first_answers, subject.first_unusable) == (20, 16)
    assert event_types(run)[-1] == "subject.stopped"
    assert_books(run)


def test_fifteen_of_the_first_twenty_do_not_stop_and_later_ones_do_not_count(start_sums: Start) -> None:
    run, hand = start_sums(tasks=60), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 60)
    hand.hand_in(grant, answers(grant, 5))
    hand.hand_in(grant, answers(grant, 15, text=""))
    hand.hand_in(grant, answers(grant, 30, text=""))
    subject = subject_of(run)
    assert (subject.status, subject.first_answers, subject.first_unusable, subject.empty) == ("running", 20, 15, 45)


def test_wrong_unreadable_or_truncated_but_readable_answers_are_no_silent_zero(start_sums: Start) -> None:
    run, hand = start_sums(tasks=60), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 60)
    for text, finish in (("I cannot say.", "stop"), ("The answer is 1.", "length"), ("The answer is -1.", "stop")):
        hand.hand_in(grant, answers(grant, 20, text=text, finish=finish))
    subject = subject_of(run)
    assert (subject.status, subject.first_unusable, subject.unreadable, subject.truncated) == ("done", 0, 20, 20)


def test_stop_ends_the_subject_once_with_its_reason(start_sums: Start) -> None:
    run, hand = start_sums(routes=2), Hand()
    grant = hand.take(shards_of(run)[0])
    for _ in range(2):
        assert hand.hand_in(grant, stop=stop("provider_no_quota", "No money left.")).subject_stopped
    subject = subject_of(run)
    assert (subject.status, subject.stopped_code, subject.stopped_message) == ("stopped", "provider_no_quota", "No money left.")
    assert event_types(run).count("subject.stopped") == 1
    assert subject_of(run, 1).status == "running"


def test_stop_that_comes_with_the_last_answer_changes_nothing(start_sums: Start) -> None:
    run, hand = start_sums(tasks=3), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 3)
    hand.hand_in(grant, answers(grant, 3), stop=stop())
    assert (subject_of(run).status, event_types(run)[-1]) == ("done", "subject.finished")


def test_last_lease_given_back_sends_the_run_to_finalizing(start_sums: Start) -> None:
    run, hand = start_sums(tasks=3), Hand()
    hand.finish(hand.take(shards_of(run)[0]), 3)
    run.refresh_from_db()
    assert (run.phase, run.finalizing_reason, Shard.objects.get().is_done) == ("finalizing", "", True)
    assert event_types(run)[-2:] == ["subject.finished", "run.finalizing"]
    assert end(run).status == "completed"
    assert_books(run)


def test_lease_given_back_with_cells_left_is_free_again(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    hand.finish(hand.take(shards_of(run)[0]), 3)
    run.refresh_from_db()
    assert (run.phase, Shard.objects.get().is_done) == ("running", False)
    assert [spec.position for spec in pending_of(hand.take(shards_of(run)[0]))] == list(range(3, 20))


def test_served_models_are_noted_once_each_in_order(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    for models in (("gpt-1",), ("gpt-2", "gpt-1"), ("gpt-2",)):
        hand.hand_in(grant, served_models=models)
    assert subject_of(run).served_models == ["gpt-1", "gpt-2"]


def test_parameter_that_was_left_out_is_noted_once_with_an_event(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    for _ in range(2):
        hand.hand_in(grant, left_out=("temperature",))
    assert subject_of(run).notes == ["left_out:temperature"]
    assert event_types(run).count("subject.parameter_left_out") == 1


def test_time_to_wait_is_written_for_every_process(start_sums: Start) -> None:
    run, hand = start_sums(tasks=1_000, concurrency=8), Hand()
    first = hand.take(shards_of(run)[0], slots=4)
    second = Hand("second").take(shards_of(run)[1], slots=4)
    hand.hand_in(first, retry_in=30.0)
    other = Hand("second")
    other.slices[second.shard_id] = 0
    assert 29 < other.hand_in(second).retry_in <= 30
    assert event_types(run)[-1] == "capacity.rate_limited"


def test_run_waits_when_all_its_working_subjects_wait_and_resumes_with_an_answer(start_sums: Start) -> None:
    run = start_sums(routes=3)
    hands = [Hand(f"hand {index}") for index in range(3)]
    grants = [hand.take(shards_of(run, index)[0]) for index, hand in enumerate(hands)]
    hands[2].finish(grants[2], 20)

    def phase() -> str:
        return str(Run.objects.values_list("phase", flat=True).get(pk=run.pk))

    hands[0].hand_in(grants[0], waiting_seconds=3.0)
    assert (phase(), subject_of(run).status) == ("running", "waiting")
    hands[1].hand_in(grants[1], waiting_seconds=1.0)
    assert phase() == "waiting"
    hands[0].reserve(grants[0], 1)
    assert phase() == "waiting"
    hands[0].hand_in(grants[0], answers(grants[0], 1))
    assert (phase(), subject_of(run).status, subject_of(run).waiting_since) == ("running", "running", None)
    assert [type_ for type_ in event_types(run) if type_.startswith("capacity.")] == [
        "capacity.waiting", "capacity.waiting", "capacity.resumed",
    ]  # fmt: skip
    assert_books(run)


def test_subject_that_waits_too_long_is_stopped_as_unavailable(start_sums: Start, settings: LazySettings) -> None:
    settings.PROVIDER_UNAVAILABLE_SECONDS = 900
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.hand_in(grant, waiting_seconds=899.0)
    assert subject_of(run).status == "waiting"
    Subject.objects.filter(run=run).update(waiting_since=timezone.now() - timedelta(seconds=901))
    assert hand.hand_in(grant, waiting_seconds=901.0).subject_stopped
    assert subject_of(run).stopped_code == "provider_unavailable"


def test_wait_is_counted_over_leases_that_die_meanwhile(start_sums: Start, settings: LazySettings) -> None:
    settings.PROVIDER_UNAVAILABLE_SECONDS = 900
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.hand_in(grant, waiting_seconds=0.0)
    Subject.objects.filter(run=run).update(waiting_since=timezone.now() - timedelta(seconds=901))
    die(grant)
    grant = hand.take(shards_of(run)[0])
    assert hand.hand_in(grant, waiting_seconds=2.0).subject_stopped


def test_unknown_outcomes_are_kept_with_an_uncharged_call_and_not_worked_again(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 4)
    hand.hand_in(grant, unknown=[1, 3])
    hand.hand_in(grant, unknown=[3, 2])
    assert Shard.objects.get().unknown == [1, 2, 3]
    assert set(Call.objects.values_list("outcome", "usage_microusd", "tries")) == {("unknown", 0, 1)}
    assert Call.objects.count() == 3
    assert [spec.position for spec in pending_of(grant)][:3] == [0, 4, 5]
    assert_books(run)


def test_call_that_was_cut_off_notes_a_possible_double_bill_of_a_connection_only(workspace: Any, start_sums: Start) -> None:
    factories.make_connection(workspace, name="ours")
    run = start_sums(routes=1)
    version = run.benchmarks.get().version
    own = start_sums(selection={"profile_ids": [version.profile_id]}, routes=0, model="connection:ours")
    for each in (run, own):
        hand = Hand()
        hand.hand_in(hand.take(shards_of(each)[0]), was_cut_off=True)
    assert (subject_of(run).notes, subject_of(own).notes) == ([], ["possible_duplicate_provider_charge"])


@pytest.mark.parametrize("tokens", [(10, 5), (100_000, 100_000)])
def test_charge_never_exceeds_what_was_reserved(start_sums: Start, tokens: tuple[int, int]) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 1)
    hand.hand_in(grant, answers(grant, 1, tokens=tokens))
    call = Call.objects.get()
    assert call.charge_microusd <= call.reserved_microusd
    assert call.fee_microusd == fee_charge(call.usage_microusd, call.fee_percent)
    assert (call.absorbed_microusd > 0) == (tokens[0] > 1_000)
    assert_books(run)


def test_sweep_has_nothing_to_say_to_live_leases(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 3)
    before = Shard.objects.values().get()
    sweep()
    assert Shard.objects.values().get() == before
    assert_books(run)
