"""What exports read of a run, in parts of bounded size. The run was looked up in its workspace before."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from gateway.enums import Outcome
from gateway.models import CallContent
from runs.models import Export, ResultVersion, Run, RunBenchmark, Sample, Subject
from runs.queries import source_of

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


NOT_OF_ORIGIN = [f"origin__{field.name}" for field in Sample._meta.concrete_fields if field.name not in {"id", "public_id"}]
"""Of a sample that another was copied from its ID alone is shown."""


def _with_contents(samples: QuerySet[Sample]) -> QuerySet[Sample]:
    """With what a sample has of its own. Its model and its benchmark are of few, and are put in by `belonging_to`."""
    return samples.select_related("task__content", "origin").defer("task__metadata", *NOT_OF_ORIGIN)


def belonging_to(samples: Iterable[Sample], subjects: Iterable[Subject], benchmarks: Iterable[RunBenchmark]) -> None:
    """Give each sample its model and its benchmark, which would else be read and built again for each."""
    by_key = {subject.pk: subject for subject in subjects}, {benchmark.pk: benchmark for benchmark in benchmarks}
    for sample in samples:
        sample.subject, sample.run_benchmark = by_key[0][sample.subject_id], by_key[1][sample.run_benchmark_id]


def said_of(samples: Sequence[Sample]) -> dict[Any, tuple[str, str]]:
    """What was answered last and with which reasoning, by the source that the calls were made for; without what is deleted."""
    rows = CallContent.objects.filter(call__source_id__in={source_of(sample) for sample in samples}, call__outcome=Outcome.ANSWERED)
    said = rows.order_by("call_id").values_list("call__source_id", "response", "reasoning")
    return {source: (response, reasoning) for source, response, reasoning in said}


def exports_of(result: ResultVersion) -> dict[str, Export]:
    """The exports that were made of a result version, by format."""
    return {export.format: export for export in Export.objects.filter(result=result, made_at__isnull=False)}
