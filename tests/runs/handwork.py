"""The engine by hand: leases taken and batches handed in without an executor's loop, and the books checked after whatever happened."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.db.models import Count, F, Sum
from django.utils import timezone

from billing.checking import ledger_differences
from billing.models import Budget, Hold, LedgerEntry, Wallet
from common.ids import new_id
from gateway.calls import CallRecord, note_answer
from gateway.chat import ChatReply
from gateway.enums import Outcome as CallOutcome
from gateway.enums import Purpose
from gateway.models import Call
from runs.engine.executor import Executor
from runs.engine.granting import Candidate, take_lease
from runs.engine.loading import SubjectWork, load_pending, load_subject
from runs.engine.store import exchange
from runs.engine.sweeping import sweep
from runs.engine.work import Ack, Batch, Grant, Outcome, Stop
from runs.enums import Phase
from runs.finalizing import finalize_run
from runs.models import Event, Run, Sample, Shard, Subject
from runs.runners.builtin import TaskSpec


class Hand:
    """One worker process in slow motion: it holds leases, reserves for the next cells, and hands in what the test says they answered."""

    def __init__(self, owner: str = "first") -> None:
        self.owner = owner
        self.slices: dict[int, int] = {}

    def take(self, shard: Shard, *, slots: int = 16, holds_subject: bool = False) -> Grant:
        """The lease of a free shard; the test fails where it is not to be had."""
        grant = self.try_to_take(shard, slots=slots, holds_subject=holds_subject)
        assert grant is not None
        return grant

    def try_to_take(self, shard: Shard, *, slots: int = 16, holds_subject: bool = False) -> Grant | None:
        candidate = Candidate(shard.pk, shard.subject_id, shard.run_id, Run.objects.get(pk=shard.run_id).workspace_id)
        grant = take_lease(self.owner, candidate, slots=slots, holds_subject=holds_subject)
        if grant is not None:
            self.slices[grant.shard_id] = 0
        return grant

    def reserve(self, grant: Grant, cells: int, *, mark: int | None = None) -> Ack:
        """Ask for the money and the mark of the next so many cells."""
        pending = pending_of(grant)[:cells]
        wanted = sum(worst_of(grant, spec) for spec in pending)
        reach = pending[-1].cell + 1 if mark is None else mark
        return self.hand_in(grant, wanted=wanted, least=wanted, mark=reach)

    def hand_in(
        self,
        grant: Grant,
        outcomes: Sequence[Outcome] = (),
        *,
        wanted: int = 0,
        least: int = 0,
        mark: int | None = None,
        release: bool = False,
        unknown: Iterable[int] = (),
        **fields: Any,
    ) -> Ack:
        """Hand in what is finished and keep the rest of the slice, or give the lease back."""
        batch = self.batch(grant, outcomes, wanted=wanted, least=least, mark=mark, release=release, unknown=unknown, **fields)
        ack = exchange(self.owner, grant.run_id, [batch])[grant.shard_id]
        if not ack.is_lost:
            self.slices[grant.shard_id] = batch.slice_kept + ack.granted
        return ack

    def batch(
        self,
        grant: Grant,
        outcomes: Sequence[Outcome] = (),
        *,
        wanted: int = 0,
        least: int = 0,
        mark: int | None = None,
        release: bool = False,
        unknown: Iterable[int] = (),
        **fields: Any,
    ) -> Batch:
        kept = self.slices[grant.shard_id] - sum(outcome.reserved for outcome in outcomes)
        values = {
            "shard_id": grant.shard_id,
            "subject_id": grant.subject_id,
            "run_benchmark_id": grant.run_benchmark_id,
            "fence": grant.fence,
            "slots": 0 if release else grant.slots,
            "outcomes": list(outcomes),
            "unknown": [(cell, lost_call(grant)) for cell in unknown],
            "sent_through": Shard.objects.get(pk=grant.shard_id).sent_through if mark is None else mark,
            "slice_kept": 0 if release else kept,
            "slice_wanted": wanted,
            "slice_least": least,
            "release": release,
            "is_done": release,
        }
        return Batch(**(values | fields))

    def finish(self, grant: Grant, cells: int) -> Ack:
        """Reserve for so many cells, answer them rightly, hand in and give the lease back."""
        self.reserve(grant, cells)
        return self.hand_in(grant, answers(grant, cells), release=True)


def stop(code: str = "provider_authentication", message: str = "The key is wrong.") -> Stop:
    return Stop(code, message)


def subject_work(grant: Grant) -> SubjectWork:
    return load_subject(*grant.work)


def pending_of(grant: Grant) -> list[TaskSpec]:
    """The cells of the lease's shard that are still to be worked."""
    return list(load_pending(grant, subject_work(grant).runner))


