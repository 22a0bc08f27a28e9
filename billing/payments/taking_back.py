"""Credit that goes back with money: by refunds, disputes, and what of a refund was not there to be taken.

A payment's refunds and disputes together take back no more than its credit. What is paid above the credit is the fee, which refunds reach
last. Rows of refunds and disputes are written under the wallet's lock alone, which the functions here find taken.
"""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from billing.enums import DisputeStatus, EntryKind, PaymentStatus, RefundStatus
from billing.ledger import end_dispute, lock_wallet, post_entry
from billing.models import Dispute, Payment, Refund, Wallet
from billing.payments.stripe_api import CENT
from billing.payments.truth import SeenDispute, SeenRefund
from workspaces.actors import SYSTEM

TAKING_REFUNDS = (RefundStatus.ASKED, RefundStatus.DONE)
TAKING_DISPUTES = (DisputeStatus.OPEN, DisputeStatus.LOST)

_RANK: dict[str, int] = {
    RefundStatus.ASKED: 0,
    RefundStatus.DONE: 1,
    RefundStatus.REFUSED: 2,
    DisputeStatus.OPEN: 0,
    DisputeStatus.LOST: 1,
    DisputeStatus.WON: 2,
}
"""States go up only, so that what was asked earlier and arrives later changes nothing. A lost dispute may be won on appeal."""


def source_of(payment: Payment) -> str:
    """What the ledger's entries of a payment name as their source."""
    return f"payment:{payment.public_id}"


def credit_left(payment: Payment) -> int:
    """The credit in micro-USD that the payment gave and that nothing has taken back yet."""
    if payment.status != PaymentStatus.PAID:
        return 0
    refunds = payment.refunds.filter(status__in=TAKING_REFUNDS).values_list("credit_microusd", flat=True)
    disputes = payment.disputes.filter(status__in=TAKING_DISPUTES).values_list("credit_microusd", flat=True)
    return payment.credit_microusd - sum(refunds) - sum(disputes)


def money_left(payment: Payment) -> int:
    """The money in micro-USD that refunds have not taken or asked for yet."""
    taken = payment.refunds.filter(status__in=TAKING_REFUNDS).values_list("amount_microusd", flat=True)
    return payment.total_microusd - sum(taken)


def apply_seen(payment: Payment, wallet: Wallet, refunds: Iterable[SeenRefund], disputes: Iterable[SeenDispute]) -> None:
    """Bring the rows and the ledger to what Stripe says. The payment is paid, and locked, and so is its wallet.

    The order in which refunds and disputes are seen makes no difference to what they take in all.
    """
    for refund in refunds:
        _note_refund(payment, wallet, refund)
    for dispute in disputes:
        _note_dispute(payment, wallet, dispute)
    left = credit_left(payment)
    for row in payment.refunds.filter(status__in=TAKING_REFUNDS, stripe_refund_id__isnull=False).order_by("id"):
        more = min(row.amount_microusd - row.credit_microusd, left)
        if more > 0:
            row.credit_microusd += more
            row.save(update_fields=["credit_microusd"])
            left -= more
        collect(row, wallet)
    for contested in payment.disputes.filter(status__in=TAKING_DISPUTES).order_by("id"):
        if left > 0:
            _take_for_dispute(contested, wallet, left)
            left = 0


def _note_refund(payment: Payment, wallet: Wallet, seen: SeenRefund) -> None:
    row = payment.refunds.filter(stripe_refund_id=seen.id).first()
    if row is None and seen.public_id:
        row = payment.refunds.filter(public_id=seen.public_id, stripe_refund_id=None).first()
    if row is None:
        row = Refund(
            payment=payment,
            amount_microusd=seen.cents * CENT,
            credit_microusd=0,
            stripe_refund_id=seen.id,
            status=seen.status,
            reason="Made at Stripe",
            actor_label="Stripe",
        )
        row.save(force_insert=True)
        return
    row.stripe_refund_id = seen.id
    row.save(update_fields=["stripe_refund_id"])
    if _RANK[seen.status] > _RANK[row.status]:
        end_refund(row, wallet, seen.status)


