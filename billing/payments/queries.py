"""Reading payments. The workspace comes first."""

from uuid import UUID

from django.db.models import QuerySet

from billing.models import Payment, TopUp
from workspaces.models import Workspace


def payments_for(workspace: Workspace) -> QuerySet[Payment]:
    """The workspace's payments, newest first."""
    return Payment.objects.filter(wallet__workspace=workspace).order_by("-id")


def get_payment(workspace: Workspace, public_id: UUID) -> Payment:
    """A payment of the workspace, with its refunds and disputes. Raises DoesNotExist, also for another workspace's."""
    return payments_for(workspace).prefetch_related("refunds", "disputes").get(public_id=public_id)


def top_up_of(workspace: Workspace) -> TopUp:
    """The workspace's saved card and automatic top-up; an unsaved one, turned off, where nothing was ever saved."""
    return TopUp.objects.filter(wallet__workspace=workspace).first() or TopUp()
