"""The engine's writes. Each is one transaction that begins with a conditional UPDATE of the shard on owner and fence.

Where that finds no row the lease is another's: the batch is dropped and nothing is touched. Then only missing samples are inserted, and
counters, events and spend come from the inserted rows alone. Locks: shard, subject, run, budget, allowance, wallet.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from billing import budgets
from billing.models import Budget
from gateway.calls import CallRecord, call_rows
from gateway.models import Call, CallContent
from runs.engine.ending import consider_ending
from runs.engine.work import Ack, Batch, Outcome, Stop
from runs.enums import Phase, SampleStatus, SubjectKind, SubjectStatus
from runs.events import append_events
from runs.models import EmptyAnswers, Run, Sample, Shard, Subject

FIRST_ANSWERS = 20
UNUSABLE_STOPS = 16
"""The silent-zero guard: so many of a subject's first answers empty, or truncated and unreadable, stop it."""
MAX_SERVED_MODELS = 10
DUPLICATE_CHARGE = "possible_duplicate_provider_charge"
"""The note of a connection's subject of which calls were lost on their way and made again: its provider may bill both."""

_COUNTERS = (
    "processed", "graded", "correct", "errors", "inconclusive", "truncated", "unreadable", "empty", "tallies", "usage_microusd",
    "fee_microusd", "first_answers", "first_unusable",
)  # fmt: skip
_SUBJECT_FIELDS = [*_COUNTERS, "status", "stopped_code", "stopped_message", "retry_at", "waiting_since", "served_models", "notes"]


type RunEvent = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class _Rows:
    """What one transaction inserts."""

    samples: list[Sample] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    contents: list[CallContent] = field(default_factory=list)

    def add_call(self, record: CallRecord) -> Call:
        call, content = call_rows(record)
        self.calls.append(call)
        self.contents.append(content)
        return call

    def insert(self) -> None:
        Sample.objects.bulk_create(self.samples)
        Call.objects.bulk_create(self.calls)
        for call, content in zip(self.calls, self.contents, strict=True):
            content.call_id = call.pk
        CallContent.objects.bulk_create(self.contents)


def exchange(owner: str, run_id: int, batches: Sequence[Batch]) -> dict[int, Ack]:
    """Write what leases of one run hand in, renew or release them, and give them what they want. Returns an answer for each shard."""
    acks: dict[int, Ack] = {}
    with transaction.atomic():
        now = timezone.now()  # waiting for a lock may have taken long: a lease is renewed from here on
        held = [batch for batch in sorted(batches, key=lambda each: each.shard_id) if _renew(owner, batch, now)]
        for batch in batches:
            acks[batch.shard_id] = Ack(is_lost=batch not in held)
        if not held:
            return acks
        subjects = {
            subject.pk: subject
            for subject in Subject.objects.select_for_update().filter(pk__in={batch.subject_id for batch in held}).order_by("pk")
        }
        run = Run.objects.select_for_update().get(pk=run_id)
        events: list[RunEvent] = []
        standing = _standing(held)
        _bound_slots(held, standing)
        charged = _insert_finished(run, subjects, held, standing, events)
        grants = _move_budget(run, subjects, held, charged, returned=sum(standing[each.shard_id].slice - each.slice_kept for each in held))
        for batch in held:
            _store_shard(batch, grants.get(batch.shard_id, 0), standing[batch.shard_id])
            acks[batch.shard_id].granted = grants.get(batch.shard_id, 0)
            acks[batch.shard_id].slots = batch.slots
        for batch in held:
            _note_state(subjects[batch.subject_id], batch, now, events)
        for subject in subjects.values():
            subject.save(update_fields=_SUBJECT_FIELDS)
        _note_phase(run, subjects)
        append_events(run, *events)
        if any(batch.release or batch.stop for batch in held) or run.cancel_requested_at or now >= run.deadline_at:
            consider_ending(run, now)
        run.save(update_fields=["processed", "errors", "spend_microusd", "last_sequence", "phase", "finalizing_reason"])
        for batch in held:
            _answer(acks[batch.shard_id], run, subjects[batch.subject_id], now)
    return acks


def _renew(owner: str, batch: Batch, now: datetime) -> bool:
    """The fence: whether this owner still holds this grant of the shard. Takes the shard's lock, and renews the lease."""
    expires = now + timedelta(seconds=settings.ENGINE_LEASE_SECONDS)
    return bool(Shard.objects.filter(pk=batch.shard_id, fence=batch.fence, lease_owner=owner).update(lease_expires_at=expires))


class _Standing(NamedTuple):
    """What a shard's row says before the write."""

    slots: int
    slice: int
    unknown: list[int]


