"""What pages, files and the API show of a wallet: its ledger by what one looks for, charges by month and day, payments and limits.

The workspace comes first. Each function is a fixed number of queries, whatever the number of entries.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, DateField, Func, Max, Min, Q, QuerySet, Sum

from billing.enums import AllowanceKind, EntryKind
from billing.models import Allowance, Budget, KeyLimit, LedgerEntry, Payment, SpendAlert
from billing.months import month_bounds, month_of, months_between, this_month
from billing.queries import entries_for, get_wallet, monthly_limit
from workspaces.models import ApiKey, User, Workspace
from workspaces.queries import api_keys_for

CHARGES = (EntryKind.USAGE, EntryKind.PLATFORM_FEE)
"""The entries that an ended run leads to."""

SHOWN_IN_PROGRESS = 8
SHOWN_PAYMENTS = 50


class UtcDay(Func):
    """The day of a moment in UTC. SQLite keeps moments as texts that begin with it, which is read without a call into Python for each."""

    output_field = DateField()

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return super().as_sql(compiler, connection, template="(%(expressions)s AT TIME ZONE 'UTC')::date", **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return super().as_sql(compiler, connection, template="substr(%(expressions)s, 1, 10)", **extra)


@dataclass(frozen=True, slots=True)
class Charged:
    """Micro-USD that were charged: usage of models, and the platform fee on it."""

    usage_microusd: int = 0
    fee_microusd: int = 0

    @property
    def total_microusd(self) -> int:
        return self.usage_microusd + self.fee_microusd

    def __add__(self, other: "Charged") -> "Charged":
        return Charged(self.usage_microusd + other.usage_microusd, self.fee_microusd + other.fee_microusd)


@dataclass(frozen=True, slots=True)
class InProgress:
    """What running work has settled, which no entry stands for yet, and what it has reserved; the newest of the budgets."""

    count: int
    settled_microusd: int
    reserved_microusd: int
    budgets: list[Budget]


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit and how much of it is used. `left` is None without a limit, and 0 where more is taken than a limit that was lowered."""

    limit_microusd: int | None
    spent_microusd: int = 0
    reserved_microusd: int = 0

    @property
    def left_microusd(self) -> int | None:
        return None if self.limit_microusd is None else max(0, self.limit_microusd - self.spent_microusd - self.reserved_microusd)


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """A key's limits, in all and in the month; those that it is rolled into have the same, so only the newest key is named."""

    key: ApiKey
    ceiling: Limit
    month: Limit


# ── The ledger ──────────────────────────────────────────────────────────────────────────────────────────────────────


def entries_matching(
    workspace: Workspace,
    *,
    kind: str | None = None,
    source: str | None = None,
    created_from: datetime | None = None,
    created_to: datetime | None = None,
) -> QuerySet[LedgerEntry]:
    """The ledger, newest first: entries of that kind and source, from a moment on and before another."""
    wanted = {"kind": kind, "source": source, "created_at__gte": created_from, "created_at__lt": created_to}
    return entries_for(workspace).filter(**{name: value for name, value in wanted.items() if value is not None})


def entries_in_parts(entries: QuerySet[LedgerEntry], part: int) -> Iterator[Sequence[LedgerEntry]]:
    """All of the entries in one query, so many at a time."""
    found: list[LedgerEntry] = []
    for entry in entries.iterator(chunk_size=part):
        found.append(entry)
        if len(found) == part:
            yield found
            found = []
    if found:
        yield found


def months_of(workspace: Workspace) -> list[str]:
    """The months since the ledger's first entry, the present one first."""
    now = this_month()
    wallet = get_wallet(workspace)
    ends = LedgerEntry.objects.filter(wallet=wallet).aggregate(first=Min("created_at"), last=Max("created_at")) if wallet.pk else {}
    first, last = (month_of(ends[name]) if ends.get(name) else now for name in ("first", "last"))
    return months_between(min(first, now), max(last, now))


# ── Charges ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def charges_in(workspace: Workspace, month: str) -> QuerySet[LedgerEntry]:
    """The entries of charges that were written in the month: what has no order yet."""
    start, end = month_bounds(month)
    return LedgerEntry.objects.filter(wallet__workspace=workspace, kind__in=CHARGES, created_at__gte=start, created_at__lt=end).order_by()


def charged_in(workspace: Workspace, month: str) -> Charged:
    """What the month's entries charge."""
    sums = charges_in(workspace, month).aggregate(
        usage=Sum("amount_microusd", filter=Q(kind=EntryKind.USAGE)), fee=Sum("amount_microusd", filter=Q(kind=EntryKind.PLATFORM_FEE))
    )
    return Charged(-(sums["usage"] or 0), -(sums["fee"] or 0))


