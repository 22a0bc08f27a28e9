"""Bringing a payment to what Stripe says of it: the one place where money that came in becomes credit.

First everything is asked, without any lock; then it is applied in one transaction, each part once and in any order.
"""

from typing import TYPE_CHECKING

import structlog
from django.db import transaction
from django.utils import timezone

from billing.enums import EntryKind, PaymentKind, PaymentStatus
from billing.ledger import lock_wallet, post_entry
from billing.models import Payment, TopUp, Wallet
from billing.payments.stripe_api import CENT, CURRENCY, stripe_client
from billing.payments.taking_back import apply_seen, source_of
from billing.payments.truth import Truth, fetch
from common.jobs import enqueue_on_commit
from common.money import format_usd

if TYPE_CHECKING:
    from stripe import StripeClient

log = structlog.get_logger(__name__)

MOST_FAILURES = 3
"""Failures in a row after which automatic top-up turns itself off."""


class AmountDiffers(Exception):
    """What was paid is not what was asked for, so no credit was given; a person has to look."""


def reconcile(
    payment: Payment, *, session_id: str | None = None, intent_id: str | None = None, client: "StripeClient | None" = None
) -> Payment:
    """Ask Stripe about the payment and apply what it says; gives the payment as it is then.

    Not inside a transaction. Raises StripeError where Stripe could not be asked, and `AmountDiffers`.
    """
    if client is None:
        with stripe_client() as own:
            return reconcile(payment, session_id=session_id, intent_id=intent_id, client=own)
    truth = fetch(client, payment, session_id=session_id, intent_id=intent_id)
    payment = apply(payment.pk, truth)
    if truth.status == PaymentStatus.PAID and payment.status != PaymentStatus.PAID:
        raise AmountDiffers(payment.failure)
    return payment


def apply(payment_id: int, truth: Truth) -> Payment:
    """Write down what Stripe said, under the payment's lock and then the wallet's. An older answer changes nothing."""
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment_id)
        before = payment.status
        _note(payment, truth)
        turned = payment.status != before
        if payment.status == PaymentStatus.PAID and truth.status == PaymentStatus.PAID:
            wallet = lock_wallet(payment.wallet_id)
            post_entry(
                wallet,
                EntryKind.CREDIT_PURCHASE,
                payment.credit_microusd,
                key=f"purchase:{payment.public_id}",
                source=source_of(payment),
                note=PaymentKind(payment.kind).label,
                actor_label=payment.actor_label,
            )
            if turned:
                _keep_card(payment, wallet, truth)
            apply_seen(payment, wallet, truth.refunds, truth.disputes)
        elif turned and payment.kind == PaymentKind.TOP_UP and payment.status == PaymentStatus.FAILED:
            count_failure(payment, lock_wallet(payment.wallet_id))
        if turned:
            log.info("payments.turned", payment=str(payment.public_id), status=payment.status)
    return payment


def _note(payment: Payment, truth: Truth) -> None:
    """The payment's own row. Paid is the last state; every other may still become it, since what is paid is paid."""
    now = timezone.now()
    payment.stripe_session_id = payment.stripe_session_id or truth.session_id
    if payment.status != PaymentStatus.PAID:
        payment.stripe_intent_id = truth.intent_id or payment.stripe_intent_id
    payment.checked_at = now
    if truth.status == PaymentStatus.PAID:
        payment.receipt_url = truth.receipt_url or payment.receipt_url
        payment.invoice_url = truth.invoice_url or payment.invoice_url
        if payment.status != PaymentStatus.PAID:
            is_exact = (truth.cents * CENT, truth.currency) == (payment.total_microusd, CURRENCY)
            payment.status = PaymentStatus.PAID if is_exact else PaymentStatus.FAILED
            payment.failure = "" if is_exact else _difference(payment, truth)
            payment.paid_at = now if is_exact else None
    elif payment.status == PaymentStatus.OPEN:
        payment.status = truth.status
        payment.failure = truth.failure or payment.failure
    payment.save(
        update_fields=[
            *("stripe_session_id", "stripe_intent_id", "checked_at", "receipt_url", "invoice_url"),
            *("status", "failure", "paid_at"),
        ]
    )


def _difference(payment: Payment, truth: Truth) -> str:
    paid = format_usd(truth.cents * CENT) if truth.currency == CURRENCY else f"{truth.cents} cents of {truth.currency.upper()}"
    return f"Paid were {paid} in place of {format_usd(payment.total_microusd)}, so no credit was given."[:300]


def _keep_card(payment: Payment, wallet: Wallet, truth: Truth) -> None:
    """Keep the card of a purchase, where that was asked for, and let a top-up that went well end the row of failures."""
    if payment.kind == PaymentKind.TOP_UP:
        TopUp.objects.filter(wallet=wallet).update(failures=0, last_failure="")
    elif truth.card is not None:
        replaced = TopUp.objects.filter(wallet=wallet).exclude(stripe_method_id="").values_list("stripe_method_id", flat=True).first()
        kept = {"stripe_method_id": truth.card.method_id, "card_label": truth.card.label, "failures": 0, "last_failure": ""}
        TopUp.objects.update_or_create(wallet=wallet, defaults=kept)
        if replaced and replaced != truth.card.method_id:
            enqueue_on_commit("billing.forget_card", replaced)


def count_failure(payment: Payment, wallet: Wallet) -> None:
    """One more top-up that failed, under the wallet's lock; the third in a row turns automatic top-up off, and its people are told."""
    top_up = TopUp.objects.filter(wallet=wallet).first()
    if top_up is None:
        return
    top_up.failures += 1
    top_up.last_failure = payment.failure
    if top_up.is_enabled and top_up.failures >= MOST_FAILURES:
        top_up.is_enabled = False
        enqueue_on_commit("billing.tell_top_up_off", wallet.pk)
    top_up.save(update_fields=["failures", "last_failure", "is_enabled"])


def end_unpaid(payment: Payment, status: PaymentStatus, failure: str) -> Payment:
    """End an open payment that nobody can pay any more, as Stripe would have reported it."""
    return apply(payment.pk, Truth(status, failure=failure))
