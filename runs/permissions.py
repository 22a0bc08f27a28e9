"""What an actor may do with runs."""

from runs.models import Run
from workspaces.actors import Actor
from workspaces.permissions import can_read, can_run


def can_see_run(actor: Actor, run: Run) -> bool:
    return can_read(actor, run.workspace)


def can_cancel_run(actor: Actor, run: Run) -> bool:
    return can_run(actor, run.workspace)


def can_continue_run(actor: Actor, run: Run) -> bool:
    return can_run(actor, run.workspace)
