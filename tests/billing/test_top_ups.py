"""Automatic top-up: off until somebody turns it on, within a month's limit, and off again when the card fails three times."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from billing.actions import grant_credit
from billing.enums import EntryKind, PaymentKind, PaymentStatus
from billing.models import Payment, TopUp
from billing.payments.sweeping import sweep_payments
from billing.payments.top_ups import charge_due_top_ups, forget_card, remove_card, set_top_up, tell_top_up_off, topped_up
from common.errors import Refused
from tests.billing.stripe import USD, begin, buy, down, entries, hold, lost, tell, wallet_of
from tests.factories import make_key, make_user
from tests.standins.http import Reply
from tests.standins.stripe import StripeServer
from workspaces.actors import SYSTEM, Actor, actor_of_key, actor_of_user
from workspaces.enums import Role
from workspaces.models import AuditEntry, User, Workspace


def turn_on(workspace: Workspace, actor: Actor, **changed: Any) -> TopUp:
    """Below 40 USD of available credit, 20 are bought for 21; at most 50 a month."""
    wanted = {"is_enabled": True, "threshold_microusd": 40 * USD, "amount_microusd": 20 * USD, "monthly_limit_microusd": 50 * USD}
    return set_top_up(workspace, actor=actor, **{**wanted, **changed})


@pytest.fixture
def card(stripe: StripeServer, workspace: Workspace, actor: Actor) -> str:
    """A card that was saved with a purchase of 20 USD, in a wallet that had 10."""
    buy(stripe, workspace, actor, save_card=True)
    return TopUp.objects.get().stripe_method_id


def top_ups() -> list[Payment]:
    return list(Payment.objects.filter(kind=PaymentKind.TOP_UP).order_by("id"))


def states() -> list[str]:
    return [payment.status for payment in top_ups()]


def spend(workspace: Workspace, amount: int) -> None:
    if amount:
        grant_credit(workspace, actor=SYSTEM, amount_microusd=-amount, reason="Spent")


def hours_later(hours: float) -> datetime:
    return timezone.now() + timedelta(hours=hours)


# The card


def test_card_is_kept_with_the_purchase_that_asks_for_it(stripe: StripeServer, workspace: Workspace, card: str) -> None:
    top_up = TopUp.objects.get()
    assert (top_up.wallet.workspace, top_up.card_label, top_up.is_enabled) == (workspace, "Visa ···· 4242", False)
    assert stripe.things[card]["type"] == "card"


def test_card_of_another_purchase_is_not_kept(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    buy(stripe, workspace, actor)
    assert TopUp.objects.get().stripe_method_id == card


def test_next_card_that_is_kept_takes_the_place_of_the_first(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    payment = begin(workspace, actor, save_card=True)
    stripe.pay(payment.stripe_session_id or "", last4="0341")
    tell(stripe, stripe.happened[-1:])
    assert TopUp.objects.get().card_label == "Visa ···· 0341"
    forget_card(card)
    assert stripe.things[card]["customer"] is None


def test_removed_card_is_forgotten_here_and_at_stripe(
    stripe: StripeServer, workspace: Workspace, actor: Actor, card: str, django_capture_on_commit_callbacks: Any
) -> None:
    turn_on(workspace, actor)
    with django_capture_on_commit_callbacks() as enqueued:
        remove_card(workspace, actor=actor)
        remove_card(workspace, actor=actor)
    top_up = TopUp.objects.get()
    assert (top_up.stripe_method_id, top_up.card_label, top_up.is_enabled) == ("", "", False)
    assert (len(enqueued), AuditEntry.objects.filter(action="billing.remove_card").count()) == (1, 1)
    forget_card(card)
    forget_card(card)
    forget_card("pm_nowhere")
    assert stripe.things[card]["customer"] is None
    assert charge_due_top_ups() == 0


def test_card_that_a_wallet_uses_is_not_detached(stripe: StripeServer, card: str) -> None:
    forget_card(card)
    assert stripe.things[card]["customer"] is not None


def test_older_news_of_a_purchase_does_not_bring_a_removed_card_back(
    stripe: StripeServer, workspace: Workspace, actor: Actor, card: str
) -> None:
    remove_card(workspace, actor=actor)
    stripe._tell("charge.updated", stripe.all("charge")[0])
    tell(stripe, stripe.happened[-1:])
    assert TopUp.objects.get().stripe_method_id == ""


# Turning it on


def test_top_up_needs_a_card(stripe: StripeServer, workspace: Workspace, actor: Actor) -> None:
    with pytest.raises(Refused) as refused:
        turn_on(workspace, actor)
    assert (refused.value.code, refused.value.status, TopUp.objects.count()) == ("card_missing", 409, 0)


@pytest.mark.parametrize(
    "changed",
    [
        {"amount_microusd": 4 * USD},
        {"amount_microusd": 20_000_001},
        {"threshold_microusd": 0},
        {"monthly_limit_microusd": 21 * USD - 1},
        {"monthly_limit_microusd": 10**15 + 1},
    ],
    ids=str,
)
def test_unfit_amounts_are_refused(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str, changed: dict[str, int]) -> None:
    with pytest.raises(Refused) as refused:
        turn_on(workspace, actor, **changed)
    assert (refused.value.code, TopUp.objects.get().is_enabled) == ("invalid_amount", False)


def test_only_admins_and_owners_set_top_ups_and_remove_cards(
    stripe: StripeServer, workspace: Workspace, card: str, member: User, viewer: User, stranger: User, staff: User
) -> None:
    key, _ = make_key(workspace)
    for nobody in (actor_of_user(member), actor_of_user(viewer), actor_of_user(stranger), actor_of_user(staff), actor_of_key(key)):
        for act in (turn_on, lambda workspace, actor: remove_card(workspace, actor=actor)):
            with pytest.raises(Refused) as refused:
                act(workspace, nobody)
            assert refused.value.status == 403
    top_up = TopUp.objects.get()
    assert (top_up.is_enabled, top_up.stripe_method_id) == (False, card)
    admin = make_user(workspace=workspace, role=Role.ADMIN)
    assert turn_on(workspace, actor_of_user(admin)).is_enabled
    assert AuditEntry.objects.get(action="billing.set_top_up").data == {
        "is_enabled": True,
        "threshold_microusd": "40000000",
        "amount_microusd": "20000000",
        "monthly_limit_microusd": "50000000",
    }


# Charging


def test_nothing_is_charged_until_it_is_turned_on(stripe: StripeServer, card: str) -> None:
    assert (charge_due_top_ups(), top_ups()) == (0, [])


def test_low_wallet_is_topped_up_by_its_card(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    turn_on(workspace, actor)
    assert charge_due_top_ups() == 1
    (payment,) = top_ups()
    assert (payment.status, payment.credit_microusd, payment.fee_microusd) == (PaymentStatus.PAID, 20 * USD, USD)
    assert (payment.actor_label, bool(payment.receipt_url)) == ("EvalRouter", True)
    assert stripe.posted("payment_intents") == [
        {
            "amount": "2100",
            "currency": "usd",
            "customer": wallet_of(workspace).stripe_customer_id,
            "payment_method": card,
            "allowed_payment_method_types": {"0": "card"},
            "off_session": "true",
            "confirm": "true",
            "description": "EvalRouter credit, automatic top-up",
            "metadata": {"payment": str(payment.public_id)},
        }
    ]
    asked = [each for each in stripe.asked if each.path == "/v1/payment_intents"]
    assert asked[0].request.headers["idempotency-key"] == f"top_up:{payment.public_id}"
    assert (entries(workspace, EntryKind.CREDIT_PURCHASE), wallet_of(workspace).balance_microusd) == ([20 * USD, 20 * USD], 50 * USD)
    tell(stripe, stripe.happened)
    assert (charge_due_top_ups(), wallet_of(workspace).balance_microusd) == (0, 50 * USD)


@pytest.mark.parametrize(("held", "charged"), [(0, 0), (1, 0), (2, 1)])
def test_what_running_work_holds_is_not_available(
    stripe: StripeServer, workspace: Workspace, actor: Actor, card: str, held: int, charged: int
) -> None:
    turn_on(workspace, actor, threshold_microusd=29 * USD)
    hold(workspace, held * USD)
    assert charge_due_top_ups() == charged


def test_month_has_a_limit_with_fees_and_begins_anew(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    turn_on(workspace, actor, monthly_limit_microusd=63 * USD - 1)  # just less than three cost
    months = [datetime(2027, 1, day, tzinfo=UTC) for day in (1, 15, 31)] + [datetime(2027, 2, 1, tzinfo=UTC)]
    charged = []
    for moment in months:
        charged.append(charge_due_top_ups(moment))
        spend(workspace, wallet_of(workspace).balance_microusd)
    assert charged == [1, 1, 0, 1]
    assert topped_up(wallet_of(workspace), months[3]) == 21 * USD


def test_disputed_wallet_is_not_topped_up(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    turn_on(workspace, actor)
    stripe.dispute(stripe.all("payment_intent")[0]["id"])
    tell(stripe, stripe.happened[-1:])
    assert (wallet_of(workspace).is_disputed, charge_due_top_ups(), top_ups()) == (True, 0, [])


def test_one_top_up_at_a_time(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    turn_on(workspace, actor)
    stripe.fault = down
    assert [charge_due_top_ups(), charge_due_top_ups()] == [1, 0]
    assert (states(), topped_up(wallet_of(workspace), timezone.now())) == ([PaymentStatus.OPEN], 21 * USD)


def test_top_up_without_an_answer_is_charged_again(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    turn_on(workspace, actor)
    stripe.fault = down
    charge_due_top_ups()
    stripe.fault = None
    sweep_payments(hours_later(0.2))
    assert (states(), entries(workspace)) == ([PaymentStatus.PAID], [20 * USD, 20 * USD])


def test_top_up_whose_answer_was_lost_is_found(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    turn_on(workspace, actor)
    lost(stripe, "POST", "/v1/payment_intents")
    charge_due_top_ups()
    stripe.fault, asked = None, len(stripe.posted("payment_intents"))
    stripe._answers.clear()  # as after a day
    sweep_payments(hours_later(0.2))
    assert (states(), entries(workspace), len(stripe.posted("payment_intents"))) == ([PaymentStatus.PAID], [20 * USD, 20 * USD], asked)


def test_three_failures_in_a_row_turn_it_off_and_its_people_are_told(
    stripe: StripeServer, workspace: Workspace, owner: User, actor: Actor, member: User, card: str, django_capture_on_commit_callbacks: Any
) -> None:
    make_user("admin@example.org", workspace=workspace, role=Role.ADMIN)
    turn_on(workspace, actor)
    stripe.decline = "card_declined"
    charged, moment = [], timezone.now()
    for _ in range(4):
        with django_capture_on_commit_callbacks():
            charged.append((charge_due_top_ups(moment), charge_due_top_ups(moment + timedelta(minutes=5))))
        moment += timedelta(hours=2)
    assert charged == [(1, 0), (1, 0), (1, 0), (0, 0)]
    top_up = TopUp.objects.get()
    assert (top_up.is_enabled, top_up.failures, top_up.last_failure) == (False, 3, "Your card was declined.")
    assert (states(), {payment.failure for payment in top_ups()}) == ([PaymentStatus.FAILED] * 3, {"Your card was declined."})
    assert entries(workspace) == [20 * USD]
    tell(stripe, stripe.happened)
    assert TopUp.objects.get().failures == 3
    tell_top_up_off(top_up.wallet_id)
    assert sorted(message.to[0] for message in mail.outbox) == ["admin@example.org", "owner@example.org"]
    message = mail.outbox[0]
    assert (message.subject, "Your card was declined." in message.body) == ("Automatic top-up is off: Ours", True)
    assert "http://testserver/settings/billing" in message.body
    assert TopUp.objects.get().card_label == "Visa ···· 4242"


def test_success_ends_the_row_of_failures(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    turn_on(workspace, actor)
    for decline, hours in (("card_declined", 0), ("insufficient_funds", 2), ("", 4)):
        stripe.decline = decline
        charge_due_top_ups(hours_later(hours))
    top_up = TopUp.objects.get()
    assert (states(), top_up.failures, top_up.last_failure, top_up.is_enabled) == (["failed", "failed", "paid"], 0, "", True)


def test_what_stripe_refuses_is_a_failure(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    turn_on(workspace, actor)
    stripe.fault = lambda asked, number: (
        Reply(400, {"error": {"type": "invalid_request_error", "message": "no"}}) if asked.path == "/v1/payment_intents" else None
    )
    charge_due_top_ups()
    assert (states(), TopUp.objects.get().failures, top_ups()[0].failure) == (["failed"], 1, "Stripe refused the payment.")


def test_card_that_is_removed_meanwhile_is_not_charged(stripe: StripeServer, workspace: Workspace, actor: Actor, card: str) -> None:
    turn_on(workspace, actor)
    stripe.fault = down
    charge_due_top_ups()
    stripe.fault = None
    remove_card(workspace, actor=actor)
    sweep_payments(hours_later(0.2))
    assert (states(), top_ups()[0].failure, len(stripe.all("payment_intent"))) == (["failed"], "The card was removed.", 1)
