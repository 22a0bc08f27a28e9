"""What Stripe tells: stored once and answered, then worked off by asking Stripe."""

import hashlib
import hmac
import json
import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from billing.enums import EventState, PaymentStatus
from billing.models import Payment, StripeEvent
from billing.payments.events import LEASE, MOST_TRIES, retry_event, work_event
from common.errors import Refused
from tests.billing.stripe import USD, begin, buy, down, entries, news, post, stored_text, tell, wallet_of
from tests.standins.http import Reply
from tests.standins.stripe import StripeServer
from workspaces.actors import Actor, actor_of_user
from workspaces.models import AuditEntry, User, Workspace


@pytest.fixture
def paid(stripe: StripeServer, workspace: Workspace, actor: Actor) -> dict[str, Any]:
    """20 USD that are paid and not yet told of: the event of the session that was completed."""
    payment = begin(workspace, actor)
    stripe.pay(payment.stripe_session_id or "")
    return stripe.happened[-1]


def later(**after: float) -> Any:
    return timezone.now() + timedelta(**after)


def test_event_over_a_socket_is_stored_and_nothing_is_done_before_the_answer(
    stripe: StripeServer, transactional_db: None, live_server: Any, actor: Actor, workspace: Workspace
) -> None:
    payment = begin(workspace, actor)
    stripe.pay(payment.stripe_session_id or "")
    asked = len(stripe.asked)
    assert stripe.send(stripe.happened[-1], f"{live_server.url}/webhooks/stripe") == 200
    event = StripeEvent.objects.get()
    assert (event.event_id, event.type, event.object_id, event.state, event.tries) == (
        stripe.happened[-1]["id"],
        "checkout.session.completed",
        payment.stripe_session_id,
        EventState.RECEIVED,
        0,
    )
    assert (len(stripe.asked), wallet_of(workspace).balance_microusd) == (asked, 10 * USD)


def test_worked_off_event_credits_what_was_bought_without_the_fee(stripe: StripeServer, workspace: Workspace, paid: dict[str, Any]) -> None:
    assert tell(stripe, [paid]) == [EventState.PROCESSED]
    payment = Payment.objects.get()
    intent = stripe.all("payment_intent")[0]
    assert (payment.status, payment.stripe_intent_id, payment.failure) == (PaymentStatus.PAID, intent["id"], "")
    assert (payment.receipt_url, payment.invoice_url) == (
        f"{stripe.url}/receipts/{intent['id']}",
        f"{stripe.url}/invoices/{payment.stripe_session_id}",
    )
    assert payment.paid_at is not None and payment.checked_at is not None
    assert (entries(workspace), wallet_of(workspace).balance_microusd) == ([20 * USD], 30 * USD)


def test_nothing_of_the_body_is_kept_or_believed(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor)
    forged = {
        "id": "evt_forged",
        "object": "event",
        "type": "checkout.session.completed",
        "data": {"object": {"id": payment.stripe_session_id, "object": "checkout.session", "payment_status": "paid", "note": "MARK"}},
    }
    assert tell(stripe, [forged]) == [EventState.PROCESSED]
    payment.refresh_from_db()
    assert (payment.status, entries(workspace)) == (PaymentStatus.OPEN, [])
    assert "MARK" not in stored_text()


def test_event_that_comes_twice_is_one(stripe: StripeServer, workspace: Workspace, paid: dict[str, Any]) -> None:
    assert [post(stripe, paid), post(stripe, paid)] == [200, 200]
    tell(stripe, [paid, paid])
    assert (StripeEvent.objects.count(), entries(workspace)) == (1, [20 * USD])


def test_all_that_is_told_credits_once_in_any_order(stripe: StripeServer, workspace: Workspace, paid: dict[str, Any]) -> None:
    assert set(tell(stripe, reversed(stripe.happened))) == {EventState.PROCESSED}
    assert (StripeEvent.objects.count(), entries(workspace)) == (3, [20 * USD])
    assert Payment.objects.get().invoice_url


def test_event_before_the_session_is_noted_finds_the_payment(stripe: StripeServer, workspace: Workspace, paid: dict[str, Any]) -> None:
    session_id = Payment.objects.get().stripe_session_id
    Payment.objects.update(stripe_session_id=None)
    assert tell(stripe, news(stripe, "payment_intent.succeeded")) == [EventState.PROCESSED]
    assert entries(workspace) == [20 * USD]
    tell(stripe, [paid])
    assert (Payment.objects.get().stripe_session_id, entries(workspace)) == (session_id, [20 * USD])


@pytest.mark.parametrize(
    "signing", [{"secret": "whsec_another0000000000000000"}, {"at": time.time() - 301}], ids=["wrong secret", "old timestamp"]
)
def test_what_is_not_signed_now_by_stripe_is_refused(stripe: StripeServer, paid: dict[str, Any], signing: dict[str, Any]) -> None:
    assert (post(stripe, paid, **signing), StripeEvent.objects.count()) == (400, 0)


