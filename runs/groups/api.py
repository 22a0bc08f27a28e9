"""Groups of results, and comparisons under a policy, over HTTP."""

from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase

from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from runs.enums import GroupKind
from runs.groups import queries
from runs.groups.actions import create_group
from runs.groups.documents import group_document, listed_document, ranked, saved_document, saved_row
from runs.groups.exporting import export_response
from runs.groups.listing import page_of_groups
from runs.groups.serializers import (
    KINDS,
    ComparisonBody,
    GroupExportQuery,
    GroupExportShape,
    GroupQuery,
    GroupRowShape,
    GroupsQuery,
    ResultGroupBody,
    ResultGroupShape,
)
from runs.models.groups import ResultGroup
from workspaces.api_base import ApiView, operation, page_document
from workspaces.permissions import can_read, can_run


class ResultGroupList(ApiView):
    tag = "results"

    @operation(
        "list_result_groups",
        "Groups of results, newest first",
        needs=can_read,
        query=GroupsQuery,
        answers={200: page_of_shape(GroupRowShape)},
    )
    def get(self) -> dict[str, Any]:
        """Those made from results, and runs that were started with several models."""
        kinds = (self.query["kind"],) if "kind" in self.query else KINDS
        rows, cursor = page_of_groups(self.workspace, kinds=kinds, cursor=self.query.get("cursor"), limit=self.query["limit"])
        return {"data": [listed_document(row) for row in rows], "next_cursor": cursor}

    @operation(
        "create_result_group",
        "Put two to eight results side by side",
        needs=can_run,
        body=ResultGroupBody,
        answers={201: ResultGroupShape},
        in_transaction=False,
    )
    def post(self) -> dict[str, Any]:
        """Freezes the results with their versions and checksums, and what their comparison says. No model is run again."""
        body = self.body
        return _create(
            self, references=body["runs"], baseline=body["baseline"], name=body["name"], policy=body["policy"], kind=GroupKind.RESULTS
        )


class ResultGroupDetail(ApiView):
    tag = "results"

    @operation("get_result_group", "One group with its comparison", needs=can_read, query=GroupQuery, answers={200: ResultGroupShape})
    def get(self, group_id: UUID) -> dict[str, Any]:
        """The ID of a run of several models names a group too: its latest result, compared when it has ended."""
        document = group_document(queries.find_group(self.workspace, group_id))
        return ranked(document) if self.query["rank"] else document


class ResultGroupExport(ApiView):
    tag = "results"

    @operation(
        "export_result_group",
        "A group as a file",
        needs=can_read,
        query=GroupExportQuery,
        answers={(200, "application/json"): GroupExportShape, (200, "text/csv"): {"type": "string"}},
    )
    def get(self, group_id: UUID) -> HttpResponseBase:
        """`json` with all that was frozen, `csv` with one line a result."""
        return export_response(queries.find_group(self.workspace, group_id), self.query["format"])


class ComparisonList(ApiView):
    tag = "results"

    @operation(
        "list_comparisons", "Comparisons, newest first", needs=can_read, query=ListQuery, answers={200: page_of_shape(GroupRowShape)}
    )
    def get(self) -> dict[str, Any]:
        found = queries.groups_for(self.workspace, kinds=(GroupKind.COMPARISON,))
        return page_document(page_of(found, cursor=self.query.get("cursor"), limit=self.query["limit"]), saved_row)

    @operation(
        "create_comparison",
        "Compare candidates with a baseline, under checks",
        needs=can_run,
        body=ComparisonBody,
        answers={201: ResultGroupShape},
        in_transaction=False,
    )
    def post(self) -> dict[str, Any]:
        """`fail` where any check of any candidate fails, `pass` where all pass, else `inconclusive`; null without checks."""
        body = self.body
        return _create(
            self,
            references=body["candidates"],
            baseline=body["baseline"],
            name=body["name"],
            policy=body["policy"],
            kind=GroupKind.COMPARISON,
        )


class ComparisonDetail(ApiView):
    tag = "results"

    @operation("get_comparison", "One comparison", needs=can_read, answers={200: ResultGroupShape})
    def get(self, comparison_id: UUID) -> dict[str, Any]:
        return saved_document(queries.get_group(self.workspace, comparison_id, kinds=(GroupKind.COMPARISON,)))


def _create(view: ApiView, **wanted: Any) -> dict[str, Any]:
    """The new group's document. The answer of an idempotency key is kept in the transaction that makes the group."""
    answer: dict[str, Any] = {}

    def finish(group: ResultGroup) -> None:
        kinds = (group.kind,)
        answer.update(saved_document(queries.get_group(view.workspace, group.public_id, kinds=kinds)))
        view.keep_answer(answer, 201)

    create_group(view.workspace, actor=view.actor, finish=finish, **wanted)
    return answer