def end_refund(refund: Refund, wallet: Wallet, status: RefundStatus) -> None:
    """Note the refund's state under the wallet's lock; one that is refused gives back the credit that it took."""
    taken, refund.status = refund.taken_microusd, status
    if status == RefundStatus.REFUSED:
        refund.taken_microusd = 0
    refund.save(update_fields=["status", "taken_microusd"])
    if status == RefundStatus.REFUSED and taken:
        post_entry(
            wallet,
            EntryKind.REFUND,
            taken,
            key=f"refund-returned:{refund.public_id}",
            source=source_of(refund.payment),
            note="A refund that did not reach the card",
            actor_label=SYSTEM.label,
        )


def collect(refund: Refund, wallet: Wallet) -> None:
    """Take from the locked wallet what the refund has not taken yet, as far as it is there and nothing holds it."""
    amount = min(refund.credit_microusd - refund.taken_microusd, wallet.available_microusd)
    if amount <= 0:
        return
    part = f":{refund.taken_microusd}" if refund.taken_microusd else ""
    post_entry(
        wallet,
        EntryKind.REFUND,
        -amount,
        key=f"refund:{refund.public_id}{part}",
        source=source_of(refund.payment),
        note="The rest of a refund" if part else "Refund of a purchase",
        actor_label=refund.actor_label,
    )
    refund.taken_microusd += amount
    refund.save(update_fields=["taken_microusd"])


def _note_dispute(payment: Payment, wallet: Wallet, seen: SeenDispute) -> None:
    row = payment.disputes.filter(stripe_dispute_id=seen.id).first()
    if row is None:
        closed_at = None if seen.status == DisputeStatus.OPEN else timezone.now()
        row = Dispute(payment=payment, stripe_dispute_id=seen.id, status=seen.status, credit_microusd=0, reason=seen.reason[:80])
        row.closed_at = closed_at
        row.save(force_insert=True)
        return
    if _RANK[seen.status] <= _RANK[row.status]:
        return
    row.status, row.closed_at = seen.status, timezone.now()
    row.save(update_fields=["status", "closed_at"])
    if seen.status == DisputeStatus.WON and row.credit_microusd:
        post_entry(
            wallet,
            EntryKind.DISPUTE,
            row.credit_microusd,
            key=f"dispute-won:{row.stripe_dispute_id}",
            source=source_of(payment),
            note="A dispute that was decided for us",
            actor_label=SYSTEM.label,
        )
    end_dispute(wallet)


def _take_for_dispute(dispute: Dispute, wallet: Wallet, amount: int) -> None:
    """Take the credit at once, also what is held or gone: the bank has taken the money already."""
    part = f":{dispute.credit_microusd}" if dispute.credit_microusd else ""
    dispute.credit_microusd += amount
    dispute.save(update_fields=["credit_microusd"])
    post_entry(
        wallet,
        EntryKind.DISPUTE,
        -amount,
        key=f"dispute:{dispute.stripe_dispute_id}{part}",
        source=source_of(dispute.payment),
        note="A payment that the card's owner contests",
        actor_label=SYSTEM.label,
    )
    if dispute.status != DisputeStatus.OPEN:
        end_dispute(wallet)


def _short() -> QuerySet[Refund]:
    return Refund.objects.filter(status__in=TAKING_REFUNDS, stripe_refund_id__isnull=False, taken_microusd__lt=F("credit_microusd"))


def owing() -> list[int]:
    """The database keys of workspaces that have credit to take, and a refund that has not taken all that it takes."""
    rows = _short().filter(payment__wallet__balance_microusd__gt=F("payment__wallet__held_microusd"))
    return list(rows.values_list("payment__wallet__workspace_id", flat=True).order_by().distinct())


def collect_shortfalls(workspace_id: int) -> None:
    """Take what refunds have not taken yet from the workspace's credit, the oldest first. One query where there is nothing to take."""
    wanted = _short().filter(payment__wallet__workspace_id=workspace_id).order_by("id")
    found = list(wanted.values_list("pk", "payment__wallet_id"))
    if not found:
        return
    with transaction.atomic():
        wallet = lock_wallet(found[0][1])
        for refund in wanted.select_related("payment"):  # read again under the lock
            collect(refund, wallet)
