"""Reads of gradings. The run comes first, and was found through a workspace or a person's memberships."""

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from catalog.enums import VersionState
from catalog.models import BenchmarkVersion
from runs.models import Run
from runs.models.gradings import Grading, Regrade


def gradings_of(run: Run) -> QuerySet[Grading]:
    """The run's later gradings, the newest first, without their documents."""
    return Grading.objects.filter(run=run).defer("document", "comparison").order_by("-number")


def get_grading(run: Run, number: int) -> Grading:
    """Raises `Grading.DoesNotExist`."""
    return Grading.objects.get(run=run, number=number)


def flips_of(grading: Grading) -> QuerySet[Regrade]:
    """The answers whose verdict is another one, in the order of the run's samples."""
    found = Regrade.objects.filter(grading=grading, is_flip=True)
    return found.select_related("sample__task", "sample__subject", "sample__run_benchmark").order_by("id")


def versions_to_grade_by(run: Run) -> dict[int, list[BenchmarkVersion]]:
    """For each benchmark of the run, by its index, the versions whose grader may judge its answers: its own first, then later ones."""
    found: dict[int, list[BenchmarkVersion]] = {}
    for part in run.benchmarks.all():
        later = BenchmarkVersion.objects.filter(benchmark=part.version.benchmark_id, number__gt=part.version.number)
        later = later.exclude(state__in=[VersionState.DRAFT, VersionState.IN_REVIEW]).select_related("benchmark").order_by("number")
        found[part.index] = [part.version, *later]
    return found


def unfinished(now: datetime) -> list[Any]:
    """Public IDs of gradings that nobody works: their message was lost, or their worker."""
    free = Q(claimed_until__isnull=True) | Q(claimed_until__lt=now)
    return list(Grading.objects.filter(free, ended_at__isnull=True).values_list("public_id", flat=True)[:100])
