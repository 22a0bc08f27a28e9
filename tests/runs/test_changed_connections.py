"""A run asks the connection that was quoted, or none."""

from collections.abc import Callable
from typing import Any

import pytest

from gateway.actions import change_connection, delete_connection
from gateway.models import Connection
from runs.models import Run, Sample, Subject
from tests.factories import make_connection, make_version
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def local_endpoints(settings: Any) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True


def change(connection: Connection) -> None:
    change_connection(connection, actor=SYSTEM, model="another")


def delete(connection: Connection) -> None:
    delete_connection(connection, actor=SYSTEM)


def rename(connection: Connection) -> None:
    change_connection(connection, actor=SYSTEM, name="another name")


def worked_after(step: Callable[[Connection], None], workspace: Workspace, actor: Actor) -> Run:
    with ChatServer(sums) as server:
        connection = make_connection(workspace, endpoint=server.url)
        request: dict[str, Any] = {
            "model": {"kind": "connection", "connection_id": str(connection.public_id)},
            "selection": {"profile_ids": [make_version(tasks=4).profile_id]},
            "coverage": {"mode": "full"},
        }
        run = start(workspace, actor, **request)
        step(connection)
        return work(run)


@pytest.mark.parametrize("step", [change, delete])
def test_connection_changed_after_the_start_stops_its_subject(
    step: Callable[[Connection], None], quick: None, workspace: Workspace, actor: Actor
) -> None:
    run = worked_after(step, workspace, actor)
    subject = Subject.objects.get(run=run)
    assert (run.status, subject.status, subject.stopped_code) == ("failed", "stopped", "connection_changed")
    assert Sample.objects.filter(subject=subject).count() == 0


def test_connection_that_was_only_renamed_goes_on(quick: None, workspace: Workspace, actor: Actor) -> None:
    assert worked_after(rename, workspace, actor).status == "completed"
