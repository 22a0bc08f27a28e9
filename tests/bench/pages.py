"""Server time and queries of the ten main pages at 100,000 samples: the page alone, without the network and without the browser.

    python -m tests.bench.pages --samples 100000 --times 20

Django's test client asks, on a SQLite file in a folder that is thrown away. Nothing is promised about the times, the machine decides them;
what should hold anywhere is the number of queries. Time in queries is that until the database answers; reading the rows is not in it.
"""

import argparse
import gc
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGES = (
    "/",
    "/catalog",
    "/catalog/{slug}",
    "/models",
    "/evaluations/new?benchmark={slug}@1",
    "/evaluations/quotes/{quote_id}",
    "/evaluations",
    "/evaluations/{run_id}",
    "/evaluations/{run_id}/samples",
    "/evaluations/{run_id}/samples/0",
)
RUNS, TASKS, OTHERS = 200, 5_000, 30


@dataclass
class Clock:
    """Counts queries, and the seconds until the database has answered each."""

    queries: int = 0
    seconds: float = 0.0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        started = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            self.queries += 1
            self.seconds += time.perf_counter() - started


@dataclass
class Cost:
    """What asking one page many times took: seconds each time, of them seconds in queries, and the queries of the last."""

    seconds: list[float] = field(default_factory=list)
    in_queries: list[float] = field(default_factory=list)
    queries: int = 0

    def row(self, name: str) -> str:
        p50, p95 = statistics.median(self.seconds), statistics.quantiles(self.seconds, n=20)[-1]
        share = sum(self.in_queries) / sum(self.seconds)
        return f"  {p50 * 1000:7.1f}  {p95 * 1000:7.1f}  {self.queries:7}  {share:10.0%}  {name}"


def ask(client: Any, address: str, times: int) -> Cost:
    """The cost of a page that has been asked once before."""
    from django.db import connection

    cost = Cost()
    client.get(address)
    for _ in range(times):
        clock = Clock()
        with connection.execute_wrapper(clock):
            started = time.perf_counter()
            response = client.get(address)
            cost.seconds.append(time.perf_counter() - started)
        if response.status_code != 200:
            raise RuntimeError(f"{address}: {response.status_code}")
        cost.in_queries.append(clock.seconds)
        cost.queries = clock.queries
    return cost


def furnish(samples: int) -> tuple[Any, dict[str, str]]:
    """A client of the owner, and the IDs in the addresses. All rows are copies of a real run's."""
    from catalog.models import BenchmarkVersion
    from runs.models import Run
    from tests.site import growing
    from tests.site.world import make_world
    from workspaces.enums import Role

    world = make_world()
    owner = world.people[Role.OWNER]
    run = Run.objects.get(public_id=world.ids["run_id"])
    version = BenchmarkVersion.objects.get(benchmark__slug=world.ids["slug"])
    growing.add_listed(world.workspace, owner, OTHERS)
    growing.add_tasks(version, TASKS)
    growing.add_samples(run, version, samples // 2)
    growing.share_samples(run, growing.add_runs(run, RUNS), samples // 2 // RUNS + 1)
    growing.add_calls(run)
    return world.client(owner), world.ids


def measure(folder: Path, *, samples: int, times: int) -> None:
    """Print a row for each page. Django is set up here, for a database of its own: call it in a process that has none yet."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    os.environ["DATABASE_URL"] = f"sqlite:///{folder / 'pages.sqlite3'}"
    import django

    django.setup()
    from django.core.management import call_command
    from django.test.utils import setup_test_environment, teardown_test_environment

    setup_test_environment(debug=False)
    call_command("migrate", verbosity=0)
    client, ids = furnish(samples)
    teardown_test_environment()  # it copies the context of each template that is rendered, which no server does
    gc.collect()
    gc.freeze()  # as the server does
    from runs.models import Sample

    print(f"pages with {Sample.objects.count():,} samples in {RUNS + 1} runs, SQLite, server time of {times} requests each")
    print(f"  {'p50 ms':>7}  {'p95 ms':>7}  {'queries':>7}  {'in queries':>10}  page")
    for address in PAGES:
        print(ask(client, address.format(**ids), times).row(address), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evalrouter-pages-") as folder:
        measure(Path(folder), samples=options.samples, times=options.times)
    return 0


if __name__ == "__main__":
    sys.exit(main())
