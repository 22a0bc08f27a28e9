"""The wallet's page and the monthly limit."""

from collections.abc import Callable

import pytest
from django.test import Client

from billing.actions import grant_credit
from billing.limits import set_key_month
from billing.models import Payment, Refund, SpendAlert
from billing.months import this_month
from billing.queries import monthly_limit
from billing.statements import Charged, Limit
from tests.billing.spending import batch, close, limit_month, open_, spend
from workspaces.actions import create_api_key, roll_api_key
from workspaces.actors import SYSTEM, Actor
from workspaces.enums import Scope
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
PATH = "/settings/billing"
QUERIES = 24
"""Of the page, however long the ledger is."""


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


def test_keys_that_have_a_limit_or_have_spent_are_listed(workspace: Workspace, actor: Actor, owner: User, sign_in: SignIn) -> None:
    """A rolled key stands for those before it; a month's figures are the present month's."""
    first, _ = create_api_key(workspace, actor=actor, label="CI", scopes=[Scope.EVAL_WRITE], spend_ceiling_microusd=2_000_000)
    rolled, _ = roll_api_key(first, actor=actor)
    monthly, _ = create_api_key(workspace, actor=actor, label="Monthly", scopes=[Scope.EVAL_WRITE])
    set_key_month(monthly, actor=actor, monthly_microusd=500_000)
    create_api_key(workspace, actor=actor, label="Other", scopes=[Scope.EVAL_WRITE])
    budget = open_(workspace, key=str(rolled.lineage), ceiling=900)
    spend(budget, 300)
    close(budget)
    open_(workspace, key=str(monthly.lineage), cap=700)
    rows = sign_in(owner).get(PATH).context["key_rows"]
    assert [(row.key, row.ceiling, row.month, row.month.left_microusd) for row in rows] == [
        (monthly, Limit(None, 0, 700), Limit(500_000, 0, 700), 499_300),
        (rolled, Limit(2_000_000, 300, 0), Limit(None, 300, 0), None),
    ]


def test_limit_of_the_month_shows_what_is_spent_reserved_and_left(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    budget = open_(workspace, cap=1_000)
    spend(budget, 400)
    close(budget)
    open_(workspace, cap=300)
    limit_month(workspace, 600)
    limit = sign_in(owner).get(PATH).context["limit"]
    assert (limit, limit.left_microusd) == (Limit(600, 400, 300), 0)


def test_what_is_settled_and_not_entered_yet_is_named(
    workspace: Workspace, other_workspace: Workspace, owner: User, sign_in: SignIn
) -> None:
    ended, running, theirs = (open_(of, ceiling=900_000, cap=900_000) for of in (workspace, workspace, other_workspace))
    for budget, amount in ((ended, 100_000), (running, 200_000), (theirs, 7)):
        spend(budget, amount)
    close(ended)
    batch(running, (50_000, 50_000))
    response = sign_in(owner).get(PATH)
    progress = response.context["progress"]
    assert (progress.count, progress.settled_microusd, progress.reserved_microusd, progress.budgets) == (1, 200_000, 50_000, [running])
    words = "is settled by 1 run in progress and not entered yet: its entries are written when it ends"
    assert words in response.content.decode()
    assert response.context["charged"] == Charged(usage_microusd=100_000)


def test_alerts_of_the_month_are_shown(workspace: Workspace, other_workspace: Workspace, viewer: User, sign_in: SignIn) -> None:
    amounts = {"used_microusd": 510_000, "limit_microusd": 1_000_000}
    for of, month, percent in ((workspace, this_month(), 50), (workspace, "2025-01", 80), (other_workspace, this_month(), 100)):
        SpendAlert.objects.create(workspace=of, month=month, percent=percent, **amounts)
    response = sign_in(viewer).get(PATH)
    assert [alert.percent for alert in response.context["alerts"]] == [50]
    assert "$0.51 of $1.00 was used" in response.content.decode()


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


@pytest.mark.parametrize("entries", [2, 4])
def test_page_costs_the_same_with_few_rows_and_with_more(
    workspace: Workspace, owner: User, sign_in: SignIn, django_assert_num_queries: Callable[..., object], entries: int
) -> None:
    for _ in range(entries - 1):
        grant_credit(workspace, actor=SYSTEM, amount_microusd=1, reason="x")
        open_(workspace, cap=1_000)
        payment = Payment.objects.create(wallet=workspace.wallet, credit_microusd=5_000_000, fee_microusd=0)
        Refund.objects.create(payment=payment, amount_microusd=1, credit_microusd=1)
    client = sign_in(owner)
    with django_assert_num_queries(QUERIES):  # type: ignore[attr-defined]
        client.get(PATH)
