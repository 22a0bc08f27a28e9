"""Reads over all workspaces for staff: what waits, counted and listed. Permissions are asked by the dashboard, which calls these."""

from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet

from billing.enums import EventState
from billing.models import StripeEvent
from catalog.enums import VersionState
from catalog.models import BenchmarkVersion
from runs.attention import lost_leases, standing_still, went_wrong
from runs.models import Run, RunBenchmark, Shard
from workspaces.models import User

WEEK = timedelta(days=7)


def versions_in_review() -> QuerySet[BenchmarkVersion]:
    """The oldest first: whoever waits longest."""
    return BenchmarkVersion.objects.filter(state=VersionState.IN_REVIEW).select_related("benchmark__workspace").order_by("id")


def runs_gone_wrong(now: datetime) -> QuerySet[Run]:
    return _told(went_wrong(Run.objects.all(), now)).order_by("-ended_at")


def runs_standing_still(now: datetime) -> QuerySet[Run]:
    return _told(standing_still(Run.objects.all(), now))


def lost_shards(now: datetime) -> QuerySet[Shard]:
    return lost_leases(Shard.objects.all(), now)


def failed_events() -> QuerySet[StripeEvent]:
    """What Stripe told and nothing more is tried about."""
    return StripeEvent.objects.filter(state=EventState.FAILED)


def new_people(now: datetime) -> QuerySet[User]:
    """Who joined within a week."""
    return User.objects.filter(date_joined__gte=now - WEEK)


def newest_people() -> QuerySet[User]:
    """The newest first, each with `is_confirmed` and `workspace_count`."""
    confirmed = EmailAddress.objects.filter(user=OuterRef("pk"), verified=True)
    return User.objects.annotate(is_confirmed=Exists(confirmed), workspace_count=Count("memberships")).order_by("-id")


def _told(runs: QuerySet[Run]) -> QuerySet[Run]:
    """With what a line about a run says."""
    of_runs = RunBenchmark.objects.select_related("version__benchmark").defer("version__manifest", "task_ordinals").order_by("index")
    return runs.select_related("workspace").prefetch_related(Prefetch("benchmarks", of_runs))
