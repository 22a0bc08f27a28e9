"""Every read of runs that pages, API and tasks use. The workspace, or the person, comes first."""

from collections.abc import Sequence
from typing import Any

from django.db.models import F, Prefetch, Q, QuerySet
from django.db.models.functions import Mod
from django.utils import timezone

from catalog.models import BenchmarkVersion, Task
from common.ids import named_id, parse_uuid
from gateway.models import Call
from runs.models import EmptyAnswers, Event, Quote, ResultVersion, Run, RunBenchmark, Sample, Subject
from workspaces.models import User, Workspace

STORED_READ = 4000
"""Events of stored samples that are read to draw a run's progress."""


def quotes_for(workspace: Workspace) -> QuerySet[Quote]:
    return Quote.objects.filter(workspace=workspace).select_related("workspace", "run").order_by("-id")


def get_quote(workspace: Workspace, public_id: object) -> Quote:
    """Raises `Quote.DoesNotExist`."""
    return quotes_for(workspace).get(public_id=named_id(public_id))


def get_quote_of_member(user: User, public_id: object) -> Quote:
    """A quote of any of the person's workspaces. Raises `Quote.DoesNotExist`."""
    return Quote.objects.filter(workspace__memberships__user=user).select_related("workspace", "run").get(public_id=named_id(public_id))


def _with_parts(runs: QuerySet[Run]) -> QuerySet[Run]:
    """What run documents and lists read, in a constant number of queries."""
    return runs.select_related("workspace", "quote", "continued_from", "continued_by_run", "created_by").prefetch_related(
        Prefetch(
            "benchmarks",
            RunBenchmark.objects.select_related("version__benchmark").defer("version__manifest", "task_ordinals").order_by("index"),
        ),
        Prefetch("subjects", Subject.objects.select_related("route", "connection", "recorded_model").order_by("index")),
        Prefetch("results", ResultVersion.objects.only("id", "run_id", "number").order_by("number")),
    )


def runs_for(workspace: Workspace) -> QuerySet[Run]:
    """The workspace's runs, newest first."""
    return _with_parts(Run.objects.filter(workspace=workspace)).order_by("-id")


def runs_listed(workspace: Workspace) -> QuerySet[Run]:
    """The workspace's runs, newest first, with only what a row of the history shows: `listed_benchmarks`, `listed_subjects`."""
    benchmarks = RunBenchmark.objects.select_related("version__benchmark").order_by("index")
    benchmarks = benchmarks.only("run_id", "task_count", "version__number", "version__benchmark__slug", "version__benchmark__name")
    return (
        Run.objects.filter(workspace=workspace)
        .only("public_id", "name", "status", "processed", "planned", "spend_microusd", "created_at")
        .prefetch_related(
            Prefetch("benchmarks", benchmarks, to_attr="listed_benchmarks"),
            Prefetch("subjects", Subject.objects.only("run_id", "label").order_by("index"), to_attr="listed_subjects"),
        )
        .order_by("-id")
    )


def get_run(workspace: Workspace, public_id: object) -> Run:
    """Raises `Run.DoesNotExist`."""
    return runs_for(workspace).get(public_id=named_id(public_id))


def get_run_of_member(user: User, public_id: object) -> Run:
    """A run of any of the person's workspaces. Raises `Run.DoesNotExist`."""
    return _with_parts(Run.objects.filter(workspace__memberships__user=user)).get(public_id=named_id(public_id))


def filter_runs(runs: QuerySet[Run], *, status: str = "", benchmark: str = "", model: str = "", id_prefix: str = "") -> QuerySet[Run]:
    """Narrow a list of runs. `benchmark` is a slug or a version's ID, `model` a subject's label or ID, `id_prefix` a run's first digits."""
    if status:
        runs = runs.filter(status=status)
    if benchmark:
        slug, separator, number = benchmark.partition("@")
        named = Q(version__benchmark__slug=slug)
        if separator:
            named &= Q(version__number=int(number)) if number.isdigit() and len(number) < 9 else Q(pk=None)
        # Not by a join: a run may have two versions of one benchmark, and would be listed twice.
        runs = runs.filter(pk__in=RunBenchmark.objects.filter(named).values("run_id"))
    if model:
        connection = Q(connection__public_id=named_id(model.removeprefix("connection:")))
        recorded = Q(recorded_model__public_id=named_id(model.removeprefix("recorded:")))
        named = Q(label=model) | Q(route__route_id=model) | Q(baseline=model) | connection | recorded
        runs = runs.filter(pk__in=Subject.objects.filter(named).values("run_id"))
    if id_prefix:
        low, high = _uuid_range(id_prefix)
        runs = runs.filter(public_id__gte=low, public_id__lte=high) if low else runs.none()
    return runs


