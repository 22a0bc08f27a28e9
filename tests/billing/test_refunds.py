"""Money that goes back: made at Stripe and seen, or made by staff here. The credit goes with it, the fee last."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from billing.actions import grant_credit
from billing.enums import EntryKind, EventState, RefundStatus
from billing.models import LedgerEntry, Payment, Refund
from billing.payments.refunds import refund_payment
from billing.payments.sweeping import sweep_payments
from billing.payments.taking_back import collect_shortfalls
from common.errors import Refused
from tests.billing.stripe import CENT, USD, begin, books_add_up, buy, down, entries, hold, lost, news, tell, wallet_of
from tests.standins.http import Reply
from tests.standins.stripe import StripeServer
from workspaces.actors import SYSTEM, Actor, actor_of_user
from workspaces.models import AuditEntry, User, Workspace


@pytest.fixture
def payment(stripe: StripeServer, workspace: Workspace, actor: Actor) -> Payment:
    """20 USD of credit, bought for 21, in a wallet that had 10."""
    return buy(stripe, workspace, actor)


@pytest.fixture
def refunder(staff: User) -> Actor:
    return actor_of_user(staff)


def give_back(payment: Payment, refunder: Actor, amount: int, **more: Any) -> Refund:
    return refund_payment(payment, actor=refunder, amount_microusd=amount, reason="As they asked", **more)


def refused(payment: Payment, refunder: Actor, amount: int, **more: Any) -> str:
    with pytest.raises(Refused) as raised:
        give_back(payment, refunder, amount, **more)
    return raised.value.code


def soon(minutes: float = 2) -> Any:
    return timezone.now() + timedelta(minutes=minutes)


# Seen


@pytest.mark.parametrize(
    ("cents", "credit"),
    [((500,), [5]), ((2000,), [20]), ((2100,), [20]), ((500, 1600), [5, 15]), ((2000, 100), [20, 0])],
    ids=["partial", "all credit", "with the fee", "in two parts", "the fee at last"],
)
def test_refund_made_at_stripe_takes_its_credit(
    stripe: StripeServer, workspace: Workspace, payment: Payment, cents: tuple[int, ...], credit: list[int]
) -> None:
    for amount in cents:
        stripe.refund(payment.stripe_intent_id or "", amount)
    tell(stripe, news(stripe, "charge.refunded"))
    rows = list(payment.refunds.order_by("id"))
    assert [row.credit_microusd for row in rows] == [row.taken_microusd for row in rows] == [amount * USD for amount in credit]
    assert [(row.amount_microusd, row.status) for row in rows] == [(amount * CENT, RefundStatus.DONE) for amount in cents]
    assert entries(workspace, EntryKind.REFUND) == [-amount * USD for amount in credit if amount]
    assert books_add_up()


def test_refund_that_is_told_of_twice_and_by_several_events_is_one(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    stripe.refund(payment.stripe_intent_id or "", 500)
    told = [*news(stripe, "charge.refunded"), *news(stripe, "refund.created")]
    assert tell(stripe, [*told, *told]) == [EventState.PROCESSED] * 4
    assert (payment.refunds.count(), entries(workspace)) == (1, [20 * USD, -5 * USD])


def test_refund_that_is_told_of_before_the_purchase(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = begin(workspace, actor)
    intent = stripe.pay(payment.stripe_session_id or "")
    stripe.refund(intent["id"], 500)
    assert set(tell(stripe, reversed(stripe.happened))) == {EventState.PROCESSED}
    assert entries(workspace) == [20 * USD, -5 * USD]
    assert books_add_up()


def test_refund_takes_what_is_there_and_the_rest_of_what_comes_in(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    hold(workspace, 18 * USD)
    stripe.refund(payment.stripe_intent_id or "", 2000)
    tell(stripe, news(stripe, "charge.refunded"))
    refund = payment.refunds.get()
    assert (refund.credit_microusd, refund.taken_microusd, wallet_of(workspace).available_microusd) == (20 * USD, 12 * USD, 0)
    for amount, taken in ((3, 15), (4, 19), (4, 20)):
        grant_credit(workspace, actor=SYSTEM, amount_microusd=amount * USD, reason="A gift")
        collect_shortfalls(workspace.pk)
        refund.refresh_from_db()
        assert refund.taken_microusd == taken * USD
    assert entries(workspace, EntryKind.REFUND) == [-12 * USD, -3 * USD, -4 * USD, -USD]
    assert LedgerEntry.objects.filter(kind=EntryKind.REFUND).values_list("note", flat=True)[0] == "The rest of a refund"
    assert (wallet_of(workspace).available_microusd, books_add_up()) == (3 * USD, True)


@pytest.mark.django_db(transaction=True)
def test_rest_of_a_refund_is_taken_as_soon_as_credit_comes_in(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    payment = buy(stripe, workspace, actor)
    hold(workspace, 30 * USD)
    stripe.refund(payment.stripe_intent_id or "", 500)
    tell(stripe, news(stripe, "charge.refunded"))
    assert entries(workspace, EntryKind.REFUND) == []
    grant_credit(workspace, actor=SYSTEM, amount_microusd=4 * USD, reason="A gift")
    assert (entries(workspace, EntryKind.REFUND), wallet_of(workspace).available_microusd) == ([-4 * USD], 0)


def test_sweep_takes_the_rest_when_running_work_lets_go(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    hold(workspace, 30 * USD)
    stripe.refund(payment.stripe_intent_id or "", 500)
    tell(stripe, news(stripe, "charge.refunded"))
    sweep_payments()
    assert entries(workspace, EntryKind.REFUND) == []
    hold(workspace, -10 * USD)
    sweep_payments()
    assert entries(workspace, EntryKind.REFUND) == [-5 * USD]


def test_refund_that_fails_later_gives_back_what_it_took(stripe: StripeServer, workspace: Workspace, payment: Payment) -> None:
    hold(workspace, 28 * USD)
    made = stripe.refund(payment.stripe_intent_id or "", 500)
    tell(stripe, news(stripe, "charge.refunded"))
    stripe.end_refund(made["id"], "failed")
    tell(stripe, [*news(stripe, "refund.failed"), *news(stripe, "refund.created")])
    refund = payment.refunds.get()
    assert (refund.status, refund.taken_microusd) == (RefundStatus.REFUSED, 0)
    assert entries(workspace, EntryKind.REFUND) == [-2 * USD, 2 * USD]
    collect_shortfalls(workspace.pk)
    stripe.refund(payment.stripe_intent_id or "", 100)
    tell(stripe, news(stripe, "charge.refunded")[-1:])
    assert entries(workspace, EntryKind.REFUND) == [-2 * USD, 2 * USD, -USD]
    assert books_add_up()


# Made here


def test_staff_refund_takes_credit_and_asks_stripe(stripe: StripeServer, workspace: Workspace, payment: Payment, refunder: Actor) -> None:
    refund = give_back(payment, refunder, 5 * USD)
    assert (refund.status, refund.credit_microusd, refund.taken_microusd) == (RefundStatus.DONE, 5 * USD, 5 * USD)
    references = {"refund": str(refund.public_id), "payment": str(payment.public_id)}
    assert stripe.posted("refunds") == [{"payment_intent": payment.stripe_intent_id, "amount": "500", "metadata": references}]
    assert [each.request.headers["idempotency-key"] for each in stripe.asked if each.path == "/v1/refunds"] == [
        f"refund:{refund.public_id}"
    ]
    tell(stripe, news(stripe, "refund.created"))
    assert (payment.refunds.count(), entries(workspace)) == (1, [20 * USD, -5 * USD])
    audited = AuditEntry.objects.get(action="billing.refund_payment")
    assert audited.data == {"amount_microusd": "5000000", "credit_microusd": "5000000", "reason": "As they asked"}
    assert audited.workspace == workspace


def test_staff_refunds_the_fee_last_and_no_more_than_was_paid(
    stripe: StripeServer, workspace: Workspace, payment: Payment, refunder: Actor
) -> None:
    give_back(payment, refunder, 19 * USD)
    assert refused(payment, refunder, 2 * USD + CENT) == "invalid_amount"
    assert give_back(payment, refunder, 2 * USD).credit_microusd == USD
    assert refused(payment, refunder, CENT) == "invalid_amount"
    assert (entries(workspace, EntryKind.REFUND), stripe.all("charge")[0]["amount_refunded"]) == ([-19 * USD, -USD], 2100)


@pytest.mark.parametrize("amount", [0, -USD, 5_000_001, 21 * USD + CENT])
def test_amount_that_cannot_be_refunded(stripe: StripeServer, payment: Payment, refunder: Actor, amount: int) -> None:
    assert (refused(payment, refunder, amount), stripe.posted("refunds")) == ("invalid_amount", [])


def test_refund_takes_no_spent_or_held_credit(stripe: StripeServer, workspace: Workspace, payment: Payment, refunder: Actor) -> None:
    hold(workspace, 11 * USD)
    assert refused(payment, refunder, 20 * USD) == "balance_held"
    hold(workspace, -11 * USD)
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-11 * USD, reason="Spent")
    assert refused(payment, refunder, 20 * USD) == "balance_too_low"
    assert (payment.refunds.count(), stripe.posted("refunds")) == (0, [])


def test_refund_that_stripe_refuses_gives_the_credit_back(
    stripe: StripeServer, workspace: Workspace, payment: Payment, refunder: Actor
) -> None:
    stripe.fault = lambda asked, number: (
        Reply(400, {"error": {"type": "invalid_request_error", "message": "no"}}) if asked.path == "/v1/refunds" else None
    )
    assert refused(payment, refunder, 5 * USD, key="k") == "refund_refused"
    refund = payment.refunds.get()
    assert (refund.status, refund.taken_microusd, entries(workspace, EntryKind.REFUND)) == (RefundStatus.REFUSED, 0, [-5 * USD, 5 * USD])
    assert refused(payment, refunder, 5 * USD, key="k") == "refund_refused"
    assert books_add_up()


def test_refund_without_an_answer_is_asked_for_again(stripe: StripeServer, workspace: Workspace, payment: Payment, refunder: Actor) -> None:
    stripe.fault = down
    refund = give_back(payment, refunder, 5 * USD)
    assert (refund.status, refund.stripe_refund_id, entries(workspace, EntryKind.REFUND)) == (RefundStatus.ASKED, None, [-5 * USD])
    sweep_payments(soon())
    stripe.fault = None
    sweep_payments(soon())
    refund.refresh_from_db()
    assert (refund.status, len(stripe.all("refund")), entries(workspace, EntryKind.REFUND)) == (RefundStatus.DONE, 1, [-5 * USD])


def test_refund_whose_answer_was_lost_is_found_not_made_again(
    stripe: StripeServer, workspace: Workspace, payment: Payment, refunder: Actor
) -> None:
    lost(stripe, "POST", "/v1/refunds")
    refund = give_back(payment, refunder, 5 * USD)
    stripe.fault, asked = None, len(stripe.posted("refunds"))
    sweep_payments(soon())
    refund.refresh_from_db()
    assert (refund.status, len(stripe.posted("refunds")), len(stripe.all("refund"))) == (RefundStatus.DONE, asked, 1)


def test_refund_on_its_way_is_looked_at(stripe: StripeServer, workspace: Workspace, payment: Payment, refunder: Actor) -> None:
    stripe.refund_status = "pending"
    refund = give_back(payment, refunder, 5 * USD)
    assert (refund.status, refund.stripe_refund_id is None) == (RefundStatus.ASKED, False)
    stripe.end_refund(refund.stripe_refund_id or "", "failed")
    sweep_payments(soon(11))
    refund.refresh_from_db()
    assert (refund.status, entries(workspace, EntryKind.REFUND)) == (RefundStatus.REFUSED, [-5 * USD, 5 * USD])


def test_same_key_is_the_same_refund(stripe: StripeServer, workspace: Workspace, payment: Payment, refunder: Actor) -> None:
    first = give_back(payment, refunder, 5 * USD, key="k")
    assert give_back(payment, refunder, 5 * USD, key="k") == first
    assert refused(payment, refunder, 6 * USD, key="k") == "idempotency_key_reused"
    assert (len(stripe.all("refund")), entries(workspace, EntryKind.REFUND)) == (1, [-5 * USD])


def test_only_staff_refunds_and_only_what_is_paid(stripe: StripeServer, workspace: Workspace, actor: Actor, refunder: Actor) -> None:
    payment = begin(workspace, actor)
    assert refused(payment, actor, USD) == "forbidden"
    assert refused(payment, refunder, USD) == "payment_not_paid"
    with pytest.raises(Refused) as raised:
        refund_payment(payment, actor=refunder, amount_microusd=USD, reason=" ")
    assert raised.value.code == "reason_required"
