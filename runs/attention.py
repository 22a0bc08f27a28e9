"""Runs and shards that staff should look at, over all workspaces: narrowed lists, for the admin alone."""

from datetime import datetime, timedelta

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from runs.enums import Phase, RunStatus
from runs.models import Event, Run, Shard

LATELY = timedelta(days=1)
SILENCE = timedelta(hours=1)
"""A live run in which nothing happened for so long stands still: waiting for a provider ends, or stops a model, before that."""
LATE = timedelta(minutes=1)
"""A lease that ran out so long ago should have been taken back by the sweep, many times over."""


def went_wrong(runs: QuerySet[Run], now: datetime) -> QuerySet[Run]:
    """Those that failed or were interrupted within the last day. A person's own cancel is not among them."""
    return runs.filter(status__in=[RunStatus.FAILED, RunStatus.PARTIAL], ended_at__gte=now - LATELY)


def standing_still(runs: QuerySet[Run], now: datetime) -> QuerySet[Run]:
    """Live ones without an event for an hour, each with `last_event_at`; those that have stood still longest come first."""
    newest = Event.objects.filter(run=OuterRef("pk")).order_by("-sequence").values("created_at")[:1]
    live = runs.exclude(phase=Phase.DONE).filter(created_at__lt=now - SILENCE)
    return (
        live.annotate(last_event_at=Coalesce(Subquery(newest), F("created_at")))
        .filter(last_event_at__lt=now - SILENCE)
        .order_by("last_event_at")
    )


def lost_leases(shards: QuerySet[Shard], now: datetime) -> QuerySet[Shard]:
    """Unfinished ones whose lease ran out and was not taken back."""
    return shards.filter(is_done=False, lease_expires_at__lt=now - LATE)
