"""What is done each minute about payments, so that nothing depends on a message, a webhook or a worker that may be lost."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog
from django.db.models import Q
from django.utils import timezone

from billing.enums import EventState, PaymentKind, PaymentStatus, RefundStatus
from billing.models import Payment, Refund
from billing.payments.checkout import SESSION_LIFETIME
from billing.payments.events import due_events, work_event
from billing.payments.reconciling import AmountDiffers, end_unpaid, reconcile
from billing.payments.refunds import ask_for_refund
from billing.payments.stripe_api import error_words, is_unclear, purchases_enabled, stripe_client
from billing.payments.taking_back import collect_shortfalls, owing
from billing.payments.top_ups import charge_card, charge_due_top_ups, find_intent

if TYPE_CHECKING:
    from stripe import StripeClient

log = structlog.get_logger(__name__)

CHECK_AFTER = timedelta(minutes=10)
"""After which an open payment, or a refund on its way, is asked about without a webhook."""

MOST_CHECKED = 50
"""Of each kind in one sweep."""


def sweep_payments(now: datetime | None = None) -> None:
    """Work off due events, ask about what stands open, ask again for what may be lost, top up, and collect what refunds are owed."""
    now = now or timezone.now()
    if purchases_enabled():
        for event_id in due_events(now):
            if work_event(event_id, now) == EventState.RECEIVED:
                break  # Stripe does not answer, most likely: the rest waits for the next sweep
        with stripe_client() as client:
            _each(open_payments(now), lambda payment: check_payment(payment, now, client))
            _each(open_refunds(now), lambda refund: _check_refund(refund, client))
        charge_due_top_ups(now)
    for workspace_id in owing():
        collect_shortfalls(workspace_id)


def open_payments(now: datetime) -> list[Payment]:
    """The payments that nothing was heard of for a while."""
    silent = Q(checked_at=None, created_at__lte=now - CHECK_AFTER) | Q(checked_at__lte=now - CHECK_AFTER)
    return list(Payment.objects.filter(silent, status=PaymentStatus.OPEN).select_related("wallet__workspace").order_by("id")[:MOST_CHECKED])


def open_refunds(now: datetime) -> list[Refund]:
    """The refunds that are not known to be made; those that Stripe has are looked at seldom."""
    due = Q(stripe_refund_id=None, created_at__lte=now - timedelta(minutes=1)) | Q(payment__checked_at__lte=now - CHECK_AFTER)
    return list(Refund.objects.filter(due, status=RefundStatus.ASKED).select_related("payment__wallet").order_by("id")[:MOST_CHECKED])


def _each[T](rows: list[T], work: Callable[[T], None]) -> None:
    """Work on each; when Stripe does not answer the rest waits for the next sweep."""
    import stripe

    for row in rows:
        try:
            work(row)
        except AmountDiffers:
            log.error("payments.amount_differs", row=str(row))
        except stripe.StripeError as error:
            log.warning("payments.sweep_failed", row=str(row), error=error_words(error))
            if is_unclear(error):
                return


def check_payment(payment: Payment, now: datetime, client: "StripeClient") -> None:
    """Ask Stripe about an open payment, and end one that nobody can pay any more."""
    if payment.stripe_session_id or payment.stripe_intent_id:
        payment = reconcile(payment, client=client)
        if payment.status == PaymentStatus.OPEN and payment.stripe_session_id and payment.created_at < now - SESSION_LIFETIME - CHECK_AFTER:
            client.v1.checkout.sessions.expire(payment.stripe_session_id)
            reconcile(payment, client=client)
    elif payment.kind == PaymentKind.TOP_UP:
        intent_id = find_intent(payment, client)
        if intent_id:
            reconcile(payment, intent_id=intent_id, client=client)
        else:
            charge_card(payment, client)
    else:
        # Nobody was given the address of its page, so nobody can pay it.
        end_unpaid(payment, PaymentStatus.EXPIRED, "Stripe did not answer when the purchase was begun.")


def _check_refund(refund: Refund, client: "StripeClient") -> None:
    """Look for the refund at Stripe, and ask for one that is not there."""
    reconcile(refund.payment, client=client)
    refund.refresh_from_db()
    if refund.status == RefundStatus.ASKED and refund.stripe_refund_id is None:
        ask_for_refund(refund, client)
