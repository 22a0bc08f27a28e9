"""Buying credit on the pages, without Stripe: prices, who may, and how a payment stands. The way to Stripe is tested with the payments."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from billing.enums import DisputeStatus, EntryKind, PaymentStatus, RefundStatus
from billing.ledger import lock_wallet, post_entry
from billing.models import Dispute, Payment, Refund, TopUp
from common.ids import new_id
from tests.standins.stripe import StripeServer
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
WALLET, PURCHASE = "/settings/billing", "/settings/billing/purchase"


@pytest.fixture
def payments_on(settings: Settings) -> None:
    settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRET = "sk_test_none", "whsec_none"
    settings.STRIPE_API_URL = "http://127.0.0.1:9"


def pay(workspace: Workspace, status: PaymentStatus = PaymentStatus.OPEN, **fields: object) -> Payment:
    paid_at = timezone.now() if status == PaymentStatus.PAID else None
    return Payment.objects.create(
        wallet=workspace.wallet, credit_microusd=25_000_000, fee_microusd=1_250_000, status=status, paid_at=paid_at, **fields
    )


def form(workspace: Workspace, **fields: str) -> dict[str, str]:
    return {"workspace": str(workspace.public_id), "key": str(new_id()), "preset": "25", **fields}


def test_where_purchases_are_off_the_page_says_so_and_what_to_do(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    wallet, page = client.get(WALLET).content.decode(), client.get(PURCHASE).content.decode()
    assert (PURCHASE in wallet, "Buying credit is turned off here" in wallet, "can grant credit" in page) == (False, True, True)
    assert '<form class="panel' not in page
    response = client.post(PURCHASE, form(workspace))
    assert response.status_code == 422
    assert response.context["form"].non_field_errors() == ["Credit cannot be bought here: payments are not set up."]
    assert not Payment.objects.exists()


@pytest.mark.usefixtures("payments_on")
def test_only_those_who_may_buy_see_that_it_can_be_bought(
    workspace: Workspace, owner: User, member: User, viewer: User, sign_in: SignIn
) -> None:
    TopUp.objects.create(wallet=workspace.wallet, stripe_method_id="pm_none", card_label="Visa 4242")
    shown = {who: sign_in(who).get(WALLET).content.decode() for who in (owner, member, viewer)}
    assert [("Buy credit" in text, "Automatic top-ups" in text, "4242" in text) for text in shown.values()] == [
        (True, True, True),
        (False, False, False),
        (False, False, False),
    ]


@pytest.mark.usefixtures("payments_on")
@pytest.mark.parametrize("path", [PURCHASE, f"{WALLET}/top-up", f"{WALLET}/top-up/card-removal"])
def test_members_and_viewers_buy_nothing_and_strangers_find_nothing(
    workspace: Workspace, member: User, viewer: User, stranger: User, sign_in: SignIn, path: str
) -> None:
    TopUp.objects.create(wallet=workspace.wallet, stripe_method_id="pm_none")
    sent = form(workspace, is_enabled="on", threshold="5", amount="20", monthly_limit="100")
    assert [sign_in(who).post(path, sent).status_code for who in (member, viewer, stranger)] == [403, 403, 404]
    top_up = TopUp.objects.get()
    assert (Payment.objects.count(), top_up.is_enabled, top_up.stripe_method_id) == (0, False, "pm_none")


@pytest.mark.usefixtures("payments_on")
@pytest.mark.parametrize(
    ("typed", "price"),
    [
        ({}, {"credit": 25_000_000, "fee": 1_250_000, "total": 26_250_000}),
        ({"preset": "100", "own": "7"}, {"credit": 100_000_000, "fee": 5_000_000, "total": 105_000_000}),
        ({"preset": "own", "own": "$40.01"}, {"credit": 40_010_000, "fee": 2_010_000, "total": 42_020_000}),
        ({"preset": "own", "own": " "}, {}),
        ({"preset": "own", "own": "much"}, {"refusal": "Enter an amount in USD, such as 40."}),
        ({"preset": "own", "own": "1"}, {"refusal": "State an amount from $5.00 to $2,000.00, in whole cents."}),
        ({"preset": "own", "own": "5.001"}, {"refusal": "State an amount from $5.00 to $2,000.00, in whole cents."}),
        ({"preset": "7"}, {}),
    ],
)
def test_price_is_shown_as_one_types(
    workspace: Workspace, owner: User, sign_in: SignIn, typed: dict[str, str], price: dict[str, object]
) -> None:
    response = sign_in(owner).get(PURCHASE, typed, headers={"HX-Request": "true"})
    assert (response.context["price"], b"<form" in response.content) == (price, False)


@pytest.mark.usefixtures("payments_on")
@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"preset": "own", "own": ""}, "own"),
        ({"preset": "own", "own": "1"}, "own"),
        ({"preset": "own", "own": "-5"}, "own"),
        ({"preset": "7"}, "preset"),
        ({"key": ""}, "key"),
        ({"key": "short"}, "key"),
    ],
)
def test_what_cannot_be_bought_is_422_and_leaves_nothing(
    workspace: Workspace, owner: User, sign_in: SignIn, sent: dict[str, str], field: str
) -> None:
    response = sign_in(owner).post(PURCHASE, form(workspace, **sent))
    assert (response.status_code, list(response.context["form"].errors)) == (422, [field])
    assert not Payment.objects.exists()


@pytest.mark.usefixtures("payments_on")
@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_twice_is_one_purchase_also_where_stripe_does_not_answer(
    workspace: Workspace, owner: User, sign_in: SignIn
) -> None:
    client, sent = sign_in(owner), form(workspace)
    answers = [client.post(PURCHASE, sent) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert "Nothing was charged" in answers[1].context["form"].non_field_errors()[0]
    assert [(payment.credit_microusd, payment.status) for payment in Payment.objects.all()] == [(25_000_000, "open")]


def test_page_of_a_payment_asks_again_until_that_is_final(workspace: Workspace, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    payment = pay(workspace)
    path = f"{WALLET}/payments/{payment.public_id}"

    def asked() -> tuple[str, bool]:
        page, fragment = client.get(path), client.get(path, headers={"HX-Request": "true"})
        assert b"<html" not in fragment.content
        text = page.content.decode()
        title = text.partition('<span class="notice-title">')[2].partition("<")[0]
        return title, 'hx-trigger="every 3s"' in fragment.content.decode()

    assert asked() == ("Waiting for Stripe", True)
    Payment.objects.update(status=PaymentStatus.PAID, paid_at=timezone.now())
    assert asked() == ("Paid, not entered yet", True)
    with transaction.atomic():
        source = f"payment:{payment.public_id}"
        post_entry(lock_wallet(workspace.wallet.pk), EntryKind.CREDIT_PURCHASE, 25_000_000, key=source, source=source)
    assert asked() == ("Paid", False)
    for status, title in ((PaymentStatus.FAILED, "The payment failed"), (PaymentStatus.EXPIRED, "It was not paid")):
        other = pay(workspace, status, failure="The card was declined." if status == PaymentStatus.FAILED else "")
        text = client.get(f"{WALLET}/payments/{other.public_id}").content.decode()
        assert (title in text, "every 3s" in text, "Buy credit" in text) == (True, False, False)


def test_an_old_open_payment_is_asked_for_less_often(workspace: Workspace, viewer: User, sign_in: SignIn) -> None:
    payment = pay(workspace, created_at=timezone.now() - timedelta(hours=1))
    assert b'"every 30s"' in sign_in(viewer).get(f"{WALLET}/payments/{payment.public_id}").content


def test_page_of_a_payment_is_found_by_members_of_its_workspace_alone(
    workspace: Workspace, other_workspace: Workspace, stranger: User, sign_in: SignIn
) -> None:
    path = f"{WALLET}/payments/{pay(workspace).public_id}"
    assert sign_in(stranger).get(path).status_code == 404
    own = f"{WALLET}/payments/{pay(other_workspace).public_id}"
    assert sign_in(stranger).get(own).status_code == 200


def test_purchases_stand_on_the_page_with_refunds_and_disputes_in_words(
    workspace: Workspace, other_workspace: Workspace, viewer: User, sign_in: SignIn
) -> None:
    paid = pay(workspace, PaymentStatus.PAID, receipt_url="https://example.org/receipt", invoice_url="https://example.org/invoice")
    amounts = {"amount_microusd": 10_500_000, "credit_microusd": 10_000_000, "taken_microusd": 4_000_000}
    Refund.objects.create(payment=paid, status=RefundStatus.DONE, **amounts)
    Dispute.objects.create(payment=paid, stripe_dispute_id="dp_none", status=DisputeStatus.OPEN, credit_microusd=15_000_000)
    pay(other_workspace, PaymentStatus.FAILED, failure="Their card.")
    text = sign_in(viewer).get(WALLET).content.decode()
    for words in (
        "https://example.org/receipt",
        "https://example.org/invoice",
        "$10.50 was refunded",
        "for $10.00 of credit, of which $6.00 was spent already",
        "$15.00 of credit is taken back until that is decided",
    ):
        assert words in text
    assert "Their card." not in text


@pytest.mark.usefixtures("payments_on")
def test_top_ups_are_turned_on_changed_and_ended_with_the_card(workspace: Workspace, owner: User, sign_in: SignIn) -> None:
    TopUp.objects.create(wallet=workspace.wallet, stripe_method_id="pm_none", card_label="Visa 4242")
    client, sent = sign_in(owner), form(workspace, is_enabled="on", threshold="2.50", amount="30", monthly_limit="60")
    assert client.post(f"{WALLET}/top-up", sent).status_code == 302
    top_up = TopUp.objects.get()
    figures = (top_up.threshold_microusd, top_up.amount_microusd, top_up.monthly_limit_microusd)
    assert (top_up.is_enabled, figures) == (True, (2_500_000, 30_000_000, 60_000_000))
    assert "When less than $2.50 is available, $30.00 of credit is bought with Visa 4242" in client.get(WALLET).content.decode()
    refused = client.post(f"{WALLET}/top-up", {**sent, "amount": "0"})
    assert (refused.status_code, list(refused.context["top_up_form"].errors)) == (422, ["amount"])
    refused = client.post(f"{WALLET}/top-up", {**sent, "monthly_limit": "31"})
    assert refused.context["top_up_form"].non_field_errors() == [
        "One top-up with its fee costs $31.50; state at least that as the limit of a month."
    ]
    assert client.post(f"{WALLET}/top-up/card-removal", form(workspace)).status_code == 302
    top_up.refresh_from_db()
    assert (top_up.is_enabled, top_up.stripe_method_id) == (False, "")


@pytest.mark.django_db(transaction=True)
def test_two_clicks_lead_to_one_page_at_stripe(workspace: Workspace, owner: User, sign_in: SignIn, stripe: StripeServer) -> None:
    client, sent = sign_in(owner), form(workspace, preset="own", own="40.01", save_card="on")
    answers = [client.post(PURCHASE, sent) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [302, 302]
    assert answers[0]["Location"] == answers[1]["Location"]
    assert answers[0]["Location"].startswith(stripe.url)
    assert [(payment.credit_microusd, payment.fee_microusd) for payment in Payment.objects.all()] == [(40_010_000, 2_010_000)]
    other = client.post(PURCHASE, {**sent, "key": str(new_id())})
    assert other["Location"] != answers[0]["Location"]
    changed = client.post(PURCHASE, {**sent, "own": "41"})
    assert (changed.status_code, Payment.objects.count()) == (422, 2)
    assert changed.context["form"].non_field_errors() == ["This form was used for another purchase; load the page again."]
