"""The tasks on which the models of a run disagree."""

from typing import Any
from uuid import UUID

from common.errors import Refused
from runs import queries
from runs.comparison import queries as comparisons
from runs.comparison.queries import Asked
from runs.serializers.comparing import DisagreementsQuery, DisagreementsShape
from workspaces.api_base import ApiView, operation
from workspaces.permissions import can_read


class DisagreementList(ApiView):
    tag = "results"

    @operation(
        "list_disagreements",
        "Tasks on which the models of a run differ",
        needs=can_read,
        query=DisagreementsQuery,
        answers={200: DisagreementsShape},
    )
    def get(self, run_id: UUID) -> dict[str, Any]:
        """In the order of the benchmark's tasks, each with every model's verdict."""
        run = queries.get_run(self.workspace, run_id)
        benchmark = comparisons.run_benchmark(run, self.query.get("profile_id", ""))
        indexes = [subject.index for subject in run.subjects.all()]
        a = self._subject("a", indexes, indexes[0])
        b = self._subject("b", indexes, next((index for index in indexes if index != a), a))
        asked = Asked(self.query["show"], a, b, self.query.get("group", ""), self.query.get("q", ""))
        found = comparisons.disagreements(run, benchmark, asked, cursor=self.query.get("cursor"), limit=self.query["limit"])
        return {"data": found.rows, "next_cursor": found.next_cursor, "counts": found.counts}

    def _subject(self, name: str, indexes: list[int], otherwise: int) -> int:
        index: int = self.query.get(name, otherwise)
        if index not in indexes:
            raise Refused("validation_error", "Check the request fields.", details={name: ["The run has no such subject."]})
        return index