def worst_of(grant: Grant, spec: TaskSpec) -> int:
    view = subject_work(grant).view
    return subject_work(grant).runner.worst_case(spec, view.output_limit, view.price)


def lost_call(grant: Grant) -> CallRecord:
    price = subject_work(grant).view.price
    record = CallRecord(grant.workspace_id, new_id(), Purpose.SUBJECT, price.rate_id, price.fee_percent, 0)
    record.outcome, record.tries = CallOutcome.UNKNOWN, 1
    return record


def answers(
    grant: Grant, cells: int, *, text: str | None = None, finish: str = "stop", tokens: tuple[int, int] = (10, 5), code: str = ""
) -> list[Outcome]:
    """Outcomes of the next so many cells: right answers unless a text is given, or errors of that code."""
    work = subject_work(grant)
    return [_outcome(work, grant, spec, text, finish, tokens, code) for spec in pending_of(grant)[:cells]]


def _outcome(work: SubjectWork, grant: Grant, spec: TaskSpec, text: str | None, finish: str, tokens: tuple[int, int], code: str) -> Outcome:
    price = work.view.price
    reserved = work.runner.worst_case(spec, work.view.output_limit, price)
    record = CallRecord(grant.workspace_id, new_id(), Purpose.SUBJECT, price.rate_id, price.fee_percent, reserved)
    record.tries = 1
    if code:
        record.error_code = code
        return Outcome(spec, record.source_id, "error", reserved, call=record, error_code=code)
    said = f"The answer is {spec.reference}." if text is None else text
    note_answer(record, ChatReply(said, "", finish, tokens[0], 0, tokens[1], 0, False, "served", 200, {}), price)
    return Outcome(
        spec,
        record.source_id,
        "graded",
        reserved,
        verdict=work.runner.grade(spec, said),
        call=record,
        is_empty=record.is_empty,
        is_truncated=record.is_truncated,
    )


def shards_of(run: Run, subject: int = 0) -> list[Shard]:
    return list(Shard.objects.filter(run=run, subject__index=subject).order_by("start"))


def subject_of(run: Run, index: int = 0) -> Subject:
    return Subject.objects.get(run=run, index=index)


def expire(*grants: Grant) -> None:
    """Let the time of leases be over, as it is for a worker that died or froze."""
    Shard.objects.filter(pk__in=[grant.shard_id for grant in grants]).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def die(*grants: Grant) -> None:
    """The worker dies: its leases run out and the sweep takes them back."""
    expire(*grants)
    sweep()


def execute(**options: Any) -> int:
    """One executor's loop, until there is nothing left to do."""
    return async_to_sync(Executor(**options).run)()


def work_out(run: Run, *, rounds: int = 4) -> Run:
    """Work the run to its end; the test fails where it does not come to one."""
    for _ in range(rounds):
        execute()
        sweep()
        finalize_run(run.pk)
        run.refresh_from_db()
        if run.phase == Phase.DONE:
            assert_books(run)
            return run
    raise AssertionError(f"the run has not ended: {run.phase}, {run.processed} of {run.planned}")


