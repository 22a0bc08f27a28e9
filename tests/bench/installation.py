"""The whole product as an operator runs it, for measurements: set up in a folder, served, asked over HTTP alone. Standard library only."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = str(ROOT / ".venv" / "bin" / "python")
ROUTE = "bench/stub"
TERMINAL = {"completed", "partial", "cancelled", "failed"}
POSTGRES = os.environ.get("BENCH_DATABASE_URL", "postgres://postgres@127.0.0.1:5432/postgres")
SETTINGS = {"DJANGO_SETTINGS_MODULE", *re.findall(r"^# ([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE)}
"""What an installation does not take from the environment of whoever measures it."""
REDIS = os.environ.get("BENCH_BROKER_URL", "redis://127.0.0.1:6379/10")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Installation:
    """The product on `sqlite` (with its queue of files) or on `postgres` (with Redis), all its state below `folder`."""

    def __init__(self, folder: Path, backend: str, **environment: str) -> None:
        self.folder = folder
        self.backend = backend
        self.port = free_port()
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in SETTINGS},
            "DATA_DIR": str(folder / "data"),
            "PORT": str(self.port),
            "ALLOW_PRIVATE_ENDPOINTS": "yes",
            "WELCOME_CREDIT_MICROUSD": "1000000000",
            "API_RATE": "100000/min",
            "LOG_LEVEL": "WARNING",
            **environment,
        }
        self.database = ""
        if backend == "postgres":
            self.database = f"evalrouter_bench_{os.getpid()}_{secrets.token_hex(3)}"
            self._psql(f'CREATE DATABASE "{self.database}"')
            self.environment["DATABASE_URL"] = f"{POSTGRES.rpartition('/')[0]}/{self.database}"
            self.environment["CELERY_BROKER_URL"] = REDIS
            self.environment["CELERY_QUEUE"] = self.database
        self.process: subprocess.Popen[bytes] | None = None
        self.api_key = ""
        self.workspace_id = ""

    def _psql(self, statement: str) -> None:
        code = "import psycopg, sys; psycopg.connect(sys.argv[1], autocommit=True).execute(sys.argv[2])"
        subprocess.run([PYTHON, "-c", code, POSTGRES, statement], check=True)

    def manage(self, *arguments: str, given: str = "") -> str:
        """What the management command printed on standard output."""
        done = subprocess.run(
            [str(ROOT / "script" / "manage"), *arguments], env=self.environment, input=given, capture_output=True, text=True, cwd=ROOT
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr[-2000:]}")
        return done.stdout

    def serve(self) -> None:
        """Make the account and start `manage.py serve`; returns when it answers."""
        if not self.api_key:
            made = json.loads(
                self.manage("create_account", "bench@example.org", "--workspace", "Bench", "--api-key", given="bench password 1\n")
            )
            self.api_key, self.workspace_id = made["api_key"], made["workspace_id"]
        with (self.folder / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(
                [PYTHON, "manage.py", "serve", "--end-with-parent"],
                env=self.environment,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait(lambda: self._answers(), seconds=60)
        self.wait(lambda: len(self.workers()) >= 4, seconds=60)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=2).close()
        except OSError:
            return False
        return True

    def wait(self, condition: Callable[[], object], *, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(f"not so after {seconds} s; see {self.folder / 'serve.log'}")
            time.sleep(0.1)

    def processes(self) -> dict[int, int]:
        """All processes of the product: each PID with its parent's."""
        if self.process is None:
            return {}
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                except OSError:
                    continue
        found, more = {self.process.pid: 0}, True
        while more:
            fresh = {pid: parent for pid, parent in parents.items() if parent in found and pid not in found}
            found |= fresh
            more = bool(fresh)
        return found

    def workers(self) -> list[int]:
        """The worker's processes, its leader first."""
        found = []
        for pid in self.processes():
            try:
                if b"\0worker\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except OSError:
                continue
        return sorted(found)

    def cpu_seconds(self) -> float:
        """User and system time of all its processes, and of those that they have collected."""
        total = 0
        for pid in self.processes():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                total += sum(map(int, fields[11:15]))
            except OSError:
                continue
        return total / os.sysconf("SC_CLK_TCK")

    def import_items(self, items: Path, count: int) -> str:
        """Import the first `count` items as a private numeric benchmark; returns its ID."""
        rows, manifest = self.folder / "items.jsonl", self.folder / "manifest.json"
        rows.write_text("".join(items.open(encoding="utf-8").readlines()[:count]), encoding="utf-8")
        columns = {"id": "id", "question": "question", "answer": "target"}
        wanted = {"name": "Arithmetic", "task": "numeric", "prompt_template": "{question}", "columns": columns, "rights_attestation": True}
        manifest.write_text(json.dumps(wanted), encoding="utf-8")
        printed = self.manage("import_benchmark", str(rows), "--workspace", self.workspace_id, "--manifest", str(manifest))
        return str(json.loads(printed)["id"])

    def add_route(self, endpoint: str, route: str = ROUTE) -> None:
        """A managed route to the endpoint at a price, so that every call is reserved, metered and charged."""
        prices = ["--input-usd-per-mtok", "0.40", "--output-usd-per-mtok", "1.60"]
        self.manage("add_route", route, "--endpoint", endpoint, "--model", "stub-model", *prices)

    def kill(self) -> None:
        """Every process at once by SIGKILL, as a machine that loses its power."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        """End the processes; what is stored stays."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()
        self.process = None

    def remove(self) -> None:
        """End it, and remove its database."""
        self.end()
        if self.database:
            self._psql(f'DROP DATABASE "{self.database}" WITH (FORCE)')
            self.database = ""


class Api:
    """The public API, as a script would use it."""

    def __init__(self, base_url: str, key: str) -> None:
        self.base_url, self.key = base_url, key

    def __call__(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.base_url}/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                document: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code} {error.read().decode()[:500]}") from None
        return document

    def start(self, benchmark: str, *, concurrency: int, subjects: list[dict[str, str]] | None = None) -> dict[str, Any]:
        """Quote all tasks for the subjects, or the one route, and start; returns the run."""
        quote = self(
            "POST",
            "/quotes",
            {
                "subjects": subjects or [{"kind": "managed", "route_id": ROUTE}],
                "selection": {"profile_ids": [benchmark]},
                "coverage": {"mode": "full"},
                "concurrency": concurrency,
            },
        )
        return self("POST", "/runs", {"quote_id": quote["id"]})

    def wait(self, run: dict[str, Any], *, every: float = 0.1) -> dict[str, Any]:
        """The run when it has ended."""
        while run["status"] not in TERMINAL:
            time.sleep(every)
            run = self("GET", f"/runs/{run['id']}")
        return run

    def told(self, run: dict[str, Any]) -> dict[str, Any]:
        """What the run's result tells of its first subject: counts and usage."""
        subject = self("GET", f"/runs/{run['id']}/results")["subjects"][0]
        return {"status": run["status"], **subject["counts"], **subject["usage"]}


def main() -> None:
    """One evaluation over a served installation: what `adapter.py` times. A run that the file names is waited for, not started again."""
    base_url, key, benchmark, concurrency, kept = sys.argv[1:6]
    api = Api(base_url, key)
    if Path(kept).exists():
        run = api("GET", f"/runs/{Path(kept).read_text()}")
    else:
        run = api.start(benchmark, concurrency=int(concurrency))
        Path(kept).write_text(run["id"])
    print(json.dumps(api.told(api.wait(run))))


if __name__ == "__main__":
    main()
