"""What an export is made from: a run's frozen result, the versions it is of, and what of its samples may leave."""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from django.conf import settings
from django.utils import timezone

from catalog.enums import ExportPolicy
from catalog.queries import manifest_of
from runs.documents import comparisons_of, parts_of_result, result_document
from runs.exports import queries
from runs.exports.formats import Format
from runs.models import ResultVersion, Run, RunBenchmark, Subject


def are_answers_over(run: Run, now: datetime | None = None) -> bool:
    """Whether the retention of what models said has ended, also where the daily task has not come by yet."""
    if run.content_expired_at is not None:
        return True
    return run.content_expires_at is not None and run.content_expires_at <= (now or timezone.now())


def holds_answers(run: Run, format: Format) -> bool:
    """Whether an export made now would hold something that a model said."""
    return format.has_samples and not are_answers_over(run) and any(map(lets_samples_leave, queries.benchmarks_of(run)))


def lets_samples_leave(benchmark: RunBenchmark) -> bool:
    return benchmark.version.export_policy != ExportPolicy.AGGREGATE


class Source:
    """A result version and what belongs to it, read when it is first asked for. `has_answers` false leaves out what models said."""

    def __init__(self, run: Run, result: ResultVersion, *, has_answers: bool = True, site_url: str | None = None) -> None:
        self.run, self.result, self.has_answers = run, result, has_answers
        self.site_url = settings.SITE_URL if site_url is None else site_url

    @cached_property
    def document(self) -> dict[str, Any]:
        """The frozen result with its hash."""
        return result_document(self.result)

    @cached_property
    def parts(self) -> list[dict[str, Any]]:
        """The result as one document for each benchmark, by the benchmark's index."""
        return parts_of_result(self.document)

    @cached_property
    def benchmarks(self) -> Sequence[RunBenchmark]:
        return queries.benchmarks_of(self.run)

    @cached_property
    def open_benchmarks(self) -> Sequence[RunBenchmark]:
        """Those whose samples may leave."""
        return [benchmark for benchmark in self.benchmarks if lets_samples_leave(benchmark)]

    @cached_property
    def manifests(self) -> dict[int, dict[str, Any]]:
        """By the benchmark's index."""
        return {benchmark.index: manifest_of(benchmark.version) for benchmark in self.benchmarks}

    @cached_property
    def profiles(self) -> dict[int, str]:
        """The benchmarks' IDs by their index."""
        return {benchmark.index: benchmark.version.profile_id for benchmark in self.benchmarks}

    @cached_property
    def subjects(self) -> Sequence[Subject]:
        return list(self.run.subjects.all())

    @cached_property
    def plan(self) -> dict[str, Any]:
        return self.run.quote.plan_document

    @cached_property
    def planned_subjects(self) -> dict[int, dict[str, Any]]:
        """The plan's subjects by index, with their prices."""
        return {each["index"]: each for each in self.plan["subjects"]}

    @property
    def attempts(self) -> int:
        """Attempts a task."""
        return self.run.attempts

    @cached_property
    def comparisons(self) -> dict[int, dict[str, Any]]:
        """The frozen comparison of each benchmark's models, by the benchmark's index; without those that have none."""
        profiles = {benchmark.version.profile_id: benchmark.index for benchmark in self.benchmarks}
        return {profiles[each["profile_id"]]: each for each in comparisons_of(self.result)}

    def subjects_of(self, benchmark: RunBenchmark) -> list[dict[str, Any]]:
        """The result's entries of one benchmark, a model each."""
        listed: list[dict[str, Any]] = self.parts[benchmark.index]["subjects"]
        return listed
