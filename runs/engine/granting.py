"""Leases: taking shards that nobody works. A message says that there is work, never which; this looks."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, OuterRef, Q, Subquery, Sum, Window
from django.db.models.functions import Coalesce, RowNumber
from django.utils import timezone

from runs.engine.work import Grant
from runs.enums import Phase, RunStatus, SubjectStatus
from runs.events import append_events
from runs.models import Run, Shard, Subject

LIVE = (Phase.QUEUED, Phase.RUNNING, Phase.WAITING)
LOOK_AT = 64
"""Candidates read at a time of each workspace, so that one with a thousand shards does not hide the others."""


@dataclass(frozen=True, slots=True)
class Candidate:
    shard_id: int
    subject_id: int
    run_id: int
    workspace_id: int


def candidates(now: datetime, *, held: Collection[int] = ()) -> list[Candidate]:
    """Shards that could be leased now, in order of task range, so that the subjects of a run keep pace.

    Subjects whose slots are all granted have none to give and are left out, but for the `held`: who holds leases of a subject may add more.
    """
    granted = Shard.objects.filter(subject=OuterRef("subject"), lease_expires_at__isnull=False).order_by().values("subject")
    rows = (
        Shard.objects.alias(granted=Coalesce(Subquery(granted.annotate(slots_granted=Sum("slots")).values("slots_granted")), 0))
        .filter(
            Q(subject__retry_at__isnull=True) | Q(subject__retry_at__lte=now),
            Q(granted__lt=F("subject__concurrency")) | Q(subject__in=held),
            is_done=False,
            lease_expires_at__isnull=True,
            parked_need_microusd__isnull=True,
            subject__status__in=[SubjectStatus.RUNNING, SubjectStatus.WAITING],
            run__phase__in=LIVE,
            run__cancel_requested_at__isnull=True,
            run__deadline_at__gt=now,
        )
        .alias(place=Window(RowNumber(), partition_by="run__workspace_id", order_by=["start", "id"]))
        .filter(place__lte=LOOK_AT)
        .order_by("start", "id")
        .values_list("pk", "subject_id", "run_id", "run__workspace_id")
    )
    return [Candidate(*row) for row in rows]


def workspaces_in_turn(found: Iterable[Candidate], last_served: dict[int, float]) -> list[Candidate]:
    """The candidates with workspaces taking turns, the one served longest ago first; within one the order stays."""
    queues: dict[int, list[Candidate]] = {}
    for candidate in found:
        queues.setdefault(candidate.workspace_id, []).append(candidate)
    order = sorted(queues, key=lambda workspace_id: last_served.get(workspace_id, 0.0))
    turns = []
    while order:
        for workspace_id in list(order):
            turns.append(queues[workspace_id].pop(0))
            if not queues[workspace_id]:
                order.remove(workspace_id)
    return turns


def take_lease(owner: str, candidate: Candidate, *, slots: int, holds_subject: bool) -> Grant | None:
    """Lease one shard: its fence rises, and it gets no more slots than its subject has free. None where another was faster.

    Where this process already works the subject, a lease without free slots is granted too: both share the slots that are there.
    """
    with transaction.atomic():
        now = timezone.now()
        taken = Shard.objects.filter(
            pk=candidate.shard_id, is_done=False, lease_expires_at__isnull=True, parked_need_microusd__isnull=True
        ).update(
            lease_owner=owner,
            lease_expires_at=now + timedelta(seconds=settings.ENGINE_LEASE_SECONDS),
            fence=F("fence") + 1,
            slice_microusd=0,
        )
        if not taken:
            return None
        subject = Subject.objects.select_for_update().get(pk=candidate.subject_id)
        used = (
            Shard.objects.filter(subject=subject, lease_expires_at__isnull=False)
            .exclude(pk=candidate.shard_id)
            .aggregate(n=Sum("slots"))["n"]
            or 0
        )
        granted = max(0, min(slots, subject.concurrency - used))
        if (granted == 0 and not holds_subject) or subject.status in {SubjectStatus.STOPPED, SubjectStatus.DONE}:
            transaction.set_rollback(True)
            return None
        run = Run.objects.select_for_update().get(pk=candidate.run_id)
        if run.phase not in LIVE or run.cancel_requested_at is not None:
            transaction.set_rollback(True)
            return None
        if run.phase == Phase.QUEUED:
            _note_start(run, now)
        Shard.objects.filter(pk=candidate.shard_id).update(slots=granted)
        shard = Shard.objects.get(pk=candidate.shard_id)
    return Grant(
        run_id=run.pk,
        run_public_id=run.public_id,
        workspace_id=run.workspace_id,
        subject_id=subject.pk,
        run_benchmark_id=shard.run_benchmark_id,
        shard_id=shard.pk,
        fence=shard.fence,
        slots=granted,
        start=shard.start,
        stop=shard.stop,
        sent_through=shard.sent_through,
        attempts=run.attempts,
    )


def _note_start(run: Run, now: datetime) -> None:
    run.status, run.phase, run.started_at = RunStatus.RUNNING, Phase.RUNNING, now
    append_events(run, ("run.started", {}))
    run.save(update_fields=["status", "phase", "started_at", "last_sequence"])
