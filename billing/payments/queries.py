"""Reading what payments are made with. The workspace comes first."""

from billing.models import TopUp
from workspaces.models import Workspace


def top_up_of(workspace: Workspace) -> TopUp:
    """The workspace's saved card and automatic top-up; an unsaved one, turned off, where nothing was ever saved."""
    return TopUp.objects.filter(wallet__workspace=workspace).first() or TopUp()
