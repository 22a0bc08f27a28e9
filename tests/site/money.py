"""Money as a workspace has it after a busy month, for the pages that show it: charges, purchases, limits and alerts."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from billing.enums import DisputeStatus, EntryKind, PaymentKind, PaymentStatus, RefundStatus
from billing.ledger import lock_wallet, post_entry
from billing.limits import set_key_ceiling, set_key_month, set_workspace_limit
from billing.models import Dispute, Payment, Refund, SpendAlert, TopUp
from billing.months import this_month
from runs.models import Run
from tests import factories
from tests.runs.charging import charge
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

STRIPE = {"STRIPE_SECRET_KEY": "sk_test_none", "STRIPE_WEBHOOK_SECRET": "whsec_none", "STRIPE_API_URL": "http://127.0.0.1:9"}
"""Settings under which credit can be bought, as far as no page of Stripe's is needed."""


def furnish_money(workspace: Workspace, run: Run) -> dict[str, str]:
    """Charges on each day of the month, and one of everything else. Returns the IDs of a paid and of an open payment."""
    paid = _buy(workspace)
    now = timezone.now()
    for day in range(now.day):
        at = now - timedelta(days=day)
        for number, model in enumerate(("acme/large-2", "acme/small-2", "birch/reasoner", "cedar/open-8b")):
            usage = (day * 7919 + number * 104_729) % 90_000 + 1_250
            source = run.budget_source if day % 3 else "job:nightly"
            charge(workspace, source, model, usage=usage // (number + 1), fee=usage // (number + 1) // 20, at=at)
    key, _ = factories.make_key(workspace, label="Continuous integration of the stock room")
    set_key_ceiling(key, actor=SYSTEM, ceiling_microusd=5_000_000)
    set_key_month(key, actor=SYSTEM, monthly_microusd=2_000_000)
    set_workspace_limit(workspace, actor=SYSTEM, monthly_microusd=8_000_000)
    SpendAlert.objects.create(workspace=workspace, month=this_month(), percent=50, used_microusd=4_012_350, limit_microusd=8_000_000)
    TopUp.objects.create(wallet=workspace.wallet, stripe_method_id="pm_none", card_label="Visa ending in 4242", is_enabled=True)
    waiting = Payment.objects.create(wallet=workspace.wallet, credit_microusd=10_000_000, fee_microusd=500_000)
    return {"paid": str(paid.public_id), "waiting": str(waiting.public_id)}


def _buy(workspace: Workspace) -> Payment:
    """Purchases in each state; the paid one was refunded in part and is disputed no more."""
    wallet, now = workspace.wallet, timezone.now()
    amounts = {"credit_microusd": 25_000_000, "fee_microusd": 1_250_000}
    papers = {"receipt_url": "https://example.org/receipt", "invoice_url": "https://example.org/invoice"}
    paid = Payment.objects.create(wallet=wallet, status=PaymentStatus.PAID, paid_at=now, actor_label="ada@example.org", **papers, **amounts)
    with transaction.atomic():
        source = f"payment:{paid.public_id}"
        post_entry(lock_wallet(wallet.pk), EntryKind.CREDIT_PURCHASE, 25_000_000, key=source, source=source)
    refunded = {"amount_microusd": 5_250_000, "credit_microusd": 5_000_000, "taken_microusd": 3_000_000}
    Refund.objects.create(payment=paid, status=RefundStatus.DONE, **refunded)
    Dispute.objects.create(
        payment=paid, stripe_dispute_id="dp_none", status=DisputeStatus.WON, credit_microusd=20_000_000, opened_at=now, closed_at=now
    )
    declined = "The card was declined: insufficient funds."
    Payment.objects.create(wallet=wallet, kind=PaymentKind.TOP_UP, status=PaymentStatus.FAILED, failure=declined, **amounts)
    Payment.objects.create(wallet=wallet, status=PaymentStatus.EXPIRED, **amounts)
    return paid
