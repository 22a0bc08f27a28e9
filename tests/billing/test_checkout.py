"""Beginning to buy credit: who may, for how much, and what Stripe is asked."""

import datetime
from typing import Any

import pytest
from django.utils import timezone

from billing.enums import PaymentStatus
from billing.models import Payment
from billing.payments.checkout import purchase_fee, start_purchase
from common.errors import Refused
from tests.billing.stripe import USD, begin, down, lost, wallet_of
from tests.factories import make_key
from tests.standins.http import Reply
from tests.standins.stripe import StripeServer
from workspaces.actors import Actor, actor_of_key, actor_of_user
from workspaces.models import AuditEntry, User, Workspace


@pytest.mark.parametrize(("credit", "fee"), [(5 * USD, 250_000), (20 * USD, USD), (5_010_000, 260_000), (33_330_000, 1_670_000)])
def test_fee_is_rounded_up_to_a_whole_cent(credit: int, fee: int) -> None:
    assert purchase_fee(credit) == fee


def test_purchase_is_written_down_and_leads_to_checkout(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment, url = start_purchase(workspace, actor=actor, credit_microusd=20 * USD)
    session = stripe.all("checkout.session")[0]
    assert (payment.status, payment.credit_microusd, payment.fee_microusd) == (PaymentStatus.OPEN, 20 * USD, USD)
    assert (payment.stripe_session_id, url) == (session["id"], f"{stripe.url}/pay/{session['id']}")
    assert wallet_of(workspace).stripe_customer_id == session["customer"]
    assert wallet_of(workspace).balance_microusd == 10 * USD
    entry = AuditEntry.objects.get(action="billing.start_purchase")
    assert (entry.target, entry.data) == (str(payment.public_id), {"credit_microusd": "20000000", "fee_microusd": "1000000"})
    (asked,) = stripe.posted("checkout/sessions")
    page = f"http://testserver/settings/billing/payments/{payment.public_id}"
    references = {"payment": str(payment.public_id)}
    expires = int((payment.created_at + datetime.timedelta(hours=2)).timestamp())

    def line(name: str, cents: str) -> dict[str, Any]:
        return {"quantity": "1", "price_data": {"currency": "usd", "unit_amount": cents, "product_data": {"name": name}}}

    assert asked == {
        "mode": "payment",
        "customer": session["customer"],
        "client_reference_id": str(payment.public_id),
        "metadata": references,
        "line_items": {"0": line("EvalRouter credit", "2000"), "1": line("Fee of the purchase", "100")},
        "allowed_payment_method_types": {"0": "card"},
        "adaptive_pricing": {"enabled": "false"},
        "invoice_creation": {"enabled": "true", "invoice_data": {"metadata": references}},
        "payment_intent_data": {"metadata": references},
        "expires_at": str(expires),
        "success_url": page,
        "cancel_url": page,
    }
    keys = [each.request.headers["idempotency-key"] for each in stripe.asked]
    assert keys == [f"customer:{workspace.public_id}", f"checkout:{payment.public_id}"]


def test_card_is_kept_for_later_only_where_that_is_asked_for(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    begin(workspace, actor, save_card=True)
    (asked,) = stripe.posted("checkout/sessions")
    assert asked["payment_intent_data"]["setup_future_usage"] == "off_session"


def test_second_purchase_has_the_same_customer(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    begin(workspace, actor)
    begin(workspace, actor)
    assert (len(stripe.all("customer")), len(stripe.all("checkout.session"))) == (1, 2)


def test_same_key_is_the_same_purchase(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    first = start_purchase(workspace, actor=actor, credit_microusd=20 * USD, key="k")
    assert start_purchase(workspace, actor=actor, credit_microusd=20 * USD, key="k") == first
    assert (Payment.objects.count(), len(stripe.all("checkout.session")), AuditEntry.objects.count()) == (1, 1, 1)


def test_same_key_for_another_amount_is_refused(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    begin(workspace, actor, key="k")
    with pytest.raises(Refused) as refused:
        begin(workspace, actor, 21 * USD, key="k")
    assert (refused.value.code, refused.value.status, Payment.objects.count()) == ("idempotency_key_reused", 409, 1)


def test_same_key_in_another_workspace_is_another_purchase(
    stripe: StripeServer, workspace: Workspace, actor: Actor, stranger: User
) -> None:
    other = stranger.memberships.get().workspace
    assert begin(workspace, actor, key="k") != begin(other, actor_of_user(stranger), key="k")


def test_key_of_a_purchase_that_is_over_leads_to_its_page(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor, key="k")
    Payment.objects.update(status=PaymentStatus.PAID)
    _, url = start_purchase(workspace, actor=actor, credit_microusd=20 * USD, key="k")
    assert url == f"http://testserver/settings/billing/payments/{payment.public_id}"


@pytest.mark.parametrize("credit", [0, -5 * USD, 5 * USD - 10_000, 2000 * USD + 10_000, 5_000_001])
def test_amount_that_cannot_be_bought_is_refused(stripe: StripeServer, workspace: Workspace, actor: Actor, credit: int) -> None:
    with pytest.raises(Refused) as refused:
        begin(workspace, actor, credit)
    assert (refused.value.code, str(refused.value)) == ("invalid_amount", "State an amount from $5.00 to $2,000.00, in whole cents.")
    assert (Payment.objects.count(), stripe.asked) == (0, [])


@pytest.mark.parametrize("missing", ["STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"])
def test_without_a_secret_nothing_is_sold(stripe: StripeServer, workspace: Workspace, actor: Actor, settings: Any, missing: str) -> None:
    setattr(settings, missing, "")
    with pytest.raises(Refused) as refused:
        begin(workspace, actor)
    assert (refused.value.code, refused.value.status, Payment.objects.count(), stripe.asked) == ("purchases_off", 409, 0, [])


def test_only_admins_and_owners_buy(
    stripe: StripeServer, workspace: Workspace, owner: User, member: User, viewer: User, stranger: User, staff: User
) -> None:
    key, _ = make_key(workspace)
    for nobody in (actor_of_user(member), actor_of_user(viewer), actor_of_user(stranger), actor_of_user(staff), actor_of_key(key)):
        with pytest.raises(Refused) as refused:
            begin(workspace, nobody)
        assert (refused.value.code, refused.value.status) == ("forbidden", 403)
    assert (Payment.objects.count(), stripe.asked) == (0, [])
    begin(workspace, actor_of_user(owner))


def test_stripe_that_is_down_leaves_a_payment_that_the_same_key_takes_up(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    stripe.fault = down
    with pytest.raises(Refused) as refused:
        begin(workspace, actor, key="k")
    assert (refused.value.code, refused.value.status) == ("payments_unavailable", 503)
    assert Payment.objects.get().stripe_session_id is None
    stripe.fault = None
    assert begin(workspace, actor, key="k").stripe_session_id == stripe.all("checkout.session")[0]["id"]
    assert Payment.objects.count() == 1


def test_answer_that_is_lost_is_the_same_page_the_next_time(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    lost(stripe, "POST", "/v1/checkout/sessions")
    with pytest.raises(Refused):
        begin(workspace, actor, key="k")
    stripe.fault = None
    begin(workspace, actor, key="k")
    assert len(stripe.all("checkout.session")) == 1


@pytest.mark.parametrize("status", [500, 429, 401])
def test_what_stripe_refuses_is_told_without_its_words(
    stripe: StripeServer, workspace: Workspace, actor: Actor, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    said = {"error": {"type": "api_error", "message": f"A fault with {stripe.key}"}}
    stripe.fault = lambda asked, number: Reply(status, said)
    with pytest.raises(Refused) as refused:
        begin(workspace, actor)
    assert refused.value.code == "payments_unavailable"
    assert stripe.key not in str(refused.value) + caplog.text


def test_session_can_be_paid_for_two_hours(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    begin(workspace, actor)
    left = stripe.all("checkout.session")[0]["expires_at"] - timezone.now().timestamp()
    assert 7190 < left <= 7200
