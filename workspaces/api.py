"""Accounts and workspaces over HTTP."""

from typing import Any
from uuid import UUID

from django.http import Http404

from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from workspaces.api_base import ApiView, operation, page_document
from workspaces.permissions import role_of
from workspaces.queries import get_membership, get_workspace_of, memberships_of
from workspaces.serializers import AccountShape, WorkspaceShape, account_document, membership_document, workspace_document


class AccountView(ApiView):
    tag = "account"

    @operation("get_account", "Who asks, and what they may do", answers={200: AccountShape})
    def get(self) -> dict[str, Any]:
        assert self.access is not None
        return account_document(self.access, role_of(self.actor, self.workspace))


class WorkspaceList(ApiView):
    tag = "workspaces"

    @operation("list_workspaces", "The workspaces you are in", query=ListQuery, answers={200: page_of_shape(WorkspaceShape)})
    def get(self) -> dict[str, Any]:
        if self.actor.user is None:
            return {"data": [workspace_document(self.workspace, None)], "next_cursor": None}
        page = page_of(memberships_of(self.actor.user), order="id", cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, membership_document)


class WorkspaceDetail(ApiView):
    tag = "workspaces"

    @operation("get_workspace", "One workspace", answers={200: WorkspaceShape})
    def get(self, workspace_id: UUID) -> dict[str, Any]:
        if self.actor.user is None:
            if workspace_id != self.workspace.public_id:
                raise Http404
            return workspace_document(self.workspace, None)
        return membership_document(get_membership(self.actor.user, get_workspace_of(self.actor.user, workspace_id)))
