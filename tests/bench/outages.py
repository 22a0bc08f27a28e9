"""Power cuts in the middle of paid runs: web, worker and database are killed at random moments, twenty times. After each the run must end
with every cell answered and charged once, cost to the micro-USD what a run without a cut costs, and the books must add up.

    python -m tests.bench.outages --rounds 20

PostgreSQL is a cluster of its own in a temporary folder, which is stopped as if its machine had lost its power (`pg_ctl -m immediate`).
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.bench import installation
from tests.bench.installation import TERMINAL, Api, Installation, free_port
from tests.standins.chat import ChatServer

TASKS, CONCURRENCY, LATENCY_MS = 400, 16, 60
ROUTE = "soak/sums"
WAIT_SECONDS = 180
HARMS = ("web", "worker", "database", "everything")


class Cluster:
    """A PostgreSQL of one's own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder / "cluster", free_port()
        self.tools = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.folder.mkdir()
        if os.getuid() == 0:
            shutil.chown(folder, "postgres")
            shutil.chown(self.folder, "postgres")
        self._run("initdb", "-A", "trust", "-E", "UTF8", "-U", "postgres")
        self.start()

    def _run(self, tool: str, *arguments: str) -> None:
        command = [str(self.tools / tool), "-D", str(self.folder), *arguments]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def cut(self) -> None:
        """End it without a word to anybody; what was committed is recovered at the next start."""
        self._run("pg_ctl", "-m", "immediate", "stop")

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    made = Cluster(folder)
    try:
        yield made
    finally:
        with suppress(subprocess.CalledProcessError):
            made.cut()


def processes_of(product: Installation, word: bytes) -> list[int]:
    found = []
    for pid in product.processes():
        with suppress(OSError):
            if word in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def harm(what: str, product: Installation, database: Cluster, chosen: random.Random) -> None:
    if what in ("web", "everything"):
        kill(processes_of(product, b"granian"))
    if what in ("worker", "everything"):
        kill(product.workers())
    if what in ("database", "everything"):
        database.cut()
        time.sleep(chosen.uniform(0, 3))
        database.start()


def patiently(api: Api, method: str, path: str, body: object = None) -> dict[str, Any]:
    """Ask until it answers: a request that found nobody is made again, as a script would."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return api(method, path, body)
        except (OSError, RuntimeError) as error:
            if time.monotonic() > deadline or (
                isinstance(error, RuntimeError) and not any(f": {code} " in str(error) for code in (500, 502, 503))
            ):
                raise
            time.sleep(0.2)


def write_sums(path: Path) -> None:
    path.write_text(
        "".join(json.dumps({"id": f"t{n}", "question": f"What is {n} + {n}?", "target": str(2 * n)}) + "\n" for n in range(TASKS))
    )


def round_of(api: Api, benchmark: str) -> dict[str, Any]:
    return api.start(benchmark, concurrency=CONCURRENCY, subjects=[{"kind": "managed", "route_id": ROUTE}])


def ended(api: Api, run: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + WAIT_SECONDS
    while run["status"] not in TERMINAL:
        if time.monotonic() > deadline:
            raise RuntimeError(f"run {run['id']} has not ended after {WAIT_SECONDS} s: {run['progress']}")
        time.sleep(0.2)
        run = patiently(api, "GET", f"/runs/{run['id']}")
    return run


def wrong_with(api: Api, run: dict[str, Any], spend: str) -> list[str]:
    """What a cut has changed, where nothing may be."""
    counts = patiently(api, "GET", f"/runs/{run['id']}/results")["subjects"][0]["counts"]
    found = [] if run["status"] == "completed" else [f"status {run['status']}: {run['interruption']}"]
    if (counts["graded"], counts["correct"], counts["errors"]) != (TASKS, TASKS, 0):
        found.append(f"counts {counts}")
    if run["progress"]["spend_microusd"] != spend:
        found.append(f"spent {run['progress']['spend_microusd']}, not {spend}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    chosen, done, bad = random.Random(options.seed), Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="evalrouter-outages-") as name, cluster(Path(name)) as database:
        folder = Path(name)
        folder.chmod(0o755)
        installation.POSTGRES = database.url
        product = Installation(folder, "postgres")
        try:
            product.serve()
            write_sums(folder / "sums.jsonl")
            benchmark = product.import_items(folder / "sums.jsonl", TASKS)
            api = Api(f"http://127.0.0.1:{product.port}", product.api_key)
            right = {f"What is {n} + {n}?": str(2 * n) for n in range(TASKS)}
            with ChatServer(right, latency=LATENCY_MS / 1000, keep_requests=False) as server:
                product.add_route(server.url, ROUTE)
                calm = ended(api, round_of(api, benchmark))
                spend = calm["progress"]["spend_microusd"]
                bad += wrong_with(api, calm, spend)
                for number in range(options.rounds):
                    started, before = time.monotonic(), server.stats.answered
                    run = patiently_start(api, benchmark)
                    what = HARMS[number % len(HARMS)]
                    time.sleep(chosen.uniform(0.1, TASKS * LATENCY_MS / 1000 / CONCURRENCY))
                    harm(what, product, database, chosen)
                    run = ended(api, run)
                    found = wrong_with(api, run, spend)
                    product.manage("check_ledger")
                    bad += [f"round {number + 1}, {what}: {each}" for each in found]
                    done[what] += 1
                    again = server.stats.answered - before - TASKS
                    print(
                        f"{number + 1:3}  {what:10}  {time.monotonic() - started:6.1f} s  {again:3} calls made again  {found or 'right'}",
                        flush=True,
                    )
        except (RuntimeError, OSError) as error:
            bad.append(str(error))
        finally:
            product.end()
    print("\n".join(bad) or f"{sum(done.values())} cuts {dict(done)}: every run ended, every cell charged once, the books add up")
    return 1 if bad else 0


def patiently_start(api: Api, benchmark: str) -> dict[str, Any]:
    """Start when the product is itself again: it has just been killed, it may be."""
    patiently(api, "GET", "/billing/wallet")
    return round_of(api, benchmark)


if __name__ == "__main__":
    sys.exit(main())
