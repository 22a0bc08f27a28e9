"""Slots stay with a subject while anything of it is on its way, over several shards."""

import time

import pytest
from asgiref.sync import async_to_sync

from billing.actions import grant_credit
from runs.engine.executor import Executor
from tests import factories
from tests.runs.working import start, sums
from tests.standins.chat import ChatServer, Faults
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


def test_attempts_that_wait_for_a_retry_are_not_left_without_slots(workspace: Workspace, actor: Actor) -> None:
    """The shard that holds the slots may end while others have nothing pending, but retries to make."""
    grant_credit(workspace, actor=SYSTEM, amount_microusd=50_000_000, reason="for the test")
    version = factories.make_version(tasks=1_100)
    with ChatServer(sums, latency=0.001, faults=Faults(rate_429=0.05, retry_after="1.5")) as server:
        route = factories.make_route(endpoint=server.url)
        run = start(
            workspace,
            actor,
            model={"kind": "managed", "route_id": route.route_id},
            selection={"profile_ids": [version.profile_id]},
            coverage={"mode": "full"},
            concurrency=64,
        )
        deadline = time.monotonic() + 60
        async_to_sync(Executor(should_stop=lambda: time.monotonic() > deadline).run)()
    run.refresh_from_db()
    assert (run.processed, run.errors, time.monotonic() < deadline) == (1_100, 0, True)
    assert [shard.fence for shard in run.shards.all()] == [1, 1, 1]  # no lease was given back for want of slots
