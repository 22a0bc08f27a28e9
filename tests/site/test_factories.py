"""The makers that other tests stand on."""

from collections.abc import Callable

from django.test import Client

from billing.models import Wallet
from tests import factories
from workspaces.enums import Role
from workspaces.models import Membership, User, Workspace


def test_personas_have_the_roles_they_are_named_for(owner: User, member: User, viewer: User, stranger: User, workspace: Workspace) -> None:
    roles = Membership.objects.filter(workspace=workspace).order_by("user_id").values_list("user__email", "role")
    assert list(roles) == [("owner@example.org", Role.OWNER), ("member@example.org", Role.MEMBER), ("viewer@example.org", Role.VIEWER)]


def test_credit_stands_in_the_ledger(workspace: Workspace) -> None:
    wallet = Wallet.objects.get(workspace=workspace)
    assert wallet.balance_microusd == sum(entry.amount_microusd for entry in wallet.entries.all()) == 10_000_000


def test_version_has_its_tasks(db: None) -> None:
    version = factories.make_version(tasks=3)
    assert [(task.task_id, task.content.values, task.content.reference) for task in version.tasks.select_related("content")] == [
        ("t0", {"question": "What is 0 + 0?"}, "0"),
        ("t1", {"question": "What is 1 + 1?"}, "2"),
        ("t2", {"question": "What is 2 + 2?"}, "4"),
    ]


def test_health_check_answers(sign_in: Callable[[User], Client], owner: User) -> None:
    assert sign_in(owner).get("/healthz").content == b"ok"
