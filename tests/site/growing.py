"""Many rows at once, for tests of what lists cost: copies of a real run with its samples, and more of everything that is listed."""

from collections.abc import Sequence

from django.db import connection

from billing.enums import EntryKind
from billing.models import Budget, LedgerEntry, Wallet
from catalog.models import BenchmarkVersion, Task, TaskContent
from common.ids import new_id
from gateway.models import Call
from runs.models import Event, Quote, ResultVersion, Run, RunBenchmark, Sample, Subject
from runs.models.notices import NoticeEvent, WebhookDelivery, WebhookEndpoint
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
        for made, each in zip(copies(subject, count), runs, strict=True):
            made.run = each
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


def add_samples(run: Run, version: BenchmarkVersion, count: int) -> None:
    """Graded samples for the run's first subject, over the version's tasks, attempt after attempt."""
    subject = run.subjects.get(index=0)
    benchmark = run.benchmarks.get(version=version)
    tasks = list(version.tasks.values_list("pk", flat=True))
    Sample.objects.bulk_create(
        Sample(
            run_benchmark=benchmark,
            subject=subject,
            task_id=task,
            position=position,
            attempt=10,
            status="graded",
            correct=position % 3 == 0,
            score=float(position % 3 == 0),
        )
        for position, task in enumerate(tasks)
    )
    for attempt in range(11, 11 + count // len(tasks)):
        _insert_copies("WHERE old.subject_id = %s AND old.attempt = 10", [subject.pk], attempt=str(attempt))


def share_samples(run: Run, runs: Sequence[Run], count: int) -> None:
    """Give each of the runs copies of `count` of this run's samples."""
    source = run.subjects.get(index=0)
    first, last = runs[0].pk, runs[-1].pk
    _insert_copies(
        'JOIN runs_subject new ON new.run_id BETWEEN %s AND %s AND new."index" = 0 '
        'JOIN runs_runbenchmark part ON part.run_id = new.run_id AND part."index" = 0 '
        "WHERE old.subject_id = %s AND old.attempt = 10 AND old.position < %s",
        [first, last, source.pk, count],
        subject_id="new.id",
        run_benchmark_id="part.id",
    )


def add_calls(run: Run) -> None:
    """A call for each of the run's samples that has none: copies of one."""
    pattern = Call(workspace_id=run.workspace_id, source_id=new_id(), outcome="answered")
    pattern.save()
    columns = [field.column for field in Call._meta.concrete_fields if not field.primary_key]
    given = {"public_id": _random_uuid(), "source_id": "sample.public_id"}
    values = ", ".join(given.get(column, f"old.{column}") for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO gateway_call ({', '.join(columns)}) SELECT {values} FROM gateway_call old, runs_sample sample "
            "WHERE old.id = %s AND sample.subject_id IN (SELECT id FROM runs_subject WHERE run_id = %s) "
            "AND sample.public_id NOT IN (SELECT source_id FROM gateway_call)",
            [pattern.pk, run.pk],
        )


def _random_uuid() -> str:
    return "gen_random_uuid()" if connection.vendor == "postgresql" else "lower(hex(randomblob(16)))"


def _insert_copies(where: str, parameters: list[object], **changed: str) -> None:
    """Copy the samples `old` that the clause finds, inside the database, with these columns changed."""
    columns = [field.column for field in Sample._meta.concrete_fields if not field.primary_key]
    given = {"public_id": _random_uuid(), **changed}
    values = ", ".join(given.get(column, f"old.{column}") for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO runs_sample ({', '.join(columns)}) SELECT {values} FROM runs_sample old {where}", parameters)


def add_listed(workspace: Workspace, owner: User, count: int) -> None:
    """More members, keys, connections, ledger entries, private and public benchmarks, and routes."""
    key = workspace.api_keys.earliest("id")
    keys = copies(key, count)
    for number, made in enumerate(keys):
        made.prefix, made.lineage = f"t{number:05d}{count}", new_id()
    ApiKey.objects.bulk_create(keys)
    _add_deliveries(workspace, count)
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


def _add_deliveries(workspace: Workspace, count: int) -> None:
    """More endpoints, and more that the first of them was told."""
    endpoint = WebhookEndpoint.objects.filter(workspace=workspace).earliest("id")
    delivery = WebhookDelivery.objects.filter(endpoint=endpoint).earliest("id")
    WebhookEndpoint.objects.bulk_create(copies(endpoint, count))
    told = copies(delivery.event, count)
    for number, made in enumerate(told, 1000 * count):
        made.number = number
    told = NoticeEvent.objects.bulk_create(told)
    deliveries = copies(delivery, count)
    for again, made in zip(deliveries, told, strict=True):
        again.event = made
    WebhookDelivery.objects.bulk_create(deliveries)
