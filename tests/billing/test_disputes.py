"""Payments that the card's owner contests: the credit goes at once, below zero if need be, and comes back once if we win."""

import itertools

import pytest

from billing.actions import grant_credit
from billing.enums import DisputeStatus, EntryKind, EventState
from billing.models import Payment
from billing.payments.reconciling import apply
from billing.payments.refunds import refund_payment
from billing.payments.stripe_api import stripe_client
from billing.payments.truth import fetch
from common.errors import Refused
from tests.billing.stripe import USD, begin, books_add_up, buy, entries, hold, news, tell, wallet_of
from tests.standins.stripe import StripeServer
from workspaces.actors import SYSTEM, Actor, actor_of_user
from workspaces.models import User, Workspace


@pytest.fixture
def payment(stripe: StripeServer, workspace: Workspace, actor: Actor) -> Payment:
    """20 USD of credit, bought for 21, in a wallet that had 10."""
    return buy(stripe, workspace, actor)


def state(workspace: Workspace) -> tuple[int, bool]:
    wallet = wallet_of(workspace)
    return wallet.balance_microusd // USD, wallet.is_disputed


def test_open_dispute_takes_the_credit_and_stops_the_wallet(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    stripe.dispute(payment.stripe_intent_id or "")
    told = news(stripe, "charge.dispute.created")
    assert tell(stripe, [*told, *told]) == [EventState.PROCESSED] * 2
    dispute = payment.disputes.get()
    assert (dispute.status, dispute.credit_microusd, dispute.reason, dispute.closed_at) == (
        DisputeStatus.OPEN,
        20 * USD,
        "fraudulent",
        None,
    )
    assert (entries(workspace, EntryKind.DISPUTE), state(workspace), books_add_up()) == ([-20 * USD], (10, True), True)


def test_won_dispute_gives_the_credit_again_once(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    made = stripe.dispute(payment.stripe_intent_id or "")
    tell(stripe, news(stripe, "charge.dispute.created"))
    stripe.end_dispute(made["id"], "won")
    told = news(stripe, "charge.dispute.closed")
    tell(stripe, [*told, *told, *news(stripe, "charge.succeeded")])
    dispute = payment.disputes.get()
    assert (dispute.status, dispute.closed_at is None) == (DisputeStatus.WON, False)
    assert (entries(workspace, EntryKind.DISPUTE), state(workspace), books_add_up()) == ([-20 * USD, 20 * USD], (30, False), True)


def test_lost_dispute_ends_without_an_entry(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    made = stripe.dispute(payment.stripe_intent_id or "")
    tell(stripe, news(stripe, "charge.dispute.created"))
    stripe.end_dispute(made["id"], "lost")
    tell(stripe, news(stripe, "charge.dispute.closed"))
    assert payment.disputes.get().status == DisputeStatus.LOST
    assert (entries(workspace, EntryKind.DISPUTE), state(workspace)) == ([-20 * USD], (10, False))


def test_dispute_that_is_seen_when_it_is_lost_takes_the_credit_all_the_same(
    stripe: StripeServer, workspace: Workspace, payment: Payment
) -> None:
    made = stripe.dispute(payment.stripe_intent_id or "")
    stripe.end_dispute(made["id"], "lost")
    tell(stripe, news(stripe, "charge.dispute.closed"))
    tell(stripe, news(stripe, "charge.dispute.created"))
    assert (entries(workspace, EntryKind.DISPUTE), state(workspace)) == ([-20 * USD], (10, False))


def test_dispute_that_is_seen_when_it_is_won_changes_nothing(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    made = stripe.dispute(payment.stripe_intent_id or "")
    stripe.end_dispute(made["id"], "won")
    tell(stripe, stripe.happened[-2:])
    assert (entries(workspace, EntryKind.DISPUTE), state(workspace)) == ([], (30, False))


def test_dispute_takes_what_running_work_holds_and_less_than_nothing_remains(
    stripe: StripeServer, workspace: Workspace, payment: Payment
) -> None:
    hold(workspace, 25 * USD)
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-5 * USD, reason="Spent")
    made = stripe.dispute(payment.stripe_intent_id or "")
    tell(stripe, stripe.happened[-1:])
    assert (state(workspace), wallet_of(workspace).held_microusd, wallet_of(workspace).available_microusd) == ((5, True), 25 * USD, 0)
    stripe.end_dispute(made["id"], "lost")
    tell(stripe, stripe.happened[-1:])
    assert state(workspace) == (5, True)
    grant_credit(workspace, actor=SYSTEM, amount_microusd=20 * USD, reason="Paid in another way")
    assert state(workspace) == (25, False)


def test_dispute_after_the_credit_was_spent_leaves_less_than_nothing(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-25 * USD, reason="Spent")
    made = stripe.dispute(payment.stripe_intent_id or "")
    tell(stripe, stripe.happened[-1:])
    assert state(workspace) == (-15, True)
    stripe.end_dispute(made["id"], "lost")
    tell(stripe, stripe.happened[-1:])
    assert (state(workspace), books_add_up()) == ((-15, True), True)
    buy(stripe, workspace, SYSTEM)
    assert state(workspace) == (5, False)


def test_inquiry_takes_nothing_until_it_becomes_a_dispute(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    made = stripe.dispute(payment.stripe_intent_id or "", status="warning_needs_response")
    assert (tell(stripe, stripe.happened[-1:]), payment.disputes.count(), state(workspace)) == ([EventState.PROCESSED], 0, (30, False))
    made["status"] = "needs_response"
    stripe._tell("charge.dispute.updated", made)
    tell(stripe, stripe.happened[-1:])
    assert state(workspace) == (10, True)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_refund_and_won_dispute_take_the_same_in_any_order(
    stripe: StripeServer, workspace: Workspace, actor: Actor, order: tuple[int, ...]
) -> None:
    payment = begin(workspace, actor)
    intent = stripe.pay(payment.stripe_session_id or "")
    steps = (
        lambda: stripe.refund(intent["id"], 500),
        lambda: stripe.dispute(intent["id"]),
        lambda: [stripe.end_dispute(each["id"], "won") for each in stripe.all("dispute")],
    )
    for number in order:
        steps[number]()
        tell(stripe, stripe.happened[-1:])
    for each in stripe.all("dispute"):
        stripe.end_dispute(each["id"], "won")
    tell(stripe, stripe.happened)
    assert (state(workspace), sum(entries(workspace)), books_add_up()) == ((25, False), 15 * USD, True)


def test_refund_and_lost_dispute_take_no_more_than_the_credit(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    made = stripe.dispute(payment.stripe_intent_id or "")
    tell(stripe, stripe.happened[-1:])
    stripe.refund(payment.stripe_intent_id or "", 2100)
    tell(stripe, stripe.happened[-1:])
    stripe.end_dispute(made["id"], "lost")
    tell(stripe, stripe.happened[-1:])
    assert (sum(entries(workspace)), state(workspace), books_add_up()) == (0, (10, False), True)


def test_older_answer_that_arrives_later_changes_nothing(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    made = stripe.dispute(payment.stripe_intent_id or "")
    refund = stripe.refund(payment.stripe_intent_id or "", 100, status="pending")
    with stripe_client() as client:
        older = fetch(client, payment)
        stripe.end_dispute(made["id"], "won")
        stripe.end_refund(refund["id"], "failed")
        newer = fetch(client, payment)
    apply(payment.pk, older)
    apply(payment.pk, newer)
    before = (entries(workspace), state(workspace), payment.disputes.get().status, payment.refunds.get().status)
    apply(payment.pk, older)
    assert (entries(workspace), state(workspace), payment.disputes.get().status, payment.refunds.get().status) == before
    assert (state(workspace), sum(entries(workspace))) == ((30, False), 20 * USD)


def test_contested_payment_is_not_refunded_here(stripe: StripeServer, payment: Payment, staff: User) -> None:
    stripe.dispute(payment.stripe_intent_id or "")
    tell(stripe, stripe.happened[-1:])
    with pytest.raises(Refused) as refused:
        refund_payment(payment, actor=actor_of_user(staff), amount_microusd=USD, reason="x")
    assert (refused.value.code, stripe.posted("refunds")) == ("payment_disputed", [])
