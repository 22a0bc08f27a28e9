"""What keys and months may spend: who sets it, how low it may go, and that keys and their ceilings are made together."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from billing.actions import grant_credit
from billing.limits import set_key_ceiling, set_workspace_limit
from billing.models import Allowance
from billing.queries import allowance_of_key, monthly_limit
from billing.signals import credit_returned
from common.errors import Conflict, Forbidden, PaymentRequired, Refused
from common.money import MAX_MICROUSD
from tests.billing.spending import close, open_, spend
from tests.factories import make_key
from workspaces.actions import change_api_key, create_api_key, roll_api_key
from workspaces.actors import SYSTEM, Actor, actor_of_key, actor_of_user
from workspaces.enums import Scope
from workspaces.models import ApiKey, AuditEntry, User, Workspace


@pytest.fixture
def key(workspace: Workspace) -> ApiKey:
    return make_key(workspace, spend_ceiling_microusd=1_000)[0]


def ceiling_of(key: ApiKey) -> int | None:
    allowance = allowance_of_key(key)
    return allowance.ceiling_microusd if allowance else None


def test_ceiling_is_set_changed_and_lifted_with_audit_entries(workspace: Workspace, actor: Actor) -> None:
    key, _ = make_key(workspace)
    for ceiling in (500, 0, None):
        allowance = set_key_ceiling(key, actor=actor, ceiling_microusd=ceiling)
        assert (allowance.ceiling_microusd, ceiling_of(key)) == (ceiling, ceiling)
    audited = AuditEntry.objects.filter(action="api_key.set_ceiling").order_by("id")
    assert [(entry.target, entry.data) for entry in audited] == [
        (str(key.public_id), {"ceiling_microusd": text}) for text in ("500", "0", None)
    ]


def test_ceiling_is_no_lower_than_what_is_spent_and_reserved(key: ApiKey, workspace: Workspace) -> None:
    spent = open_(workspace, cap=200, key=str(key.lineage))
    spend(spent, 150)
    close(spent)
    open_(workspace, cap=300, key=str(key.lineage))
    with pytest.raises(Conflict) as refused:
        set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=449)
    assert (refused.value.code, refused.value.details) == (
        "ceiling_below_spend",
        {"spent_microusd": "150", "reserved_microusd": "300"},
    )
    assert ceiling_of(key) == 1_000
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=450)
    with pytest.raises(IntegrityError), transaction.atomic():
        Allowance.objects.filter(subject=str(key.lineage)).update(ceiling_microusd=449)


@pytest.mark.parametrize("amount", [-1, MAX_MICROUSD + 1])
def test_ceiling_and_limit_that_are_no_amounts_are_refused(key: ApiKey, workspace: Workspace, amount: int) -> None:
    for refusing in (
        lambda: set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=amount),
        lambda: set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=amount),
    ):
        with pytest.raises(Refused) as refused:
            refusing()
        assert refused.value.code == "invalid_amount"
    assert (ceiling_of(key), monthly_limit(workspace)) == (1_000, None)


def test_members_and_strangers_set_neither(key: ApiKey, workspace: Workspace, member: User, stranger: User) -> None:
    reading, _ = make_key(workspace, scopes=[Scope.EVAL_READ, Scope.EVAL_WRITE])
    for actor in (actor_of_user(member), actor_of_user(stranger), actor_of_key(reading)):
        with pytest.raises(Forbidden):
            set_key_ceiling(key, actor=actor, ceiling_microusd=5)
        with pytest.raises(Forbidden):
            set_workspace_limit(workspace, actor=actor, monthly_microusd=5)
    assert (ceiling_of(key), monthly_limit(workspace)) == (1_000, None)


def test_key_lowers_its_own_ceiling_and_never_raises_it(key: ApiKey) -> None:
    set_key_ceiling(key, actor=actor_of_key(key), ceiling_microusd=600)
    for ceiling in (601, None):
        with pytest.raises(Refused) as refused:
            set_key_ceiling(key, actor=actor_of_key(key), ceiling_microusd=ceiling)
        assert refused.value.code == "ceiling_exceeded"
    assert ceiling_of(key) == 600


def test_key_gives_another_no_more_than_it_has_left(key: ApiKey, workspace: Workspace) -> None:
    open_(workspace, cap=400, key=str(key.lineage))
    other, _ = make_key(workspace)
    for ceiling in (601, None):
        with pytest.raises(Refused) as refused:
            set_key_ceiling(other, actor=actor_of_key(key), ceiling_microusd=ceiling)
        assert refused.value.code == "ceiling_exceeded"
    assert ceiling_of(other) is None
    set_key_ceiling(other, actor=actor_of_key(key), ceiling_microusd=600)
    assert ceiling_of(other) == 600


def test_limit_is_set_and_lifted_with_audit_entries(workspace: Workspace, actor: Actor) -> None:
    for limit in (500, None):
        set_workspace_limit(workspace, actor=actor, monthly_microusd=limit)
        assert monthly_limit(workspace) == limit
    audited = AuditEntry.objects.filter(action="workspace.set_budget").order_by("id")
    assert [entry.data for entry in audited] == [{"monthly_microusd": "500"}, {"monthly_microusd": None}]


# Keys and their ceilings are made in one transaction


@pytest.mark.django_db(transaction=True)
def test_key_whose_ceiling_is_refused_is_not_made(key: ApiKey, workspace: Workspace) -> None:
    before = (ApiKey.objects.count(), Allowance.objects.count(), AuditEntry.objects.count())
    with pytest.raises(Refused) as refused:
        create_api_key(workspace, actor=actor_of_key(key), label="more", scopes=[Scope.EVAL_WRITE], spend_ceiling_microusd=1_001)
    assert refused.value.code == "ceiling_exceeded"
    assert (ApiKey.objects.count(), Allowance.objects.count(), AuditEntry.objects.count()) == before


@pytest.mark.django_db(transaction=True)
def test_change_whose_ceiling_is_refused_changes_nothing(key: ApiKey, actor: Actor, workspace: Workspace) -> None:
    open_(workspace, cap=400, key=str(key.lineage))
    with pytest.raises(Conflict) as refused:
        change_api_key(key, actor=actor, label="renamed", spend_ceiling_microusd=399)
    assert refused.value.code == "ceiling_below_spend"
    assert (ApiKey.objects.get(pk=key.pk).label, ceiling_of(key)) == ("test", 1_000)


def test_rolled_key_goes_on_with_the_ceiling_and_what_is_spent_of_it(key: ApiKey, workspace: Workspace, actor: Actor) -> None:
    budget = open_(workspace, cap=900, key=str(key.lineage))
    spend(budget, 900)
    close(budget)
    rolled, _ = roll_api_key(key, actor=actor)
    allowance = allowance_of_key(rolled)
    assert allowance is not None
    assert (allowance.ceiling_microusd, allowance.spent_microusd) == (1_000, 900)
    with pytest.raises(PaymentRequired) as refused:
        open_(workspace, cap=101, key=str(rolled.lineage))
    assert refused.value.code == "key_ceiling_reached"


# What lets parked work go on is announced


@pytest.fixture
def announced(request: pytest.FixtureRequest) -> list[int]:
    """The workspaces that may spend more, as they are announced."""
    heard: list[int] = []

    def hear(sender: object, *, workspace_id: int, **_: Any) -> None:
        heard.append(workspace_id)

    credit_returned.connect(hear)
    request.addfinalizer(lambda: credit_returned.disconnect(hear))
    return heard


def test_limits_that_rise_are_announced_and_those_that_fall_are_not(key: ApiKey, workspace: Workspace, announced: list[int]) -> None:
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=900)
    assert announced == []
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=901)
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=None)
    set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=5)
    set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=4)
    set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=None)
    assert announced == [workspace.pk] * 3


def test_credit_that_comes_and_holds_that_end_are_announced(workspace: Workspace, announced: list[int]) -> None:
    grant_credit(workspace, actor=SYSTEM, amount_microusd=5, reason="x")
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-5, reason="x")
    budget = open_(workspace, cap=100)
    spend(budget, 10)
    assert announced == [workspace.pk]
    close(budget)
    assert announced == [workspace.pk] * 2
