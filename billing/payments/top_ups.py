"""Automatic top-up: off until somebody with a saved card turns it on, and bounded by the month."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, Sum
from django.urls import reverse
from django.utils import timezone

from billing.enums import PaymentKind, PaymentStatus
from billing.ledger import lock_wallet, wallet_id_of
from billing.models import Payment, TopUp, Wallet
from billing.months import month_bounds, month_of
from billing.payments.checkout import check_amount, purchase_fee
from billing.payments.reconciling import AmountDiffers, end_unpaid, reconcile
from billing.payments.stripe_api import CENT, CURRENCY, error_words, is_missing, is_unclear, require_purchases, stripe_client
from common.errors import Conflict, Refused
from common.jobs import enqueue_on_commit
from common.mail import send_each
from common.money import MAX_MICROUSD, format_usd
from workspaces import audit
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace
from workspaces.permissions import can_buy_credit, require
from workspaces.queries import addresses_of_admins

if TYPE_CHECKING:
    from stripe import StripeClient

log = structlog.get_logger(__name__)

WAIT_AFTER_FAILURE = timedelta(hours=1)
"""So that a card that is declined is not tried three times within minutes."""


def set_top_up(
    workspace: Workspace, *, actor: Actor, is_enabled: bool, threshold_microusd: int, amount_microusd: int, monthly_limit_microusd: int
) -> TopUp:
    """Turn automatic top-up on or off: `amount` is bought when less than `threshold` is available, in a month at most the limit with fees.

    Raises Forbidden for all but admins and owners, Refused (`purchases_off`, `invalid_amount`) and Conflict (`card_missing`).
    """
    require(can_buy_credit(actor, workspace), "Only an owner or an admin of the workspace sets automatic top-ups.")
    require_purchases()
    check_amount(amount_microusd)
    if not 0 < threshold_microusd <= MAX_MICROUSD or monthly_limit_microusd > MAX_MICROUSD:
        raise Refused("invalid_amount", "State from which amount on the credit is topped up.")
    once = amount_microusd + purchase_fee(amount_microusd)
    if monthly_limit_microusd < once:
        raise Refused("invalid_amount", f"One top-up with its fee costs {format_usd(once)}; state at least that as the limit of a month.")
    with transaction.atomic():
        wallet = lock_wallet(wallet_id_of(workspace))
        top_up, _ = TopUp.objects.get_or_create(wallet=wallet)
        if is_enabled and not top_up.stripe_method_id:
            raise Conflict("card_missing", "Save a card first: buy credit once and choose to keep the card.")
        top_up.is_enabled, top_up.threshold_microusd, top_up.amount_microusd = is_enabled, threshold_microusd, amount_microusd
        top_up.monthly_limit_microusd, top_up.failures, top_up.last_failure = monthly_limit_microusd, 0, ""
        top_up.save(
            update_fields=["is_enabled", "threshold_microusd", "amount_microusd", "monthly_limit_microusd", "failures", "last_failure"]
        )
        audit.record(
            actor,
            "billing.set_top_up",
            workspace.public_id,
            workspace=workspace,
            is_enabled=is_enabled,
            threshold_microusd=str(threshold_microusd),
            amount_microusd=str(amount_microusd),
            monthly_limit_microusd=str(monthly_limit_microusd),
        )
    return top_up


def remove_card(workspace: Workspace, *, actor: Actor) -> None:
    """Forget the saved card, here at once and at Stripe soon after; automatic top-up is off then. Nothing happens where there is none."""
    require(can_buy_credit(actor, workspace), "Only an owner or an admin of the workspace removes its card.")
    with transaction.atomic():
        wallet = lock_wallet(wallet_id_of(workspace))
        top_up = TopUp.objects.filter(wallet=wallet).exclude(stripe_method_id="").first()
        if top_up is None:
            return
        enqueue_on_commit("billing.forget_card", top_up.stripe_method_id)
        top_up.stripe_method_id, top_up.card_label, top_up.is_enabled = "", "", False
        top_up.save(update_fields=["stripe_method_id", "card_label", "is_enabled"])
        audit.record(actor, "billing.remove_card", workspace.public_id, workspace=workspace)


def forget_card(method_id: str) -> None:
    """Detach the card from its customer at Stripe, unless a wallet uses it. One that is not there any more is forgotten already."""
    import stripe

    if TopUp.objects.filter(stripe_method_id=method_id).exists():
        return
    try:
        with stripe_client() as client:
            client.v1.payment_methods.detach(method_id)
    except stripe.InvalidRequestError as error:
        log.info("payments.card_is_gone", error=error_words(error))


def charge_due_top_ups(now: datetime | None = None) -> int:
    """Buy credit for each wallet that runs low and may; gives how many cards were charged, or tried to be. Not inside a transaction."""
    now = now or timezone.now()
    low = Q(wallet__balance_microusd__lt=F("wallet__held_microusd") + F("threshold_microusd"))
    wallets = TopUp.objects.filter(low, is_enabled=True, wallet__is_disputed=False).exclude(stripe_method_id="")
    payments = [_write_down(wallet_id, now) for wallet_id in wallets.values_list("wallet_id", flat=True)]
    charged = [payment for payment in payments if payment is not None]
    if charged:
        with stripe_client() as client:
            for payment in charged:
                if not charge_card(payment, client):
                    break  # the sweep charges the rest when Stripe answers again
    return len(charged)


def _write_down(wallet_id: int, now: datetime) -> Payment | None:
    """The top-up that is due, checked again under the wallet's lock and committed before the card is charged; None where none is."""
    with transaction.atomic(durable=True):
        wallet = lock_wallet(wallet_id)
        top_up = TopUp.objects.filter(wallet=wallet).exclude(stripe_method_id="").first()
        if top_up is None or not top_up.is_enabled or wallet.is_disputed or wallet.available_microusd >= top_up.threshold_microusd:
            return None
        before = Payment.objects.filter(wallet=wallet, kind=PaymentKind.TOP_UP)
        if before.filter(status=PaymentStatus.OPEN).exists():
            return None
        if top_up.failures and before.filter(status=PaymentStatus.FAILED, created_at__gt=now - WAIT_AFTER_FAILURE).exists():
            return None
        fee = purchase_fee(top_up.amount_microusd)
        if topped_up(wallet, now) + top_up.amount_microusd + fee > top_up.monthly_limit_microusd:
            return None
        payment = Payment.objects.create(
            wallet=wallet,
            kind=PaymentKind.TOP_UP,
            credit_microusd=top_up.amount_microusd,
            fee_microusd=fee,
            actor_label=SYSTEM.label,
            created_at=now,
        )
        audit.record(
            SYSTEM,
            "billing.start_top_up",
            payment.public_id,
            workspace=wallet.workspace,
            credit_microusd=str(payment.credit_microusd),
            fee_microusd=str(fee),
        )
    return payment


