"""What people said of an answer, as the page of a task lays it out."""

from dataclasses import dataclass, field
from uuid import UUID

from runs.models import Run, Sample
from runs.models.reviews import Note, VerdictOverride
from runs.reviews.forms import NoteForm, VerdictForm, note_form, verdict_form
from runs.reviews.permissions import can_review, is_author
from runs.reviews.queries import Reviews
from workspaces.actors import Actor
from workspaces.permissions import can_manage_workspace

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


@dataclass(frozen=True, slots=True)
class Reader:
    """Who looks at the page, and what they may: asked once for all that is on it."""

    actor: Actor
    may_review: bool
    may_delete_any: bool

    @classmethod
    def of(cls, actor: Actor, run: Run) -> "Reader":
        return cls(actor, can_review(actor, run), can_manage_workspace(actor, run.workspace))

    def may_edit(self, note: Note) -> bool:
        return self.may_review and is_author(self.actor, note)


def said_of(run: Run, sample: Sample, reviews: Reviews, reader: Reader, filled: Filled) -> Said:
    """Without a query."""
    wrong, may_review = filled.get(sample.public_id), reader.may_review
    notes = [_note(run, note, reader, filled) for note in reviews.notes]
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


def _note(run: Run, note: Note, reader: Reader, filled: Filled) -> SaidNote:
    wrong = filled.get(note.public_id)
    form = wrong if isinstance(wrong, NoteForm) else note_form(note.public_id, text=note.text)
    may_edit = reader.may_edit(note)
    return SaidNote(note, note.run_id != run.pk, may_edit or reader.may_delete_any, form if may_edit else None)
