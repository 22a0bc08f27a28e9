"""Reads of a workspace's connections. Deleted ones are never among them."""

import uuid

from django.db.models import QuerySet

from common.ids import named_id
from gateway.models import Connection
from workspaces.models import User, Workspace


def connections_for(workspace: Workspace) -> QuerySet[Connection]:
    """The workspace's connections, newest first."""
    return Connection.objects.filter(workspace=workspace, deleted_at__isnull=True).order_by("-id")


def get_connection(workspace: Workspace, public_id: uuid.UUID | str) -> Connection:
    """One connection of the workspace. Raises `Connection.DoesNotExist`."""
    return connections_for(workspace).get(public_id=named_id(public_id))


def get_connection_of_member(user: User, public_id: uuid.UUID | str) -> Connection:
    """A connection of any of the person's workspaces. Raises `Connection.DoesNotExist`."""
    found = Connection.objects.filter(workspace__memberships__user=user, deleted_at__isnull=True)
    return found.select_related("workspace", "created_by").get(public_id=named_id(public_id))
