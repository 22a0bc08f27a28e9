"""The sweep: what is done every few seconds whether or not a message came. Losing the whole queue, or a worker, costs one interval."""

from collections.abc import Callable
from datetime import datetime

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from billing import budgets
from catalog.models import Task
from common.ids import new_id
from common.jobs import enqueue
from gateway.enums import ErrorCode
from runs.engine.ending import consider_ending
from runs.engine.granting import LIVE, candidates
from runs.engine.store import DUPLICATE_CHARGE, RunEvent, finished_cells, is_finished, note_finished, stored_event, tally, wake_parked
from runs.enums import CALLS_NOTHING, Phase, SampleStatus, SubjectKind, SubjectStatus
from runs.events import append_events
from runs.jobs import FINALIZE, WORK
from runs.models import Run, RunBenchmark, Sample, Shard, Subject

log = structlog.get_logger(__name__)

DEAD_LEASES = 3
"""A cell that may have been on its way when so many leases died becomes the error `worker_lost`."""


def sweep(now: datetime | None = None) -> None:
    """Take back expired leases, end runs that nobody works, hint work and finalizing."""
    now = now or timezone.now()
    for shard_id in list(Shard.objects.filter(lease_expires_at__lt=now).values_list("pk", flat=True)[:500]):
        _do(take_back_lease, shard_id, now)
    for run_id in _overdue_runs(now):
        _do(_end_run, run_id, now)
    for public_id in _unfinalized(now):
        enqueue(FINALIZE, str(public_id), expires=settings.ENGINE_SWEEP_SECONDS)
    if candidates(now):
        enqueue(WORK, expires=settings.ENGINE_SWEEP_SECONDS)


def _do(step: Callable[[int, datetime], object], key: int, now: datetime) -> None:
    """One step for one row. What goes wrong with it is logged, and does not keep the sweep from the others."""
    try:
        step(key, now)
    except Exception:
        log.exception("engine.sweep_failed", step=step.__name__, key=key)


def take_back_lease(shard_id: int, now: datetime) -> bool:
    """Free a shard whose lease ran out: its reservation goes back, and its cells that may have been sent are remembered as suspects."""
    with transaction.atomic():
        shard = Shard.objects.select_for_update().get(pk=shard_id)
        if shard.lease_expires_at is None or shard.lease_expires_at >= now:
            return False
        subject = Subject.objects.select_for_update().get(pk=shard.subject_id)
        run = Run.objects.select_for_update().get(pk=shard.run_id)
        lost = _suspects(shard, subject, run.attempts)
        reserved = shard.slice_microusd
        shard.lease_owner, shard.lease_expires_at, shard.slots, shard.slice_microusd = "", None, 0, 0
        dead = _note_suspects(shard, lost)
        events = _write_lost(run, subject, shard, dead) if dead else []
        if lost and subject.kind == SubjectKind.CONNECTION and DUPLICATE_CHARGE not in subject.notes:
            subject.notes = [*subject.notes, DUPLICATE_CHARGE]
        subject.save(update_fields=["notes", "processed", "errors", "tallies", "status", "waiting_since"])
        shard.is_done = is_finished(shard.pk)
        shard.save(update_fields=["lease_owner", "lease_expires_at", "slots", "slice_microusd", "suspects", "is_done"])
        append_events(
            run,
            ("capacity.lease_lost", {"subject_index": subject.index, "start": shard.start, "stop": shard.stop, "perhaps_sent": len(lost)}),
            *events,
        )
        if reserved:
            budget = budgets.lock_budget(run.budget_source)
            budgets.settle_and_reserve(budget, settled=0, returned=reserved, wants=[])
            wake_parked(run, budget)
        consider_ending(run, now)
        run.save(update_fields=["processed", "errors", "last_sequence", "phase", "finalizing_reason"])
    log.warning("engine.lease_taken_back", run=str(run.public_id), shard=shard_id, perhaps_sent=len(lost))
    return True


