"""Gradings as the API shows them. Pages read the same documents."""

from typing import Any

import orjson

from catalog.enums import ExportPolicy
from runs.documents import instant
from runs.models.gradings import Grading, Regrade


def grading_document(grading: Grading) -> dict[str, Any]:
    """A grading in brief. Its state is `running`, `done` or `failed`."""
    return {
        "number": grading.number,
        "state": "running" if grading.ended_at is None else "failed" if grading.problem else "done",
        "problem": grading.problem or None,
        "created_at": instant(grading.created_at),
        "ended_at": instant(grading.ended_at),
        "created_by": grading.created_by_label,
        "versions": [grading.versions[key] for key in sorted(grading.versions, key=int)],
        "graded": grading.graded,
        "flips": grading.flips,
        "moves_ranking": grading.moves_ranking,
        "sha256": grading.sha256 or None,
    }


def grading_result(grading: Grading) -> dict[str, Any] | None:
    """The frozen result by this grading; None while there is none."""
    return {**orjson.loads(grading.document), "sha256": grading.sha256} if grading.document else None


def grading_comparisons(grading: Grading) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = orjson.loads(grading.comparison) if grading.comparison else []
    return found


def flip_document(row: Regrade) -> dict[str, Any]:
    """An answer whose verdict is another one, before and after. What was read is shown as far as the version's export policy goes."""
    sample = row.sample
    shows = sample.run_benchmark.version.export_policy != ExportPolicy.AGGREGATE

    def verdict(of: Any) -> dict[str, Any]:
        return {
            "correct": of.correct,
            "score": of.score,
            "extracted": (of.extracted or None) if shows else None,
            "reason": of.reason or None,
        }

    return {
        "sample_id": str(sample.public_id),
        "subject_index": sample.subject.index,
        "benchmark_index": sample.run_benchmark.index,
        "task_id": sample.task.task_id,
        "position": sample.position,
        "attempt": sample.attempt,
        "before": verdict(sample),
        "after": verdict(row),
    }
