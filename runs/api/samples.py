"""The samples of a run, filtered, and one of them with everything."""

from typing import Any
from uuid import UUID

from common.pages import Order, page_of
from runs import queries
from runs.browsing import filters, texts
from runs.reviews.documents import reviewed_documents, reviewed_rows
from runs.serializers.reviews import SamplePageShape, SamplesQuery
from runs.serializers.shapes import SampleDetailShape
from workspaces.api_base import ApiView, operation, page_document
from workspaces.permissions import can_read


class SampleList(ApiView):
    tag = "results"

    @operation("list_samples", "Finished cells of a run", needs=can_read, query=SamplesQuery, answers={200: SamplePageShape})
    def get(self, run_id: UUID) -> dict[str, Any]:
        run = queries.get_run(self.workspace, run_id)
        cursor, limit, sort = self.query.pop("cursor", None), self.query.pop("limit"), self.query.pop("sort", None)
        wanted = filters.SampleFilter(**self.query)
        found = filters.filter_samples(queries.samples_of(run), run, wanted)
        order: Order = "id"
        if sort:
            found, order = filters.sorted_by(found, sort)
        if not wanted.text:
            listed = page_of(found, order=order, cursor=cursor, limit=limit)
            return page_document(listed, reviewed_rows(run, listed.rows))
        matches = texts.find_texts(found, run, wanted.text, order=order, cursor=cursor, limit=limit)
        rows = queries.samples_by_key(run, matches.keys)
        data = list(map(reviewed_rows(run, rows), rows))
        return {"data": data, "next_cursor": matches.next_cursor, "searched": matches.searched}


class SampleDetail(ApiView):
    tag = "results"

    @operation("get_sample", "One cell: what was sent, what came back, how it was graded", needs=can_read, answers={200: SampleDetailShape})
    def get(self, run_id: UUID, sample_id: UUID) -> dict[str, Any]:
        run = queries.get_run(self.workspace, run_id)
        sample = queries.get_sample(run, sample_id)
        return reviewed_documents(run, [sample], queries.calls_of_samples([sample]))[0]
