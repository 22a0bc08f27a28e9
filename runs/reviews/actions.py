"""What people say of answers. Each leaves an audit entry; none touches a sample, a result or money."""

from django.db import transaction
from django.utils import timezone

from common.errors import Conflict, Refused
from runs.enums import SampleStatus
from runs.models import Run, Sample
from runs.models.reviews import LONGEST_NOTE, LONGEST_REASON, Note, VerdictOverride
from runs.reviews.permissions import can_delete_note, can_edit_note, can_review
from runs.reviews.queries import answer_key
from workspaces import audit
from workspaces.actors import Actor
from workspaces.permissions import require


def add_note(run: Run, sample: Sample, *, actor: Actor, text: str) -> Note:
    """Write a note on the sample's answer. Raises Refused (`validation_error`) for an empty or too long text."""
    require(can_review(actor, run), "Your role or key may read here, and not write notes.")
    text = _checked(text, "text", LONGEST_NOTE)
    with transaction.atomic():
        note = Note.objects.create(
            workspace=run.workspace,
            run=run,
            answer_id=answer_key(sample),
            author=actor.user,
            api_key=actor.api_key,
            author_label=actor.label,
            text=text,
        )
        audit.record(actor, "note.written", sample.public_id, workspace=run.workspace, run=str(run.public_id), note=str(note.public_id))
    return note


def change_note(note: Note, *, actor: Actor, text: str) -> Note:
    """Change the words of one's own note."""
    require(can_edit_note(actor, note), "Only its author changes a note.")
    text = _checked(text, "text", LONGEST_NOTE)
    with transaction.atomic():
        note.text, note.edited_at = text, timezone.now()
        note.save(update_fields=["text", "edited_at"])
        audit.record(actor, "note.changed", note.public_id, workspace=note.workspace, run=str(note.run.public_id))
    return note


def delete_note(note: Note, *, actor: Actor) -> None:
    """Delete a note for good: one's own, or as an admin anybody's."""
    require(can_delete_note(actor, note), "Only its author, an admin or an owner deletes a note.")
    with transaction.atomic():
        audit.record(actor, "note.deleted", note.public_id, workspace=note.workspace, run=str(note.run.public_id), author=note.author_label)
        note.delete()


def override_verdict(run: Run, sample: Sample, *, actor: Actor, correct: bool, reason: str) -> VerdictOverride:
    """Give the sample's answer a person's verdict, with its reason. It takes the place of an earlier one, which is kept.

    Saying the same again is nothing new. Raises Conflict (`not_graded`) where there is no verdict to differ from: an error is missing,
    not wrong.
    """
    require(can_review(actor, run), "Your role or key may read here, and not give verdicts.")
    reason = _checked(reason, "reason", LONGEST_REASON)
    if sample.status != SampleStatus.GRADED:
        raise Conflict("not_graded", "There is no graded answer here: what ended in an error is missing, not wrong.")
    with transaction.atomic():
        answer = _locked_answer(sample)
        current = VerdictOverride.objects.filter(answer=answer, is_current=True).select_related("run").first()
        if current is not None:
            if (current.correct, current.reason, current.author_label) == (correct, reason, actor.label):
                return current
            VerdictOverride.objects.filter(pk=current.pk).update(is_current=False)
        override = VerdictOverride.objects.create(
            workspace=run.workspace,
            run=run,
            answer=answer,
            author=actor.user,
            api_key=actor.api_key,
            author_label=actor.label,
            correct=correct,
            score=float(correct),
            reason=reason,
        )
        audit.record(
            actor,
            "verdict.given",
            sample.public_id,
            workspace=run.workspace,
            run=str(run.public_id),
            correct=correct,
            grader=sample.correct,
        )
    return override


def withdraw_override(run: Run, sample: Sample, *, actor: Actor) -> None:
    """Let the grader's verdict stand alone again. What was said stays in the history. Nothing to withdraw is no error."""
    require(can_review(actor, run), "Your role or key may read here, and not withdraw verdicts.")
    with transaction.atomic():
        current = VerdictOverride.objects.filter(answer=_locked_answer(sample), is_current=True)
        if current.update(is_current=False, withdrawn_at=timezone.now(), withdrawn_by_label=actor.label):
            audit.record(actor, "verdict.withdrawn", sample.public_id, workspace=run.workspace, run=str(run.public_id))


def _locked_answer(sample: Sample) -> Sample:
    """The answer, locked: two verdicts at once follow each other."""
    return Sample.objects.select_for_update().get(pk=answer_key(sample))


def _checked(text: str, name: str, longest: int) -> str:
    text = text.replace("\r\n", "\n").strip()
    problem = (
        "Write something."
        if not text
        else f"At most {longest:,} characters."
        if len(text) > longest
        else "A NUL character is no text."
        if "\0" in text
        else ""
    )
    if problem:
        raise Refused("validation_error", "Check the request fields.", details={name: [problem]})
    return text
