"""Working runs inside a test, without Celery: the executor, the sweep and finalizing are called as the tasks call them."""

import re
from typing import Any

from asgiref.sync import async_to_sync

from runs.actions import create_quote, start_run
from runs.engine import executor, loading
from runs.engine.executor import Executor
from runs.engine.sweeping import sweep
from runs.enums import Phase
from runs.finalizing import finalize_run
from runs.models import Run
from workspaces.actors import Actor
from workspaces.models import Workspace


def sums(messages: list[dict[str, str]]) -> str:
    """The right answer to "What is n + n?"."""
    left, right = map(int, re.findall(r"\d+", messages[-1]["content"])[:2])
    return f"The answer is {left + right}."


IDLE_SECONDS = 0.3
"""More than a pull's pause, so that the next shard is still found."""


def work(run: Run, *, sweeps: int = 3) -> Run:
    """Work the run to its end: execute, sweep, finalize."""
    for each in vars(loading).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()  # kept by keys of the database, which the next test's rows have again
    executor.IDLE_SECONDS = IDLE_SECONDS
    for _ in range(sweeps):
        async_to_sync(Executor().run)()
        sweep()
        finalize_run(run.pk)
        run.refresh_from_db()
        if run.phase == Phase.DONE:
            break
    return run


def start(workspace: Workspace, actor: Actor, **request: Any) -> Run:
    """Quote and start a request, everything but its benchmark and models by default."""
    return start_run(create_quote(workspace, actor=actor, request=request), actor=actor)[0]