def _standing(batches: list[Batch]) -> dict[int, _Standing]:
    rows = Shard.objects.filter(pk__in=[batch.shard_id for batch in batches]).values_list("pk", "slots", "slice_microusd", "unknown")
    return {pk: _Standing(*values) for pk, *values in rows}


def _bound_slots(batches: list[Batch], standing: dict[int, _Standing]) -> None:
    """Leases pass slots on among themselves, and together never have more than they were granted: those of a lost lease are not theirs."""
    left: Counter[int] = Counter()
    for batch in batches:
        left[batch.subject_id] += standing[batch.shard_id].slots
    for batch in batches:
        batch.slots = min(batch.slots, left[batch.subject_id])
        left[batch.subject_id] -= batch.slots


def _insert_finished(
    run: Run, subjects: dict[int, Subject], batches: list[Batch], standing: dict[int, _Standing], events: list[RunEvent]
) -> int:
    """Insert the samples that are missing, with their calls, and count them. Returns what they cost in micro-USD."""
    finished = [(batch, outcome) for batch in batches for outcome in batch.outcomes]
    present = _present(finished)
    fresh = [
        (batch, outcome) for batch, outcome in finished if (batch.subject_id, outcome.spec.position, outcome.spec.attempt) not in present
    ]
    _forgive_empty(run, [outcome for batch, outcome in fresh if subjects[batch.subject_id].kind == SubjectKind.MANAGED])
    rows = _Rows()
    for batch, outcome in fresh:
        if outcome.call is not None:
            rows.add_call(outcome.call)
        rows.samples.append(_sample(batch, outcome))
    for batch in batches:
        for cell, record in batch.unknown:
            if cell not in standing[batch.shard_id].unknown:
                rows.add_call(record)
    rows.insert()
    by_subject: dict[int, list[Sample]] = {}
    for sample in rows.samples:
        by_subject.setdefault(sample.subject_id, []).append(sample)
    for subject_id, samples in by_subject.items():
        events.extend(_count(run, subjects[subject_id], samples))
    return sum(sample.usage_microusd + sample.fee_microusd for sample in rows.samples)


def _present(finished: list[tuple[Batch, Outcome]]) -> set[tuple[int, int, int]]:
    """Which cells have a sample already: a write whose commit was not confirmed is written again, and must not count twice."""
    if not finished:
        return set()
    found = Sample.objects.filter(
        subject_id__in={batch.subject_id for batch, _ in finished}, position__in={outcome.spec.position for _, outcome in finished}
    )
    return set(found.values_list("subject_id", "position", "attempt"))


def _forgive_empty(run: Run, outcomes: list[Outcome]) -> None:
    """Charge nothing for empty answers of managed routes, as long as the workspace's allowance of the day lasts."""
    empty = [outcome.call for outcome in outcomes if outcome.is_empty and outcome.call is not None and outcome.call.charge_microusd]
    if not empty:
        return
    day, _ = EmptyAnswers.objects.get_or_create(workspace_id=run.workspace_id, day=timezone.now().date())
    day = EmptyAnswers.objects.select_for_update().get(pk=day.pk)
    left = max(0, settings.EMPTY_ANSWERS_UNCHARGED_A_DAY - day.count)
    for call in empty[:left]:
        call.absorbed_microusd += call.usage_microusd + call.fee_microusd
        call.usage_microusd = call.fee_microusd = 0
    day.count += len(empty)
    day.save(update_fields=["count"])


def _sample(batch: Batch, outcome: Outcome) -> Sample:
    sample = Sample(
        public_id=outcome.public_id,
        run_benchmark_id=batch.run_benchmark_id,
        subject_id=batch.subject_id,
        task_id=outcome.spec.task_pk,
        position=outcome.spec.position,
        attempt=outcome.spec.attempt,
        status=outcome.status,
        error_code=outcome.error_code,
        is_empty=outcome.is_empty,
        is_truncated=outcome.is_truncated,
    )
    verdict, call = outcome.verdict, outcome.call
    if verdict is not None:
        sample.correct = verdict.correct
        sample.score = verdict.score
        sample.extracted = (verdict.extracted or "")[:500]
        sample.reason = verdict.reason[:200]
        sample.is_unreadable = not verdict.readable
    if call is not None:
        sample.finish_reason = call.finish_reason[:30]
        sample.input_tokens = call.input_tokens
        sample.cached_input_tokens = call.cached_input_tokens
        sample.output_tokens = call.output_tokens
        sample.reasoning_tokens = call.reasoning_tokens
        sample.estimated_calls = int(call.is_estimated)
        sample.usage_microusd = call.usage_microusd
        sample.fee_microusd = call.fee_microusd
        sample.latency_ms = call.latency_ms
    return sample


