"""Grading again, over HTTP."""

from typing import Any
from uuid import UUID

from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from runs import queries
from runs.gradings.actions import grade_again
from runs.gradings.documents import flip_document, grading_comparisons, grading_document, grading_result
from runs.gradings.queries import flips_of, get_grading, gradings_of
from runs.serializers.gradings import FlipShape, GradingBody, GradingDetailShape, GradingShape
from workspaces.api_base import ApiView, operation, page_document
from workspaces.permissions import can_read, can_run


class GradingList(ApiView):
    tag = "results"

    @operation(
        "list_gradings",
        "Later gradings of a run, newest first",
        needs=can_read,
        query=ListQuery,
        answers={200: page_of_shape(GradingShape)},
    )
    def get(self, run_id: UUID) -> dict[str, Any]:
        run = queries.get_run(self.workspace, run_id)
        page = page_of(gradings_of(run), order="-number", cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, grading_document)

    @operation("grade_again", "Grade the answers again, for nothing", needs=can_run, body=GradingBody, answers={202: GradingShape})
    def post(self, run_id: UUID) -> dict[str, Any]:
        """Answers are immutable; this reads them again, in the background. The result of the run itself stays as it is."""
        run = queries.get_run(self.workspace, run_id)
        versions = dict(enumerate(self.body.get("versions") or []))
        return grading_document(grade_again(run, actor=self.actor, versions=versions))


class GradingDetail(ApiView):
    tag = "results"

    @operation("get_grading", "One grading with its result", needs=can_read, answers={200: GradingDetailShape})
    def get(self, run_id: UUID, grading_number: int) -> dict[str, Any]:
        grading = get_grading(queries.get_run(self.workspace, run_id), grading_number)
        return {**grading_document(grading), "result": grading_result(grading), "comparisons": grading_comparisons(grading)}


class FlipList(ApiView):
    tag = "results"

    @operation(
        "list_flips", "Answers whose verdict a grading changed", needs=can_read, query=ListQuery, answers={200: page_of_shape(FlipShape)}
    )
    def get(self, run_id: UUID, grading_number: int) -> dict[str, Any]:
        grading = get_grading(queries.get_run(self.workspace, run_id), grading_number)
        page = page_of(flips_of(grading), order="id", cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, flip_document)
