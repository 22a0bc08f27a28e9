"""What people said of an answer, as the page of a task lays it out."""

from dataclasses import dataclass, field
from uuid import UUID

from runs.models import Run, Sample
from runs.models.reviews import Note, VerdictOverride
from runs.reviews.forms import NoteForm, VerdictForm, note_form, verdict_form
from runs.reviews.permissions import can_delete_note, can_edit_note
from runs.reviews.queries import Reviews
from workspaces.actors import Actor

type Filled = dict[UUID, NoteForm | VerdictForm]
"""Forms that were filled in wrongly, by the public ID of their sample, or of the note that was to be changed."""


@dataclass(frozen=True, slots=True)
class SaidNote:
    note: Note
    is_elsewhere: bool
    """Written in another run, which took the answer over or from which it was taken."""
    may_delete: bool
    form: NoteForm | None
    """To change it; None for who may not."""

    @property
    def dialog_id(self) -> str:
        """Of the question before it is deleted."""
        return f"delete-{self.note.public_id}"


@dataclass(frozen=True, slots=True)
class Said:
    """All of it. The forms are None for who may only read."""

    notes: list[SaidNote]
    override: VerdictOverride | None
    is_elsewhere: bool
    earlier: list[VerdictOverride] = field(default_factory=list)
    """Verdicts that were replaced or withdrawn, the newest first."""
    note_form: NoteForm | None = None
    verdict_form: VerdictForm | None = None


def said_of(run: Run, sample: Sample, reviews: Reviews, *, actor: Actor, may_review: bool, filled: Filled) -> Said:
    """No query but what the permissions ask."""
    wrong = filled.get(sample.public_id)
    notes = [_note(run, note, actor=actor, may_review=may_review, filled=filled) for note in reviews.notes]
    current = reviews.current
    offers_verdict = may_review and sample.status == "graded"
    return Said(
        notes=notes,
        override=current,
        is_elsewhere=current is not None and current.run_id != run.pk,
        earlier=[each for each in reversed(reviews.overrides) if not each.is_current],
        note_form=(wrong if isinstance(wrong, NoteForm) else note_form(sample.public_id)) if may_review else None,
        verdict_form=(wrong if isinstance(wrong, VerdictForm) else verdict_form(sample.public_id, grader_says=sample.correct))
        if offers_verdict
        else None,
    )


def _note(run: Run, note: Note, *, actor: Actor, may_review: bool, filled: Filled) -> SaidNote:
    wrong = filled.get(note.public_id)
    may_edit = may_review and can_edit_note(actor, note)
    form = wrong if isinstance(wrong, NoteForm) else note_form(note.public_id, text=note.text)
    return SaidNote(note, note.run_id != run.pk, may_review and can_delete_note(actor, note), form if may_edit else None)
