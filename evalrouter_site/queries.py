"""Reads over several apps, for pages that belong to none of them. The workspace, or the person, comes first."""

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet

from common.searching import holds
from runs.models import Quote, Run, RunBenchmark, Subject
from runs.queries import filter_runs
from workspaces.models import User, Workspace

LEAST_DIGITS = 4
"""From how many digits on a word is taken for the beginning of a run's ID."""


def found_runs(workspace: Workspace, q: str = "") -> QuerySet[Run]:
    """The workspace's runs, newest first, in which every word of `q` is in the name, the benchmark or a model, or begins the ID.

    Each has `subject_count`, and its benchmark prefetched.
    """
    runs = Run.objects.filter(workspace=workspace)
    for word in q.split()[:10]:
        named = holds(word, "version__benchmark__name", "version__benchmark__slug")
        benchmarks = RunBenchmark.objects.filter(named, run=OuterRef("pk"))
        subjects = Subject.objects.filter(holds(word, "label"), run=OuterRef("pk"))
        matching = holds(word, "name") | Q(Exists(benchmarks)) | Q(Exists(subjects))
        if len(word) >= LEAST_DIGITS:
            matching |= Q(pk__in=filter_runs(Run.objects.filter(workspace=workspace), id_prefix=word).values("pk"))
        runs = runs.filter(matching)
    of_runs = RunBenchmark.objects.select_related("version__benchmark").defer("version__manifest", "task_ordinals").order_by("index")
    return runs.annotate(subject_count=Count("subjects")).prefetch_related(Prefetch("benchmarks", of_runs)).order_by("-id")


@dataclass(frozen=True, slots=True)
class OwnStart:
    """How far a person has come by themselves: their newest quote and their newest run, None for none."""

    quote: Quote | None
    run: Run | None


def own_start(user: User) -> OwnStart:
    """What the person has quoted and started in workspaces they are a member of."""
    quotes = Quote.objects.filter(created_by=user, workspace__memberships__user=user)
    runs = Run.objects.filter(created_by=user, workspace__memberships__user=user)
    return OwnStart(quotes.order_by("-id").first(), runs.order_by("-id").first())
