"""What an actor may say of answers, and take back."""

from runs.models import Run
from runs.models.reviews import Note
from workspaces.actors import Actor
from workspaces.permissions import can_manage_workspace, can_run


def can_review(actor: Actor, run: Run) -> bool:
    """Write notes and verdicts."""
    return can_run(actor, run.workspace)


def is_author(actor: Actor, note: Note) -> bool:
    """A key is the author of what keys of its lineage wrote."""
    if actor.api_key is not None:
        return note.api_key is not None and note.api_key.lineage == actor.api_key.lineage
    return actor.user is not None and note.author_id == actor.user.pk


def can_edit_note(actor: Actor, note: Note) -> bool:
    """Nobody changes what another has said."""
    return is_author(actor, note) and can_run(actor, note.workspace)


def can_delete_note(actor: Actor, note: Note) -> bool:
    return can_edit_note(actor, note) or can_manage_workspace(actor, note.workspace)
