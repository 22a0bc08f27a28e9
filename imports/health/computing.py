"""The health document of a version, from one pass over its rows.

{"schema", "tasks", "floor": {"random_choice", "most_frequent_answer"}, "answers": {…}, "duplicates": {…}, "prompts": {…},
"left_out": {…} or null, "findings": [{"code", "severity", "title", "text", "count", "tasks": [IDs]}, …]}, the gravest finding first.
No prompt and no answer is in it: letters of choices are counted, answers of other kinds only by how many there are.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from catalog.models import BenchmarkVersion, TaskContent
from catalog.queries import manifest_of
from imports.health.answers import Answers
from imports.health.duplicates import Duplicates
from imports.health.rows import Finding, HealthRow, Severity, plain, tasks_words

SCHEMA = "evalrouter.health.v1"
FEW_TASKS = 100
LONG_PROMPT_BYTES = 50_000
_ORDER = [Severity.HIGH, Severity.MEDIUM, Severity.LOW]
_CHUNK = 2_000


def compute_health(version: BenchmarkVersion) -> dict[str, Any]:
    """The health document of a version, from its stored tasks. Nothing is written."""
    manifest = manifest_of(version)
    contents = TaskContent.objects.filter(task__version=version).order_by("task__ordinal")
    stored = contents.values_list("task__task_id", "values", "reference", "task__prompt_bytes").iterator(chunk_size=_CHUNK)
    rows = (_row(*each) for each in stored)
    return health_of_rows(rows, grader=version.grader, count=version.task_count, source=manifest.get("source") or {})


def _row(task_id: str, values: dict[str, Any], reference: Any, prompt_bytes: int) -> HealthRow:
    choices = values.get("choices")
    texts = {role: str(value) for role, value in values.items() if role != "choices"}
    return HealthRow(task_id, texts, choices if isinstance(choices, list) else None, reference, prompt_bytes)


def health_of_rows(rows: Iterable[HealthRow], *, grader: str, count: int, source: dict[str, Any] | None = None) -> dict[str, Any]:
    """The health document of these rows, of which there are `count`. They are read once."""
    duplicates, answers, sizes = Duplicates(count), Answers(grader), []
    seen: dict[str, set[int]] = {}
    for row in rows:
        parts = (*row.values.values(), *(row.choices or ()))
        text, own = plain("\n".join(parts)), _own_parts(row, seen)
        duplicates.add(row, text, text if len(own) == len(parts) else plain("\n".join(own)))
        answers.add(row)
        sizes.append(row.prompt_bytes)
    repeated, duplicate_figures = duplicates.findings()
    left_out = _left_out(source or {})
    found = [*repeated, *answers.findings(), *_size_findings(len(sizes), sizes), *([left_out[1]] if left_out else [])]
    return {
        "schema": SCHEMA,
        "tasks": len(sizes),
        "floor": answers.floor(),
        "answers": answers.figures(),
        "duplicates": duplicate_figures,
        "prompts": _sizes(sizes),
        "left_out": left_out[0] if left_out else None,
        "findings": [finding.document() for finding in sorted(found, key=lambda finding: _ORDER.index(finding.severity))],
    }


def _own_parts(row: HealthRow, seen: dict[str, set[int]]) -> tuple[str, ...]:
    """What the row has that no row before it had: a passage that several questions share makes these no duplicates of one another."""
    fresh = []
    for role, value in row.values.items():
        known, mark = seen.setdefault(role, set()), hash(value)
        if mark not in known:
            known.add(mark)
            fresh.append(value)
    return (*(fresh or row.values.values()), *(row.choices or ()))


def _sizes(sizes: list[int]) -> dict[str, int]:
    if not sizes:
        return {}
    marks = np.percentile(sizes, [0, 50, 95, 100], method="nearest")
    return dict(zip(("least_bytes", "median_bytes", "p95_bytes", "most_bytes"), map(int, marks), strict=True))


def _size_findings(count: int, sizes: list[int]) -> list[Finding]:
    found = []
    if count < FEW_TASKS:
        half = 1.96 * math.sqrt(0.25 / count) if count else 1.0
        text = (
            f"With {tasks_words(count)} a score near 50% is known to about ±{100 * half:.0f} percentage points"
            " (95%, 1.96·√(0.25/n)): small differences between models cannot be seen."
        )
        found.append(Finding("few_tasks", Severity.MEDIUM if count < 30 else Severity.LOW, "Few tasks", text, count))
    if sizes and max(sizes) > LONG_PROMPT_BYTES:
        long = sum(size > LONG_PROMPT_BYTES for size in sizes)
        size = f"{LONG_PROMPT_BYTES // 1000} kB"
        text = f"{tasks_words(long)} of {count:,} with prompts over {size}: models with a small context cannot take them."
        found.append(Finding("long_prompts", Severity.LOW, "Long prompts", text, long))
    return found


def _left_out(source: dict[str, Any]) -> tuple[dict[str, Any], Finding] | None:
    """The rows of the file that are not in the benchmark, as its manifest says."""
    told = source.get("left_out")
    if not isinstance(told, dict) or not told.get("count"):
        return None
    count = int(told["count"])
    several = "1 row of the file is" if count == 1 else f"{count:,} rows of the file are"
    text = f"{several} not in it, because the prompt held the row's own answer."
    return {"count": count}, Finding("rows_left_out", Severity.LOW, "Rows were left out", text, count)
