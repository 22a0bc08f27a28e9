"""What an import costs: its time beside a plain reading of the same file, its memory, and how long it holds off other writers.

Each import runs in a process of its own on a fresh SQLite database, so that its peak is its own. Two files: 67,000 rows of CSV, and the
most that a benchmark may be made of, 100,000 rows of 64 MiB.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = str(ROOT / ".venv" / "bin" / "python")
BLIMP = ROOT.parent / "shared" / "data" / "blimp" / "blimp_67k.csv"
MAX_MIB = 300
STEPS = {
    "upload": "upload and verify",
    "check": "check every row",
    "create": "check and create",
    "locked": "  of it, other writers wait",
}
LARGEST_ROWS, LARGEST_BYTES = 100_000, 64 * 1024 * 1024
BLIMP_MANIFEST = {
    "name": "BLiMP",
    "task": "multiple_choice",
    "columns": {"id": ["uid", "pair_id"], "choices": ["choice_a", "choice_b"], "answer": "answer", "group": "uid"},
    "prompt_template": "Which sentence is acceptable English?\n{choices}",
    "rights_attestation": True,
}
LARGEST_MANIFEST = {
    "name": "Largest",
    "task": "exact_match",
    "columns": {"question": "question", "answer": "answer"},
    "prompt_template": "{question}",
    "rights_attestation": True,
}


def peak_mib() -> int:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def write_largest(path: Path) -> None:
    """A CSV of as many rows and bytes as a benchmark may be made of."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("question,answer\n")
        room = LARGEST_BYTES - len("question,answer\n")
        width = room // LARGEST_ROWS
        for number in range(LARGEST_ROWS):
            answer = f"a{number}"
            file.write(f"{number:06d} {'x' * (width - 7 - len(answer) - 2)},{answer}\n")


class Stopwatch:
    """Seconds on the clock and of CPU since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._wall, time.process_time() - self._cpu


class LockWatch:
    """Sees when the last writing transaction began; SQLite lets nobody else write from then on until it ends."""

    def __init__(self) -> None:
        self.watch = Stopwatch()

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if sql.startswith("BEGIN"):
            self.watch = Stopwatch()
        return execute(sql, params, many, context)


def measure(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Import the file in this process, by upload, check and creation. Times are [on the clock, of CPU] in seconds, peaks MiB."""
    import django
    from django.db import connection

    django.setup()
    from imports.actions.benchmarks import check_source, create_from_source
    from imports.actions.uploads import complete_upload, create_upload, receive
    from imports.queries.sources import resolve_source
    from workspaces.actors import SYSTEM
    from workspaces.models import Workspace

    found: dict[str, Any] = {"before_mib": peak_mib()}
    watch = Stopwatch()
    with path.open(encoding="utf-8", newline="") as file:
        found["file_rows"] = sum(1 for _ in csv.reader(file)) - 1
    found["csv"] = watch.read()
    workspace = Workspace.objects.create(name="Bench")
    watch = Stopwatch()
    upload = create_upload(workspace, actor=SYSTEM, files=[{"name": path.name, "bytes": path.stat().st_size}])
    stored = upload.files.get()
    stored.upload = upload
    with path.open("rb") as raw:
        receive(stored, actor=SYSTEM, stream=raw, offset=0, total=None)
    complete_upload(upload, actor=SYSTEM)
    found["upload"] = watch.read()
    source = resolve_source(workspace, stored.uri)
    watch = Stopwatch()
    found["checked_rows"] = check_source(workspace, actor=SYSTEM, source=source, manifest=manifest).rows
    found["check"] = watch.read()
    found["checked_mib"] = peak_mib()
    lock = LockWatch()
    watch = Stopwatch()
    with connection.execute_wrapper(lock):
        version = create_from_source(
            workspace, actor=SYSTEM, source=source, manifest=manifest, finish=lambda _version: found.update(locked=lock.watch.read())
        )
    found["create"] = watch.read()
    return found | {"rows": version.tasks.count(), "peak_mib": peak_mib()}


def measured(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """What `measure` finds in a process of its own, whose state is thrown away."""
    with tempfile.TemporaryDirectory(prefix="evalrouter-bench-") as folder:
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalrouter_site.settings", "DATA_DIR": folder, "DATABASE_URL": ""}
        command = [PYTHON, "-m", "tests.bench.imports", "--file", str(path), "--manifest", json.dumps(manifest)]
        subprocess.run([PYTHON, "manage.py", "migrate", "--verbosity", "0"], env=environment, cwd=ROOT, check=True)
        ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stderr[-3000:])
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def report(name: str, found: dict[str, Any]) -> bool:
    """Print what was found; whether every row was checked and written within the memory that is promised."""
    plain_wall, plain_cpu = found["csv"]
    print(f"{name}: {found['file_rows']:,} rows, read by csv in {plain_wall:.2f} s ({plain_cpu:.2f} s of CPU); as a multiple of that")
    for step in ("upload", "check", "create", "locked"):
        wall, cpu = found[step]
        words = {
            "upload": "upload and verify",
            "check": "check every row",
            "create": "check and create",
            "locked": "  of it, other writers wait",
        }
        print(f"  {words[step]:<28} {wall / plain_wall:6.1f}   ({wall:.2f} s, {cpu:.2f} s of CPU)")
    print(
        f"  peak {found['peak_mib']} MiB, {found['checked_mib']} after the check, {found['before_mib']} before; promised: below {MAX_MIB}"
    )
    whole = found["file_rows"] == found["checked_rows"] == found["rows"]
    print(f"  every row checked and written: {'yes' if whole else 'NO'}")
    return whole and found["peak_mib"] < MAX_MIB


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, help="measure this file here and print one JSON object")
    parser.add_argument("--manifest", type=json.loads, help="of that file")
    options = parser.parse_args()
    if options.file:
        print(json.dumps(measure(options.file, options.manifest)))
        return 0
    kept = []
    if BLIMP.exists():
        kept.append(report("67,000 rows of choices", measured(BLIMP, BLIMP_MANIFEST)))
    else:
        print("skipped: the shared data sets are not beside this repository")
    with tempfile.TemporaryDirectory(prefix="evalrouter-bench-") as folder:
        largest = Path(folder) / "largest.csv"
        write_largest(largest)
        report("the most a benchmark may be made of", measured(largest, LARGEST_MANIFEST))  # its peak is told, not promised
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
