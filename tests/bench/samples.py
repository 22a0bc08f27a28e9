"""Server time and queries of each filter of the sample browser on one run of 100,000 samples with their texts.

    python -m tests.bench.samples --samples 100000 --times 10
    DATABASE_URL=postgres://… python -m tests.bench.samples

Django's test client asks, on a SQLite file that is thrown away, or in a test database beside the one that `DATABASE_URL` names. Rare and
missing values are asked for too: they cost a pass over the whole run. Nothing is promised about the times, the machine decides them; what
should hold anywhere is that none grows with the text, and the number of queries.
"""

import argparse
import gc
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.pages import ask

MODELS, GROUPS, WORDS = 4, 20, 120
VOCABULARY = ("the", "model", "answer", "count", "total", "shelf", "left", "number", "because", "therefore", "gives", "sum", "of", "and")
REVIEWED = 200
BATCH = 2_000
FILTERS = (
    "",
    "subject=1",
    "subject=1&sort=-task",
    "sort=-latency",
    "sort=-charge",
    "sort=output_tokens",
    "verdict=incorrect",
    "verdict=incorrect&subject=2",
    "status=error",
    "error_code=timeout",
    "error_code=worker_lost",
    "flag=unreadable",
    "flag=empty",
    "group=g7",
    "group=none",
    "benchmark={slug}@1",
    "attempt=2",
    "min_output_tokens=398",
    "min_output_tokens=5000",
    "show=failures",
    "show=disagreements",
    "q=grown1234",
    "q=4321",
    "q=no+such+word",
    "reviewed=note",
    "reviewed=changed",
    "text=shelf",
    "text=no+such+word",
)
TASKS = ("", "?verdict=incorrect", "?error_code=worker_lost", "?text=no+such+word", "?left=0.1&right=1.1")


def furnish(samples: int) -> tuple[Any, dict[str, str]]:
    """A client of the owner, and the IDs in the addresses: a real run that grew."""
    from catalog.models import BenchmarkVersion, Task, TaskContent
    from gateway.models import Call, CallContent
    from runs.models import Run, RunBenchmark, Sample, Subject
    from runs.reviews.actions import add_note, override_verdict
    from tests.site import growing
    from tests.site.world import make_world
    from workspaces.actors import actor_of_user
    from workspaces.enums import Role

    world, drawn = make_world(), random.Random(1)
    run = Run.objects.get(public_id=world.ids["run_id"])
    benchmark = run.benchmarks.get()
    version, first, count = benchmark.version, benchmark.version.task_count, samples // MODELS
    tasks = Task.objects.bulk_create(
        (Task(version=version, ordinal=first + n, task_id=f"grown{n}", prompt_bytes=400, group=f"g{n % GROUPS}") for n in range(count)),
        batch_size=BATCH,
    )
    contents = (TaskContent(task=task, values={"question": text_of(drawn)}, reference="0") for task in tasks)
    TaskContent.objects.bulk_create(contents, batch_size=BATCH)
    subjects = list(run.subjects.all())
    for index in range(len(subjects), MODELS):
        (made,) = growing.copies(subjects[0], 1, index=index, label=f"model {index}")
        made.save(force_insert=True)
        subjects.append(made)
    rows = [cell(benchmark, subject, task, first + n, drawn) for n, task in enumerate(tasks) for subject in subjects]
    Sample.objects.bulk_create(rows, batch_size=BATCH)
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        calls = [Call(workspace_id=run.workspace_id, source_id=each.public_id, outcome="answered") for each in part]
        Call.objects.bulk_create(calls)
        CallContent.objects.bulk_create(CallContent(call=call, response=text_of(drawn)) for call in calls)
    for subject in subjects:
        stored = Sample.objects.filter(subject=subject)
        counts = {
            "processed": stored.count(),
            "graded": stored.filter(status="graded").count(),
            "correct": stored.filter(correct=True).count(),
            "errors": stored.filter(status="error").count(),
        }
        Subject.objects.filter(pk=subject.pk).update(planned=counts["processed"], **counts)
    RunBenchmark.objects.filter(pk=benchmark.pk).update(task_count=first + count, task_ordinals="")
    BenchmarkVersion.objects.filter(pk=version.pk).update(has_groups=True)
    stored = Sample.objects.filter(subject__run=run)
    Run.objects.filter(pk=run.pk).update(processed=stored.count(), planned=stored.count(), errors=stored.filter(status="error").count())
    actor = actor_of_user(world.people[Role.OWNER])
    for sample in drawn.sample([row for row in rows if row.status == "graded"], REVIEWED):
        add_note(run, sample, actor=actor, text="A note")
        override_verdict(run, sample, actor=actor, correct=not sample.correct, reason="A reason")
    return world.client(world.people[Role.OWNER]), world.ids


