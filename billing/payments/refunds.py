"""Refunds that staff makes: the credit is taken first, then Stripe is asked, and asked again until it is known what became of it."""

from typing import TYPE_CHECKING
from uuid import uuid5

import structlog
from django.db import transaction

from billing.enums import DisputeStatus, EntryKind, PaymentStatus, RefundStatus
from billing.ledger import lock_wallet, post_entry
from billing.models import Payment, Refund, Wallet
from billing.payments.reconciling import reconcile
from billing.payments.stripe_api import CENT, error_words, is_unclear, require_purchases, stripe_client
from billing.payments.taking_back import credit_left, end_refund, money_left, source_of
from common.errors import Conflict, Refused
from common.ids import new_id
from common.money import format_usd
from workspaces import audit
from workspaces.actors import Actor
from workspaces.permissions import is_platform_staff, require

if TYPE_CHECKING:
    from stripe import StripeClient

log = structlog.get_logger(__name__)


def refund_payment(payment: Payment, *, actor: Actor, amount_microusd: int, reason: str, key: str | None = None) -> Refund:
    """Give money back to the card, and take the credit that it bought; the fee goes back last. Only platform staff may.

    The refund is `asked` where Stripe did not answer, and is asked for again by the sweep. `key` makes a repeated refund the same refund.
    Raises Refused (`purchases_off`, `reason_required`, `invalid_amount`) and Conflict: `payment_not_paid`, `payment_disputed`,
    `balance_too_low` or `balance_held` where the credit is not there to be taken, `idempotency_key_reused`, and `refund_refused` where
    Stripe refuses it: the credit is back then.
    """
    require(is_platform_staff(actor), "Only platform staff refunds payments.")
    require_purchases()
    reason = reason.strip()
    if not reason:
        raise Refused("reason_required", "State why the payment is refunded; the reason is kept with the refund.")
    refund = _take_credit(payment, actor=actor, amount_microusd=amount_microusd, reason=reason, key=key)
    if refund.status == RefundStatus.ASKED and refund.stripe_refund_id is None:
        ask_for_refund(refund)
        refund.refresh_from_db()
    if refund.status == RefundStatus.REFUSED:
        raise Conflict("refund_refused", "Stripe refused the refund; the credit is back in the wallet.")
    return refund


def _take_credit(payment: Payment, *, actor: Actor, amount_microusd: int, reason: str, key: str | None) -> Refund:
    """The refund with its credit taken, committed; nobody was asked yet."""
    public_id = uuid5(payment.public_id, f"refund:{key}") if key else new_id()
    with transaction.atomic(durable=True):
        payment = Payment.objects.select_for_update().select_related("wallet__workspace").get(pk=payment.pk)
        refund = Refund.objects.filter(public_id=public_id).first()
        if refund is not None:
            if refund.amount_microusd != amount_microusd:
                raise Conflict("idempotency_key_reused", "This form was used for another refund; load the page again.")
            return refund
        _check_refundable(payment, amount_microusd)
        credit = min(amount_microusd, credit_left(payment))
        wallet = lock_wallet(payment.wallet_id)
        _check_available(wallet, credit)
        refund = Refund(
            public_id=public_id,
            payment=payment,
            amount_microusd=amount_microusd,
            credit_microusd=credit,
            taken_microusd=credit,
            reason=reason[:300],
            actor_label=actor.label,
        )
        refund.save(force_insert=True)
        if credit:
            post_entry(
                wallet,
                EntryKind.REFUND,
                -credit,
                key=f"refund:{public_id}",
                source=source_of(payment),
                note="Refund of a purchase",
                actor_label=actor.label,
            )
        audit.record(
            actor,
            "billing.refund_payment",
            payment.public_id,
            workspace=payment.wallet.workspace,
            amount_microusd=str(amount_microusd),
            credit_microusd=str(credit),
            reason=reason,
        )
    return refund


def _check_refundable(payment: Payment, amount_microusd: int) -> None:
    if payment.status != PaymentStatus.PAID:
        raise Conflict("payment_not_paid", "Only a paid payment can be refunded.")
    if payment.disputes.filter(status=DisputeStatus.OPEN).exists():
        raise Conflict("payment_disputed", "The card's owner contests this payment; Stripe refunds it only when that is decided.")
    left = money_left(payment)
    if amount_microusd <= 0 or amount_microusd % CENT or amount_microusd > left:
        raise Refused("invalid_amount", f"State an amount of at most {format_usd(left)}, in whole cents.")


def _check_available(wallet: Wallet, credit: int) -> None:
    details = {"available_microusd": str(wallet.available_microusd)}
    if wallet.balance_microusd < credit:
        has = format_usd(wallet.balance_microusd)
        raise Conflict("balance_too_low", f"The refund takes {format_usd(credit)} of credit, and the wallet has {has}.", details=details)
    if wallet.available_microusd < credit:
        raise Conflict("balance_held", "Running work holds the credit that this would take; wait for it, or refund less.", details=details)


def ask_for_refund(refund: Refund, client: "StripeClient | None" = None) -> None:
    """Ask Stripe for it under the refund's own key, and write down what came of it. Outside of transactions; raises nothing of Stripe's."""
    import stripe

    if client is None:
        with stripe_client() as own:
            return ask_for_refund(refund, own)
    payment, is_made = refund.payment, False
    try:
        client.v1.refunds.create(
            {
                "payment_intent": payment.stripe_intent_id or "",
                "amount": refund.amount_microusd // CENT,
                "metadata": {"refund": str(refund.public_id), "payment": str(payment.public_id)},
            },
            {"idempotency_key": f"refund:{refund.public_id}"},
        )
        is_made = True
        reconcile(payment, client=client)
    except stripe.StripeError as error:
        log.warning("payments.refund_not_made", refund=str(refund.public_id), is_made=is_made, error=error_words(error))
        if not is_made and not is_unclear(error):
            _refuse(refund)


def _refuse(refund: Refund) -> None:
    with transaction.atomic():
        Payment.objects.select_for_update().get(pk=refund.payment_id)
        wallet = lock_wallet(refund.payment.wallet_id)
        row = Refund.objects.select_related("payment").get(pk=refund.pk)
        if row.status == RefundStatus.ASKED and row.stripe_refund_id is None:
            end_refund(row, wallet, RefundStatus.REFUSED)
