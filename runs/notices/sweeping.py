"""What is looked for every few seconds, so that nothing depends on a message that may be lost."""

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.utils import timezone

from common.jobs import enqueue
from runs.models.notices import NoticeEvent, WebhookEndpoint
from runs.notices import delivering, mailing
from runs.notices.jobs import DELIVER, MAIL
from runs.notices.outbox import note_waiting, waiting_runs

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 10.0
FORGOTTEN_AT_ONCE = 1_000


def sweep_notices(now: datetime | None = None) -> None:
    """Note runs that wait, hint what is due, and forget what is old."""
    now = now or timezone.now()
    for run_id in list(waiting_runs(now).values_list("pk", flat=True)[:200]):
        try:
            note_waiting(run_id, now)
        except Exception:  # one run's trouble does not keep the others from being told
            log.exception("notices.sweep_failed", run=run_id)
    if delivering.is_due(now):
        enqueue(DELIVER, expires=SWEEP_SECONDS)
    if mailing.is_due(now):
        enqueue(MAIL, expires=SWEEP_SECONDS)
    _forget(now)


def _forget(now: datetime) -> None:
    """Delete events past their days, with their deliveries, and secrets that are not signed with any more."""
    old = NoticeEvent.objects.filter(created_at__lt=now - timedelta(days=settings.NOTICES_KEPT_DAYS)).order_by("created_at")
    ids = list(old.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])
    if ids:
        NoticeEvent.objects.filter(pk__in=ids).delete()
    WebhookEndpoint.objects.filter(old_secret_until__lte=now).exclude(old_secret="").update(old_secret="", old_secret_until=None)
