"""What people said, as the API shows it. Pages read the same documents.

Exports and bundles never hold any of it: they are of a result, which no later word changes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from catalog.enums import ExportPolicy
from gateway.models import Call
from runs.documents import instant, sample_document, sample_row
from runs.models import Run, Sample
from runs.models.reviews import Note, VerdictOverride
from runs.reviews.queries import Marks, answer_key, marks_of


def verdict_word(correct: bool) -> str:
    return "correct" if correct else "incorrect"


def note_document(note: Note) -> dict[str, Any]:
    """Reads `run`, the one that the note was written in."""
    return {
        "id": str(note.public_id),
        "text": note.text,
        "author": note.author_label,
        "run_id": str(note.run.public_id),
        "created_at": instant(note.created_at),
        "edited_at": instant(note.edited_at),
    }


def override_document(override: VerdictOverride) -> dict[str, Any]:
    """Reads `run`, the one that the verdict was given in."""
    return {
        "id": str(override.public_id),
        "verdict": verdict_word(override.correct),
        "score": override.score,
        "reason": override.reason,
        "author": override.author_label,
        "run_id": str(override.run.public_id),
        "created_at": instant(override.created_at),
        "state": "current" if override.is_current else "withdrawn" if override.withdrawn_at else "replaced",
        "withdrawn_at": instant(override.withdrawn_at),
        "withdrawn_by": override.withdrawn_by_label or None,
    }


def reviewed_rows(run: Run, samples: Sequence[Sample]) -> Callable[[Sample], dict[str, Any]]:
    """The rows of these samples with what people said of each: two queries for all of them."""
    marks, hidden = marks_of(samples), without_text(run)
    return lambda sample: _with_marks(sample, marks, hidden, sample_row(sample))


def reviewed_documents(run: Run, samples: Sequence[Sample], calls: Mapping[Any, Sequence[Call]]) -> list[dict[str, Any]]:
    """Samples with everything, and with what people said of them. Reads the version of each."""
    marks, hidden = marks_of(samples), without_text(run)
    return [_with_marks(sample, marks, hidden, sample_document(sample, calls)) for sample in samples]


def without_text(run: Run) -> set[int]:
    """The keys of the run's benchmarks of which only aggregates leave. What was read from an answer is a part of it, at times all."""
    return {each.pk for each in run.benchmarks.all() if each.version.export_policy == ExportPolicy.AGGREGATE}


def _with_marks(sample: Sample, marks: Marks, hidden: set[int], document: dict[str, Any]) -> dict[str, Any]:
    override = marks.overrides.get(answer_key(sample))
    document |= {"notes": marks.notes.get(answer_key(sample), 0), "override": override_document(override) if override else None}
    if sample.run_benchmark_id in hidden:
        document["extracted"] = None
        if document.get("grading"):
            document["grading"] = document["grading"] | {"extracted": None, "steps": []}
    return document


def review_document(sample: Sample, said: Note | VerdictOverride) -> dict[str, Any]:
    """A row of all that was said in a run. `sample` is the run's own with that answer; reads `task`, `subject` and `run_benchmark`."""
    is_note = isinstance(said, Note)
    return {
        "kind": "note" if is_note else "override",
        "sample_id": str(sample.public_id),
        "subject_index": sample.subject.index,
        "benchmark_index": sample.run_benchmark.index,
        "task_id": sample.task.task_id,
        "position": sample.position,
        "attempt": sample.attempt,
        "correct": sample.correct,
        "note": note_document(said) if isinstance(said, Note) else None,
        "override": override_document(said) if isinstance(said, VerdictOverride) else None,
    }
