"""Real workers for tests: processes on the test's own database, listening on a queue of their own.

Tests that use them are marked `services` and run by `make test-services`, on PostgreSQL with Redis. A worker's output is kept in
a file below DATA_DIR; a test that fails shows its end.
"""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from celery import current_app
from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent
_numbers = itertools.count(1)


def wait_until(condition: Callable[[], object], *, seconds: float = 60, every: float = 0.1) -> None:
    """Return when the condition holds; fail the test when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"still not so after {seconds} s: {condition.__qualname__}")
        time.sleep(every)


def database_url() -> str:
    """The address of the database that this test runs on, for a process of its own."""
    place = connection.settings_dict
    user, password = quote(str(place["USER"])), quote(str(place["PASSWORD"]))
    secret = f":{password}" if password else ""
    return f"postgres://{user}{secret}@{place['HOST'] or '127.0.0.1'}:{place['PORT'] or 5432}/{quote(str(place['NAME']))}"


def service_environment(**more: str) -> dict[str, str]:
    """The environment in which a process of the product works on this test's database, queue and files."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "evalrouter_site.settings",
        "DATA_DIR": str(settings.DATA_DIR),
        "DATABASE_URL": database_url(),
        "CELERY_BROKER_URL": settings.CELERY_BROKER_URL,
        "CELERY_QUEUE": settings.CELERY_TASK_DEFAULT_QUEUE,
        "ALLOW_PRIVATE_ENDPOINTS": "yes",
        "LOG_LEVEL": "INFO",
        "PYTHONUNBUFFERED": "1",
        **more,
    }


class Worker:
    """A `celery worker` with its children, all in one process group."""

    def __init__(self, *, processes: int, beat: bool, environment: dict[str, str]) -> None:
        self.log = Path(settings.DATA_DIR) / f"worker-{next(_numbers)}.log"
        command = [sys.executable, "-m", "celery", "-A", "evalrouter_site", "worker", "-c", str(processes), "--loglevel", "INFO"]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat", "-n", f"{self.log.stem}-{os.getpid()}@%h"]
        if beat:
            command.append("-B")
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def is_ready(self) -> bool:
        if self.process.poll() is not None:
            pytest.fail(f"the worker ended with {self.process.returncode}:\n{self.tail()}")
        return " ready." in self.log.read_text(errors="replace")

    def children(self) -> list[int]:
        """The processes that it has forked: the pool's, and beat."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def signal(self, number: int) -> None:
        """Send the signal to the worker and all its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """End it by SIGKILL, children too, as a machine that loses its power."""
        self.signal(signal.SIGKILL)
        self.process.wait()

    def freeze(self) -> None:
        """Stop it in the middle of what it does (SIGSTOP); `thaw` lets it go on."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def redis_is_there() -> bool:
    try:
        current_app.connection_for_write().ensure_connection(max_retries=1, timeout=2)
    except Exception:
        return False
    return True


@pytest.fixture
def services(transactional_db: None) -> None:
    """PostgreSQL and Redis, as `make test-services` names them; the test is skipped where they are not asked for."""
    if connection.vendor != "postgresql" or not settings.CELERY_BROKER_URL.startswith("redis"):
        pytest.skip("needs PostgreSQL and Redis: make test-services")
    assert redis_is_there(), f"no Redis answers at {settings.CELERY_BROKER_URL}"


@pytest.fixture
def start_worker(services: None, request: pytest.FixtureRequest) -> Iterator[Callable[..., Worker]]:
    """Starts workers that are ended with the test: `start_worker(processes=2, beat=True, ENGINE_LEASE_SECONDS="2")`."""
    workers: list[Worker] = []

    def start(*, processes: int = 2, beat: bool = True, **environment: str) -> Worker:
        worker = Worker(processes=processes, beat=beat, environment=service_environment(**environment))
        workers.append(worker)
        wait_until(worker.is_ready, seconds=90)
        return worker

    yield start
    for worker in workers:
        worker.thaw()
        worker.kill()
        print(f"── {worker.log.name}\n{worker.tail()}")  # shown by pytest where the test failed
    current_app.connection_for_write().default_channel.queue_purge(settings.CELERY_TASK_DEFAULT_QUEUE)
    _end_other_connections()


@pytest.fixture
def celery_worker(start_worker: Callable[..., Worker]) -> Worker:
    """One worker with beat, ready."""
    return start_worker()


def _end_other_connections() -> None:
    """A killed worker's sessions may still hold locks for a moment; the tables cannot be emptied before they are gone."""
    with contextlib.closing(psycopg.connect(database_url(), autocommit=True)) as own:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        own.execute(f"{others} AND pid NOT IN (pg_backend_pid(), %s)", [_own_backend()])


def _own_backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])