def _uuid_range(prefix: str) -> tuple[Any, Any]:
    digits = prefix.replace("-", "").lower()
    if not digits or len(digits) > 32 or not all(digit in "0123456789abcdef" for digit in digits):
        return None, None
    return parse_uuid(digits.ljust(32, "0")), parse_uuid(digits.ljust(32, "f"))


def runs_of_version(workspace: Workspace, version: BenchmarkVersion) -> QuerySet[Run]:
    """The workspace's runs of one benchmark version, newest first."""
    return runs_for(workspace).filter(benchmarks__version=version)


def runs_of_benchmark(workspace: Workspace, slug: str) -> QuerySet[Run]:
    return runs_for(workspace).filter(pk__in=RunBenchmark.objects.filter(version__benchmark__slug=slug).values("run_id"))


def run_models(workspace: Workspace) -> list[str]:
    """Labels of models that the workspace has run, for a filter."""
    return list(Subject.objects.filter(run__workspace=workspace).order_by("label").values_list("label", flat=True).distinct()[:200])


def run_benchmarks(workspace: Workspace) -> list[tuple[str, str]]:
    """Slugs and names of benchmarks that the workspace has run, for a filter."""
    rows = RunBenchmark.objects.filter(run__workspace=workspace).order_by("version__benchmark__name", "version__benchmark__slug")
    return list(rows.values_list("version__benchmark__slug", "version__benchmark__name").distinct()[:200])


def latest_result(run: Run) -> ResultVersion | None:
    return ResultVersion.objects.filter(run=run).order_by("-number").first()


def get_result(run: Run, number: int | None = None) -> ResultVersion:
    """A result version, the latest by default. Raises `ResultVersion.DoesNotExist`."""
    results = ResultVersion.objects.filter(run=run)
    found = results.order_by("-number").first() if number is None else results.filter(number=number).first()
    if found is None:
        raise ResultVersion.DoesNotExist
    return found


def chain_of(run: Run) -> list[Run]:
    """The runs that were continued one by the other, the first one first; the run alone where it was not."""
    chain = [run]
    while chain[0].continued_from_id is not None:
        chain.insert(0, Run.objects.get(pk=chain[0].continued_from_id))
    while (following := Run.objects.filter(continued_from=chain[-1]).first()) is not None:
        chain.append(following)
    return chain


def newest_continuation(run: Run) -> Run:
    """The last run of the chain that `continued_by` leads along; the run itself where it was not continued."""
    while True:
        following = Run.objects.filter(continued_from=run).first()
        if following is None:
            return run
        run = following


def events_after(run: Run, sequence: int, *, type: str = "", limit: int = 100) -> list[Event]:
    """Up to `limit` events past a sequence, oldest first. A type ending in a dot or star names a family."""
    return list(_events(run, type).filter(sequence__gt=sequence).order_by("sequence")[:limit])


def last_events(run: Run, count: int, *, type: str = "") -> list[Event]:
    """The last `count` events, oldest first."""
    return list(reversed(_events(run, type).order_by("-sequence")[:count]))