def charged_by_day(workspace: Workspace, month: str) -> dict[date, Charged]:
    """What was charged on each day (UTC) of the month, those without a charge among them."""
    start, end = month_bounds(month)
    found = {start.date() + timedelta(days=number): Charged() for number in range((end - start).days)}
    rows = charges_in(workspace, month).values_list(UtcDay("created_at"), "kind").annotate(total=Sum("amount_microusd"))
    for day, kind, total in rows:
        found[day] += Charged(usage_microusd=-total) if kind == EntryKind.USAGE else Charged(fee_microusd=-total)
    return found


def in_progress(workspace: Workspace) -> InProgress:
    """What running work has settled and reserved. Its entries are written when it ends, with the amount settled by then."""
    budgets = Budget.objects.filter(wallet__workspace=workspace, closed_at=None, bound_microusd__gt=0).order_by("-id")
    sums = budgets.order_by().aggregate(count=Count("id"), settled=Sum("settled_microusd"), reserved=Sum("reserved_microusd"))
    shown = list(budgets[:SHOWN_IN_PROGRESS]) if sums["count"] else []
    return InProgress(sums["count"], sums["settled"] or 0, sums["reserved"] or 0, shown)


# ── Purchases ───────────────────────────────────────────────────────────────────────────────────────────────────────


def payments_for(workspace: Workspace) -> QuerySet[Payment]:
    """What was bought, the newest first, with refunds and disputes: three queries."""
    return Payment.objects.filter(wallet__workspace=workspace).prefetch_related("refunds", "disputes").order_by("-id")


def get_payment_of_member(user: User, payment_id: UUID) -> Payment:
    """A payment of any of the person's workspaces, with refunds and disputes. Raises Payment.DoesNotExist."""
    payments = Payment.objects.filter(wallet__workspace__memberships__user=user).select_related("wallet__workspace")
    return payments.prefetch_related("refunds", "disputes").get(public_id=payment_id)


def entry_of_payment(payment: Payment) -> LedgerEntry | None:
    """The entry by which a payment's credit came into the wallet; None while it has not."""
    return LedgerEntry.objects.filter(
        wallet_id=payment.wallet_id, kind=EntryKind.CREDIT_PURCHASE, source=f"payment:{payment.public_id}"
    ).first()


# ── Limits ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def workspace_month(workspace: Workspace, month: str) -> Limit:
    """The workspace's limit of a month and how much of it is used. A run counts in the month in which it was started."""
    used = Allowance.objects.filter(workspace=workspace, kind=AllowanceKind.WORKSPACE_BUDGET, subject=month).first()
    return _limit(monthly_limit(workspace), used)


def key_month(api_key: ApiKey, month: str) -> Limit:
    """A key's limit of a month and how much of it is used."""
    limit = KeyLimit.objects.filter(lineage=api_key.lineage).values_list("monthly_microusd", flat=True).first()
    used = Allowance.objects.filter(
        workspace_id=api_key.workspace_id, kind=AllowanceKind.KEY_MONTH, subject=f"{api_key.lineage}:{month}"
    ).first()
    return _limit(limit, used)


def limits_of_keys(workspace: Workspace, month: str) -> list[KeyLimits]:
    """The keys that have a limit or have spent something, the newest first. Three queries."""
    wanted = Q(kind=AllowanceKind.KEY_CEILING) | Q(kind=AllowanceKind.KEY_MONTH, subject__endswith=f":{month}")
    used = {(each.kind, each.lineage): each for each in Allowance.objects.filter(wanted, workspace=workspace)}
    months = {str(limit.lineage): limit.monthly_microusd for limit in KeyLimit.objects.filter(workspace=workspace)}
    newest = {str(key.lineage): key for key in reversed(api_keys_for(workspace))}
    found = []
    for lineage, key in reversed(newest.items()):
        ceiling, spent = used.get((AllowanceKind.KEY_CEILING, lineage)), used.get((AllowanceKind.KEY_MONTH, lineage))
        if ceiling is not None or spent is not None or months.get(lineage) is not None:
            limits = _limit(ceiling.ceiling_microusd if ceiling else None, ceiling), _limit(months.get(lineage), spent)
            found.append(KeyLimits(key, *limits))
    return found


def alerts_in(workspace: Workspace, month: str) -> QuerySet[SpendAlert]:
    """The shares of the workspace's limit that were reached in the month, the largest first."""
    return SpendAlert.objects.filter(workspace=workspace, month=month).order_by("-percent")


def alerts_for(workspace: Workspace) -> QuerySet[SpendAlert]:
    """All of them, the newest first."""
    return SpendAlert.objects.filter(workspace=workspace).order_by("-id")


def _limit(limit: int | None, used: Allowance | None) -> Limit:
    return Limit(limit, used.spent_microusd if used else 0, used.reserved_microusd if used else 0)


def day_start(day: date) -> datetime:
    """The first moment of a day in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
