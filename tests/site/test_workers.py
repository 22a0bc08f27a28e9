"""The processes that run the work: they end with the worker that forked them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.services import Worker, wait_until

pytestmark = pytest.mark.services


def is_running(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_killed_worker_leaves_no_child_behind(celery_worker: Worker) -> None:
    wait_until(lambda: len(celery_worker.children()) == 3)
    children = celery_worker.children()
    os.kill(celery_worker.pid, 9)
    celery_worker.process.wait()
    wait_until(lambda: not any(is_running(child) for child in children), seconds=10)


def test_worker_takes_the_environment_it_is_given(start_worker: Callable[..., Worker]) -> None:
    worker = start_worker(processes=1, beat=False, ENGINE_SLOTS="7")
    assert b"ENGINE_SLOTS=7" in Path(f"/proc/{worker.pid}/environ").read_bytes().split(b"\0")