def stored_over_time(run: Run) -> list[tuple[float, int, int, int]]:
    """How a run's samples came, oldest first: seconds since its start, subject index, how many, and the subject's total by then.

    Of a long run about four thousand of the events are read, scattered so that no subject is favoured: totals are in each of them.
    """
    events = Event.objects.filter(run=run, type__in=("sample.stored", "subject.finished"))
    if run.last_sequence > STORED_READ:
        turn = Mod(F("sequence") * 7919, 10_007)
        events = events.alias(turn=turn).filter(Q(turn__lt=10_007 * STORED_READ // run.last_sequence) | Q(type="subject.finished"))
    start = run.started_at or run.created_at
    rows = events.order_by("sequence").values_list("created_at", "data")
    return [(max(0.0, (at - start).total_seconds()), data["subject_index"], data.get("count", 0), data["processed"]) for at, data in rows]


def _events(run: Run, type: str) -> QuerySet[Event]:
    events = Event.objects.filter(run=run)
    if type.endswith((".", ".*")):
        return events.filter(type__startswith=type.rstrip("*"))
    return events.filter(type=type) if type else events


NOT_IN_A_ROW = (
    "run_benchmark__coverage",
    "run_benchmark__task_ordinals",
    "task__metadata",
    "subject__reasoning",
    "subject__served_models",
    "subject__notes",
)
"""Columns of what belongs to a sample that its row does not show: JSON, read again for each sample."""


def samples_of(run: Run) -> QuerySet[Sample]:
    """The run's samples in the order they were stored, with what a row shows."""
    # Named by key, a run's benchmarks need no join, and an index holds their samples in this order: a page does not read them all.
    benchmarks = [benchmark.pk for benchmark in run.benchmarks.all()]
    samples = Sample.objects.filter(run_benchmark__in=benchmarks).select_related("task", "subject", "origin", "run_benchmark")
    return samples.defer(*NOT_IN_A_ROW).order_by("id")


def get_sample(run: Run, public_id: object) -> Sample:
    """Raises `Sample.DoesNotExist`."""
    return samples_of(run).select_related("task__content", "subject__route", "subject__connection").get(public_id=named_id(public_id))


def samples_of_task(run: Run, position: int) -> list[Sample]:
    """Every subject's samples of the task at a position of the run's list, by subject and attempt."""
    return list(
        samples_of(run)
        .select_related("task__content", "run_benchmark__version")
        .filter(position=position)
        .order_by("subject__index", "attempt")
    )


def calls_of_samples(samples: Sequence[Sample]) -> dict[Any, list[Call]]:
    """The calls of each sample (of its origin, where it was copied), with their content, by the source they were made for."""
    sources = {source_of(sample) for sample in samples}
    found: dict[Any, list[Call]] = {source: [] for source in sources}
    for call in Call.objects.filter(source_id__in=sources).select_related("content").order_by("id"):
        found[call.source_id].append(call)
    return found


def source_of(sample: Sample) -> Any:
    """The ID that the sample's calls were made for. Reads `origin` where there is one."""
    return sample.origin.public_id if sample.origin_id and sample.origin else sample.public_id


def empty_answers_today(workspace: Workspace) -> int:
    """How many empty answers of managed routes the workspace was not charged for today (UTC)."""
    return EmptyAnswers.objects.filter(workspace=workspace, day=timezone.now().date()).values_list("count", flat=True).first() or 0


def benchmark_at(run: Run, position: int) -> RunBenchmark:
    """The benchmark of the run that the task at a position belongs to. Raises `RunBenchmark.DoesNotExist`."""
    for benchmark in run.benchmarks.all():
        if position in benchmark.positions:
            return benchmark
    raise RunBenchmark.DoesNotExist


def task_at(run: Run, position: int) -> Task:
    """The task at a position of the run's list, with its content. Raises `DoesNotExist`."""
    benchmark = RunBenchmark.objects.get(pk=benchmark_at(run, position).pk)  # with its list of tasks
    ordinal = benchmark.ordinals()[position - benchmark.first_position]
    return Task.objects.select_related("content", "version").get(version=benchmark.version_id, ordinal=ordinal)


def samples_by_key(run: Run, keys: Sequence[int]) -> list[Sample]:
    """The run's samples with these keys, in this order."""
    found = {sample.pk: sample for sample in samples_of(run).filter(pk__in=keys)}
    return [found[key] for key in keys]


def samples_after(run: Run, key: int, *, limit: int) -> list[Sample]:
    """The next samples past a sample's key, in the order they were stored, with their tasks' contents: for reading a whole run in parts."""
    return list(samples_of(run).select_related("task__content").filter(pk__gt=key)[:limit])
