"""A wallet's whole story on its page of the admin: all that staff needs to answer a question about money, at a constant cost."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from billing.actions import grant_credit
from billing.alerts import watch_spend
from billing.enums import DisputeStatus, EntryKind, PaymentStatus, RefundStatus
from billing.ledger import post_entry
from billing.models import Dispute, Payment, Refund, Wallet
from tests.billing.spending import close, limit_month, open_, spend, wallet_of
from tests.factories import make_key, make_user
from tests.paging import cost
from workspaces.actors import actor_of_user
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
pytestmark = pytest.mark.django_db


def page_of(wallet: Wallet) -> str:
    return f"/admin/billing/wallet/{wallet.pk}/change/"


def add_all(workspace: Workspace, staff: User) -> None:
    """One more of everything that a story tells."""
    wallet, number = wallet_of(workspace), Payment.objects.count()
    grant_credit(workspace, actor=actor_of_user(staff), amount_microusd=2_000_000, reason="For the trial & more")
    payment = Payment.objects.create(wallet=wallet, credit_microusd=5_000_000, fee_microusd=250_000, status=PaymentStatus.PAID)
    post_entry(wallet_of(workspace), EntryKind.CREDIT_PURCHASE, 5_000_000, key=f"test:{number}", source=f"payment:{payment.public_id}")
    Refund.objects.create(
        payment=payment, status=RefundStatus.REFUSED, amount_microusd=1_000_000, credit_microusd=1_000_000, reason="Asked"
    )
    Dispute.objects.create(payment=payment, stripe_dispute_id=f"du_{number}", status=DisputeStatus.WON, credit_microusd=0)
    key, _ = make_key(workspace, label=f"Key {number}", spend_ceiling_microusd=900_000)
    ended = open_(workspace, source=f"run:ended-{number}", cap=600_000, ceiling=600_000, key=str(key.lineage))
    spend(ended, 600_000)
    close(ended)
    open_(workspace, source=f"run:open-{number}", cap=300_000, ceiling=300_000, key=str(key.lineage))


@pytest.fixture
def story(workspace: Workspace, staff: User, sign_in: SignIn) -> dict[str, list[list[str]]]:
    """The texts of each part's rows."""
    limit_month(workspace, 1_000_000)
    add_all(workspace, staff)
    watch_spend()
    parts = sign_in(staff).get(page_of(wallet_of(workspace))).context["story"]
    return {part.title: [[cell.text for cell in row] for row in part.rows] for part in parts}


def test_story_has_every_part(story: dict[str, list[list[str]]], staff: User) -> None:
    assert dict(story["Figures"][:7]) == {
        "Balance": "$16.40",
        "Held by running work": "$0.30",
        "Available": "$16.10",
        "Disputed": "No",
        story["Figures"][4][0]: "$1.00",
        "Used of it, work that still runs too": "$0.60",
        "Spent by ended work, and reserved": "$0.60 and $0.30",
    }
    assert [row[:4] for row in story["API keys"]] == [["Key 0", "In use", "$0.90", "$0.60 and $0.30"]]
    assert [[row[0], *row[2:]] for row in story["Open holds"]] == [["run:open-0", "$0.30", "$0.30", "$0.00", "$0.00"]]
    assert story["Entries by kind"] == [
        ["Adjustment", "2", "$12.00"],
        ["Credit purchase", "1", "$5.00"],
        ["Usage", "1", "−$0.60"],
    ]
    assert [row[1:5] for row in story["Payments"]] == [["Purchase", "Paid", "$5.00", "$0.25"]]
    assert [row[1:6] for row in story["Refunds"]] == [["Refused", "$1.00", "$1.00", "$0.00", "Asked"]]
    assert [row[1:3] for row in story["Disputes"]] == [["Won", "$0.00"]]
    assert [row[2:] for row in story["Grants and corrections"]] == [
        ["$2.00", "$12.00", "—", "For the trial & more", staff.email],
        ["$10.00", "$10.00", "test", "—", "—"],
    ]
    assert [row[2] for row in story["Newest entries"]] == ["−$0.60", "$5.00", "$2.00", "$10.00"]
    assert [row[2:5] for row in story["Budget alerts"]] == [["50%", "$0.60", "$1.00"]]


def test_every_link_of_the_story_leads_somewhere(workspace: Workspace, staff: User, sign_in: SignIn) -> None:
    add_all(workspace, staff)
    client = sign_in(staff)
    parts = client.get(page_of(wallet_of(workspace))).context["story"]
    links = {part.more for part in parts} | {cell.href for part in parts for row in part.rows for cell in row}
    assert len(links) > 12
    assert {link: client.get(link).status_code for link in links if link} == {link: 200 for link in links if link}


def test_page_only_tells_and_changes_nothing(workspace: Workspace, staff: User, sign_in: SignIn) -> None:
    add_all(workspace, staff)
    client, path = sign_in(staff), page_of(wallet_of(workspace))
    text = client.get(path).content.decode()
    assert "For the trial &amp; more" in text
    assert not re.search(r'<input[^>]+name="(balance|held|workspace)', text)
    assert client.post(path, {"balance_microusd": "1"}).status_code == 403


def test_story_costs_the_same_with_one_of_everything_and_with_three(workspace: Workspace, staff: User, sign_in: SignIn) -> None:
    client, path = sign_in(staff), page_of(wallet_of(workspace))
    add_all(workspace, staff)
    one = cost(client, path)
    add_all(workspace, staff)
    add_all(workspace, staff)
    assert cost(client, path) == one


def test_story_of_a_wallet_is_for_those_who_may_see_wallets(workspace: Workspace, sign_in: SignIn) -> None:
    reader = make_user(is_staff=True)
    client, path = sign_in(reader), page_of(wallet_of(workspace))
    assert client.get(path).status_code == 403
    reader.user_permissions.add(Permission.objects.get(codename="view_wallet"))
    assert client.get(path).status_code == 200
    assert client.get(page_of(Wallet(pk=0))).status_code == 302