def cell(benchmark: Any, subject: Any, task: Any, position: int, drawn: random.Random) -> Any:
    """A sample: one in a hundred an error, one in a hundred unreadable, three in five right."""
    from runs.models import Sample

    luck, right = drawn.random(), drawn.random() < 0.6
    common = {"run_benchmark": benchmark, "subject": subject, "task": task, "position": position, "latency_ms": drawn.randrange(9_000)}
    common |= {"output_tokens": drawn.randrange(20, 400), "usage_microusd": drawn.randrange(500)}
    if luck < 0.01:
        return Sample(status="error", error_code=drawn.choice(["timeout", "rate_limited"]), **common)
    graded = {"status": "graded", "correct": right, "score": float(right), "reason": "matched" if right else "different"}
    return Sample(extracted=str(drawn.randrange(10_000)), is_unreadable=luck < 0.02, **graded, **common)


def text_of(drawn: random.Random) -> str:
    return " ".join(drawn.choices(VOCABULARY, k=WORDS))


def measure(folder: Path, *, samples: int, times: int) -> None:
    """Print a row for each filter, of the page and of the API, and for the page of a task within some of them."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    os.environ.setdefault("DATABASE_URL", f"sqlite:///{folder / 'samples.sqlite3'}")
    import django

    django.setup()
    from django.db import connection
    from django.test.utils import setup_test_environment, teardown_test_environment

    setup_test_environment(debug=False)
    is_postgresql = connection.vendor == "postgresql"
    if is_postgresql:
        connection.creation.create_test_db(verbosity=0, autoclobber=True)
    else:
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
    try:
        client, ids = furnish(samples)
        if is_postgresql:
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
        teardown_test_environment()  # it copies the context of each template that is rendered, which no server does
        gc.collect()
        gc.freeze()  # as the server does
        print(f"one run of {samples:,} samples, {connection.vendor}, server time of {times} requests each")
        print(f"  {'p50 ms':>7}  {'p95 ms':>7}  {'queries':>7}  {'in queries':>10}  page")
        run = ids["run_id"]
        middle = samples // MODELS // 2
        for query in FILTERS:
            asked = query.format(**ids)
            print(ask(client, f"/evaluations/{run}/samples?{asked}", times).row(f"list, {asked or 'all'}"), flush=True)
        for query in FILTERS:
            asked = query.format(**ids)
            print(ask(client, f"/v1/runs/{run}/samples?limit=50&{asked}", times).row(f"API, {asked or 'all'}"), flush=True)
        for query in TASKS:
            print(ask(client, f"/evaluations/{run}/samples/{middle}{query}", times).row(f"a task, {query or 'all'}"), flush=True)
        for path in ("reviews", "reviews?kind=notes"):
            print(ask(client, f"/evaluations/{run}/{path}", times).row(path), flush=True)
    finally:
        if is_postgresql:
            connection.creation.destroy_test_db(connection.settings_dict["NAME"], verbosity=0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evalrouter-samples-") as folder:
        measure(Path(folder), samples=options.samples, times=options.times)
    return 0


if __name__ == "__main__":
    sys.exit(main())
