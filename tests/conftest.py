"""Who acts in tests, and the rows most of them need. The makers are in `tests.factories`.

Personas are named for their relation to `workspace`: `owner`, `member` and `viewer` have that role in it, `stranger` owns
`other_workspace` and nothing here.
"""

import importlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import Client
from hypothesis import settings as hypothesis_settings

from catalog.models import BenchmarkVersion, ModelRoute
from tests import factories
from tests.billing.stripe import stripe  # noqa: F401  (fixture)
from tests.browser import _closed_connections, chromium, page  # noqa: F401  (fixtures)
from tests.imports.github import github, github_app, github_connection, github_repo  # noqa: F401  (fixtures)
from tests.imports.hub import hub, hub_repo, large_repo, nothing_is_left  # noqa: F401  (fixtures)
from tests.services import celery_worker, services, start_worker  # noqa: F401  (fixtures)
from workspaces.actors import Actor, actor_of_user
from workspaces.enums import Role
from workspaces.models import User, Workspace

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
"""Data sets and yardsticks that lie beside the repository where it is developed; tests of them skip elsewhere."""


# A busy machine is no failure; in CI the same examples are tried each time.
hypothesis_settings.register_profile("house", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis_settings.load_profile("house")


def pytest_unconfigure() -> None:
    shutil.rmtree(settings.DATA_DIR, ignore_errors=True)


@pytest.fixture(autouse=True)
def _fresh_cache() -> Iterator[None]:
    """Rate limits and other counts of one test do not reach the next."""
    yield
    cache.clear()


@pytest.fixture(autouse=True, scope="session")
def _emptied_ledger() -> Iterator[None]:
    """Emptying the tables after a test that commits is a DELETE, which the ledger refuses: lift its triggers for that moment.

    On PostgreSQL only tables with rows are emptied: a TRUNCATE makes new files for all of them and all their indexes.
    """
    operations = type(connection.ops)
    real = operations.sql_flush

    def sqlite(self: Any, style: Any, tables: Any, **options: Any) -> list[str]:
        triggers: dict[str, str] = importlib.import_module("billing.migrations.0003_refuse_changes_of_the_ledger").SQLITE
        return [*(f"DROP TRIGGER {name}" for name in triggers), *real(self, style, tables, **options), *triggers.values()]

    def postgresql(self: Any, style: Any, tables: Any, **options: Any) -> list[str]:
        emptying = "".join(
            f"IF EXISTS (SELECT 1 FROM {self.quote_name(table)}) THEN DELETE FROM {self.quote_name(table)}; END IF; " for table in tables
        )
        return ["SET LOCAL session_replication_role = replica", f"DO $$ BEGIN {emptying} END $$"]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(operations, "sql_flush", {"sqlite": sqlite, "postgresql": postgresql}[connection.vendor])
        yield


@pytest.fixture
def workspace(db: None) -> Workspace:
    """A workspace with 10 USD of credit, and no members but those the test asks for."""
    return factories.make_workspace("Ours", credit=10_000_000)


@pytest.fixture
def other_workspace(db: None) -> Workspace:
    return factories.make_workspace("Theirs", credit=10_000_000)


@pytest.fixture
def owner(workspace: Workspace) -> User:
    return factories.make_user("owner@example.org", workspace=workspace, role=Role.OWNER)


@pytest.fixture
def member(workspace: Workspace) -> User:
    return factories.make_user("member@example.org", workspace=workspace, role=Role.MEMBER)


@pytest.fixture
def viewer(workspace: Workspace) -> User:
    return factories.make_user("viewer@example.org", workspace=workspace, role=Role.VIEWER)


@pytest.fixture
def stranger(other_workspace: Workspace) -> User:
    return factories.make_user("stranger@example.org", workspace=other_workspace, role=Role.OWNER)


@pytest.fixture
def staff(db: None) -> User:
    """Platform staff with every permission of the admin, in no workspace."""
    return factories.make_user("staff@example.org", is_staff=True, is_superuser=True)


@pytest.fixture
def actor(owner: User) -> Actor:
    """The owner, as actions take them."""
    return actor_of_user(owner)


@pytest.fixture
def sign_in() -> Callable[[User], Client]:
    """Makes a client in which the person is signed in; `sign_in(owner).get("/evaluations")`."""

    def signed_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return signed_in


@pytest.fixture
def version(db: None) -> BenchmarkVersion:
    """A public numeric benchmark of ten sums."""
    return factories.make_version(tasks=10)


@pytest.fixture
def route(db: None) -> ModelRoute:
    """A managed route at 0.40 and 1.60 USD a million tokens."""
    return factories.make_route()


@pytest.fixture
def shared() -> Path:
    """The folder of shared data sets; the test is skipped where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("the shared data sets are not beside this repository")
    return SHARED
