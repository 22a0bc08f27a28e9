"""The workspace's own endpoints over HTTP."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from rest_framework.response import Response

from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from gateway.actions import change_connection, check_connection, create_connection, delete_connection
from gateway.queries import connections_for, get_connection
from gateway.serializers import CheckShape, ConnectionChangeBody, ConnectionCreateBody, ConnectionShape, connection_document
from workspaces.api_base import ApiView, operation, page_document
from workspaces.permissions import can_manage_connections, can_read, can_run


class ConnectionList(ApiView):
    tag = "connections"

    @operation(
        "list_connections",
        "The workspace's endpoints, newest first",
        needs=can_read,
        query=ListQuery,
        answers={200: page_of_shape(ConnectionShape)},
    )
    def get(self) -> dict[str, Any]:
        page = page_of(connections_for(self.workspace), cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, connection_document)

    @operation(
        "create_connection", "Add an endpoint", needs=can_manage_connections, body=ConnectionCreateBody, answers={201: ConnectionShape}
    )
    def post(self) -> dict[str, Any]:
        """The address is checked; nothing is called yet. Check the connection before the first quote."""
        return connection_document(create_connection(self.workspace, actor=self.actor, **{"api_key": "", **self.body}))


class ConnectionDetail(ApiView):
    tag = "connections"

    @operation("get_connection", "One endpoint", needs=can_read, answers={200: ConnectionShape})
    def get(self, connection_id: UUID) -> dict[str, Any]:
        return connection_document(get_connection(self.workspace, connection_id))

    @operation(
        "change_connection", "Change what is given", needs=can_manage_connections, body=ConnectionChangeBody, answers={200: ConnectionShape}
    )
    def patch(self, connection_id: UUID) -> dict[str, Any]:
        return connection_document(change_connection(get_connection(self.workspace, connection_id), actor=self.actor, **self.body))

    @operation("delete_connection", "Delete an endpoint and its key", needs=can_manage_connections, answers={204: None})
    def delete(self, connection_id: UUID) -> Response:
        delete_connection(get_connection(self.workspace, connection_id), actor=self.actor)
        return Response(status=204)


class ConnectionCheck(ApiView):
    tag = "connections"

    @operation("check_connection", "Make one small real call", needs=can_run, answers={200: CheckShape}, in_transaction=False)
    def post(self, connection_id: UUID) -> dict[str, Any]:
        """Your provider may bill it. The first quote of an unchecked connection is refused."""
        return asdict(check_connection(get_connection(self.workspace, connection_id), actor=self.actor))
