"""What an actor may do with runs."""

from runs.models import Run
from workspaces.actors import Actor
from workspaces.models import Workspace
from workspaces.permissions import can_manage_connections, can_manage_workspace, can_own, can_read, can_run


def can_see_run(actor: Actor, run: Run) -> bool:
    return can_read(actor, run.workspace)


def can_cancel_run(actor: Actor, run: Run) -> bool:
    return can_run(actor, run.workspace)


def can_continue_run(actor: Actor, run: Run) -> bool:
    return can_run(actor, run.workspace)


def can_share_run(actor: Actor, run: Run) -> bool:
    """Make and revoke links to its result."""
    return can_run(actor, run.workspace)


def can_publish_run(actor: Actor, run: Run) -> bool:
    """Put its figures on a public page under the workspace's name: an owner's word, which no key gives."""
    return can_own(actor, run.workspace)


def can_withdraw_publication(actor: Actor, workspace: Workspace) -> bool:
    """Taking back is easier than giving."""
    return can_manage_workspace(actor, workspace)


def can_manage_webhooks(actor: Actor, workspace: Workspace) -> bool:
    """As for connections: both are places that the workspace's data goes to, with a secret."""
    return can_manage_connections(actor, workspace)
