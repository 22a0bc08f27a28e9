"""Retention: what models said is deleted when the quote's time is over; scores, figures and ledger stay."""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from gateway.models import Call, CallContent
from runs.events import append_events
from runs.exports.storing import delete_answers
from runs.models import Run, Sample

BATCH = 1_000


def expire_content(now: datetime | None = None) -> int:
    """Delete the content of runs past their retention. Returns how many runs. Content that a later run still shows is kept until that
    one expires.
    """
    now = now or timezone.now()
    expired = Run.objects.filter(content_expires_at__lte=now, content_expired_at__isnull=True)
    run_ids = list(expired.values_list("pk", flat=True))
    for run_id in run_ids:
        _expire_run(run_id, now)
    return len(run_ids)


def _expire_run(run_id: int, now: datetime) -> None:
    # Copies name the sample that was answered first, so every run that shows an answer is found by that one.
    shown_elsewhere = Sample.objects.filter(
        Q(pk=OuterRef("answered")) | Q(origin=OuterRef("answered")), run_benchmark__run__content_expired_at__isnull=True
    ).exclude(run_benchmark__run=run_id)
    samples = (
        Sample.objects.filter(run_benchmark__run=run_id)
        .alias(answered=Coalesce(F("origin"), F("pk")))
        .exclude(Exists(shown_elsewhere))
        .order_by("pk")
    )
    last = 0
    while True:
        page = list(samples.filter(pk__gt=last).values_list("pk", "public_id", "origin__public_id")[:BATCH])
        if not page:
            break
        last = page[-1][0]
        sources = [origin or own for _, own, origin in page]
        CallContent.objects.filter(call__in=Call.objects.filter(source_id__in=sources)).delete()
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        run.content_expired_at = now
        delete_answers(run)
        append_events(run, ("run.content_expired", {}))
        run.save(update_fields=["content_expired_at", "last_sequence"])
