"""Fixtures of tests that work runs."""

from collections.abc import Callable
from typing import Any

import pytest

from gateway import calls
from runs import starting
from runs.engine import executor, lane
from runs.models import Run
from tests import factories
from tests.runs.working import start
from workspaces.actors import Actor
from workspaces.models import Workspace


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor that waits hundredths of what it waits elsewhere."""
    monkeypatch.setattr(executor, "WRITE_PAUSE", 0.005)
    monkeypatch.setattr(executor, "PULL_PAUSE", 0.01)
    monkeypatch.setattr(executor, "IDLE_SECONDS", 0.02)
    monkeypatch.setattr(executor, "WAIT_SECONDS", 0.02)
    monkeypatch.setattr(executor, "FAILED_WRITE_PAUSE", 0.02)
    monkeypatch.setattr(calls, "FIRST_WAIT_SECONDS", 0.002)
    monkeypatch.setattr(calls, "WATCH_SECONDS", 0.02)
    monkeypatch.setattr(lane, "PROBE_PAUSES", (0.01,))


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of twenty tasks, so that a short run has several."""
    monkeypatch.setattr(starting, "SHARD_TASKS", 20)


@pytest.fixture
def start_sums(workspace: Workspace, actor: Actor) -> Callable[..., Run]:
    """Starts a run over all of a benchmark of sums: `start_sums(tasks=20, endpoint=server.url, routes=2)`; more names go to the request.

    Subjects are managed routes to the endpoint, models named "m0", "m1", …, or none where `model` says something else.
    """

    def started(*, tasks: int = 20, endpoint: str = "http://127.0.0.1:9/v1", routes: int = 1, **request: Any) -> Run:
        version = factories.make_version(tasks=tasks)
        made = [factories.make_route(endpoint=endpoint, model=f"m{index}") for index in range(routes)]
        models = {"subjects": [{"kind": "managed", "route_id": route.route_id} for route in made]} if made else {}
        wanted = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}, **models}
        return start(workspace, actor, **(wanted | request))

    return started