def test_unsigned_and_broken_bodies_are_refused(stripe: StripeServer, paid: dict[str, Any]) -> None:
    body, signature = stripe.signed(paid)

    def sent(body: bytes, **headers: str) -> int:
        return Client().post("/webhooks/stripe", body, "application/json", headers=headers).status_code

    assert sent(body) == 400
    assert sent(body + b" ", **{"Stripe-Signature": signature}) == 400
    assert sent(body, **{"Stripe-Signature": "t=never,v1=x"}) == 400
    assert sent(b"\xff", **{"Stripe-Signature": signature}) == 400
    for unfit in ("[]", "no json", '{"id": "evt_1"}', json.dumps(paid | {"id": "e" * 121}), json.dumps(paid | {"data": {"object": None}})):
        stamp = stripe.signed(paid)[1].split(",")[0]
        assert post_text(stripe, unfit, stamp) == 400
    assert StripeEvent.objects.count() == 0


def post_text(stripe: StripeServer, text: str, stamp: str) -> int:
    digest = hmac.new(stripe.secret.encode(), f"{stamp.removeprefix('t=')}.{text}".encode(), hashlib.sha256).hexdigest()
    return Client().post("/webhooks/stripe", text, "application/json", headers={"Stripe-Signature": f"{stamp},v1={digest}"}).status_code


def test_body_over_a_mebibyte_is_refused(stripe: StripeServer) -> None:
    assert Client().post("/webhooks/stripe", b"x" * (1024 * 1024 + 1), "application/json").status_code == 413


def test_address_is_for_post_and_for_sites_that_sell(stripe: StripeServer, paid: dict[str, Any], settings: Any) -> None:
    assert Client().get("/webhooks/stripe").status_code == 405
    settings.STRIPE_SECRET_KEY = ""
    assert (post(stripe, paid), StripeEvent.objects.count()) == (404, 0)


def test_post_needs_no_session_and_sets_none(stripe: StripeServer, paid: dict[str, Any]) -> None:
    body, signature = stripe.signed(paid)
    client = Client(enforce_csrf_checks=True)
    response = client.post("/webhooks/stripe", body, "application/json", headers={"Stripe-Signature": signature})
    assert (response.status_code, dict(response.cookies)) == (200, {})


def test_foreign_and_unknown_objects_are_ignored(stripe: StripeServer, workspace: Workspace, paid: dict[str, Any]) -> None:
    stripe.things["cs_foreign"] = stripe.things[paid["data"]["object"]["id"]] | {"id": "cs_foreign", "metadata": {}}
    stripe.things["cs_claims"] = stripe.things["cs_foreign"] | {"id": "cs_claims", "metadata": paid["data"]["object"]["metadata"]}

    def event(number: int, kind: str, object_id: str) -> dict[str, Any]:
        return {"id": f"evt_x{number}", "object": "event", "type": kind, "data": {"object": {"id": object_id}}}

    told = [
        event(1, "checkout.session.completed", "cs_foreign"),
        event(2, "checkout.session.completed", "cs_claims"),
        event(3, "checkout.session.completed", "cs_nowhere"),
        event(4, "charge.refunded", "ch_nowhere"),
        event(5, "customer.created", "cus_1"),
        event(6, "invoice.paid", "in_1"),
    ]
    assert set(tell(stripe, told)) == {EventState.IGNORED}
    assert (entries(workspace), Payment.objects.get().status) == ([], PaymentStatus.OPEN)


@pytest.mark.parametrize(("cents", "currency"), [(2099, "usd"), (2101, "usd"), (2100, "eur"), (2000, "usd")])
def test_another_amount_credits_nothing_and_is_shown_to_staff(
    stripe: StripeServer, workspace: Workspace, actor: Actor, cents: int, currency: str
) -> None:
    payment = begin(workspace, actor)
    stripe.pay(payment.stripe_session_id or "", amount=cents, currency=currency)
    assert tell(stripe, stripe.happened[-1:]) == [EventState.FAILED]
    payment.refresh_from_db()
    event = StripeEvent.objects.get()
    paid = f"${cents / 100:.2f}" if currency == "usd" else f"{cents} cents of EUR"
    assert payment.failure == event.last_error == f"Paid were {paid} in place of $21.00, so no credit was given."
    assert (payment.status, payment.paid_at, entries(workspace)) == (PaymentStatus.FAILED, None, [])
    assert event.tries == 1


def test_refund_of_another_amount_takes_no_credit_that_was_never_given(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor)
    intent = stripe.pay(payment.stripe_session_id or "", amount=9900)
    tell(stripe, stripe.happened[-1:])
    stripe.refund(intent["id"], 9900)
    tell(stripe, news(stripe, "charge.refunded"))
    assert (entries(workspace), payment.refunds.count()) == ([], 0)


def test_expired_session_ends_the_payment(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor)
    stripe.expire(payment.stripe_session_id or "")
    assert tell(stripe, stripe.happened) == [EventState.PROCESSED]
    payment.refresh_from_db()
    assert (payment.status, entries(workspace)) == (PaymentStatus.EXPIRED, [])


