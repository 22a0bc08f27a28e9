"""Wallets, their append-only ledger, holds, and the budgets that metered work spends from. All amounts are micro-USD.

The wallet's balance is the sum of its entries; the rows here are written by `ledger.py` and `budgets.py` alone.
"""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from billing.enums import AllowanceKind, Bound, DisputeStatus, EntryKind, EventState, PaymentKind, PaymentStatus, RefundStatus
from common.ids import new_id
from workspaces.models import User, Workspace


class Wallet(models.Model):
    """A workspace's credit. `held` is the part that running work has reserved; the rest is available."""

    workspace = models.OneToOneField(Workspace, on_delete=models.PROTECT, related_name="wallet")
    balance_microusd = models.BigIntegerField(default=0)
    held_microusd = models.BigIntegerField(default=0)
    is_disputed = models.BooleanField(default=False)
    """While a dispute is open, or was lost and has left less than nothing. Such a wallet starts no work and may be below what it holds."""
    stripe_customer_id = models.CharField(max_length=80, blank=True)

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
        indexes = [
            models.Index(fields=["wallet", "-id"]),
            models.Index(fields=["source"]),
            models.Index(fields=["wallet", "created_at"], name="ledger_by_day"),
            models.Index(fields=["wallet", "kind", "-id"], name="ledger_by_kind"),
        ]
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
    """A key's lineage, the lineage and month as `<lineage>:YYYY-MM`, or the month as YYYY-MM."""
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
    def lineage(self) -> str:
        """The key's, of a key's allowance."""
        return self.subject.partition(":")[0]

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
    allowances = models.ManyToManyField(Allowance, related_name="budgets")
    """Those that it counts against: its key's and the month's."""
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


class KeyLimit(models.Model):
    """What is set for a key's lineage beside its ceiling: a limit of each calendar month (UTC), and which key's lineage made it.

    What a key spends counts on the lineages that it comes from, too, so that a key cannot multiply its limits by making keys.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    lineage = models.UUIDField(unique=True)
    parent = models.UUIDField(null=True, blank=True)
    """The lineage of the key that made it; null where a person did."""
    monthly_microusd = models.BigIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"limit of key {self.lineage}"


class Payment(models.Model):
    """Credit that is bought. Made before Stripe is asked, so that what Stripe reports always has a row to be compared with.

    The wallet gets `credit_microusd` once, when the payment was fetched and found paid with the very amount asked for. The fee is paid to
    us at the door and never enters the ledger.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="payments")
    kind = models.CharField(max_length=10, choices=PaymentKind.choices, default=PaymentKind.CHECKOUT)
    status = models.CharField(max_length=10, choices=PaymentStatus.choices, default=PaymentStatus.OPEN)
    credit_microusd = models.BigIntegerField()
    fee_microusd = models.BigIntegerField()
    stripe_session_id = models.CharField(max_length=120, unique=True, null=True, blank=True)
    stripe_intent_id = models.CharField(max_length=120, unique=True, null=True, blank=True)
    receipt_url = models.URLField(max_length=500, blank=True)
    invoice_url = models.URLField(max_length=500, blank=True)
    failure = models.CharField(max_length=300, blank=True)
    actor_label = models.CharField(max_length=260, blank=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    checked_at = models.DateTimeField(null=True, blank=True)
    """When Stripe was last asked about it."""
    paid_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(credit_microusd__gt=0) & Q(fee_microusd__gte=0), name="payment_positive"),
        ]

    def __str__(self) -> str:
        return f"payment {self.public_id}"

    @property
    def total_microusd(self) -> int:
        """What the card pays."""
        return self.credit_microusd + self.fee_microusd


class Refund(models.Model):
    """Credit given back as money: asked for by staff here, or made at Stripe and seen afterwards."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="refunds")
    status = models.CharField(max_length=10, choices=RefundStatus.choices, default=RefundStatus.ASKED)
    amount_microusd = models.BigIntegerField()
    """The money that goes back, what it holds of the fee included."""
    credit_microusd = models.BigIntegerField()
    """The credit that it takes with it."""
    taken_microusd = models.BigIntegerField(default=0)
    """What of that was there to be taken. The rest is taken from the next credit that comes in."""
    stripe_refund_id = models.CharField(max_length=120, unique=True, null=True, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    actor_label = models.CharField(max_length=260, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(credit_microusd__gte=0) & Q(taken_microusd__gte=0) & Q(taken_microusd__lte=F("credit_microusd")),
                name="refund_within_credit",
            )
        ]

    def __str__(self) -> str:
        return f"refund {self.public_id}"


class Dispute(models.Model):
    """A payment that the card's owner contests. Its credit is taken back when it opens, below zero if need be, and given again if won."""

    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="disputes")
    stripe_dispute_id = models.CharField(max_length=120, unique=True)
    status = models.CharField(max_length=10, choices=DisputeStatus.choices, default=DisputeStatus.OPEN)
    credit_microusd = models.BigIntegerField()
    reason = models.CharField(max_length=80, blank=True)
    opened_at = models.DateTimeField(default=timezone.now)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.CheckConstraint(condition=Q(credit_microusd__gte=0), name="dispute_not_negative")]

    def __str__(self) -> str:
        return f"dispute {self.stripe_dispute_id}"


class StripeEvent(models.Model):
    """An event that Stripe sent: stored once by its ID, answered, then worked off by fetching what it is about."""

    event_id = models.CharField(max_length=120, unique=True)
    type = models.CharField(max_length=80)
    object_id = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=10, choices=EventState.choices, default=EventState.RECEIVED)
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    last_error = models.CharField(max_length=300, blank=True)
    received_at = models.DateTimeField(default=timezone.now)
    processed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["state", "next_try_at"], name="stripe_events_due")]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"


class TopUp(models.Model):
    """A wallet's saved card, and whether it is charged when the credit runs low. Off until somebody turns it on."""

    wallet = models.OneToOneField(Wallet, on_delete=models.CASCADE, related_name="top_up")
    is_enabled = models.BooleanField(default=False)
    threshold_microusd = models.BigIntegerField(default=5_000_000)
    amount_microusd = models.BigIntegerField(default=20_000_000)
    monthly_limit_microusd = models.BigIntegerField(default=100_000_000)
    stripe_method_id = models.CharField(max_length=120, blank=True)
    card_label = models.CharField(max_length=60, blank=True)
    """Brand and last four digits, to be recognised by."""
    failures = models.PositiveSmallIntegerField(default=0)
    last_failure = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"top-up of {self.wallet_id}"


class SpendAlert(models.Model):
    """A share of the month's budget that was reached, and told: `alerts.py` decides when."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    month = models.CharField(max_length=7)
    """YYYY-MM (UTC)."""
    percent = models.PositiveSmallIntegerField()
    used_microusd = models.BigIntegerField()
    limit_microusd = models.BigIntegerField()
    """What was used, and the limit, when it was told last."""
    reached_at = models.DateTimeField(default=timezone.now)
    mailed_at = models.DateTimeField(null=True, blank=True)
    """When the mail about it was begun; null while it waits for that."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "month", "percent"], name="spend_alert_once")]

    def __str__(self) -> str:
        return f"{self.percent}% of {self.month}"


class BookCheck(models.Model):
    """A day's check of the books, and what it found."""

    day = models.DateField(unique=True)
    """In UTC. A day is claimed by its row."""
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    found = models.PositiveIntegerField(default=0)
    """How many things did not add up."""
    listing = models.TextField(blank=True)
    """The first of them, one a line."""

    class Meta:
        ordering = ["-day"]

    def __str__(self) -> str:
        return f"check of {self.day}"
