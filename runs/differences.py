"""How a result differs from the one before it: each model against its last completed run of the same version."""

from typing import Any

from runs import queries
from runs.documents import instant, result_document
from runs.models import Run, Subject


def differences_to_previous(run: Run, document: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each subject of the result that has a completed run before this one; empty where none has.

    The difference of the scores is null unless both were made from the same tasks under the same output limit: else they say nothing of
    each other.
    """
    found = []
    for subject in run.subjects.select_related("run", "run_benchmark").order_by("index"):
        previous = queries.previous_completed(subject)
        if previous is not None:
            found.append(_difference(subject, previous, document))
    return found


def _difference(subject: Subject, previous: Subject, document: dict[str, Any]) -> dict[str, Any]:
    result = queries.get_result(previous.run)
    before, now = _headline(result_document(result), previous.index), _headline(document, subject.index)
    same_tasks = subject.run_benchmark.task_list_sha256 == previous.run_benchmark.task_list_sha256
    comparable = same_tasks and subject.output_limit == previous.output_limit
    new, old = (now or {}).get("value"), (before or {}).get("value")
    return {
        "subject_index": subject.index,
        "label": subject.label,
        "run_id": str(previous.run.public_id),
        "version": result.number,
        "ended_at": instant(previous.run.ended_at),
        "headline": before,
        "same_tasks": same_tasks,
        "difference": round(new - old, 6) if comparable and new is not None and old is not None else None,
    }


def _headline(document: dict[str, Any], index: int) -> dict[str, Any] | None:
    headline: dict[str, Any] | None = next((each["headline"] for each in document["subjects"] if each["index"] == index), None)
    return headline
