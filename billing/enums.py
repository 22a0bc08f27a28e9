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
    WORKSPACE_BUDGET = "workspace_budget", "Workspace budget"


class Bound(models.TextChoices):
    """What a budget's bound comes from: the first to bind is named when it is reached."""

    CEILING = "ceiling", "The worst case of all its work"
    CAP = "cap", "The cap"
    CREDIT = "credit", "The workspace's credit"
    KEY_CEILING = "key_ceiling", "The API key's ceiling"
    WORKSPACE_BUDGET = "workspace_budget", "The workspace's budget"
