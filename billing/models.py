"""Wallets, their append-only ledger, holds, and the budgets that metered work spends from. All amounts are micro-USD.

The wallet's balance is the sum of its entries; the rows here are written by `ledger.py` and `budgets.py` alone.
"""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from billing.enums import AllowanceKind, Bound, EntryKind
from common.ids import new_id
from workspaces.models import Workspace


class Wallet(models.Model):
    """A workspace's credit. `held` is the part that running work has reserved; the rest is available."""

    workspace = models.OneToOneField(Workspace, on_delete=models.PROTECT, related_name="wallet")
    balance_microusd = models.BigIntegerField(default=0)
    held_microusd = models.BigIntegerField(default=0)
    is_disputed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(held_microusd__gte=0), name="wallet_held_not_negative"),
            models.CheckConstraint(
                condition=Q(held_microusd__lte=F("balance_microusd")) | Q(is_disputed=True), name="wallet_held_within_balance"
            ),
        ]

    def __str__(self) -> str:
        return f"wallet of {self.workspace_id}"

    @property
    def available_microusd(self) -> int:
        return max(0, self.balance_microusd - self.held_microusd)


class LedgerEntry(models.Model):
    """One signed change of a balance. Inserted, never changed or deleted: the database refuses both."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="entries")
    kind = models.CharField(max_length=20, choices=EntryKind.choices)
    amount_microusd = models.BigIntegerField()
    balance_after_microusd = models.BigIntegerField()
    source = models.CharField(max_length=120, blank=True)
    """What it came from, opaque to this app: "run:<id>"."""
    note = models.CharField(max_length=300, blank=True)
    idempotency_key = models.CharField(max_length=160, unique=True)
    actor_label = models.CharField(max_length=260, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["wallet", "-id"]), models.Index(fields=["source"])]
        verbose_name_plural = "ledger entries"

    def __str__(self) -> str:
        return f"{self.kind} {self.amount_microusd}"


class Hold(models.Model):
    """Credit reserved for one budget, until it is settled."""

    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="holds")
    source = models.CharField(max_length=120, unique=True)
    amount_microusd = models.BigIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(amount_microusd__gte=0), name="hold_not_negative")]

    def __str__(self) -> str:
        return f"hold for {self.source}"


class Allowance(models.Model):
    """What a key's lineage, or a workspace in a month, may spend. Without a ceiling it only counts."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="allowances")
    kind = models.CharField(max_length=20, choices=AllowanceKind.choices)
    subject = models.CharField(max_length=60)
    """A key's lineage, or the month as YYYY-MM."""
    ceiling_microusd = models.BigIntegerField(null=True, blank=True)
    reserved_microusd = models.BigIntegerField(default=0)
    spent_microusd = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "kind", "subject"], name="allowance_once"),
            models.CheckConstraint(condition=Q(reserved_microusd__gte=0) & Q(spent_microusd__gte=0), name="allowance_not_negative"),
            models.CheckConstraint(
                condition=Q(ceiling_microusd__isnull=True) | Q(ceiling_microusd__gte=F("reserved_microusd") + F("spent_microusd")),
                name="allowance_within_ceiling",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"

    @property
    def left_microusd(self) -> int | None:
        """What is left, None where there is no ceiling."""
        return None if self.ceiling_microusd is None else self.ceiling_microusd - self.reserved_microusd - self.spent_microusd


class WorkspaceLimit(models.Model):
    """A workspace's own limit on what it spends in a calendar month (UTC)."""

    workspace = models.OneToOneField(Workspace, on_delete=models.CASCADE, related_name="spending_limit")
    monthly_microusd = models.BigIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"limit of {self.workspace_id}"


class Budget(models.Model):
    """What one piece of metered work may spend. `reserved + settled ≤ bound`, always.

    With a cap the whole bound is held at once; without one `hold` grows as the work goes on, never past the bound.
    """

    source = models.CharField(max_length=120, unique=True)
    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="budgets")
    hold = models.OneToOneField(Hold, on_delete=models.PROTECT, null=True, blank=True, related_name="budget")
    cap_microusd = models.BigIntegerField(null=True, blank=True)
    bound_microusd = models.BigIntegerField()
    bound_by = models.CharField(max_length=20, choices=Bound.choices)
    reserved_microusd = models.BigIntegerField(default=0)
    settled_microusd = models.BigIntegerField(default=0)
    key_allowance = models.ForeignKey(Allowance, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    workspace_allowance = models.ForeignKey(Allowance, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(reserved_microusd__gte=0) & Q(settled_microusd__gte=0), name="budget_not_negative"),
            models.CheckConstraint(
                condition=Q(bound_microusd__gte=F("reserved_microusd") + F("settled_microusd")), name="budget_within_bound"
            ),
            models.CheckConstraint(
                condition=Q(cap_microusd__isnull=True) | Q(bound_microusd__lte=F("cap_microusd")), name="budget_bound_within_cap"
            ),
        ]

    def __str__(self) -> str:
        return f"budget of {self.source}"

    @property
    def free_microusd(self) -> int:
        return self.bound_microusd - self.reserved_microusd - self.settled_microusd
