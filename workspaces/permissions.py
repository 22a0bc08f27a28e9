"""What an actor may do in a workspace: by role for a person, by scope for a key, everything for the system.

Not being in the workspace at all is no permission question: look-ups raise `DoesNotExist`, which is answered as not found.
"""

from common.errors import Forbidden
from workspaces.actors import Actor
from workspaces.enums import RANK, ActorKind, Role, Scope
from workspaces.models import Membership, Workspace


def role_of(actor: Actor, workspace: Workspace) -> Role | None:
    """The person's role in the workspace; None for strangers and for keys."""
    if actor.user is None:
        return None
    role = Membership.objects.filter(workspace=workspace, user=actor.user).values_list("role", flat=True).first()
    return Role(role) if role else None


def _allows(actor: Actor, workspace: Workspace, *, role: Role, scope: Scope | None) -> bool:
    if actor.kind == ActorKind.SYSTEM:
        return True
    if actor.api_key is not None:
        return actor.api_key.workspace_id == workspace.pk and scope is not None and actor.has_scope(scope)
    held = role_of(actor, workspace)
    return held is not None and RANK[held] >= RANK[role]


def can_read(actor: Actor, workspace: Workspace) -> bool:
    return _allows(actor, workspace, role=Role.VIEWER, scope=Scope.EVAL_READ)


def can_read_billing(actor: Actor, workspace: Workspace) -> bool:
    return _allows(actor, workspace, role=Role.VIEWER, scope=Scope.BILLING_READ)


def can_run(actor: Actor, workspace: Workspace) -> bool:
    """Quote, start, cancel, continue; use connections."""
    return _allows(actor, workspace, role=Role.MEMBER, scope=Scope.EVAL_WRITE)


def can_import(actor: Actor, workspace: Workspace) -> bool:
    return _allows(actor, workspace, role=Role.MEMBER, scope=Scope.BENCHMARKS_SUBMIT)


def can_manage_connections(actor: Actor, workspace: Workspace) -> bool:
    return _allows(actor, workspace, role=Role.ADMIN, scope=Scope.KEYS_MANAGE)


def can_manage_keys(actor: Actor, workspace: Workspace) -> bool:
    return _allows(actor, workspace, role=Role.ADMIN, scope=Scope.KEYS_MANAGE)


def can_manage_members(actor: Actor, workspace: Workspace) -> bool:
    return _allows(actor, workspace, role=Role.ADMIN, scope=None)


def can_manage_workspace(actor: Actor, workspace: Workspace) -> bool:
    return _allows(actor, workspace, role=Role.ADMIN, scope=None)


def can_buy_credit(actor: Actor, workspace: Workspace) -> bool:
    """Buy credit, save a card, set automatic top-ups. No key ever may: it could spend a person's money past its own ceiling."""
    return _allows(actor, workspace, role=Role.ADMIN, scope=None)


def can_own(actor: Actor, workspace: Workspace) -> bool:
    return _allows(actor, workspace, role=Role.OWNER, scope=None)


_LEAST_ROLE = {
    Scope.EVAL_READ: Role.VIEWER,
    Scope.BILLING_READ: Role.VIEWER,
    Scope.EVAL_WRITE: Role.MEMBER,
    Scope.BENCHMARKS_SUBMIT: Role.MEMBER,
    Scope.KEYS_MANAGE: Role.ADMIN,
}


def scopes_of(actor: Actor, role: Role | None) -> list[str]:
    """What the actor may do, as scopes: a key's own, or those that a person's role amounts to."""
    if actor.api_key is not None:
        return [scope.value for scope in Scope if actor.has_scope(scope)]
    return [scope.value for scope, least in _LEAST_ROLE.items() if role is not None and RANK[role] >= RANK[least]]


def is_platform_staff(actor: Actor) -> bool:
    """Whether the actor may grant credit, set rates and review the catalog."""
    return actor.kind == ActorKind.SYSTEM or (actor.user is not None and actor.user.is_staff and actor.user.is_active)


def require(allowed: bool, message: str = "Your role or key does not allow this.") -> None:
    """Raise `Forbidden` unless allowed."""
    if not allowed:
        raise Forbidden(message)