def topped_up(wallet: Wallet, now: datetime) -> int:
    """What top-ups of this calendar month (UTC) cost or are about to cost, fees included, in micro-USD."""
    begin, _ = month_bounds(month_of(now))
    counted = Payment.objects.filter(
        wallet=wallet, kind=PaymentKind.TOP_UP, status__in=[PaymentStatus.OPEN, PaymentStatus.PAID], created_at__gte=begin
    )
    sums = counted.aggregate(credit=Sum("credit_microusd"), fee=Sum("fee_microusd"))
    return (sums["credit"] or 0) + (sums["fee"] or 0)


def charge_card(payment: Payment, client: "StripeClient") -> bool:
    """Charge the saved card for an open top-up that has no intent yet, and write down what came of it; False where that is not known.

    Where Stripe does not answer the payment stays open: the sweep looks for its intent and charges again under the same key.
    """
    import stripe

    wallet, method_id = payment.wallet, TopUp.objects.values_list("stripe_method_id", flat=True).get(wallet=payment.wallet_id)
    if not method_id:
        end_unpaid(payment, PaymentStatus.FAILED, "The card was removed.")
        return True
    intent_id: str | None = None
    try:
        try:
            intent = client.v1.payment_intents.create(
                {
                    "amount": payment.total_microusd // CENT,
                    "currency": CURRENCY,
                    "customer": wallet.stripe_customer_id,
                    "payment_method": method_id,
                    "allowed_payment_method_types": ["card"],
                    "off_session": True,
                    "confirm": True,
                    "description": "EvalRouter credit, automatic top-up",
                    "metadata": {"payment": str(payment.public_id)},
                },
                {"idempotency_key": f"top_up:{payment.public_id}"},
            )
            intent_id = intent.id
        except stripe.CardError as declined:
            of_error = declined.error.payment_intent if declined.error else None
            if of_error is None:
                raise
            intent_id = of_error.id
        reconcile(payment, intent_id=intent_id, client=client)
    except AmountDiffers:
        log.error("payments.amount_differs", payment=str(payment.public_id))
    except stripe.StripeError as error:
        log.warning("payments.top_up_failed", payment=str(payment.public_id), error=error_words(error))
        if intent_id is not None or is_unclear(error):
            return False
        message = "The card was declined." if isinstance(error, stripe.CardError) else "Stripe refused the payment."
        end_unpaid(payment, PaymentStatus.FAILED, "The card is not there any more." if is_missing(error) else message)
    return True


def find_intent(payment: Payment, client: "StripeClient") -> str | None:
    """The intent of a top-up whose answer was lost, where Stripe made one. Raises StripeError."""
    made = client.v1.payment_intents.list({"customer": payment.wallet.stripe_customer_id, "limit": 100})
    for intent in made.auto_paging_iter():
        if intent.created < payment.created_at.timestamp() - 3600:
            return None
        if (intent.metadata.to_dict() if intent.metadata else {}).get("payment") == str(payment.public_id):
            return intent.id
    return None


def tell_top_up_off(wallet_id: int) -> None:
    """Mail the owners and admins that automatic top-up turned itself off."""
    wallet = Wallet.objects.select_related("workspace", "top_up").get(pk=wallet_id)
    send_each(
        "billing/email/top_up_off",
        addresses_of_admins(wallet.workspace),
        {
            "workspace": wallet.workspace,
            "top_up": wallet.top_up,
            "href": settings.SITE_URL + reverse("billing:wallet"),
        },
    )
