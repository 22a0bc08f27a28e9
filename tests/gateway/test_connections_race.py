"""The room of a workspace for connections, when several are added at once."""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models import QuerySet

from common.errors import Conflict
from gateway import actions
from gateway.actions import create_connection
from gateway.queries import connections_for
from tests.factories import make_workspace
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

pytestmark = [pytest.mark.services, pytest.mark.django_db(transaction=True)]
ROOM = 2


@pytest.fixture
def _slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for two, and time enough between looking and adding for everyone to look."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time: nothing can race")
    monkeypatch.setattr(actions, "MAX_CONNECTIONS", ROOM)
    monkeypatch.setattr(actions, "_refuse_taken_name", lambda _workspace, _name: time.sleep(0.2))


def at_once(*jobs: Callable[[], object]) -> list[object]:
    """What each job gave or raised, each in a thread with a database connection of its own."""
    results: list[object] = []

    def run(job: Callable[[], object]) -> None:
        try:
            results.append(job())
        except Conflict as refusal:
            results.append(refusal.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def add(workspace: Workspace, number: int) -> Callable[[], object]:
    return lambda: create_connection(workspace, actor=SYSTEM, name=f"n{number}", endpoint="https://example.org", model="m").name


@pytest.mark.usefixtures("_slow")
def test_connections_added_at_once_never_exceed_the_room() -> None:
    workspace = make_workspace()
    results = at_once(*(add(workspace, number) for number in range(5)))

    assert results.count("too_many_connections") == 3
    assert connections_for(workspace).count() == ROOM


@pytest.mark.usefixtures("_slow")
def test_without_the_lock_they_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuerySet, "select_for_update", lambda self, **_: self)
    workspace = make_workspace()
    at_once(*(add(workspace, number) for number in range(5)))

    assert connections_for(workspace).count() > ROOM
