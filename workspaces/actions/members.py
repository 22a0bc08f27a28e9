"""Who is in a workspace, and as what. A workspace always has an owner, and nobody gives or takes a role above their own."""

from allauth.account.models import EmailAddress
from django.db import IntegrityError, transaction

from common.errors import Conflict, Forbidden, Refused
from workspaces import audit
from workspaces.actors import Actor
from workspaces.enums import RANK, ActorKind, Role
from workspaces.models import Membership, Workspace
from workspaces.permissions import can_manage_members, require, role_of


def add_member(workspace: Workspace, *, actor: Actor, email: str, role: Role) -> Membership:
    """Add the account with this verified address. Raises Refused (`account_not_found`) and Conflict (`already_member`).

    An address that nobody has verified is no account: whoever signed up with it has not shown that it is theirs.
    """
    require(can_manage_members(actor, workspace))
    _require_rank(actor, workspace, role)
    email = email.strip()
    address = EmailAddress.objects.filter(email__iexact=email, verified=True, user__is_active=True).select_related("user").first()
    if address is None:
        raise Refused("account_not_found", f"There is no account of {email}. Ask the person to sign up first.")
    try:
        with transaction.atomic():
            membership = Membership.objects.create(workspace=workspace, user=address.user, role=role)
            audit.record(actor, "member.add", address.user.public_id, workspace=workspace, email=email, role=role)
    except IntegrityError:
        raise Conflict("already_member", f"{email} is a member already; change the role in the list.") from None
    return membership


def change_role(membership: Membership, *, actor: Actor, role: Role) -> Membership:
    """Give the member another role. Raises Conflict (`last_owner`)."""
    workspace = membership.workspace
    require(can_manage_members(actor, workspace))
    with transaction.atomic():
        row = _locked(membership)
        _require_rank(actor, workspace, Role(row.role))
        _require_rank(actor, workspace, role)
        if row.role == role:
            return row
        if row.role == Role.OWNER:
            _require_another_owner(row)
        audit.record(actor, "member.change_role", row.user.public_id, workspace=workspace, before=row.role, after=role)
        row.role = role
        row.save(update_fields=["role"])
    return row


def remove_member(membership: Membership, *, actor: Actor) -> None:
    """Take the member out of the workspace; anyone may leave. What they made stays. Raises Conflict (`last_owner`)."""
    workspace = membership.workspace
    if actor.user is None or actor.user.pk != membership.user_id:
        require(can_manage_members(actor, workspace))
    with transaction.atomic():
        row = _locked(membership)
        _require_rank(actor, workspace, Role(row.role))
        if row.role == Role.OWNER:
            _require_another_owner(row)
        audit.record(actor, "member.remove", row.user.public_id, workspace=workspace, email=row.user.email, role=row.role)
        row.delete()


def _locked(membership: Membership) -> Membership:
    """The membership as it stands, under the lock of its workspace: two owners who leave at once would else leave none."""
    Workspace.objects.select_for_update().get(pk=membership.workspace_id)
    return Membership.objects.select_related("user", "workspace").get(pk=membership.pk)


def _require_rank(actor: Actor, workspace: Workspace, role: Role) -> None:
    """Refuse to give or take a role above the actor's own."""
    if actor.kind == ActorKind.SYSTEM:
        return
    held = role_of(actor, workspace)
    if held is None or RANK[held] < RANK[role]:
        raise Forbidden("Only an owner makes or removes owners." if role == Role.OWNER else "Your role does not allow this.")


def _require_another_owner(membership: Membership) -> None:
    if not Membership.objects.filter(workspace=membership.workspace_id, role=Role.OWNER).exclude(pk=membership.pk).exists():
        raise Conflict("last_owner", "A workspace needs an owner. Make someone else an owner first.")
