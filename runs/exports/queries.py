"""What exports read of a run, in parts of bounded size. The run was looked up in its workspace before."""

from collections.abc import Sequence

from django.db.models import Q

from runs.models import Export, ResultVersion, Run, RunBenchmark, Sample, Subject
from runs.queries import NOT_IN_A_ROW

PART = 500
"""Samples that are read at once."""


def benchmarks_of(run: Run) -> list[RunBenchmark]:
    """The run's benchmarks with their versions, manifests too."""
    return list(RunBenchmark.objects.filter(run=run).select_related("version__benchmark").order_by("index"))


def samples_after(benchmarks: Sequence[RunBenchmark], key: int) -> list[Sample]:
    """The next samples of these benchmarks past a sample's key, in the order they were stored, with their tasks' contents."""
    samples = Sample.objects.filter(run_benchmark__in=[benchmark.pk for benchmark in benchmarks], pk__gt=key)
    return list(_with_contents(samples).order_by("pk")[:PART])


def samples_of_subject(subject: Subject, benchmark: RunBenchmark, after: tuple[int, int]) -> list[Sample]:
    """The next samples of a model on a benchmark past a position and attempt, in their order, with their tasks' contents."""
    position, attempt = after
    samples = Sample.objects.filter(
        Q(position__gt=position) | Q(position=position, attempt__gt=attempt),
        subject=subject,
        run_benchmark=benchmark,
        position__gte=position,
    )
    return list(_with_contents(samples).order_by("position", "attempt")[:PART])


def failures_of(subject: Subject, benchmark: RunBenchmark, count: int) -> list[Sample]:
    """The first samples that were graded wrong or ended in an error, in the order of the tasks."""
    samples = Sample.objects.filter(Q(correct=False) | Q(status="error"), subject=subject, run_benchmark=benchmark)
    return list(_with_contents(samples).order_by("position", "attempt")[:count])


def _with_contents(samples):  # type: ignore[no-untyped-def]
    return samples.select_related("task__content", "subject", "origin", "run_benchmark").defer(*NOT_IN_A_ROW)


def exports_of(result: ResultVersion) -> dict[str, Export]:
    """The exports that were made of a result version, by format."""
    return {export.format: export for export in Export.objects.filter(result=result, made_at__isnull=False)}
