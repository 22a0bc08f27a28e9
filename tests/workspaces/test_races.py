"""Two at once, on PostgreSQL: each with a control that shows the race without the lock."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection, connections
from django.db.models import QuerySet
from pytest_django import Settings

from common.errors import Conflict
from tests.factories import make_user, make_workspace
from workspaces.actions import create_first_workspace, remove_member
from workspaces.actors import actor_of_user
from workspaces.enums import Role
from workspaces.models import Membership, Workspace

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("services")]


def at_once(count: int, work: Callable[[int], object]) -> list[object]:
    """Run `work(0)` to `work(count - 1)` in threads that begin together; their results, or the refusals they raised."""
    barrier = Barrier(count)

    def one(number: int) -> object:
        barrier.wait()
        try:
            return work(number)
        except Conflict as refused:
            return refused.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.fixture(params=[True, False], ids=["locked", "control"])
def locked(request: pytest.FixtureRequest, services: None, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether `select_for_update` locks; in the control it does not, and everyone waits a little after reading."""
    assert connection.vendor == "postgresql"
    if not request.param:
        monkeypatch.setattr(QuerySet, "select_for_update", lambda self, *_, **__: self)
        real = QuerySet.exists

        def slow(self: QuerySet) -> bool:  # type: ignore[type-arg]
            found = real(self)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(0.2)")
            return found

        monkeypatch.setattr(QuerySet, "exists", slow)
    return bool(request.param)


def test_two_owners_who_leave_at_once_leave_one(locked: bool) -> None:
    workspace = make_workspace()
    owners = [make_user(workspace=workspace, role=Role.OWNER) for _ in range(2)]
    memberships = [Membership.objects.get(user=user) for user in owners]
    at_once(2, lambda number: remove_member(memberships[number], actor=actor_of_user(owners[number])))
    assert Membership.objects.filter(role=Role.OWNER).count() == (1 if locked else 0)


def test_address_confirmed_twice_at_once_makes_one_workspace(locked: bool, settings: Settings) -> None:
    """Without the welcome credit, whose unique key would end the second one too."""
    settings.WELCOME_CREDIT_MICROUSD = 0
    user = make_user()
    at_once(2, lambda _: create_first_workspace(user, actor=actor_of_user(user)))
    assert Workspace.objects.count() == (1 if locked else 2)
