"""Buying credit at Stripe's Checkout. The payment is written down before Stripe is asked; credit comes only by `reconciling`."""

from datetime import timedelta
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING
from uuid import uuid5

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction

from billing.enums import PaymentStatus
from billing.ledger import wallet_id_of
from billing.models import Payment, Wallet
from billing.payments.stripe_api import CENT, CURRENCY, error_words, purchases_enabled, require_purchases, stripe_client, unavailable
from common.errors import Conflict, Refused
from common.ids import new_id
from common.money import format_usd
from workspaces import audit
from workspaces.actors import Actor
from workspaces.models import Workspace
from workspaces.permissions import can_buy_credit, require

if TYPE_CHECKING:
    from stripe import StripeClient
    from stripe.checkout import Session
    from stripe.params.checkout import SessionCreateParams, SessionCreateParamsLineItem

__all__ = ["check_amount", "customer_of", "payment_url", "purchase_fee", "purchases_enabled", "start_purchase"]

log = structlog.get_logger(__name__)

SESSION_LIFETIME = timedelta(hours=2)
"""How long a Checkout page can be paid on. Stripe allows 30 minutes to 24 hours."""


def purchase_fee(credit_microusd: int) -> int:
    """The fee on a purchase in micro-USD: PURCHASE_FEE_PERCENT of it, rounded up to a whole cent."""
    exact = Decimal(credit_microusd) * settings.PURCHASE_FEE_PERCENT / 100 / CENT
    return int(exact.to_integral_value(ROUND_CEILING)) * CENT


def check_amount(credit_microusd: int) -> None:
    """Raise Refused (`invalid_amount`) unless it is whole cents, neither too little nor too much for one purchase."""
    least, most = settings.PURCHASE_LEAST_MICROUSD, settings.PURCHASE_MOST_MICROUSD
    if credit_microusd % CENT or not least <= credit_microusd <= most:
        raise Refused("invalid_amount", f"State an amount from {format_usd(least)} to {format_usd(most)}, in whole cents.")


def payment_url(payment: Payment) -> str:
    """The page of the payment, which Checkout leads back to."""
    return f"{settings.SITE_URL}/settings/billing/payments/{payment.public_id}"


def start_purchase(
    workspace: Workspace, *, actor: Actor, credit_microusd: int, save_card: bool = False, key: str | None = None
) -> tuple[Payment, str]:
    """Begin to buy credit: the payment, and the address to send the person to, which is Checkout's while it can be paid.

    The same `key` is the same purchase: a form that is sent twice makes one payment and one page at Checkout. Raises Forbidden for all but
    admins and owners, and Refused: `purchases_off`, `invalid_amount`, `payments_unavailable` (try the same key again), and Conflict
    `idempotency_key_reused` where the key stands for another purchase.
    """
    require(can_buy_credit(actor, workspace), "Only an owner or an admin of the workspace buys credit.")
    require_purchases()
    check_amount(credit_microusd)
    payment = _write_down(workspace, actor=actor, credit_microusd=credit_microusd, key=key)
    if payment.status != PaymentStatus.OPEN:
        return payment, payment_url(payment)
    return payment, _checkout_url(payment, save_card=save_card)


def _write_down(workspace: Workspace, *, actor: Actor, credit_microusd: int, key: str | None) -> Payment:
    """The payment of this key, made now unless it is there. It is committed before anybody is asked for money."""
    public_id = uuid5(workspace.public_id, f"purchase:{key}") if key else new_id()
    wallet_id = wallet_id_of(workspace)
    try:
        with transaction.atomic(durable=True):
            payment = Payment.objects.filter(public_id=public_id).first()
            if payment is None:
                payment = Payment.objects.create(
                    public_id=public_id,
                    wallet_id=wallet_id,
                    credit_microusd=credit_microusd,
                    fee_microusd=purchase_fee(credit_microusd),
                    actor_label=actor.label,
                    created_by=actor.user,
                )
                audit.record(
                    actor,
                    "billing.start_purchase",
                    payment.public_id,
                    workspace=workspace,
                    credit_microusd=str(credit_microusd),
                    fee_microusd=str(payment.fee_microusd),
                )
    except IntegrityError:  # the other click was faster
        payment = Payment.objects.get(public_id=public_id)
    if payment.wallet_id != wallet_id or payment.credit_microusd != credit_microusd:
        raise Conflict("idempotency_key_reused", "This form was used for another purchase; load the page again.")
    return payment


def _checkout_url(payment: Payment, *, save_card: bool) -> str:
    """Checkout's page of the open payment: the one there is, or one made now."""
    import stripe

    try:
        with stripe_client() as client:
            if payment.stripe_session_id:
                session = client.v1.checkout.sessions.retrieve(payment.stripe_session_id)
            else:
                session = _create_session(client, payment, save_card=save_card)
    except stripe.IdempotencyError:
        raise Conflict("idempotency_key_reused", "This form was used for another purchase; load the page again.") from None
    except stripe.StripeError as error:
        log.warning("payments.checkout_failed", payment=str(payment.public_id), error=error_words(error))
        raise unavailable() from None
    return session.url or payment_url(payment)


def _create_session(client: "StripeClient", payment: Payment, *, save_card: bool) -> "Session":
    references = {"payment": str(payment.public_id)}
    params: SessionCreateParams = {
        "mode": "payment",
        "customer": customer_of(client, payment.wallet),
        "client_reference_id": str(payment.public_id),
        "metadata": references,
        "line_items": [_line("EvalRouter credit", payment.credit_microusd)],
        "allowed_payment_method_types": ["card"],
        "adaptive_pricing": {"enabled": False},
        "invoice_creation": {"enabled": True, "invoice_data": {"metadata": references}},
        "payment_intent_data": {"metadata": references},
        "expires_at": int((payment.created_at + SESSION_LIFETIME).timestamp()),
        "success_url": payment_url(payment),
        "cancel_url": payment_url(payment),
    }
    if payment.fee_microusd:
        params["line_items"].append(_line("Fee of the purchase", payment.fee_microusd))
    if save_card:
        params["payment_intent_data"]["setup_future_usage"] = "off_session"
    session = client.v1.checkout.sessions.create(params, {"idempotency_key": f"checkout:{payment.public_id}"})
    Payment.objects.filter(pk=payment.pk, stripe_session_id=None).update(stripe_session_id=session.id)
    payment.stripe_session_id = session.id
    return session


def _line(name: str, amount_microusd: int) -> "SessionCreateParamsLineItem":
    return {
        "quantity": 1,
        "price_data": {"currency": CURRENCY, "unit_amount": amount_microusd // CENT, "product_data": {"name": name}},
    }


def customer_of(client: "StripeClient", wallet: Wallet) -> str:
    """The wallet's customer at Stripe, made once."""
    if not wallet.stripe_customer_id:
        workspace_id = str(wallet.workspace.public_id)
        customer = client.v1.customers.create(
            {"description": f"EvalRouter workspace {workspace_id}", "metadata": {"workspace": workspace_id}},
            {"idempotency_key": f"customer:{workspace_id}"},
        )
        Wallet.objects.filter(pk=wallet.pk, stripe_customer_id="").update(stripe_customer_id=customer.id)
        wallet.stripe_customer_id = customer.id
    return wallet.stripe_customer_id
