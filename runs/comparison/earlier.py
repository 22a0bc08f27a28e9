"""The runs that a run can be set against: earlier completed ones of the same version, with the same model in them."""

from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import Rank

from common.ids import named_id
from runs import queries
from runs.enums import RunStatus
from runs.models import ResultVersion, Run, RunBenchmark, Subject

MOST_RUNS = 50
IDENTITY = ("kind", "route_id", "connection_id", "baseline", "recorded_model_id")
"""What makes a subject the same model in another run."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a model did before: the run, the version in it, the model in it, and its latest result."""

    run: Run
    benchmark: RunBenchmark
    subject: Subject
    result: ResultVersion


def earlier_of(run: Run, benchmark: RunBenchmark, *, against: Run | None = None) -> dict[int, Earlier]:
    """By subject index, the same model on the same version in the last completed run before this one, or in `against`.

    Where that run has the model twice, the one with the same reasoning setting. A constant number of queries.
    """
    wanted = {subject.index: tuple(getattr(subject, name) for name in IDENTITY) for subject in run.subjects.all()}
    same = reduce(or_, (Q(**dict(zip(IDENTITY, identity, strict=True))) for identity in set(wanted.values())), Q(pk=None))
    runs = _earlier_runs(run, benchmark)
    if against is not None:
        runs = runs.filter(pk=against.pk)
    subjects = Subject.objects.filter(same, run__in=runs.values("pk"))
    last = Window(Rank(), partition_by=[F(name) for name in IDENTITY], order_by=F("run_id").desc())
    found: dict[tuple[object, ...], list[Subject]] = {}
    for each in subjects.annotate(rank=last).filter(rank=1).order_by("index"):
        found.setdefault(tuple(getattr(each, name) for name in IDENTITY), []).append(each)
    if not found:
        return {}
    keys = {then.run_id for alike in found.values() for then in alike}
    whole = {before.pk: before for before in queries.runs_for(run.workspace).filter(pk__in=keys)}
    results = {result.run_id: result for result in ResultVersion.objects.filter(run__in=keys).order_by("number")}
    earlier = {}
    for subject in run.subjects.all():
        alike = found.get(wanted[subject.index])
        if alike:
            then = next((each for each in alike if each.reasoning == subject.reasoning), alike[0])
            earlier[subject.index] = Earlier(whole[then.run_id], _of_version(whole[then.run_id], benchmark), then, results[then.run_id])
    return earlier


def earlier_runs(run: Run, benchmark: RunBenchmark) -> list[Run]:
    """The workspace's completed runs of the version before this one, the newest fifty, newest first."""
    return list(_earlier_runs(run, benchmark).only("public_id", "name", "ended_at", "created_at").order_by("-pk")[:MOST_RUNS])


def get_earlier_run(run: Run, public_id: object) -> Run:
    """An earlier completed run of the same workspace and of a version of this run. Raises `Run.DoesNotExist`."""
    versions = [benchmark.version_id for benchmark in run.benchmarks.all()]
    runs = Run.objects.filter(workspace=run.workspace_id, status=RunStatus.COMPLETED, pk__lt=run.pk)
    return runs.filter(pk__in=RunBenchmark.objects.filter(version__in=versions).values("run_id")).get(public_id=named_id(public_id))


def _earlier_runs(run: Run, benchmark: RunBenchmark) -> QuerySet[Run]:
    of_version = RunBenchmark.objects.filter(version=benchmark.version_id, run__workspace=run.workspace_id).values("run_id")
    return Run.objects.filter(workspace=run.workspace_id, status=RunStatus.COMPLETED, pk__lt=run.pk, pk__in=of_version)


def _of_version(run: Run, benchmark: RunBenchmark) -> RunBenchmark:
    return next(each for each in run.benchmarks.all() if each.version_id == benchmark.version_id)
