"""Working a grading: each stored answer is read again by a grader, and what differs from grading 1 is written as rows.

Claimed by a conditional UPDATE. A worker that dies is followed by another, which begins again: graders are pure, so it comes to the same.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from catalog.graders import compile_grader
from catalog.models import BenchmarkVersion, Task
from catalog.queries import find_versions, manifest_of
from catalog.rendering import render_messages
from common.canonical import canonical_json, freeze
from runs import queries
from runs.comparing import compare, inputs_of
from runs.documents import comparisons_of
from runs.finalizing import RunParts, read_run, result_inputs, weights_of
from runs.models import ResultVersion, RunBenchmark, Sample
from runs.models.gradings import Grading, Regrade
from runs.results import build_results

log = structlog.get_logger(__name__)

CLAIM = timedelta(seconds=60)
PART = 500
ONE_READING = 100_000
"""Tasks of another version that are held in memory at once; a benchmark has no more."""


class CannotGrade(Exception):
    """The answers cannot be judged in this way; the message says why."""


@dataclass(slots=True)
class _Judge:
    """A version's grader with its references, over the answers to one benchmark of the run."""

    benchmark: RunBenchmark
    version: BenchmarkVersion
    grade: Any
    manifest: dict[str, Any]
    own_manifest: dict[str, Any]
    others: dict[str, Task]
    """The version's tasks by ID, where it is not the run's own."""


def grade_run_again(public_id: str) -> None:
    """Work the grading of that ID, unless another works it or it is over."""
    now = timezone.now()
    grading = Grading.objects.filter(public_id=public_id, ended_at=None).select_related("run__workspace").first()
    if grading is None or not _claim(grading, now):
        return
    try:
        _work(grading)
    except CannotGrade as error:
        _end(grading, problem=str(error)[:400])


def _claim(grading: Grading, now: datetime) -> bool:
    free = Grading.objects.filter(pk=grading.pk, ended_at=None)
    free = free.filter(claimed_until=None) | free.filter(claimed_until__lt=now)
    grading.claimed_until = now + CLAIM
    return bool(free.update(claimed_until=grading.claimed_until))


def _store(grading: Grading, rows: list[Regrade], graded: int, flips: int) -> bool:
    """Write a part and renew the claim. False where another took the grading over meanwhile: nothing is written then."""
    until = timezone.now() + CLAIM
    with transaction.atomic():
        mine = Grading.objects.filter(pk=grading.pk, claimed_until=grading.claimed_until, ended_at=None)
        if not mine.update(claimed_until=until, graded=graded, flips=flips):
            return False
        Regrade.objects.bulk_create(rows)
    grading.claimed_until = until
    return True


def _work(grading: Grading) -> None:
    run = queries.get_run(grading.run.workspace, grading.run.public_id)
    parts = read_run(run.pk)
    judges = {benchmark.pk: _judge(grading, benchmark) for benchmark in parts.benchmarks}
    Regrade.objects.filter(grading=grading).delete()  # of a worker that died
    last = graded = flips = 0
    while samples := queries.samples_after(run, last, limit=PART):
        last = samples[-1].pk
        calls = queries.calls_of_samples(samples)
        rows = [row for sample in samples if sample.status == "graded" and (row := _regrade(grading, judges, sample, calls)) is not None]
        graded += sum(sample.status == "graded" for sample in samples)
        flips += sum(row.is_flip for row in rows)
        if not _store(grading, rows, graded, flips):
            return
    _freeze(grading, parts, graded, flips)


def _judge(grading: Grading, benchmark: RunBenchmark) -> _Judge:
    profile_id = grading.versions[str(benchmark.index)]
    own = benchmark.version
    version = own
    if profile_id != own.profile_id:
        version = next((each for each in find_versions(grading.run.workspace, profile_id) if each.profile_id == profile_id), own)
        if version.pk == own.pk:
            raise CannotGrade(f"{profile_id} is no longer there.")
    manifest = manifest_of(version)
    others = {}
    if version.pk != own.pk:
        tasks = Task.objects.filter(version=version).select_related("content")[:ONE_READING]
        others = {task.task_id: task for task in tasks}
    return _Judge(benchmark, version, compile_grader(version.grader, manifest["grader_options"]), manifest, manifest_of(own), others)


