"""Many rows at once, for tests of what lists cost: copies of a real run with its samples, and more of everything that is listed."""

from collections.abc import Sequence
from itertools import islice

from billing.enums import EntryKind
from billing.models import Budget, LedgerEntry, Wallet
from catalog.models import BenchmarkVersion, Task, TaskContent
from common.ids import new_id
from gateway.models import Call
from runs.models import Event, Quote, ResultVersion, Run, RunBenchmark, Sample, Subject
from tests import factories
from workspaces.enums import Role
from workspaces.models import ApiKey, User, Workspace

BATCH = 5_000


def copies[Row](row: Row, count: int, **changed: object) -> list[Row]:
    """Unsaved copies of a stored row with public IDs of their own."""
    fields = [field.attname for field in row._meta.concrete_fields if not field.primary_key]  # type: ignore[attr-defined]
    values = {name: getattr(row, name) for name in fields} | changed
    if "public_id" not in values:
        return [type(row)(**values) for _ in range(count)]
    return [type(row)(**(values | {"public_id": new_id()})) for _ in range(count)]


def add_runs(run: Run, count: int) -> list[Run]:
    """Ended runs like this one: quote, budget, benchmark, subjects, result and a first event. Without samples."""
    quotes = Quote.objects.bulk_create(copies(run.quote, count))
    runs = copies(run, count)
    for made, quote in zip(runs, quotes, strict=True):
        made.quote = quote
    runs = Run.objects.bulk_create(runs)
    budgets = copies(Budget.objects.get(source=run.budget_source), count, hold_id=None)
    for budget, each in zip(budgets, runs, strict=True):
        budget.source = each.budget_source
    Budget.objects.bulk_create(budgets)
    benchmarks = copies(run.benchmarks.get(), count)
    for made, each in zip(benchmarks, runs, strict=True):
        made.run = each
    benchmarks = RunBenchmark.objects.bulk_create(benchmarks)
    subjects: list[Subject] = []
    for subject in run.subjects.all():
        for made, each, benchmark in zip(copies(subject, count), runs, benchmarks, strict=True):
            made.run, made.run_benchmark = each, benchmark
            subjects.append(made)
    Subject.objects.bulk_create(subjects)
    for model, row in ((ResultVersion, run.results.get()), (Event, run.events.earliest("sequence"))):
        made_rows = copies(row, count)
        for made, each in zip(made_rows, runs, strict=True):
            made.run = each
        model.objects.bulk_create(made_rows)
    return runs


def add_tasks(version: BenchmarkVersion, count: int) -> None:
    """More tasks of a version, of which the sample's page shows one."""
    start = version.task_count
    tasks = [Task(version=version, ordinal=start + n, task_id=f"grown{n}", prompt_bytes=10) for n in range(count)]
    Task.objects.bulk_create(tasks, batch_size=BATCH)
    TaskContent.objects.bulk_create((TaskContent(task=task, values={"question": "?"}, reference="0") for task in tasks), batch_size=BATCH)


def add_samples(runs: Sequence[Run], version: BenchmarkVersion, count: int) -> None:
    """Graded samples for the first subject of each run, `count` each, over the version's tasks, attempt after attempt."""
    tasks = list(version.tasks.values_list("pk", flat=True))
    subjects = Subject.objects.filter(run__in=[run.pk for run in runs], index=0)
    samples = (
        Sample(
            run_benchmark_id=subject.run_benchmark_id,
            subject_id=subject.pk,
            task_id=tasks[n % len(tasks)],
            position=n % len(tasks),
            attempt=10 + n // len(tasks),
            status="graded",
            correct=n % 3 == 0,
            score=float(n % 3 == 0),
            extracted=str(n),
        )
        for subject in subjects
        for n in range(count)
    )
    while batch := list(islice(samples, BATCH)):
        Sample.objects.bulk_create(batch)


def add_calls(run: Run) -> None:
    """A call for each of the run's samples that has none."""
    ids = Sample.objects.filter(subject__run=run).values_list("public_id", flat=True)
    there = set(Call.objects.filter(source_id__in=ids).values_list("source_id", flat=True))
    Call.objects.bulk_create(
        [Call(workspace_id=run.workspace_id, source_id=source, outcome="answered") for source in ids if source not in there],
        batch_size=BATCH,
    )


def add_listed(workspace: Workspace, owner: User, count: int) -> None:
    """More members, keys, connections, ledger entries, private and public benchmarks, and routes."""
    key = workspace.api_keys.earliest("id")
    keys = copies(key, count)
    for number, made in enumerate(keys):
        made.prefix, made.lineage = f"t{number:05d}{count}", new_id()
    ApiKey.objects.bulk_create(keys)
    wallet = Wallet.objects.get(workspace=workspace)
    balance = {"amount_microusd": 0, "balance_after_microusd": wallet.balance_microusd}
    LedgerEntry.objects.bulk_create(
        LedgerEntry(wallet=wallet, kind=EntryKind.ADJUSTMENT, idempotency_key=f"grow:{count}:{n}", **balance) for n in range(count)
    )
    for _ in range(count):
        factories.make_user(workspace=workspace, role=Role.VIEWER)
        factories.make_connection(workspace)
        factories.make_route()
        factories.make_version(tasks=2)
        factories.make_version(tasks=2, workspace=workspace)
