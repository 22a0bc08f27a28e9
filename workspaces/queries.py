"""Reading people, workspaces, memberships and keys. Who asks, or the workspace, comes first."""

from datetime import datetime
from typing import cast
from uuid import UUID

from allauth.account.models import EmailAddress
from django.db.models import QuerySet
from django.http import HttpRequest

from common.errors import Conflict
from common.ids import parse_uuid
from workspaces.actors import Actor
from workspaces.enums import Role
from workspaces.models import ApiKey, AuditEntry, Membership, User, Workspace

SESSION_KEY = "workspace"


# ── Memberships of a person ─────────────────────────────────────────────────────────────────────────────────────────


def memberships_of(user: User) -> QuerySet[Membership]:
    """The person's memberships with their workspaces, the oldest first."""
    return Membership.objects.filter(user=user).select_related("workspace").order_by("id")


def workspaces_of(user: User) -> QuerySet[Workspace]:
    """The workspaces the person is a member of."""
    return Workspace.objects.filter(memberships__user=user).order_by("memberships__id")


def get_workspace_of(user: User, workspace_id: UUID | str) -> Workspace:
    """The workspace by its public ID, if the person is a member of it. Raises Workspace.DoesNotExist."""
    return workspaces_of(user).get(public_id=_uuid(workspace_id, Workspace))


def get_membership(user: User, workspace: Workspace) -> Membership:
    """The person's membership in the workspace. Raises Membership.DoesNotExist."""
    return Membership.objects.select_related("workspace", "user").get(user=user, workspace=workspace)


def has_verified_address(user: User) -> bool:
    """Whether the person has shown that some address is theirs."""
    return EmailAddress.objects.filter(user=user, verified=True).exists()


# ── The workspace a request works in ────────────────────────────────────────────────────────────────────────────────


def memberships_of_request(request: HttpRequest) -> list[Membership]:
    """The memberships of the person who is signed in, read once a request; empty where nobody is."""
    cached = getattr(request, "_memberships", None)
    if cached is None:
        cached = list(memberships_of(request.user)) if request.user.is_authenticated else []
        request._memberships = cached  # type: ignore[attr-defined]
    return cast(list[Membership], cached)


def current_membership(request: HttpRequest) -> Membership | None:
    """The membership the session picked, else the person's oldest; None for those who are signed out or in no workspace.

    It picks defaults for lists and new forms only: an object's own page looks the object up over all memberships.
    """
    memberships = memberships_of_request(request)
    chosen = request.session.get(SESSION_KEY) if memberships else None
    return next((m for m in memberships if str(m.workspace.public_id) == chosen), memberships[0] if memberships else None)


def current_workspace(request: HttpRequest) -> Workspace | None:
    """The workspace of `current_membership`."""
    membership = current_membership(request)
    return membership.workspace if membership else None


def required_workspace(request: HttpRequest) -> Workspace:
    """The workspace of `current_membership`. Raises Conflict (`no_workspace`) for a person who is in none."""
    workspace = current_workspace(request)
    if workspace is None:
        raise Conflict("no_workspace", "You are in no workspace. Make one in your account settings, or ask to be added to one.")
    return workspace


# ── Members ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def members_of(workspace: Workspace) -> QuerySet[Membership]:
    """The workspace's memberships with their people, the oldest first."""
    return Membership.objects.filter(workspace=workspace).select_related("user").order_by("id")


def get_member(workspace: Workspace, user_id: UUID | str) -> Membership:
    """The membership of the person with this public ID. Raises Membership.DoesNotExist."""
    return members_of(workspace).get(user__public_id=_uuid(user_id, Membership))


def owners_of(workspace: Workspace) -> QuerySet[Membership]:
    return Membership.objects.filter(workspace=workspace, role=Role.OWNER)


# ── API keys ────────────────────────────────────────────────────────────────────────────────────────────────────────


def api_keys_for(workspace: Workspace) -> QuerySet[ApiKey]:
    """All keys of the workspace, revoked and expired ones too, the newest first."""
    return ApiKey.objects.filter(workspace=workspace).select_related("created_by", "workspace").order_by("-id")


def live_api_keys_for(workspace: Workspace, now: datetime) -> QuerySet[ApiKey]:
    """The keys that work at this time."""
    return api_keys_for(workspace).filter(revoked_at=None).exclude(expires_at__lte=now)


def get_api_key(workspace: Workspace, key_id: UUID | str) -> ApiKey:
    """The workspace's key by its public ID. Raises ApiKey.DoesNotExist."""
    return api_keys_for(workspace).get(public_id=_uuid(key_id, ApiKey))


def get_api_key_of_member(user: User, key_id: UUID | str) -> ApiKey:
    """The key by its public ID, over all workspaces the person is a member of. Raises ApiKey.DoesNotExist."""
    return ApiKey.objects.select_related("workspace", "created_by").get(public_id=_uuid(key_id, ApiKey), workspace__memberships__user=user)


def addresses_of_admins(workspace: Workspace) -> QuerySet[Membership, str]:
    """The addresses of the workspace's active owners and admins, who are told what concerns its money."""
    members = Membership.objects.filter(workspace=workspace, role__in=[Role.OWNER, Role.ADMIN], user__is_active=True)
    return members.order_by("id").values_list("user__email", flat=True)


# ── The record of changes ───────────────────────────────────────────────────────────────────────────────────────────


def audit_entries_for(workspace: Workspace) -> QuerySet[AuditEntry]:
    """Who changed what in the workspace, the newest first."""
    return AuditEntry.objects.filter(workspace=workspace).order_by("-id")


def workspace_of_actor(actor: Actor) -> Workspace | None:
    """The one workspace a key belongs to; None for people and the system."""
    return actor.api_key.workspace if actor.api_key else None


def _uuid(text: UUID | str, model: type) -> UUID:
    """The UUID, or the model's DoesNotExist where the text is not one: a malformed ID is simply not found."""
    found = parse_uuid(str(text))
    if found is None:
        raise model.DoesNotExist(f"{model.__name__} {text!r}")  # type: ignore[attr-defined]
    return found
