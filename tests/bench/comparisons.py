"""What the comparison of eight models over 12,000 tasks costs, and that long answers do not make it dearer.

    python -m tests.bench.comparisons --tasks 12000 --models 8 --times 10

The same verdicts are stored twice, once with short texts and once with long ones (what was read from each answer, its reason, and an
answer of 8 KB beside each call), in two SQLite files. The first time reads every verdict; later ones find them packed in the cache. Both
are asked for; the ratio of long to short is what must stay near 1.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench.pages import Clock

PAGES = {
    "page": "/evaluations/{run}/comparison",
    "disagreements, page": "/evaluations/{run}/disagreements?show=a_only&a=2&b=5",
    "a group, page": "/evaluations/{run}/disagreements?group=g3",
    "API": "/v1/runs/{run}/compare",
    "disagreements, API": "/v1/runs/{run}/disagreements?show=all_wrong&limit=100",
    "CSV of pairs": "/evaluations/{run}/comparison/pairs",
}
SHORT, LONG = 8, 2_000
MOST_READ = 500
"""What was read from an answer is kept up to so many characters."""
BATCH = 5_000


def furnish(tasks: int, models: int, length: int) -> tuple[Any, str]:
    """A client of the owner and an ended run with these verdicts, finalized as a run is."""
    from django.test import Client

    from catalog.models import Task, TaskContent
    from gateway.models import Call, CallContent
    from runs.enums import Phase
    from runs.finalizing import finalize_run
    from runs.models import Run, Sample, Subject
    from tests import factories
    from tests.runs.working import start
    from workspaces.actors import actor_of_user
    from workspaces.enums import Role

    workspace = factories.make_workspace("Bench", credit=10_000_000)
    owner = factories.make_user("owner@example.org", workspace=workspace, role=Role.OWNER)
    version = factories.make_version(tasks=1, workspace=workspace)
    made = [Task(version=version, ordinal=n, task_id=f"task-{n:05d}", group=f"g{n % 10}", prompt_bytes=10) for n in range(1, tasks)]
    Task.objects.bulk_create(made, batch_size=BATCH)
    TaskContent.objects.bulk_create((TaskContent(task=task, values={"question": "?"}, reference="0") for task in made), batch_size=BATCH)
    type(version).objects.filter(pk=version.pk).update(task_count=tasks, has_groups=True)
    baselines = [{"kind": "baseline", "name": "random-choice", "seed": seed} for seed in range(models)]
    run: Run = start(
        workspace, actor_of_user(owner), subjects=baselines, selection={"profile_ids": [version.profile_id]}, coverage={"mode": "full"}
    )
    keys = list(Task.objects.filter(version=version).order_by("ordinal").values_list("pk", flat=True))
    text = "a" * length
    benchmark = run.benchmarks.get()
    for subject in run.subjects.all():
        samples = [_sample(benchmark, subject, key, place, text[:MOST_READ]) for place, key in enumerate(keys)]
        Sample.objects.bulk_create(samples, batch_size=BATCH)
        calls = [Call(workspace=workspace, source_id=sample.public_id, outcome="answered") for sample in samples]
        Call.objects.bulk_create(calls, batch_size=BATCH)
        CallContent.objects.bulk_create((CallContent(call=call, response=text) for call in calls), batch_size=BATCH)
        right = sum(sample.correct for sample in samples)
        Subject.objects.filter(pk=subject.pk).update(processed=tasks, graded=tasks, correct=right)
    Run.objects.filter(pk=run.pk).update(phase=Phase.FINALIZING, processed=run.planned)
    if finalize_run(run.pk) is None:
        raise RuntimeError("The run was not finalized.")
    client = Client()
    client.force_login(owner)
    return client, str(run.public_id)


def _sample(benchmark: Any, subject: Any, task: int, place: int, text: str) -> Any:
    """A verdict that depends on the model and the task alone: easy tasks are right for most models, and better models know more."""
    from runs.models import Sample

    is_right = (place * 7919 + subject.index * 104_729) % 100 < 45 + 4 * subject.index + 10 * (place % 3)
    verdict = {"status": "graded", "correct": is_right, "score": float(is_right), "extracted": text, "reason": text[:200]}
    return Sample(run_benchmark=benchmark, subject=subject, task_id=task, position=place, latency_ms=900 + place % 700, **verdict)


def measure(folder: str, tasks: int, models: int, length: int, times: int) -> dict[str, Any]:
    """Of each page: seconds the first time, with an empty cache, and afterwards; and queries of both."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    os.environ["DATABASE_URL"] = f"sqlite:///{Path(folder) / f'{length}.sqlite3'}"
    import django

    django.setup()
    from django.core.cache import cache
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    client, run = furnish(tasks, models, length)
    found: dict[str, Any] = {}
    for name, template in PAGES.items():
        address = template.format(run=run)
        client.get(address)
        costs: dict[str, list[float]] = {"first": [], "later": []}
        queries = {"first": 0, "later": 0}
        for kind in costs:
            for _ in range(times):
                if kind == "first":
                    cache.clear()
                clock = Clock()
                with connection.execute_wrapper(clock):
                    started = time.perf_counter()
                    status = client.get(address).status_code
                    costs[kind].append(time.perf_counter() - started)
                if status != 200:
                    raise RuntimeError(f"{address}: {status}")
                queries[kind] = clock.queries
        found[name] = {kind: (statistics.median(costs[kind]), queries[kind]) for kind in costs}
    return found


def _in_a_process(arguments: tuple[Any, ...], pipe: Any) -> None:
    pipe.send(json.dumps(measure(*arguments)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--tasks", type=int, default=12_000)
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory(prefix="evalrouter-comparisons-") as folder:
        for length in (SHORT, LONG):
            # Each database in a process of its own: Django is set up for one.
            context = multiprocessing.get_context("spawn")
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_in_a_process, args=((folder, options.tasks, options.models, length, options.times), sender))
            process.start()
            sender.close()
            found[length] = json.loads(receiver.recv())
            process.join()
    print(
        f"comparison of {options.models} models, {options.tasks:,} tasks: texts of {SHORT} and of {LONG:,} characters, SQLite, "
        f"median server time of {options.times} requests"
    )
    print(f"  {'short ms':>9}  {'long ms':>9}  {'ratio':>6}  {'queries':>7}  what")
    for name in PAGES:
        for kind, words in (("first", "verdicts read"), ("later", "verdicts kept")):
            (short, asked), (long, asked_long) = found[SHORT][name][kind], found[LONG][name][kind]
            counted = str(asked) if asked == asked_long else f"{asked}/{asked_long}"
            print(f"  {short * 1000:9.1f}  {long * 1000:9.1f}  {long / short:6.2f}  {counted:>7}  {name}, {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
