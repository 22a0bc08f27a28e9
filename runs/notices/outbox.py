"""Writing down what is to be told, in the transaction in which it happened: nothing that is committed can fail to be told.

A row for each endpoint that wants the event, and one for the person who started the run where they want mail. What follows is sending;
the messages that hint at it may be lost.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from common.canonical import canonical_json
from common.ids import new_id
from common.jobs import enqueue_on_commit
from runs.documents import instant
from runs.enums import Phase, RunStatus, SubjectStatus
from runs.models import ResultVersion, Run
from runs.models.notices import NoticeEvent, NoticeMail, WebhookDelivery, WebhookEndpoint
from runs.notices.enums import EndedMail, EventType
from runs.notices.jobs import DELIVER, HINT_LIFETIME, MAIL
from runs.notices.queries import choice_of
from workspaces.models import User, Workspace

LONG_RUN = timedelta(minutes=5)
"""Who started a shorter one has most likely waited for it."""


def note_ended(run: Run, result: ResultVersion) -> NoticeEvent:
    """Write down that the run ended, or was interrupted. Inside the transaction that ends it."""
    kind = EventType.ENDED if run.interruption is None else EventType.INTERRUPTED
    return _note(run, kind, result=result)


def note_waiting(run_id: int, now: datetime) -> NoticeEvent | None:
    """Write down that the run waits for its provider, where it has for long enough and this spell was not told yet."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        since = waiting_runs(now).filter(pk=run_id).values_list("since", flat=True).first()
        if since is None:
            return None
        told = NoticeEvent.objects.filter(run=run, type=EventType.WAITING)
        if told.filter(created_at__gte=since).exists():
            return None
        return _note(run, EventType.WAITING, number=told.count() + 1, since=since)


def waiting_runs(now: datetime) -> Any:
    """Runs of every workspace that have waited for long enough. `since`: when the last of their models began to, which began the spell."""
    waiting = Max("subjects__waiting_since", filter=Q(subjects__status=SubjectStatus.WAITING))
    least = now - timedelta(seconds=settings.NOTICE_WAITING_SECONDS)
    return Run.objects.filter(phase=Phase.WAITING).annotate(since=waiting).filter(since__lte=least).order_by("pk")


def _note(run: Run, kind: EventType, *, number: int = 1, result: ResultVersion | None = None, since: datetime | None = None) -> NoticeEvent:
    event = new_event(run.workspace, kind, {"run": _run_document(run, result, since)})
    event.run, event.number = run, number
    event.save(force_insert=True)
    endpoints = WebhookEndpoint.objects.filter(workspace=run.workspace_id, is_enabled=True).order_by("pk")
    deliveries = [
        WebhookDelivery(workspace_id=run.workspace_id, event=event, endpoint=endpoint) for endpoint in endpoints if kind in endpoint.events
    ]
    if deliveries:
        WebhookDelivery.objects.bulk_create(deliveries)
        enqueue_on_commit(DELIVER, expires=HINT_LIFETIME)
    if run.created_by is not None and _wants_mail(run, run.created_by, kind):
        NoticeMail.objects.create(event=event, user=run.created_by)
        enqueue_on_commit(MAIL, expires=HINT_LIFETIME)
    return event


def new_event(workspace: Workspace, kind: EventType, data: dict[str, Any]) -> NoticeEvent:
    """An event, not stored yet. Its body is what each webhook sends, byte for byte."""
    event_id, now = new_id(), timezone.now()
    body = {"id": str(event_id), "type": str(kind), "created_at": instant(now), "workspace_id": str(workspace.public_id), "data": data}
    return NoticeEvent(public_id=event_id, workspace=workspace, type=kind, body=canonical_json(body), created_at=now)


def _run_document(run: Run, result: ResultVersion | None, since: datetime | None) -> dict[str, Any]:
    """Counts, money and names: no task, no answer, no text of a provider's."""
    stopped = run.interruption
    return {
        "id": str(run.public_id),
        "name": run.name or None,
        "status": str(run.status),
        "report_url": f"{settings.SITE_URL}/evaluations/{run.public_id}",
        "api_url": f"{settings.SITE_URL}/v1/runs/{run.public_id}",
        "planned": run.planned,
        "processed": run.processed,
        "errors": run.errors,
        "unfinished": run.planned - run.processed,
        "spend_microusd": str(run.spend_microusd),
        "created_at": instant(run.created_at),
        "started_at": instant(run.started_at),
        "ended_at": instant(run.ended_at),
        "waiting_since": instant(since),
        "interruption": {"reason": str(stopped["reason"]), "limit": stopped.get("limit")} if stopped else None,
        "result": {"version": result.number, "sha256": result.sha256} if result else None,
    }


def _wants_mail(run: Run, person: User, kind: EventType) -> bool:
    """Whether the person who started it chose to be told. Who cancels a run knows of it."""
    choice = choice_of(person)
    if kind == EventType.WAITING:
        return choice.waiting
    if kind == EventType.INTERRUPTED:
        return choice.interrupted and not (run.status == RunStatus.CANCELLED and run.cancelled_by_label == person.email)
    if choice.ended == EndedMail.LONG:
        return run.ended_at is not None and run.ended_at - run.created_at >= LONG_RUN
    return choice.ended == EndedMail.ALWAYS