def _count(run: Run, subject: Subject, samples: list[Sample]) -> list[RunEvent]:
    """Raise the counters of the locked subject and run by inserted samples, and watch for the silent zero. Returns the events."""
    errors: Counter[str] = Counter()
    for sample in samples:
        if sample.status == SampleStatus.ERROR:
            errors[sample.error_code] += 1
        elif sample.status == SampleStatus.GRADED and subject.first_answers < FIRST_ANSWERS:
            subject.first_answers += 1
            subject.first_unusable += sample.is_empty or (sample.is_truncated and sample.is_unreadable)
        subject.usage_microusd += sample.usage_microusd
        subject.fee_microusd += sample.fee_microusd
        run.spend_microusd += sample.usage_microusd + sample.fee_microusd
    tally(subject, samples)
    run.processed += len(samples)
    run.errors += errors.total()
    return [stored_event(subject, count=len(samples), errors=dict(errors))]


def tally(subject: Subject, samples: Iterable[Sample]) -> None:
    """Raise the subject's counters by samples, in all and of each benchmark."""
    counted: dict[int, Counter[str]] = {}
    for sample in samples:
        counted.setdefault(sample.run_benchmark_id, Counter()).update(_counts_as(sample))
    tallies = dict(subject.tallies)
    for key, counts in counted.items():
        so_far: Counter[str] = Counter(tallies.get(str(key), {}))
        so_far.update(counts)
        tallies[str(key)] = dict(so_far)
        for name, count in counts.items():
            setattr(subject, name, getattr(subject, name) + count)
    subject.tallies = tallies


def _counts_as(sample: Sample) -> list[str]:
    """The counters that a sample raises by one. Flags are counted of graded answers."""
    names = ["processed"]
    if sample.status == SampleStatus.ERROR:
        return [*names, "errors"]
    if sample.status == SampleStatus.INCONCLUSIVE:
        return [*names, "inconclusive"]
    return [*names, "graded", *(["correct"] if sample.correct else []), *sample.flags]


def stored_event(subject: Subject, *, count: int, errors: dict[str, int]) -> RunEvent:
    """That so many samples of the subject were stored, and how far it is now."""
    data = {
        "subject_index": subject.index,
        "count": count,
        "processed": subject.processed,
        "planned": subject.planned,
        "errors": errors,
        "spend_microusd": str(subject.spend_microusd),
    }
    return "sample.stored", data


def note_finished(subject: Subject) -> list[RunEvent]:
    """Mark a subject whose every cell is processed as done, unless it was stopped. Returns the event of it."""
    if subject.processed < subject.planned or subject.status in {SubjectStatus.DONE, SubjectStatus.STOPPED}:
        return []
    subject.status, subject.waiting_since = SubjectStatus.DONE, None
    return [("subject.finished", {"subject_index": subject.index, "processed": subject.processed, "errors": subject.errors})]


def _move_budget(run: Run, subjects: dict[int, Subject], batches: list[Batch], charged: int, *, returned: int) -> dict[int, int]:
    """Settle what the inserted samples cost, take back what is idle, and reserve what is wanted. Returns the grants by shard.

    The subject that is behind is served first, so that they keep pace also where the money does not last for all of them.
    """
    wanting = sorted((batch for batch in batches if batch.slice_wanted), key=lambda batch: subjects[batch.subject_id].processed)
    if not (charged or returned or wanting):
        return {}
    budget = budgets.lock_budget(run.budget_source)
    grants = budgets.settle_and_reserve(
        budget, settled=charged, returned=returned, wants=[budgets.Want(batch.slice_wanted, batch.slice_least) for batch in wanting]
    )
    if returned > 0:
        wake_parked(run, budget)
    return dict(zip((batch.shard_id for batch in wanting), grants, strict=True))


def wake_parked(run: Run, budget: Budget) -> None:
    """Let parked shards be leased again whose next attempt fits what is free now."""
    Shard.objects.filter(run=run, is_done=False, parked_need_microusd__lte=budget.free_microusd).update(parked_need_microusd=None)


def _store_shard(batch: Batch, granted: int, standing: _Standing) -> None:
    values: dict[str, Any] = {"slice_microusd": batch.slice_kept + granted, "sent_through": batch.sent_through, "slots": batch.slots}
    if batch.unknown:
        values["unknown"] = sorted({*standing.unknown, *(cell for cell, _ in batch.unknown)})
    if batch.release:
        values |= {"lease_owner": "", "lease_expires_at": None, "slots": 0, "parked_need_microusd": batch.parked_need}
        if batch.is_done:
            Shard.objects.filter(pk=batch.shard_id).update(**values)
            values = {"is_done": is_finished(batch.shard_id)}
    Shard.objects.filter(pk=batch.shard_id).update(**values)