def _regrade(grading: Grading, judges: dict[int, _Judge], sample: Sample, calls: dict[Any, list[Any]]) -> Regrade | None:
    """The row of a sample that is judged otherwise now; None where it is judged alike."""
    judge = judges[sample.run_benchmark_id]
    answered = next((call for call in reversed(calls[queries.source_of(sample)]) if call.outcome == "answered"), None)
    content = getattr(answered, "content", None)
    if content is None:
        raise CannotGrade("The answers of this run are past their retention, so they cannot be read again.")
    task = sample.task
    if judge.others:
        task = judge.others.get(task.task_id)  # type: ignore[assignment]
        if task is None:
            raise CannotGrade(f"{judge.version.profile_id} has no task {sample.task.task_id!r}, so it cannot judge the answer to it.")
        if render_messages(judge.manifest, task.content.values) != render_messages(judge.own_manifest, sample.task.content.values):
            raise CannotGrade(f"{judge.version.profile_id} asks task {task.task_id!r} in other words: the answer was to another question.")
    verdict = judge.grade(content.response, task.content.reference, task.content.values.get("choices"))
    row = Regrade(
        grading=grading,
        sample=sample,
        correct=verdict.correct,
        score=verdict.score,
        extracted=(verdict.extracted or "")[:500],
        reason=verdict.reason[:200],
        is_unreadable=not verdict.readable,
    )
    row.is_flip = (row.correct, row.score) != (sample.correct, sample.score)
    fields = ("extracted", "reason", "is_unreadable")
    return row if row.is_flip or any(getattr(row, name) != getattr(sample, name) for name in fields) else None


def _freeze(grading: Grading, parts: RunParts, graded: int, flips: int) -> None:
    """The result by this grading, beside the one that was frozen at the run's end."""
    regraded = {row.sample_id: row for row in Regrade.objects.filter(grading=grading).iterator(chunk_size=5_000)}
    inputs = [
        result_inputs(parts, benchmark, parts.run.status, grading=grading.number, regraded=regraded, graded_by=grading.versions)
        for benchmark in parts.benchmarks
    ]
    comparisons = [compare(inputs_of(each)) for each in inputs]
    text, sha256 = freeze(build_results(inputs, weights_of(parts.run)))
    before = comparisons_of(ResultVersion.objects.get(run=parts.run, number=1))
    grading.document, grading.sha256, grading.comparison = text, sha256, canonical_json(comparisons)
    grading.moves_ranking = _moves(before, comparisons)
    grading.graded, grading.flips = graded, flips
    _end(grading)


def _moves(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool | None:
    """Whether an order, or what is told apart, is another one; None where nothing is ranked."""
    if not any(len(each["ranking"]) > 1 for each in (*before, *after)):
        return None

    def said(comparison: dict[str, Any]) -> list[Any]:
        return [(row["subject_index"], row["rank"], row["group"]) for row in comparison["ranking"]]

    return [said(each) for each in before] != [said(each) for each in after]


def _end(grading: Grading, problem: str = "") -> None:
    with transaction.atomic():
        if not Grading.objects.filter(pk=grading.pk, claimed_until=grading.claimed_until, ended_at=None).update(claimed_until=None):
            return
        if problem:
            Regrade.objects.filter(grading=grading).delete()
            grading.graded = grading.flips = 0
        grading.problem, grading.ended_at, grading.claimed_until = problem, timezone.now(), None
        grading.save(
            update_fields=[
                "problem", "ended_at", "claimed_until", "graded", "flips", "moves_ranking", "document", "sha256", "comparison",
            ]
        )  # fmt: skip
    log.info("runs.graded_again", run=str(grading.run.public_id), number=grading.number, flips=grading.flips, problem=bool(problem))