def end(run: Run) -> Run:
    """Sweep and finalize, and read the run again."""
    sweep()
    finalize_run(run.pk)
    run.refresh_from_db()
    return run


def verdicts(run: Run) -> dict[tuple[int, int], tuple[str, bool | None]]:
    """Status and verdict by subject and position."""
    rows = Sample.objects.filter(subject__run=run).values_list("subject__index", "position", "status", "correct")
    return {(subject, position): (status, correct) for subject, position, status, correct in rows}


def positions(run: Run, subject: int = 0) -> list[int]:
    return list(Sample.objects.filter(subject__run=run, subject__index=subject).order_by("position").values_list("position", flat=True))


def event_types(run: Run) -> list[str]:
    return list(Event.objects.filter(run=run).order_by("sequence").values_list("type", flat=True))


def assert_books(run: Run) -> None:
    """Money is reserved once and by live leases alone, every figure is a sum of calls, no event is missing, slots are within bounds."""
    run = Run.objects.get(pk=run.pk)
    subjects = list(Subject.objects.filter(run=run))
    budget = Budget.objects.get(source=run.budget_source)
    leased = Shard.objects.filter(run=run, lease_expires_at__isnull=False)
    assert budget.reserved_microusd == _total(leased, "slice_microusd")
    assert _total(Shard.objects.filter(run=run, lease_expires_at__isnull=True), "slice_microusd") == 0
    wallet = Wallet.objects.get(workspace=run.workspace)
    assert wallet.held_microusd == _total(Hold.objects.filter(wallet=wallet, released_at__isnull=True), "amount_microusd")
    assert ledger_differences() == []

    samples = Sample.objects.filter(subject__run=run)
    assert run.spend_microusd == budget.settled_microusd == sum(subject.spend_microusd for subject in subjects)
    assert run.spend_microusd == _total(samples, "usage_microusd") + _total(samples, "fee_microusd")
    calls = Call.objects.filter(source_id__in=list(samples.filter(origin__isnull=True).values_list("public_id", flat=True)))
    assert run.spend_microusd == _total(calls, "usage_microusd") + _total(calls, "fee_microusd")
    assert not calls.filter(reserved_microusd__lt=F("usage_microusd") + F("fee_microusd")).exists()
    if budget.cap_microusd is not None:
        assert run.spend_microusd <= budget.cap_microusd
    if run.phase == Phase.DONE:
        entries = LedgerEntry.objects.filter(source=run.budget_source)
        assert -_total(entries, "amount_microusd") == run.spend_microusd
        assert (budget.closed_at is not None, leased.exists()) == (True, False)

    assert run.processed == samples.count() == sum(subject.processed for subject in subjects)
    assert run.errors == samples.filter(status="error").count() == sum(subject.errors for subject in subjects)
    assert not samples.values("subject", "position", "attempt").annotate(copies=Count("id")).filter(copies__gt=1).exists()
    for subject in subjects:
        own = samples.filter(subject=subject)
        assert (subject.graded, subject.correct) == (own.filter(status="graded").count(), own.filter(correct=True).count())
        for key, tally in subject.tallies.items():
            there = own.filter(run_benchmark=int(key))
            counted = {
                "processed": there.count(),
                "graded": there.filter(status="graded").count(),
                "correct": there.filter(correct=True).count(),
            }
            assert {name: tally.get(name, 0) for name in counted} == counted
        assert _total(leased.filter(subject=subject), "slots") <= subject.concurrency

    events = list(Event.objects.filter(run=run).order_by("sequence"))
    assert [event.sequence for event in events] == list(range(1, run.last_sequence + 1))
    stored = sum(event.data["count"] for event in events if event.type == "sample.stored")
    assert stored == samples.filter(origin__isnull=True).count()


def _total(rows: Any, column: str) -> int:
    return rows.aggregate(total=Sum(column))["total"] or 0
