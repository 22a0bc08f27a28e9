"""Writing the record of changes."""

from typing import Any

from workspaces.actors import Actor
from workspaces.models import AuditEntry, Workspace


def record(actor: Actor, action: str, target: object, *, workspace: Workspace | None, **data: Any) -> AuditEntry:
    """Write one audit entry, inside the transaction of the change. `data` holds no secrets."""
    return AuditEntry.objects.create(
        workspace=workspace,
        actor_kind=actor.kind,
        actor_id=actor.public_id,
        actor_label=actor.label,
        action=action,
        target=str(target)[:120],
        data=data,
    )
