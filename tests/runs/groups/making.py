"""Ended runs of models that answer as a test says, and groups of their results."""

from collections.abc import Callable, Sequence
from typing import Any

from catalog.models import BenchmarkVersion
from runs.groups.actions import create_group
from runs.groups.policy import Policy
from runs.groups.resolving import Reference
from runs.models import Run
from runs.models.groups import ResultGroup
from tests import factories
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import Workspace


def knows(right: int) -> Callable[[list[dict[str, Any]]], str]:
    """A model that is right on the sums of numbers below `right`, and answers another number elsewhere."""

    def answer(messages: list[dict[str, Any]]) -> str:
        asked = int(messages[-1]["content"].split()[2])
        return sums(messages) if asked < right else "The answer is -1."

    return answer


def run_alone(workspace: Workspace, actor: Actor, version: BenchmarkVersion, right: int, *, route: str = "", **request: Any) -> Run:
    """An ended run of one managed model that is right on the first so many sums of the version."""
    with ChatServer(knows(right)) as server:
        made = factories.make_route(route or None, endpoint=server.url)
        wanted = {"coverage": {"mode": "full"}, "concurrency": 64, **request}
        subjects = [{"kind": "managed", "route_id": made.route_id}]
        run = work(start(workspace, actor, subjects=subjects, selection={"profile_ids": [version.profile_id]}, **wanted))
    assert run.is_ended
    return run


def group_of(workspace: Workspace, actor: Actor, runs: Sequence[Run], **more: Any) -> ResultGroup:
    """A group of all the runs' results, the first the baseline unless said otherwise."""
    return create_group(workspace, actor=actor, references=[Reference(run.public_id) for run in runs], **more)


def checks(**thresholds: float) -> Policy:
    return Policy(**thresholds)
