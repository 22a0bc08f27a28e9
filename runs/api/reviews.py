"""Notes and verdicts of people on answers. They change no result: a second figure says what they would make of the scores."""

from typing import Any
from uuid import UUID

from rest_framework.response import Response

from common.errors import Conflict
from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from runs import queries
from runs.models import Run, Sample
from runs.reviews import actions
from runs.reviews import queries as said
from runs.reviews.documents import note_document, override_document, review_document
from runs.reviews.figures import second_figures
from runs.serializers.reviews import NOTE_BODY, OVERRIDE_BODY, NoteBody, OverrideBody, ReviewShape, ReviewsQuery, SecondFiguresShape
from runs.serializers.shapes import NoteShape, OverrideShape
from workspaces.api_base import ApiView, operation, page_document
from workspaces.permissions import can_read, can_run


class NoteList(ApiView):
    tag = "reviews"

    @operation("list_notes", "Notes on an answer", needs=can_read, query=ListQuery, answers={200: page_of_shape(NoteShape)})
    def get(self, run_id: UUID, sample_id: UUID) -> dict[str, Any]:
        """Whichever run they were written in: a copied sample is the same answer. The oldest first."""
        _, sample = _sample(self, run_id, sample_id)
        page = page_of(said.notes_of(sample), order="id", cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, note_document)

    @operation("write_note", "Write a note on an answer", needs=can_run, body=NOTE_BODY, answers={201: NoteShape})
    def post(self, run_id: UUID, sample_id: UUID) -> dict[str, Any]:
        run, sample = _sample(self, run_id, sample_id)
        return note_document(actions.add_note(run, sample, actor=self.actor, **self._read(NoteBody, self.body)))


class NoteDetail(ApiView):
    tag = "reviews"

    @operation("change_note", "Change one's own note", needs=can_run, body=NOTE_BODY, answers={200: NoteShape})
    def patch(self, run_id: UUID, sample_id: UUID, note_id: UUID) -> dict[str, Any]:
        _, sample = _sample(self, run_id, sample_id)
        note = said.get_note(sample, note_id)
        return note_document(actions.change_note(note, actor=self.actor, **self._read(NoteBody, self.body)))

    @operation("delete_note", "Delete a note for good", needs=can_run, answers={204: None})
    def delete(self, run_id: UUID, sample_id: UUID, note_id: UUID) -> Response:
        """One's own, or as an admin or owner anybody's."""
        _, sample = _sample(self, run_id, sample_id)
        actions.delete_note(said.get_note(sample, note_id), actor=self.actor)
        return Response(status=204)


class Override(ApiView):
    tag = "reviews"

    @operation("override_verdict", "Give an answer a person's verdict", needs=can_run, body=OVERRIDE_BODY, answers={200: OverrideShape})
    def put(self, run_id: UUID, sample_id: UUID) -> dict[str, Any]:
        """It takes the place of an earlier one, which stays in the history. 409 `not_graded` where there is no verdict to differ from."""
        run, sample = _sample(self, run_id, sample_id)
        given = self._read(OverrideBody, self.body)
        correct, reason = given["verdict"] == "correct", given["reason"]
        return override_document(actions.override_verdict(run, sample, actor=self.actor, correct=correct, reason=reason))

    @operation("withdraw_verdict", "Withdraw the person's verdict on an answer", needs=can_run, answers={204: None})
    def delete(self, run_id: UUID, sample_id: UUID) -> Response:
        """The grader's stands alone again. Without one to withdraw nothing happens."""
        run, sample = _sample(self, run_id, sample_id)
        actions.withdraw_override(run, sample, actor=self.actor)
        return Response(status=204)


class ReviewList(ApiView):
    tag = "reviews"

    @operation(
        "list_reviews",
        "What people said of the answers of a run",
        needs=can_read,
        query=ReviewsQuery,
        answers={200: page_of_shape(ReviewShape)},
    )
    def get(self, run_id: UUID) -> dict[str, Any]:
        """The newest first. Verdicts that were replaced or withdrawn are there too, and say so."""
        run = queries.get_run(self.workspace, run_id)
        rows: Any = said.notes_in(run) if self.query["kind"] == "notes" else said.overrides_in(run)
        page = page_of(rows, order="-id", cursor=self.query.get("cursor"), limit=self.query["limit"])
        samples = said.samples_of_answers(run, [each.answer_id for each in page.rows])
        return page_document(page, lambda each: review_document(samples[each.answer_id], each))


class SecondFigures(ApiView):
    tag = "reviews"

    @operation("get_second_figures", "Scores with the verdicts that people changed", needs=can_read, answers={200: SecondFiguresShape})
    def get(self, run_id: UUID) -> dict[str, Any]:
        """For models with verdicts of people alone. 409 `result_not_ready` before the end."""
        run = queries.get_run(self.workspace, run_id)
        result = queries.latest_result(run)
        if result is None:
            raise Conflict(
                "result_not_ready", "The run has not ended yet; its result is written when it does.", details={"status": run.status}
            )
        return {"run_id": str(run.public_id), "result_version": result.number, "data": second_figures(run, result)}


def _sample(view: ApiView, run_id: UUID, sample_id: UUID) -> tuple[Run, Sample]:
    run = queries.get_run(view.workspace, run_id)
    return run, queries.get_sample(run, sample_id)
