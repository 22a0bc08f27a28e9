"""What a key may spend in a month, and that a key cannot multiply its limits by making keys."""

import pytest

from billing.checking import ledger_differences
from billing.limits import MOST_GENERATIONS, set_key_month
from billing.models import Allowance
from common.errors import PaymentRequired, Refused
from tests.billing.spending import close, open_, spend
from tests.factories import make_key
from workspaces.actions import create_api_key
from workspaces.actors import SYSTEM, Actor, actor_of_key
from workspaces.enums import Scope
from workspaces.models import ApiKey, Workspace

ALL = [Scope.KEYS_MANAGE, Scope.EVAL_READ, Scope.EVAL_WRITE]


def made_by(key: ApiKey, ceiling: int | None = None) -> ApiKey:
    return create_api_key(key.workspace, actor=actor_of_key(key), label="made", scopes=ALL, spend_ceiling_microusd=ceiling)[0]


def refusal(workspace: Workspace, key: ApiKey, cap: int) -> tuple[str, dict[str, str]]:
    with pytest.raises(PaymentRequired) as refused:
        open_(workspace, cap=cap, key=str(key.lineage))
    return refused.value.code, refused.value.details


def test_month_of_a_key_binds_beside_its_ceiling_and_is_named(workspace: Workspace) -> None:
    key, _ = make_key(workspace, spend_ceiling_microusd=500)
    set_key_month(key, actor=SYSTEM, monthly_microusd=300)
    assert refusal(workspace, key, 301) == ("key_month_reached", {"needed_microusd": "301", "left_microusd": "300"})
    budget = open_(workspace, cap=300, key=str(key.lineage))
    spend(budget, 250)
    close(budget)
    assert refusal(workspace, key, 51)[0] == "key_month_reached"
    set_key_month(key, actor=SYSTEM, monthly_microusd=None)
    assert refusal(workspace, key, 251) == ("key_ceiling_reached", {"needed_microusd": "251", "left_microusd": "250"})
    assert ledger_differences() == []


def test_limit_set_in_the_middle_of_a_month_counts_what_was_spent_before(workspace: Workspace) -> None:
    key, _ = make_key(workspace)
    budget = open_(workspace, cap=200, key=str(key.lineage))
    spend(budget, 200)
    close(budget)
    set_key_month(key, actor=SYSTEM, monthly_microusd=150)
    assert refusal(workspace, key, 1) == ("key_month_reached", {"needed_microusd": "1", "left_microusd": "0"})


def test_key_lowers_its_own_month_and_never_raises_it(workspace: Workspace) -> None:
    key, _ = make_key(workspace, scopes=ALL)
    set_key_month(key, actor=SYSTEM, monthly_microusd=300)
    child = made_by(key)
    for acting in (key, child):
        for monthly in (301, None):
            with pytest.raises(Refused, match="cannot raise"):
                set_key_month(key, actor=actor_of_key(acting), monthly_microusd=monthly)
    assert set_key_month(key, actor=actor_of_key(key), monthly_microusd=200).monthly_microusd == 200


def test_keys_that_a_key_made_spend_from_its_limits(workspace: Workspace) -> None:
    key, _ = make_key(workspace, scopes=ALL, spend_ceiling_microusd=1_000)
    children = [made_by(key, 1_000) for _ in range(3)]
    budget = open_(workspace, cap=700, key=str(children[0].lineage))
    spend(budget, 700)
    close(budget)
    assert refusal(workspace, children[1], 301) == ("key_ceiling_reached", {"needed_microusd": "301", "left_microusd": "300"})
    grandchild = made_by(children[1], 300)
    assert refusal(workspace, grandchild, 301)[0] == "key_ceiling_reached"
    open_(workspace, cap=300, key=str(grandchild.lineage))
    assert refusal(workspace, key, 1)[0] == "key_ceiling_reached"
    assert ledger_differences() == []


def test_key_promises_no_more_than_those_it_comes_from_have_left(workspace: Workspace) -> None:
    key, _ = make_key(workspace, scopes=ALL, spend_ceiling_microusd=1_000)
    child = made_by(key, 800)
    open_(workspace, cap=900, key=str(key.lineage))
    with pytest.raises(Refused, match="no more than"):
        made_by(child, 101)
    assert Allowance.objects.get(subject=str(made_by(child, 100).lineage)).ceiling_microusd == 100


def test_chain_of_keys_ends(workspace: Workspace, actor: Actor) -> None:
    key, _ = make_key(workspace, scopes=ALL)
    for _ in range(MOST_GENERATIONS):
        key = made_by(key)
    with pytest.raises(Refused) as refused:
        made_by(key)
    assert refused.value.code == "key_chain_too_long"
