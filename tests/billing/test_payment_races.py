"""Payments at once, on PostgreSQL: one credit, one refund, one charge, however many work on them. And with a real worker."""

from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from billing.actions import grant_credit
from billing.enums import EntryKind, EventState, PaymentStatus, RefundStatus
from billing.models import Payment, Refund, StripeEvent, TopUp
from billing.payments import events, refunds
from billing.payments.checkout import start_purchase
from billing.payments.events import work_event
from billing.payments.reconciling import apply, reconcile
from billing.payments.refunds import refund_payment
from billing.payments.stripe_api import stripe_client
from billing.payments.taking_back import collect_shortfalls
from billing.payments.top_ups import charge_due_top_ups, set_top_up
from billing.payments.truth import fetch
from tests.billing.stripe import USD, begin, books_add_up, buy, entries, hold, news, post, tell, wallet_of
from tests.races import at_once
from tests.services import Worker, wait_until
from tests.standins.stripe import StripeServer
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("services"), pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def on_postgresql(transactional_db: None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time: nothing can race")


def test_two_clicks_at_once_are_one_purchase(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    found = at_once(8, lambda _: start_purchase(workspace, actor=actor, credit_microusd=20 * USD, key="k"))
    assert len(set(found)) == 1
    assert (Payment.objects.count(), len(stripe.all("checkout.session")), len(stripe.all("customer"))) == (1, 1, 1)


def test_webhook_that_arrives_at_once_is_stored_once(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    stripe.pay(begin(workspace, actor).stripe_session_id or "")
    assert at_once(8, lambda _: post(stripe, stripe.happened[-1])) == [200] * 8
    assert StripeEvent.objects.count() == 1


def test_two_workers_on_one_event_are_one(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    stripe.pay(begin(workspace, actor).stripe_session_id or "")
    post(stripe, stripe.happened[-1])
    event = StripeEvent.objects.get()
    states = at_once(8, lambda _: work_event(event.pk))
    assert sorted(states, key=str) == [None] * 7 + [EventState.PROCESSED]
    assert (StripeEvent.objects.get().tries, entries(workspace)) == (1, [20 * USD])


def test_control_workers_that_claim_nothing_all_work(
    stripe: StripeServer, workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is claimed twice is still credited once: the claim saves questions, the ledger's key saves money."""
    stripe.pay(begin(workspace, actor).stripe_session_id or "")
    post(stripe, stripe.happened[-1])
    event = StripeEvent.objects.get()
    monkeypatch.setattr(events, "_claim", lambda event_id, now: StripeEvent.objects.get(pk=event_id))
    assert at_once(8, lambda _: work_event(event.pk)) == [EventState.PROCESSED] * 8
    assert entries(workspace) == [20 * USD]


def test_everything_that_is_told_at_once_is_booked_once(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor)
    intent = stripe.pay(payment.stripe_session_id or "")
    stripe.refund(intent["id"], 500)
    dispute = stripe.dispute(intent["id"])
    stripe.end_dispute(dispute["id"], "won")
    told = list(stripe.happened)
    for event in told:
        post(stripe, event)
    rows = list(StripeEvent.objects.values_list("pk", flat=True))
    assert set(at_once(len(rows), lambda number: work_event(rows[number]))) == {EventState.PROCESSED}
    assert (sum(entries(workspace)), len(entries(workspace)), books_add_up()) == (15 * USD, 2, True)


def test_refund_that_many_see_at_once_is_one(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = buy(stripe, workspace, actor)
    with stripe_client() as client:
        stripe.refund(payment.stripe_intent_id or "", 500)
        truth = fetch(client, payment)
    assert at_once(8, lambda _: apply(payment.pk, truth)) == [payment] * 8
    assert (entries(workspace, EntryKind.REFUND), Refund.objects.count(), books_add_up()) == ([-5 * USD], 1, True)


@pytest.mark.parametrize("is_locked", [True, False], ids=["locked", "control"])
def test_refunds_of_staff_at_once_give_back_no_more_than_was_paid(
    stripe: StripeServer, workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch, is_locked: bool
) -> None:
    payment = buy(stripe, workspace, actor)
    if not is_locked:
        barrier, real = Barrier(4), refunds.credit_left

        def met(payment: Payment) -> int:
            left = real(payment)
            barrier.wait(10)  # each has read by now what is left
            return left

        monkeypatch.setattr(QuerySet, "select_for_update", lambda self, *_, **__: self)
        monkeypatch.setattr(refunds, "credit_left", met)
    results = at_once(4, lambda _: refund_payment(payment, actor=SYSTEM, amount_microusd=7 * USD, reason="x"))
    taken = sum(Refund.objects.exclude(status=RefundStatus.REFUSED).values_list("credit_microusd", flat=True))
    if is_locked:
        assert (results.count("invalid_amount"), stripe.all("charge")[0]["amount_refunded"]) == (1, 2100)
        assert (taken, sum(entries(workspace)), books_add_up()) == (20 * USD, 0, True)
    else:
        assert results.count("invalid_amount") == 0


def test_rest_of_a_refund_is_collected_once_while_the_payment_is_reconciled(
    stripe: StripeServer, workspace: Workspace, actor: Actor
) -> None:
    payment = buy(stripe, workspace, actor)
    hold(workspace, 30 * USD)
    stripe.refund(payment.stripe_intent_id or "", 500)
    tell(stripe, news(stripe, "charge.refunded"))

    def work(number: int) -> None:
        match number % 3:
            case 0:
                grant_credit(workspace, actor=SYSTEM, amount_microusd=USD, reason="x")
            case 1:
                collect_shortfalls(workspace.pk)
            case _:
                reconcile(payment)

    at_once(12, work)
    assert (sum(entries(workspace, EntryKind.REFUND)), wallet_of(workspace).available_microusd) == (-4 * USD, 0)
    assert books_add_up()


def test_sweeps_at_once_charge_a_card_once(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    buy(stripe, workspace, actor, save_card=True)
    set_top_up(
        workspace, actor=actor, is_enabled=True, threshold_microusd=40 * USD, amount_microusd=20 * USD, monthly_limit_microusd=500 * USD
    )
    assert sum(at_once(8, lambda _: charge_due_top_ups())) == 1
    top_ups = Payment.objects.filter(kind="top_up")
    assert ([payment.status for payment in top_ups], wallet_of(workspace).balance_microusd) == ([PaymentStatus.PAID], 50 * USD)
    assert TopUp.objects.get().failures == 0


def test_real_worker_credits_what_a_webhook_told_of(
    stripe: StripeServer, workspace: Workspace, actor: Actor, start_worker: Callable[..., Worker], live_server: Any
) -> None:
    secrets = {"STRIPE_SECRET_KEY": stripe.key, "STRIPE_WEBHOOK_SECRET": stripe.secret}
    worker = start_worker(STRIPE_API_URL=stripe.url, **secrets)
    stripe.webhook_url = f"{live_server.url}/webhooks/stripe"
    stripe.pay(begin(workspace, actor).stripe_session_id or "")
    wait_until(lambda: StripeEvent.objects.filter(state=EventState.PROCESSED).count() == 3)
    assert (entries(workspace), Payment.objects.get().status) == ([20 * USD], PaymentStatus.PAID)
    assert [secret for secret in secrets.values() if secret in worker.log.read_text()] == []
