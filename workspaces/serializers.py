"""What the API answers about accounts and workspaces. API keys, which have ceilings, are described in `billing`."""

from typing import Any

from rest_framework import serializers

from workspaces.actors import Access
from workspaces.enums import Role, Scope
from workspaces.models import Membership, Workspace
from workspaces.permissions import scopes_of


class UserShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    name = serializers.CharField(allow_blank=True)


class KeyNameShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    label = serializers.CharField()


class WorkspaceNameShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


class AccountShape(serializers.Serializer[Any]):
    """Who asks, and as what: a person with a role, or a key with scopes."""

    user = UserShape(allow_null=True)
    api_key = KeyNameShape(allow_null=True)
    workspace = WorkspaceNameShape()
    role = serializers.ChoiceField(choices=Role.values, allow_null=True)
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.values))


class WorkspaceShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.values, allow_null=True, help_text="Null for a key, which has scopes.")
    created_at = serializers.DateTimeField()


def account_document(access: Access, role: Role | None) -> dict[str, Any]:
    """Who asks: `role` is a person's in the workspace, None for a key."""
    user, api_key = access.actor.user, access.actor.api_key
    return {
        "user": {"id": user.public_id, "email": user.email, "name": user.name} if user else None,
        "api_key": {"id": api_key.public_id, "label": api_key.label} if api_key else None,
        "workspace": {"id": access.workspace.public_id, "name": access.workspace.name},
        "role": role,
        "scopes": scopes_of(access.actor, role),
    }


def workspace_document(workspace: Workspace, role: str | None) -> dict[str, Any]:
    return {"id": workspace.public_id, "name": workspace.name, "role": role, "created_at": workspace.created_at}


def membership_document(membership: Membership) -> dict[str, Any]:
    """A workspace as one of its members sees it."""
    return workspace_document(membership.workspace, membership.role)