def test_declined_card_leaves_the_page_open_for_another(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor)
    stripe.decline_payment(payment.stripe_session_id or "")
    tell(stripe, stripe.happened)
    payment.refresh_from_db()
    assert (payment.status, payment.failure) == (PaymentStatus.OPEN, "Your card was declined.")
    stripe.pay(payment.stripe_session_id or "")
    tell(stripe, stripe.happened[-1:])
    payment.refresh_from_db()
    assert (payment.status, payment.failure, entries(workspace)) == (PaymentStatus.PAID, "", [20 * USD])


def test_silent_stripe_is_asked_again_with_growing_waits(stripe: StripeServer, workspace: Workspace, paid: dict[str, Any]) -> None:
    post(stripe, paid)
    stripe.fault = down
    waits, now, event = [], timezone.now(), StripeEvent.objects.get()
    while event.state != EventState.FAILED:
        assert work_event(event.pk, now) in {EventState.RECEIVED, EventState.FAILED}
        event.refresh_from_db()
        waits.append(round((event.next_try_at - timezone.now()).total_seconds()))
        assert work_event(event.pk, event.next_try_at - timedelta(seconds=1)) is None
        now = event.next_try_at
    assert waits == [15, 30, 60, 120, 240, 480, 960, 1920, 3840, 7200, 7200, 0]
    assert (event.tries, event.last_error, event.processed_at is None) == (MOST_TRIES, "APIConnectionError", False)
    assert entries(workspace) == []


def test_staff_tries_a_failed_event_again(
    stripe: StripeServer, workspace: Workspace, staff: User, actor: Actor, paid: dict[str, Any]
) -> None:
    post(stripe, paid)
    event = StripeEvent.objects.get()
    with pytest.raises(Refused, match="Only an event that failed"):
        retry_event(event, actor=actor_of_user(staff))
    StripeEvent.objects.update(state=EventState.FAILED, tries=MOST_TRIES)
    with pytest.raises(Refused) as refused:
        retry_event(event, actor=actor)
    assert refused.value.status == 403
    retry_event(event, actor=actor_of_user(staff))
    assert work_event(event.pk) == EventState.PROCESSED
    assert (entries(workspace), AuditEntry.objects.filter(action="billing.retry_event").count()) == ([20 * USD], 1)


def test_event_of_a_dead_worker_is_taken_when_its_lease_is_over(stripe: StripeServer, workspace: Workspace, paid: dict[str, Any]) -> None:
    post(stripe, paid)
    event = StripeEvent.objects.get()
    StripeEvent.objects.update(state=EventState.PROCESSING, tries=1, next_try_at=timezone.now() + LEASE)
    assert (work_event(event.pk), entries(workspace)) == (None, [])
    assert work_event(event.pk, later(seconds=301)) == EventState.PROCESSED
    assert entries(workspace) == [20 * USD]


def test_event_that_ends_each_worker_ends_itself(stripe: StripeServer, paid: dict[str, Any]) -> None:
    post(stripe, paid)
    StripeEvent.objects.update(state=EventState.PROCESSING, tries=MOST_TRIES)
    assert work_event(StripeEvent.objects.get().pk) == EventState.FAILED
    assert StripeEvent.objects.get().last_error == "The worker ended at each try."


@pytest.mark.parametrize("path", ["checkout/sessions", "refunds", "disputes"])
def test_stripe_that_fails_at_any_step_changes_nothing_until_it_works(
    stripe: StripeServer, workspace: Workspace, paid: dict[str, Any], path: str
) -> None:
    post(stripe, paid)
    event = StripeEvent.objects.get()
    stripe.fault = lambda asked, number: Reply(500, {"error": {"message": "x"}}) if asked.path.startswith(f"/v1/{path}") else None
    assert work_event(event.pk) == EventState.RECEIVED
    assert (Payment.objects.get().status, entries(workspace)) == (PaymentStatus.OPEN, [])
    stripe.fault = None
    assert work_event(event.pk, later(minutes=1)) == EventState.PROCESSED
    assert entries(workspace) == [20 * USD]


def test_secrets_are_in_no_event_error_or_log(
    stripe: StripeServer,
    workspace: Workspace,
    actor: Actor,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("DEBUG")
    buy(stripe, workspace, actor)
    settings.STRIPE_SECRET_KEY = "sk_test_wrongwrongwrongwrong"
    stripe.refund(stripe.all("payment_intent")[0]["id"], 100)
    tell(stripe, stripe.happened[-1:])
    told = StripeEvent.objects.get(event_id=stripe.happened[-1]["id"])
    assert (told.state, told.last_error) == (EventState.RECEIVED, "AuthenticationError, HTTP 401, req_standin")
    seen = stored_text() + caplog.text + "".join(capsys.readouterr())
    for secret in (stripe.key, stripe.secret, settings.STRIPE_SECRET_KEY):
        assert secret not in seen
