"""Alerts: owners and admins are told when what a workspace uses reaches a share of its monthly budget.

Used is what the month's allowance has spent and what its open budgets have settled; what is only reserved is not used. A share is told
once. Where the limit changes within the month, a share is told again only if it was not yet reached, under the new limit, by what was used
when something was told last: a raised limit can be reached anew, and neither a raised nor a lowered one repeats what is known.

The present month alone is looked at. What work of an older month still uses counts there and is told no more.
"""

from dataclasses import dataclass
from datetime import datetime
from smtplib import SMTPException

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import BigIntegerField, F, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from billing.enums import AllowanceKind
from billing.models import Allowance, Budget, SpendAlert, WorkspaceLimit
from billing.months import month_of
from common.mail import send_each
from workspaces.models import Workspace
from workspaces.queries import addresses_of_admins

log = structlog.get_logger(__name__)

SHARES = (50, 80, 100)
"""In percent of the monthly budget."""


@dataclass(frozen=True, slots=True)
class _Use:
    """What a workspace has used of its limit in a month, in micro-USD."""

    workspace_id: int
    used: int
    limit: int


def watch_spend(now: datetime | None = None) -> int:
    """Write down what shares are newly reached, and mail what waits to be. Returns how many workspaces were told.

    Two queries, and some for each workspace that has news.
    """
    month = month_of(now or timezone.now())
    for use in _uses(month):
        _note_reached(use.workspace_id, month)
    waiting = SpendAlert.objects.filter(month=month, mailed_at=None).values_list("workspace_id", flat=True).distinct()
    return sum(_tell(workspace_id, month) for workspace_id in waiting.order_by("workspace_id"))


def used_of_month(workspace: Workspace, month: str) -> int:
    """What the workspace has used in the month, in micro-USD."""
    months = Allowance.objects.filter(workspace=workspace, kind=AllowanceKind.WORKSPACE_BUDGET, subject=month)
    spent = months.values_list("spent_microusd", flat=True).first()
    settled = Budget.objects.filter(allowances__in=months, closed_at=None).aggregate(total=Sum("settled_microusd"))["total"]
    return (spent or 0) + (settled or 0)


def _uses(month: str, workspace_id: int | None = None) -> list[_Use]:
    """The workspaces with news: those where a share is reached that was not told, or was told of less than it is now."""
    settled = (
        Budget.objects.filter(allowances=OuterRef("pk"), closed_at=None)
        .order_by()
        .values("allowances")
        .annotate(total=Sum("settled_microusd"))
        .values("total")
    )
    months = Allowance.objects.filter(kind=AllowanceKind.WORKSPACE_BUDGET, subject=month, workspace__spending_limit__monthly_microusd__gt=0)
    if workspace_id is not None:
        months = months.filter(workspace_id=workspace_id)
    rows = (
        months.annotate(
            limit=F("workspace__spending_limit__monthly_microusd"),
            used=F("spent_microusd") + Coalesce(Subquery(settled, output_field=BigIntegerField()), 0),
        )
        .filter(used__gte=F("limit") * SHARES[0] / 100)
        .order_by("workspace_id")
        .values_list("workspace_id", "used", "limit")
    )
    told = _told(month, workspace_id)
    return [use for use in (_Use(*row) for row in rows) if _newly_reached(use, told.get(use.workspace_id, {}))]


def _told(month: str, workspace_id: int | None = None) -> dict[int, dict[int, int]]:
    """By workspace: the shares that were told, each with what was used then."""
    alerts = SpendAlert.objects.filter(month=month)
    if workspace_id is not None:
        alerts = alerts.filter(workspace_id=workspace_id)
    found: dict[int, dict[int, int]] = {}
    for of, percent, used in alerts.values_list("workspace_id", "percent", "used_microusd"):
        found.setdefault(of, {})[percent] = used
    return found


def _newly_reached(use: _Use, told: dict[int, int]) -> list[int]:
    known = max(told.values(), default=0)

    def is_reached(used: int, percent: int) -> bool:
        return used * 100 >= use.limit * percent

    return [percent for percent in SHARES if is_reached(use.used, percent) and not (percent in told and is_reached(known, percent))]


def _note_reached(workspace_id: int, month: str) -> None:
    """Write the alerts of one workspace. Under the limit's lock everything is read again, so that two sweeps write nothing twice."""
    with transaction.atomic():
        _lock(workspace_id)
        for use in _uses(month, workspace_id):
            for percent in _newly_reached(use, _told(month, workspace_id).get(workspace_id, {})):
                told = {"used_microusd": use.used, "limit_microusd": use.limit, "reached_at": timezone.now(), "mailed_at": None}
                SpendAlert.objects.update_or_create(workspace_id=workspace_id, month=month, percent=percent, defaults=told)
                log.info("billing.spend_reached", workspace=workspace_id, month=month, percent=percent)


def _tell(workspace_id: int, month: str) -> bool:
    """Mail what waits of one workspace, all of it at once. Whoever marks it under the lock sends it.

    A process that is killed between the mark and the mail loses the mail, never doubles it; where no mail server took it the mark is taken
    back and the next sweep tries again.
    """
    with transaction.atomic():
        _lock(workspace_id)
        waiting = list(SpendAlert.objects.filter(workspace_id=workspace_id, month=month, mailed_at=None).order_by("percent"))
        marked = SpendAlert.objects.filter(pk__in=[alert.pk for alert in waiting])
        marked.update(mailed_at=timezone.now())
    if not waiting:
        return False
    workspace = Workspace.objects.get(pk=workspace_id)
    try:
        send_each("billing/email/spend_reached", addresses_of_admins(workspace), _context(workspace, waiting))
    except (SMTPException, OSError):
        marked.update(mailed_at=None)
        return False
    return True


def _lock(workspace_id: int) -> None:
    """What serialises sweeps over one workspace: its limit's row, which no work locks."""
    list(WorkspaceLimit.objects.select_for_update().filter(workspace_id=workspace_id).values_list("pk"))


def _context(workspace: Workspace, alerts: list[SpendAlert]) -> dict[str, object]:
    most = alerts[-1]
    return {
        "workspace": workspace,
        "percent": most.percent,
        "used": most.used_microusd,
        "limit": most.limit_microusd,
        "is_all": most.percent >= SHARES[-1],
        "href": settings.SITE_URL + reverse("billing:wallet"),
    }
