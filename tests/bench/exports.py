"""CPU time and memory of exports at 1,000 and at 100,000 samples: what grows with a run, and what does not.

    python -m tests.bench.exports --samples 1000,100000

One model, one task a sample, tasks in ten groups, an answer of about 400 bytes each, on SQLite in a folder that is thrown away. Each format
is written in a process of its own; its memory is the most it had while it wrote, less what it had before. Promised: at the larger size no
format needs more than 48 MiB above that. Seconds are of CPU.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FORMATS = ("json", "csv", "bundle", "html", "figures", "inspect", "lm-eval")
MOST_MIB = 48.0
ANSWER = "Reading the shelf from left to right and counting each box once gives the sum. " * 5
GROUPS = 10


def set_up(database: Path) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    os.environ["DATABASE_URL"] = f"sqlite:///{database}"
    os.environ["LOG_LEVEL"] = "ERROR"
    import django

    django.setup()


def clear_away() -> None:
    from django.conf import settings

    shutil.rmtree(settings.DATA_DIR, ignore_errors=True)


def build(samples: int) -> None:
    """A finished run over so many tasks, its rows copies of a real one's."""
    from django.core.management import call_command
    from django.db import connection
    from django.test.utils import setup_test_environment

    from catalog.models import Task
    from gateway.models import CallContent
    from runs.models import RunBenchmark, Sample
    from tests import factories
    from tests.runs.working import start, work
    from tests.site import growing
    from workspaces.actors import SYSTEM

    setup_test_environment(debug=False)
    call_command("migrate", verbosity=0)
    workspace = factories.make_workspace("Bench", credit=10_000_000)
    version = factories.make_version(tasks=2)
    run = work(start(workspace, SYSTEM, subjects=["most-frequent-answer"], benchmark=version.profile_id, coverage={"mode": "full"}))
    Sample.objects.all().delete()
    growing.add_tasks(version, samples - version.task_count)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {Task._meta.db_table} SET \"group\" = 'group ' || (ordinal % {GROUPS})")
    type(version).objects.update(task_count=samples, has_groups=True)
    RunBenchmark.objects.update(task_count=samples)
    version.refresh_from_db()
    growing.add_samples(run, version, 0)
    Sample.objects.update(attempt=1)
    growing.add_calls(run)
    with connection.cursor() as cursor:
        table = CallContent._meta.db_table
        cursor.execute(
            f"INSERT INTO {table} (call_id, response, reasoning, parameters, error_message) "
            "SELECT id, %s || id, '', '{}', '' FROM gateway_call WHERE id NOT IN (SELECT call_id FROM gateway_callcontent)",
            [ANSWER],
        )


def own_kib() -> int:
    """Memory of this process alone: what it maps of the database's file is the system's to take back."""
    return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon")).split()[1])


def write(wanted: str) -> None:
    """Write one format to a file, and print CPU seconds, bytes and KiB above what was there before."""
    from runs.exports.formats import FORMATS as known
    from runs.exports.making import parts_of
    from runs.exports.source import Source
    from runs.models import Run

    run = Run.objects.get()

    def source() -> Source:
        return Source(run, run.results.get())

    for warm in ("summary", "html") if wanted != "html" else ("summary",):
        b"".join(parts_of(source(), known[warm]))
    size, before, started = 0, own_kib(), time.process_time()
    most = before
    with tempfile.TemporaryFile() as file:
        for part in parts_of(source(), known[wanted]):
            size += file.write(part)
            most = max(most, own_kib())
    print(time.process_time() - started, size, most - before)


def child(folder: Path, *arguments: str) -> Any:
    command = [sys.executable, "-m", "tests.bench.exports", "--database", str(folder / "exports.sqlite3"), *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


def measure(sizes: list[int]) -> bool:
    found: dict[tuple[str, int], tuple[float, int, float]] = {}
    for samples in sizes:
        with tempfile.TemporaryDirectory(prefix="evalrouter-exports-") as folder:
            child(Path(folder), "--build", str(samples))
            for wanted in FORMATS:
                seconds, size, kib = child(Path(folder), "--write", wanted)
                found[wanted, samples] = float(seconds), int(size), int(kib) / 1024
    least, most = sizes[0], sizes[-1]
    print(
        f"exports of {' and '.join(f'{each:,}' for each in sizes)} samples, SQLite: CPU seconds, MiB of file, MiB of memory above the rest"
    )
    for wanted in FORMATS:
        told = "   ".join(f"{s:6.2f} s {size / 2**20:7.2f} MiB {mib:6.1f} MiB" for s, size, mib in (found[wanted, n] for n in sizes))
        (first, _, small), (last, _, large) = found[wanted, least], found[wanted, most]
        print(f"  {wanted:8} {told}   time × {last / first:.1f}, memory × {large / max(small, 1.0):.1f} for samples × {most / least:.0f}")
    kept = all(found[wanted, most][2] <= MOST_MIB for wanted in FORMATS)
    print(f"promised: at most {MOST_MIB:.0f} MiB at {most:,} samples:", "kept" if kept else "NOT kept")
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--samples", default="1000,100000")
    parser.add_argument("--database", type=Path)
    parser.add_argument("--build", type=int)
    parser.add_argument("--write")
    options = parser.parse_args()
    if options.database is None:
        return 0 if measure([int(each) for each in options.samples.split(",")]) else 1
    set_up(options.database)
    try:
        build(options.build) if options.build else write(options.write)
    finally:
        clear_away()
    return 0


if __name__ == "__main__":
    sys.exit(main())