def wake_workspace(workspace_id: int) -> int:
    """Let parked shards of the workspace's live runs without a cap be leased again; returns how many. A cap holds its money from the start.

    Shards that are locked are passed over: whoever holds them is deciding about them now, with the money that is there now.
    """
    parked = Shard.objects.filter(run__workspace_id=workspace_id, run__phase__in=LIVE, is_done=False, parked_need_microusd__isnull=False)
    with transaction.atomic():
        found = parked.filter(run__quote__cap_microusd__isnull=True).select_for_update(of=("self",), skip_locked=True)
        return Shard.objects.filter(pk__in=list(found.values_list("pk", flat=True))).update(parked_need_microusd=None)


def _suspects(shard: Shard, subject: Subject, attempts: int) -> list[int]:
    """Cells under the shard's mark that are not finished: they were perhaps sent. Baselines and recordings send nothing."""
    if subject.kind in CALLS_NOTHING:
        return []
    finished = finished_cells(shard, attempts).values_list("position", "attempt")
    done = {position * attempts + attempt - 1 for position, attempt in finished}
    done.update(shard.unknown)
    return [cell for cell in range(shard.start, min(shard.sent_through, shard.stop)) if cell not in done]


def _note_suspects(shard: Shard, lost: list[int]) -> list[int]:
    """Count the dead lease for each suspect; returns those that have had too many."""
    counts = {str(cell): shard.suspects.get(str(cell), 0) + 1 for cell in lost}
    shard.suspects = {cell: count for cell, count in counts.items() if count < DEAD_LEASES}
    return [int(cell) for cell, count in counts.items() if count >= DEAD_LEASES]


def _write_lost(run: Run, subject: Subject, shard: Shard, cells: list[int]) -> list[RunEvent]:
    """Store cells that three dead leases had on their way as errors: uncharged, and worked again when the run is continued.

    Returns the events of it, as the store's batches have them.
    """
    benchmark = RunBenchmark.objects.get(pk=shard.run_benchmark_id)
    ordinals = benchmark.ordinals()
    ordinal_of = {cell: ordinals[cell // run.attempts - benchmark.first_position] for cell in cells}
    tasks = Task.objects.filter(version_id=benchmark.version_id, ordinal__in=set(ordinal_of.values()))
    key_of = dict(tasks.values_list("ordinal", "pk"))
    samples = [
        Sample(
            public_id=new_id(),
            run_benchmark=benchmark,
            subject=subject,
            task_id=key_of[ordinal],
            position=cell // run.attempts,
            attempt=cell % run.attempts + 1,
            status=SampleStatus.ERROR,
            error_code=ErrorCode.WORKER_LOST,
        )
        for cell, ordinal in ordinal_of.items()
    ]
    Sample.objects.bulk_create(samples)
    tally(subject, samples)
    run.processed += len(samples)
    run.errors += len(samples)
    stored = stored_event(subject, count=len(samples), errors={ErrorCode.WORKER_LOST.value: len(samples)})
    return [stored, *note_finished(subject)]


def _overdue_runs(now: datetime) -> list[int]:
    """Live runs without a lease that were cancelled, are past their deadline, or have no shard that could be worked."""
    live = Run.objects.filter(phase__in=LIVE).exclude(shards__lease_expires_at__isnull=False)
    stuck = ~Q(
        pk__in=Shard.objects.filter(
            is_done=False, parked_need_microusd__isnull=True, subject__status__in=[SubjectStatus.RUNNING, SubjectStatus.WAITING]
        ).values("run_id")
    )
    return list(live.filter(Q(cancel_requested_at__isnull=False) | Q(deadline_at__lte=now) | stuck).values_list("pk", flat=True)[:200])


def _end_run(run_id: int, now: datetime) -> None:
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        consider_ending(run, now)
        run.save(update_fields=["last_sequence", "phase", "finalizing_reason"])


def _unfinalized(now: datetime) -> list[object]:
    """Runs that wait for their result, or whose finalizer died."""
    overdue = Q(finalizing_until__isnull=True) | Q(finalizing_until__lt=now)
    return list(Run.objects.filter(overdue, phase=Phase.FINALIZING).values_list("public_id", flat=True)[:200])