def is_finished(shard_id: int) -> bool:
    """Whether each of its cells has a sample, or an outcome that stays unknown in this run."""
    shard = Shard.objects.select_related("run").get(pk=shard_id)
    return finished_cells(shard, shard.run.attempts).count() + len(shard.unknown) == shard.stop - shard.start


def finished_cells(shard: Shard, attempts: int) -> QuerySet[Sample]:
    """The samples of the shard's cells."""
    first, last = shard.start // attempts, shard.stop // attempts
    return Sample.objects.filter(subject_id=shard.subject_id, position__gte=first, position__lt=last)


def _note_state(subject: Subject, batch: Batch, now: datetime, events: list[RunEvent]) -> None:
    """Take what the lease says of its subject: waiting, served models, parameters left out, and whether it must stop."""
    for model in batch.served_models:
        if model not in subject.served_models and len(subject.served_models) < MAX_SERVED_MODELS:
            subject.served_models = [*subject.served_models, model]
    for name in batch.left_out:
        if f"left_out:{name}" not in subject.notes:
            subject.notes = [*subject.notes, f"left_out:{name}"]
            events.append(("subject.parameter_left_out", {"subject_index": subject.index, "parameter": name}))
    if batch.retry_in is not None:
        subject.retry_at = now + timedelta(seconds=batch.retry_in)
        events.append(("capacity.rate_limited", {"subject_index": subject.index, "retry_in_seconds": round(batch.retry_in, 1)}))
    if batch.was_cut_off and subject.kind == SubjectKind.CONNECTION and DUPLICATE_CHARGE not in subject.notes:
        subject.notes = [*subject.notes, DUPLICATE_CHARGE]
    _note_waiting(subject, batch, now, events)
    stop = batch.stop
    if stop is None and subject.first_unusable >= UNUSABLE_STOPS and subject.kind != SubjectKind.RECORDED:
        stop = Stop(
            "silent_zero",
            f"{subject.first_unusable} of its first {subject.first_answers} answers were empty, or cut off before an answer. Raise "
            f"the output limit, or check the model.",
        )
    if stop is not None and subject.status != SubjectStatus.STOPPED and subject.processed < subject.planned:
        subject.status = SubjectStatus.STOPPED
        subject.stopped_code, subject.stopped_message = stop.code, stop.message[:400]
        events.append(("subject.stopped", {"subject_index": subject.index, "code": stop.code, "message": subject.stopped_message}))
    events.extend(note_finished(subject))


def _note_waiting(subject: Subject, batch: Batch, now: datetime, events: list[RunEvent]) -> None:
    if batch.waiting_seconds is not None and subject.status == SubjectStatus.RUNNING:
        subject.status = SubjectStatus.WAITING
        subject.waiting_since = now - timedelta(seconds=batch.waiting_seconds)
        events.append(("capacity.waiting", {"subject_index": subject.index}))
    elif batch.waiting_seconds is None and subject.status == SubjectStatus.WAITING and batch.outcomes:
        subject.status, subject.waiting_since = SubjectStatus.RUNNING, None
        events.append(("capacity.resumed", {"subject_index": subject.index}))
    since = subject.waiting_since
    if subject.status == SubjectStatus.WAITING and since and (now - since).total_seconds() >= settings.PROVIDER_UNAVAILABLE_SECONDS:
        batch.stop = batch.stop or Stop(
            "provider_unavailable", "The provider did not answer for 15 minutes. Continue the run when it does."
        )


def _note_phase(run: Run, subjects: dict[int, Subject]) -> None:
    """A run waits when every subject that still has work waits."""
    if run.phase == Phase.RUNNING and not any(subject.status == SubjectStatus.WAITING for subject in subjects.values()):
        return
    if run.phase in {Phase.RUNNING, Phase.WAITING}:
        working = set(
            Subject.objects.filter(run=run, status__in=[SubjectStatus.RUNNING, SubjectStatus.WAITING]).values_list("status", flat=True)
        )
        run.phase = Phase.WAITING if working == {SubjectStatus.WAITING} else Phase.RUNNING


def _answer(ack: Ack, run: Run, subject: Subject, now: datetime) -> None:
    ack.subject_stopped = subject.status == SubjectStatus.STOPPED
    ack.is_cancelled = run.cancel_requested_at is not None
    ack.run_closing = ack.is_cancelled or now >= run.deadline_at or run.phase in {Phase.FINALIZING, Phase.DONE}
    ack.retry_in = max(0.0, (subject.retry_at - now).total_seconds()) if subject.retry_at else 0.0
