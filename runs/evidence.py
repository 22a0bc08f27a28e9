"""What a task really cost in earlier runs of the same version and model in the workspace: a record, neither a forecast nor a promise."""

from collections.abc import Iterable, Sequence
from statistics import median_high
from typing import Any, NamedTuple

from django.db.models import F, Q

from catalog.models import BenchmarkVersion
from runs.enums import Phase, SampleStatus, SubjectKind
from runs.models import Run, Sample, Subject
from runs.resolving import ResolvedSubject
from workspaces.models import Workspace

MOST_SAMPLES = 1_000
"""Samples read for each model, of its newest runs."""
MOST_RUNS = 5
"""Runs of each model that they are taken from."""
LOOK_BACK = 1_000
"""The workspace's newest ended runs that are looked at."""
MOST_SUBJECTS = 500
"""Of those runs, the newest subjects that are looked at."""

_READ = (
    "run_id",
    "kind",
    "reasoning",
    "route_id",
    "rate_id",
    "fee_percent",
    "connection_id",
    "connection_revision",
)


class Spent(NamedTuple):
    """One answered task: micro-USD with the fee, and tokens."""

    charge: int
    input_tokens: int
    output_tokens: int


def cost_evidence(
    workspace: Workspace, version: BenchmarkVersion, subjects: Sequence[ResolvedSubject], tasks: Sequence[int]
) -> list[dict[str, Any]] | None:
    """The evidence of the subjects that have some and are asked something; None where none is. `tasks` is how many each is asked now.

    The same model is the same route or connection with the same reasoning setting. Counted are tasks that were answered in ended runs of
    this workspace, and of managed models those that were charged, at the prices of their time. Two queries, and one more for each subject
    with evidence; a run's tasks are read evenly spread, so that their number bounds what is read and not how large the run was.
    """
    earlier = _earlier_subjects(workspace, version, subjects)
    found = []
    for index, subject in enumerate(subjects):
        spent = _spent(earlier.get(index, []))
        if subject.kind == SubjectKind.MANAGED:
            spent = [each for each in spent if each[1].charge]
        if spent and tasks[index]:
            found.append(_document(index, subject, spent, tasks[index], earlier[index]))
    return found or None


def _earlier_subjects(workspace: Workspace, version: BenchmarkVersion, subjects: Sequence[ResolvedSubject]) -> dict[int, list[Any]]:
    """For each subject the newest ones of the same model in ended runs, as many as are read, each with what it was asked of the version."""
    routes = {subject.route.pk for subject in subjects if subject.route is not None}
    links = {subject.connection.pk for subject in subjects if subject.connection is not None}
    if not (routes or links):
        return {}
    newest = list(Run.objects.filter(workspace=workspace, phase=Phase.DONE).order_by("-id").values_list("pk", flat=True)[:LOOK_BACK])
    rows = (
        Subject.objects.filter(Q(route_id__in=routes) | Q(connection_id__in=links), run_id__in=newest, run__benchmarks__version=version)
        .filter(graded__gt=0)
        .annotate(
            part=F("run__benchmarks__id"),
            first=F("run__benchmarks__first_position"),
            tasks=F("run__benchmarks__task_count"),
            cells=F("run__benchmarks__task_count") * F("run__attempts"),
        )
        .order_by("-run_id", "index")
        .only(*_READ)
    )
    found: dict[int, list[Any]] = {}
    for row in rows[:MOST_SUBJECTS]:
        for index, subject in enumerate(subjects):
            if _is_same(row, subject) and len(found.setdefault(index, [])) < MOST_RUNS:
                found[index].append(row)
    return found


def _is_same(row: Subject, subject: ResolvedSubject) -> bool:
    """Whether it is the same model, asked to reason as much. A changed connection may lead to another model, and is another one."""
    if row.kind != subject.kind or row.reasoning != subject.reasoning:
        return False
    if subject.route is not None:
        return row.route_id == subject.route.pk
    connection = subject.connection
    return connection is not None and (row.connection_id, row.connection_revision) == (connection.pk, connection.revision)


def _spent(rows: Iterable[Any]) -> list[tuple[int, Spent]]:
    """Tasks with the key of their subject: of the newest first, each read whole or evenly spread, until there are enough."""
    wanted, left = Q(), MOST_SAMPLES
    for row in rows:
        if row.cells <= left:
            wanted |= Q(subject=row, run_benchmark=row.part)
            left -= row.cells
        else:
            spread = range(row.first, row.first + row.tasks, -(-row.cells // left))
            wanted |= Q(subject=row, run_benchmark=row.part, position__in=spread)
            left = 0
        if not left:
            break
    if not wanted:
        return []
    samples = Sample.objects.filter(wanted, status=SampleStatus.GRADED, origin__isnull=True).order_by()
    columns = ("subject_id", "usage_microusd", "fee_microusd", "input_tokens", "output_tokens")
    return [(subject_id, Spent(usage + fee, *tokens)) for subject_id, usage, fee, *tokens in samples.values_list(*columns)]


def _document(index: int, subject: ResolvedSubject, spent: list[tuple[int, Spent]], tasks: int, rows: list[Subject]) -> dict[str, Any]:
    read = {subject_id for subject_id, _ in spent}
    each = [one for _, one in spent]
    document: dict[str, Any] = {
        "subject_index": index,
        "count": len(each),
        "runs": len(read),
        "median_input_tokens_per_task": median_high(one.input_tokens for one in each),
        "median_output_tokens_per_task": median_high(one.output_tokens for one in each),
    }
    if subject.kind != SubjectKind.MANAGED:
        return document
    charges = [one.charge for one in each]
    return document | {
        "least_microusd_per_task": str(min(charges)),
        "median_microusd_per_task": str(median_high(charges)),
        "most_microusd_per_task": str(max(charges)),
        "mean_microusd_per_task": str(-(-sum(charges) // len(charges))),
        "tasks_asked": tasks,
        "tasks_asked_at_mean_microusd": str(-(-sum(charges) * tasks // len(charges))),
        "same_price": {(row.rate_id, row.fee_percent) for row in rows if row.pk in read}
        == {(subject.price.rate_id, subject.price.fee_percent)},
    }
