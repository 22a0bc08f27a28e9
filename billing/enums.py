"""Kinds of ledger entries and of limits."""

from django.db import models


class EntryKind(models.TextChoices):
    CREDIT_PURCHASE = "credit_purchase", "Credit purchase"
    WELCOME_CREDIT = "welcome_credit", "Welcome credit"
    USAGE = "usage", "Usage"
    PLATFORM_FEE = "platform_fee", "Platform fee"
    FEE_CREDIT = "fee_credit", "Fee credit"
    REFUND = "refund", "Refund"
    DISPUTE = "dispute", "Dispute"
    ADJUSTMENT = "adjustment", "Adjustment"


class AllowanceKind(models.TextChoices):
    KEY_CEILING = "key_ceiling", "API key ceiling"
    KEY_MONTH = "key_month", "API key ceiling of a month"
    WORKSPACE_BUDGET = "workspace_budget", "Workspace budget"


class Bound(models.TextChoices):
    """What a budget's bound comes from: the first to bind is named when it is reached."""

    CEILING = "ceiling", "The worst case of all its work"
    CAP = "cap", "The cap"
    CREDIT = "credit", "The workspace's credit"
    KEY_CEILING = "key_ceiling", "The API key's ceiling"
    KEY_MONTH = "key_month", "The API key's ceiling of this month"
    WORKSPACE_BUDGET = "workspace_budget", "The workspace's budget"


class PaymentKind(models.TextChoices):
    CHECKOUT = "checkout", "Purchase"
    TOP_UP = "top_up", "Automatic top-up"


class PaymentStatus(models.TextChoices):
    OPEN = "open", "Waiting for payment"
    PAID = "paid", "Paid"
    FAILED = "failed", "Failed"
    EXPIRED = "expired", "Expired"


class RefundStatus(models.TextChoices):
    ASKED = "asked", "Asked for"
    DONE = "done", "Refunded"
    REFUSED = "refused", "Refused"


class DisputeStatus(models.TextChoices):
    OPEN = "open", "Open"
    WON = "won", "Won"
    LOST = "lost", "Lost"


class EventState(models.TextChoices):
    """Of an event that Stripe sent."""

    RECEIVED = "received", "Waiting"
    PROCESSING = "processing", "In work"
    PROCESSED = "processed", "Done"
    IGNORED = "ignored", "Not for us"
    FAILED = "failed", "Failed"
