"""What Stripe knows of one payment, asked now. Events say only that there is something to ask about; nothing of them is believed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from billing.enums import DisputeStatus, PaymentKind, PaymentStatus, RefundStatus
from billing.models import Payment
from billing.payments.stripe_api import is_missing
from common.ids import parse_uuid

if TYPE_CHECKING:
    from stripe import StripeClient

_INTENT_PARTS = ("latest_charge", "payment_method")

_REFUNDS = {
    "succeeded": RefundStatus.DONE,
    "pending": RefundStatus.ASKED,
    "requires_action": RefundStatus.ASKED,
    "failed": RefundStatus.REFUSED,
    "canceled": RefundStatus.REFUSED,
}

_DISPUTES = {
    "needs_response": DisputeStatus.OPEN,
    "under_review": DisputeStatus.OPEN,
    "lost": DisputeStatus.LOST,
    "appeal_needs_response": DisputeStatus.LOST,
    "appeal_under_review": DisputeStatus.LOST,
    "won": DisputeStatus.WON,
    "prevented": DisputeStatus.WON,
    "warning_closed": DisputeStatus.WON,
}
"""An inquiry ("warning_…") moves no money and is not here. A dispute that is prevented shows as a refund."""


@dataclass(frozen=True, slots=True)
class SavedCard:
    method_id: str
    label: str


@dataclass(frozen=True, slots=True)
class SeenRefund:
    id: str
    cents: int
    status: RefundStatus
    public_id: str
    """Of the refund that we asked for; empty for one made at Stripe."""


@dataclass(frozen=True, slots=True)
class SeenDispute:
    id: str
    status: DisputeStatus
    reason: str


@dataclass(frozen=True, slots=True)
class Truth:
    """All that Stripe says of a payment at one moment; `cents` were paid in `currency` where the status is paid."""

    status: PaymentStatus
    session_id: str | None = None
    intent_id: str | None = None
    cents: int = 0
    currency: str = ""
    failure: str = ""
    receipt_url: str = ""
    invoice_url: str = ""
    card: SavedCard | None = None
    refunds: tuple[SeenRefund, ...] = ()
    disputes: tuple[SeenDispute, ...] = ()


def fetch(client: "StripeClient", payment: Payment, *, session_id: str | None = None, intent_id: str | None = None) -> Truth:
    """Ask Stripe for the whole of it; call it outside of transactions.

    `session_id` and `intent_id` are for a payment that has not noted its own yet. Raises StripeError.
    """
    session_id, intent_id = payment.stripe_session_id or session_id, payment.stripe_intent_id or intent_id
    session: dict[str, Any] | None = None
    intent: dict[str, Any] | None = None
    if session_id:
        parts = [*(f"payment_intent.{part}" for part in _INTENT_PARTS), "payment_intent", "invoice"]
        session = client.v1.checkout.sessions.retrieve(session_id, {"expand": parts}).to_dict()
        intent = session["payment_intent"]
    elif intent_id:
        intent = client.v1.payment_intents.retrieve(intent_id, {"expand": list(_INTENT_PARTS)}).to_dict()
    refunds, disputes = _taken_back(client, intent) if intent and intent["status"] == "succeeded" else ((), ())
    return _told(payment, session, intent, refunds, disputes)


def _taken_back(client: "StripeClient", intent: dict[str, Any]) -> tuple[tuple[SeenRefund, ...], tuple[SeenDispute, ...]]:
    refunds = [each.to_dict() for each in client.v1.refunds.list({"payment_intent": intent["id"], "limit": 100}).auto_paging_iter()]
    disputes = [each.to_dict() for each in client.v1.disputes.list({"payment_intent": intent["id"], "limit": 100}).auto_paging_iter()]
    return (
        tuple(
            SeenRefund(each["id"], each["amount"], _REFUNDS[each["status"]], (each["metadata"] or {}).get("refund", ""))
            for each in sorted(refunds, key=lambda each: (each["created"], each["id"]))
            if each["status"] in _REFUNDS
        ),
        tuple(
            SeenDispute(each["id"], _DISPUTES[each["status"]], each["reason"])
            for each in sorted(disputes, key=lambda each: (each["created"], each["id"]))
            if each["status"] in _DISPUTES
        ),
    )


def _told(
    payment: Payment,
    session: dict[str, Any] | None,
    intent: dict[str, Any] | None,
    refunds: tuple[SeenRefund, ...],
    disputes: tuple[SeenDispute, ...],
) -> Truth:
    charge, invoice = (intent or {}).get("latest_charge"), (session or {}).get("invoice")
    return Truth(
        status=_status(payment, session, intent),
        session_id=session["id"] if session else None,
        intent_id=intent["id"] if intent else None,
        cents=intent["amount_received"] if intent else 0,
        currency=intent["currency"] if intent else "",
        failure=_failure(intent),
        receipt_url=(isinstance(charge, dict) and charge.get("receipt_url")) or "",
        invoice_url=(isinstance(invoice, dict) and invoice.get("hosted_invoice_url")) or "",
        card=_saved_card(intent),
        refunds=refunds,
        disputes=disputes,
    )


def _status(payment: Payment, session: dict[str, Any] | None, intent: dict[str, Any] | None) -> PaymentStatus:
    if intent is not None and intent["status"] == "succeeded":
        return PaymentStatus.PAID
    if session is not None and session["status"] == "expired":
        return PaymentStatus.EXPIRED
    # Nobody stands before a top-up to try another card or to confirm, so what did not succeed has failed.
    if payment.kind == PaymentKind.TOP_UP and intent is not None and intent["status"] != "processing":
        return PaymentStatus.FAILED
    return PaymentStatus.OPEN


def _failure(intent: dict[str, Any] | None) -> str:
    error = (intent or {}).get("last_payment_error")
    return str(error.get("message") or "The card was declined.")[:300] if error else ""


def _saved_card(intent: dict[str, Any] | None) -> SavedCard | None:
    """The card that the person asked to keep, named so that they know it again."""
    if intent is None or intent.get("setup_future_usage") != "off_session":
        return None
    method = intent["payment_method"]
    if not isinstance(method, dict) or method["type"] != "card":
        return None
    return SavedCard(method["id"], f"{str(method['card']['brand']).title()} ···· {method['card']['last4']}")


def payment_of_object(client: "StripeClient", kind: str, object_id: str) -> tuple[Payment, str | None, str | None] | None:
    """Our payment that an object at Stripe belongs to, with the IDs of its session and intent as far as the object names them.

    `kind` is what an event's type begins with. None for an object that is not ours or that Stripe does not know. Raises StripeError.
    """
    import stripe

    try:
        match kind:
            case "checkout.session":
                session = client.v1.checkout.sessions.retrieve(object_id).to_dict()
                return _ours(session["metadata"], session_id=session["id"], intent_id=session["payment_intent"])
            case "payment_intent":
                intent_id: str | None = object_id
            case "charge":
                intent_id = client.v1.charges.retrieve(object_id).to_dict()["payment_intent"]
            case "charge.dispute":
                intent_id = client.v1.disputes.retrieve(object_id).to_dict()["payment_intent"]
            case "refund" | "charge.refund":
                intent_id = client.v1.refunds.retrieve(object_id).to_dict()["payment_intent"]
            case _:
                return None
        if intent_id is None:
            return None
        known = Payment.objects.filter(stripe_intent_id=intent_id).first()
        if known is not None:
            return known, known.stripe_session_id, intent_id
        return _ours(client.v1.payment_intents.retrieve(intent_id).to_dict()["metadata"], intent_id=intent_id)
    except stripe.InvalidRequestError as error:
        if is_missing(error):
            return None
        raise


def _ours(
    metadata: dict[str, str] | None, *, session_id: str | None = None, intent_id: str | None = None
) -> tuple[Payment, str | None, str | None] | None:
    """The payment that the metadata names, unless it has another session or intent of its own."""
    public_id = parse_uuid((metadata or {}).get("payment", ""))
    payment = Payment.objects.filter(public_id=public_id).first() if public_id else None
    if payment is None:
        return None
    if session_id and payment.stripe_session_id not in (None, session_id):
        return None
    if not session_id and payment.stripe_intent_id not in (None, intent_id):
        return None
    return payment, session_id, intent_id
