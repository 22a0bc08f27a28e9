"""Minutes of hard work: eight models, 64 calls at a time each, answers mixed with 429, 500 and dropped connections, the worker killed
and frozen again and again. Ends with 1 when a cell is not graded, a sample is missing or doubled, or the ledger does not add up.

    python -m tests.bench.soak --minutes 10 --backend postgres
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.bench.__main__ import LATENCY_MS, RIGHT, TASKS, yardstick
from tests.bench.installation import TERMINAL, Api, Installation

SUBJECTS = 8
CONCURRENCY = 64
HARM_EVERY_SECONDS = 20


class Harm(threading.Thread):
    """Kills the worker, or one of its children, or freezes one past its lease, in turn, until told to stop."""

    def __init__(self, product: Installation) -> None:
        super().__init__(daemon=True)
        self.product = product
        self.halt = threading.Event()
        self.done: dict[str, int] = {"worker killed": 0, "child killed": 0, "child frozen": 0}

    def run(self) -> None:
        chosen = random.Random(7)
        while not self.halt.wait(HARM_EVERY_SECONDS):
            workers = self.product.workers()
            if len(workers) < 3:
                continue
            what = list(self.done)[sum(self.done.values()) % 3]
            target = workers[0] if what == "worker killed" else chosen.choice(workers[1:])
            try:
                if what == "child frozen":
                    os.kill(target, signal.SIGSTOP)
                    self.halt.wait(20)
                    os.kill(target, signal.SIGCONT)
                else:
                    os.kill(target, signal.SIGKILL)
                self.done[what] += 1
            except ProcessLookupError:
                continue


def memory_mb(product: Installation) -> float:
    """Memory of all its processes; shared pages are counted once."""
    total = 0
    for pid in product.processes():
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except OSError:
            continue
    return total / 1024


def wrong_with(api: Api, run: dict[str, Any]) -> list[str]:
    """What is not as it should be in an ended run."""
    found = [] if run["status"] == "completed" else [f"status {run['status']}: {run['interruption']}"]
    for subject in api("GET", f"/runs/{run['id']}/results")["subjects"]:
        counts = subject["counts"]
        if (counts["graded"], counts["correct"], counts["errors"]) != (TASKS, RIGHT, 0):
            found.append(f"{subject['label']}: {counts}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--backend", default="sqlite", choices=["sqlite", "postgres"])
    options = parser.parse_args()
    peers = yardstick()
    work = Path(tempfile.gettempdir()) / "evalrouter-bench-yardstick"
    peers.build(work)
    bad: list[str] = []
    with tempfile.TemporaryDirectory(prefix="evalrouter-soak-") as folder:
        product = Installation(Path(folder), options.backend)
        harm = Harm(product)
        try:
            product.serve()
            benchmark = product.import_items(work / "data" / "items.jsonl", TASKS)
            api = Api(f"http://127.0.0.1:{product.port}", product.api_key)
            ends = time.monotonic() + options.minutes * 60
            with peers.Stub(work, LATENCY_MS, peers.FAULTS, seed=1) as stub:
                for number in range(SUBJECTS):
                    product.add_route(stub.base_url, f"soak/model-{number}")
                harm.start()
                while time.monotonic() < ends:
                    started = time.monotonic()
                    subjects = [{"kind": "managed", "route_id": f"soak/model-{number}"} for number in range(SUBJECTS)]
                    run = api.start(benchmark, concurrency=CONCURRENCY, subjects=subjects)
                    while run["status"] not in TERMINAL:
                        time.sleep(1)
                        run = api("GET", f"/runs/{run['id']}")
                    bad += wrong_with(api, run)
                    print(
                        f"{time.monotonic() - started:6.1f} s  {run['status']}  {run['progress']['processed']:,} cells  "
                        f"{memory_mb(product):,.0f} MB  {harm.done}",
                        flush=True,
                    )
            harm.halt.set()
            print(product.manage("check_ledger").strip())
        except RuntimeError as error:
            bad.append(str(error))
        finally:
            harm.halt.set()
            product.remove()
    print("\n".join(bad) or "every cell graded, every sample there once, the ledger adds up")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
