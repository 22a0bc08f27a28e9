"""The wallet's page and the monthly limit."""

from collections.abc import Callable

import pytest
from django.test import Client

from billing.actions import grant_credit
from billing.queries import monthly_limit
from workspaces.actions import create_api_key
from workspaces.actors import SYSTEM, Actor
from workspaces.enums import Scope
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
PATH = "/settings/billing"


def test_page_shows_figures_and_entries_of_this_workspace_alone(
    workspace: Workspace, other_workspace: Workspace, viewer: User, sign_in: SignIn
) -> None:
    grant_credit(workspace, actor=SYSTEM, amount_microusd=1_500_000, reason="For the trial")
    grant_credit(other_workspace, actor=SYSTEM, amount_microusd=7_000_000, reason="Not for them")
    response = sign_in(viewer).get(PATH)
    assert response.context["figures"] == {
        "balance_microusd": 11_500_000,
        "held_microusd": 0,
        "available_microusd": 11_500_000,
        "settled_usage_microusd": 0,
        "settled_platform_fees_microusd": 0,
        "settled_charges_microusd": 0,
    }
    assert [(entry.note, entry.balance_after_microusd) for entry in response.context["entries"].rows] == [
        ("For the trial", 11_500_000),
        ("", 10_000_000),
    ]
    text = response.content.decode()
    assert "Not for them" not in text
    assert ("+$1.50" in text, "Buying credit is turned off here" in text) == (True, True)


def test_entries_come_in_pages(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    for number in range(60):
        grant_credit(workspace, actor=SYSTEM, amount_microusd=1, reason=str(number))
    client = sign_in(owner)
    first = client.get(PATH).context["entries"]
    second = client.get(PATH, {"cursor": first.next_cursor}).context["entries"]
    assert [entry.note for entry in (*first.rows, *second.rows)] == [*(str(number) for number in range(59, -1, -1)), ""]
    assert (len(first.rows), second.next_cursor) == (50, None)


def test_keys_that_have_a_ceiling_are_listed(workspace: Workspace, actor: Actor, owner: User, sign_in: SignIn) -> None:
    create_api_key(workspace, actor=actor, label="CI", scopes=[Scope.EVAL_WRITE], spend_ceiling_microusd=2_000_000)
    create_api_key(workspace, actor=actor, label="Other", scopes=[Scope.EVAL_WRITE])
    rows = sign_in(owner).get(PATH).context["key_rows"]
    assert [(row["key"].label, row["allowance"].ceiling_microusd) for row in rows] == [("CI", 2_000_000)]


def test_monthly_limit_is_set_and_lifted(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    for typed, stored in (("250", 250_000_000), ("0", 0), ("", None)):
        response = client.post(f"{PATH}/monthly-limit", {"workspace": str(workspace.public_id), "monthly": typed})
        assert (response.status_code, response["Location"]) == (302, PATH)
        assert monthly_limit(workspace) == stored


@pytest.mark.parametrize("typed", ["-1", "much", "1e400", "0.0000001"])
def test_limit_that_is_no_amount_is_422(workspace: Workspace, owner: User, sign_in: SignIn, typed: str) -> None:
    response = sign_in(owner).post(f"{PATH}/monthly-limit", {"workspace": str(workspace.public_id), "monthly": typed})
    assert (response.status_code, list(response.context["form"].errors)) == (422, ["monthly"])
    assert monthly_limit(workspace) is None


@pytest.mark.parametrize("entries", [1, 3])
def test_page_costs_the_same_with_one_entry_and_with_three(
    workspace: Workspace, owner: User, sign_in: SignIn, django_assert_num_queries: Callable[..., object], entries: int
) -> None:
    for _ in range(entries - 1):
        grant_credit(workspace, actor=SYSTEM, amount_microusd=1, reason="x")
    client = sign_in(owner)
    with django_assert_num_queries(12):  # type: ignore[attr-defined]
        client.get(PATH)
