"""Measure the product against the physical limit and print the ratios.

1,319 tasks, answers after 50 ms, 64 calls at a time, from start to finalized result, every guarantee on: leases, reservations, metered
and charged calls, stored samples, a frozen result. The limit is tasks × latency ÷ concurrency; whole waves of calls need 1.02 of it. CPU
is user and system time over all of the product's processes, web, worker and beat, less that of a run over one task. Before that, what the
main pages and filters cost with many samples (`tests.bench.pages`, `.samples`), what exports cost (`tests.bench.exports`), what a
comparison of eight models costs (`tests.bench.comparisons`), what eight processes on one wallet cost (`tests.bench.wallets`), and an
import (`tests.bench.imports`).
"""

import argparse
import importlib
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.bench.installation import PYTHON, ROOT, Api, Installation

YARDSTICK = ROOT.parent / "shared" / "bench"
TASKS, LATENCY_MS, CONCURRENCY, RIGHT = 1_319, 50, 64, 1_055
LIMIT = TASKS * LATENCY_MS / 1000 / CONCURRENCY
SETTLE_SECONDS = 1.0


def yardstick() -> ModuleType:
    """The shared stub and data. Ends with a reason where they are missing."""
    if not (YARDSTICK / "run_peers.py").exists():
        print("skipped: the yardstick ../shared/bench is not beside this repository")
        sys.exit(0)
    sys.path.insert(0, str(YARDSTICK))
    return importlib.import_module("run_peers")


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


class Measured:
    """One run: seconds from start to finalized result, CPU seconds, and what the result tells."""

    def __init__(self, product: Installation, benchmark: str, tasks: int, *, wait: float) -> None:
        api = Api(f"http://127.0.0.1:{product.port}", product.api_key)
        time.sleep(SETTLE_SECONDS)
        before = product.cpu_seconds()
        run = api.start(benchmark, concurrency=CONCURRENCY)
        time.sleep(wait)
        run = api.wait(run)
        self.cpu = product.cpu_seconds() - before
        self.wall = seconds_between(run["created_at"], run["ended_at"])
        self.told: dict[str, Any] = api.told(run)
        self.tasks = tasks


def spread(values: list[float]) -> str:
    return f"{min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f}"


def measure(backend: str, peers: ModuleType, work: Path, *, runs: int) -> bool:
    """Print the rows of one back end; returns whether they keep what is promised."""
    with tempfile.TemporaryDirectory(prefix="evalrouter-bench-") as folder:
        product = Installation(Path(folder), backend)
        try:
            product.serve()
            items = work / "data" / "items.jsonl"
            one, all_items = product.import_items(items, 1), product.import_items(items, TASKS)
            with peers.Stub(work, LATENCY_MS) as stub:
                product.add_route(stub.base_url)
                Measured(product, all_items, TASKS, wait=LIMIT)  # imports and caches of fresh processes
                alone = [Measured(product, one, 1, wait=0.3) for _ in range(runs)]
                full = [Measured(product, all_items, TASKS, wait=LIMIT) for _ in range(runs)]
            faulty = []
            for seed in range(1, runs + 1):
                with peers.Stub(work, LATENCY_MS, peers.FAULTS, seed=seed) as stub:
                    product.add_route(stub.base_url)
                    perfect, _, _ = peers.fault_plan(work, seed, peers.FAULTS, CONCURRENCY, LATENCY_MS / 1000)
                    faulty.append((Measured(product, all_items, TASKS, wait=perfect), perfect))
        finally:
            product.remove()
    idle = statistics.median(run.cpu for run in alone)
    ratios = [run.wall / LIMIT for run in full]
    cpu = [(run.cpu - idle) / TASKS * 1000 for run in full]
    cpu_all = [run.cpu / TASKS * 1000 for run in full]
    told = [run.told for run in [*full, *(run for run, _ in faulty)]]
    right = all(each["graded"] == TASKS and each["correct"] == RIGHT for each in told)
    print(f"{backend}, min / median / max of {runs} (limit {LIMIT:.2f} s; one task alone {spread([run.wall for run in alone])} s)")
    print(f"  wall / limit                      {spread(ratios)}")
    print(f"  CPU ms a task, less one task's    {spread(cpu)}")
    print(f"  CPU ms a task, all of it          {spread(cpu_all)}")
    print(f"  fault mix, wall / perfect client  {spread([run.wall / perfect for run, perfect in faulty])}")
    print(f"  {TASKS:,} graded and {RIGHT:,} right, every time: {'yes' if right else f'NO: {told}'}")
    return right and statistics.median(ratios) <= 2.0 and statistics.median(cpu) <= 2.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--backends", default="sqlite,postgres")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    subprocess.run([PYTHON, "-m", "tests.bench.pages"], cwd=ROOT, check=True)
    subprocess.run([PYTHON, "-m", "tests.bench.samples"], cwd=ROOT, check=True)
    subprocess.run([PYTHON, "-m", "tests.bench.comparisons"], cwd=ROOT, check=True)
    paid = (
        "postgres" not in options.backends or subprocess.run([PYTHON, "-m", "tests.bench.wallets"], cwd=ROOT, check=False).returncode == 0
    )
    imported = subprocess.run([PYTHON, "-m", "tests.bench.imports"], cwd=ROOT, check=False).returncode == 0
    exported = subprocess.run([PYTHON, "-m", "tests.bench.exports"], cwd=ROOT, check=False).returncode == 0
    peers = yardstick()
    work = Path(tempfile.gettempdir()) / "evalrouter-bench-yardstick"
    peers.build(work)
    kept = [measure(backend, peers, work, runs=options.runs) for backend in options.backends.split(",")]
    print("promised: wall / limit ≤ 2 and CPU ≤ 2 ms a task:", "kept" if all(kept) else "NOT kept")
    return 0 if all(kept) and imported and paid and exported else 1


if __name__ == "__main__":
    sys.exit(main())
