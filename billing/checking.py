"""The check of the books: everything that is a sum of other things, added up again.

The database does the adding and gives back what differs, so that memory does not grow with the books. Apps to the right, which billing does
not know, have their own part checked in the same moment by `also_check`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import batched
from typing import Any

from django.db import connection, transaction
from django.db.models import BigIntegerField, Exists, F, OuterRef, QuerySet, Subquery, Sum, Window
from django.db.models.functions import Coalesce

from billing.enums import AllowanceKind, DisputeStatus, EntryKind, PaymentStatus
from billing.models import Allowance, Budget, Dispute, Hold, KeyLimit, LedgerEntry, Payment, Refund, Wallet
from common.ids import parse_uuid

CHARGES = (EntryKind.USAGE, EntryKind.PLATFORM_FEE)
TAKING_DISPUTES = (DisputeStatus.OPEN, DisputeStatus.LOST)
"""Those that have the payment's credit; one that was won has given it back."""
PART = 500
"""So many payments are looked at together."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in the books that does not add up."""

    what: str
    stands: int
    expected: int

    def __str__(self) -> str:
        return f"{self.what}: stands at {self.stands}, should be {self.expected} micro-USD"


type Check = Callable[[], Iterator[Difference]]
_more: list[Check] = []


def also_check(check: Check) -> Check:
    """Make the check a part of every check of the books. It reads within the one moment, and writes nothing."""
    _more.append(check)
    return check


def ledger_differences() -> list[Difference]:
    """Every balance, hold, budget, allowance and payment that is not what its parts say. Empty when all is well.

    Everything is read as of one moment, also while work goes on, and nobody waits for it.
    """
    with _one_moment():
        return [difference for check in (*_OWN, *_more) for difference in check()]


@contextmanager
def _one_moment() -> Iterator[None]:
    """One snapshot for all that is read inside. Within another transaction it is that one's to decide."""
    if connection.in_atomic_block:
        yield
        return
    with _readers_begin(), transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


@contextmanager
def _readers_begin() -> Iterator[None]:
    """On SQLite a transaction takes the lock of writers when it begins; one that only reads needs none, and keeps nobody waiting."""
    usual = getattr(connection, "transaction_mode", None)
    if usual is None:
        yield
        return
    connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
    try:
        yield
    finally:
        connection.transaction_mode = usual  # type: ignore[attr-defined]


def sum_of(rows: QuerySet[Any], by: str, *amounts: str) -> Coalesce:
    """Σ of the amounts over the rows that belong to the outer row; 0 where there are none. `by` is the rows' field that names it."""
    total = sum((F(amount) for amount in amounts[1:]), F(amounts[0]))
    sums = rows.order_by().values(by).annotate(total=Sum(total)).values("total")
    return Coalesce(Subquery(sums, output_field=BigIntegerField()), 0)


def _wallet_differences() -> Iterator[Difference]:
    """Balance = Σ entries, held = Σ open holds; only a dispute that has credit lets a wallet be short."""
    entered = sum_of(LedgerEntry.objects.filter(wallet=OuterRef("pk")), "wallet", "amount_microusd")
    held = sum_of(Hold.objects.filter(wallet=OuterRef("pk"), released_at=None), "wallet", "amount_microusd")
    wallets = Wallet.objects.annotate(entered=entered, holding=held).order_by("pk")
    for wallet in wallets.exclude(balance_microusd=F("entered"), held_microusd=F("holding")).iterator():
        yield from _unless_equal(f"balance of {wallet}", wallet.balance_microusd, wallet.entered)
        yield from _unless_equal(f"held of {wallet}", wallet.held_microusd, wallet.holding)
    taking = Dispute.objects.filter(payment__wallet=OuterRef("pk"), status__in=TAKING_DISPUTES)
    for short in Wallet.objects.filter(balance_microusd__lt=F("held_microusd")).exclude(Exists(taking)).order_by("pk").iterator():
        yield Difference(f"balance of {short}, without a dispute", short.balance_microusd, short.held_microusd)
    opened = taking.filter(status=DisputeStatus.OPEN, credit_microusd__gt=0)
    for unmarked in Wallet.objects.filter(Exists(opened), is_disputed=False).order_by("pk").iterator():
        yield Difference(f"open disputes that {unmarked} is marked for", 0, 1)


def _entry_differences() -> Iterator[Difference]:
    """The balance after an entry = the one before + its amount; usage and fees of a source = what its closed budget settled."""
    running = Window(Sum("amount_microusd"), partition_by="wallet", order_by="id")
    entries = LedgerEntry.objects.annotate(running=running).exclude(balance_after_microusd=F("running")).order_by("id")
    for entry in entries.iterator():
        yield Difference(f"balance after entry {entry.public_id}", entry.balance_after_microusd, entry.running)
    charges = LedgerEntry.objects.filter(kind__in=CHARGES)
    charged = sum_of(charges.filter(source=OuterRef("source")), "source", "amount_microusd")
    for budget in Budget.objects.annotate(charged=charged).order_by("pk").iterator():
        yield from _unless_equal(f"entries of {budget.source}", -budget.charged, budget.settled_microusd if budget.closed_at else 0)
    lost = charges.exclude(Exists(Budget.objects.filter(source=OuterRef("source")))).order_by("source")
    for source, amount in lost.values_list("source").annotate(total=Sum("amount_microusd")).iterator():
        yield Difference(f"entries of {source}, which has no budget", -amount, 0)


def _budget_differences() -> Iterator[Difference]:
    """With a cap the whole bound is held, without one at least what is settled and reserved; a closed budget holds and reserves nothing."""
    for budget in Budget.objects.select_related("hold").order_by("pk").iterator():
        hold, used = budget.hold, budget.reserved_microusd + budget.settled_microusd
        if hold is None:
            yield from _unless_equal(f"bound of {budget.source}, which holds nothing", budget.bound_microusd, 0)
            continue
        least = budget.bound_microusd if budget.cap_microusd is not None else used
        if not least <= hold.amount_microusd <= budget.bound_microusd:
            yield Difference(f"hold of {budget.source}", hold.amount_microusd, least)
        if budget.closed_at is None and hold.released_at is not None:
            yield Difference(f"hold of {budget.source}, released while its budget is open", 0, hold.amount_microusd)
        if budget.closed_at is not None and hold.released_at is None:
            yield Difference(f"hold of {budget.source}, whose budget is closed", hold.amount_microusd, 0)
        if budget.closed_at is not None:
            yield from _unless_equal(f"reserved of {budget.source}, which is closed", budget.reserved_microusd, 0)
    for hold in Hold.objects.filter(released_at=None, budget=None).order_by("pk").iterator():
        yield Difference(f"hold of {hold.source}, which has no budget", hold.amount_microusd, 0)


def _allowance_differences() -> Iterator[Difference]:
    """Reserved = Σ holds of the open budgets that count against it, spent = Σ settled of the closed ones."""
    holding = Budget.objects.filter(hold__isnull=False, allowances=OuterRef("pk"))
    found = Allowance.objects.annotate(
        holds=sum_of(holding.filter(closed_at=None), "allowances", "hold__amount_microusd"),
        settled=sum_of(holding.exclude(closed_at=None), "allowances", "settled_microusd"),
    ).order_by("pk")
    for allowance in found.exclude(reserved_microusd=F("holds"), spent_microusd=F("settled")).iterator():
        what = f"{allowance} of workspace {allowance.workspace_id}"
        yield from _unless_equal(f"reserved of {what}", allowance.reserved_microusd, allowance.holds)
        yield from _unless_equal(f"spent of {what}", allowance.spent_microusd, allowance.settled)


def _chain_differences() -> Iterator[Difference]:
    """What counts against a key that another key made counts against that one too, in all and in the month."""
    for limit in KeyLimit.objects.exclude(parent=None).order_by("pk").iterator():
        child, parent = (Allowance.objects.filter(workspace=limit.workspace_id, budgets=OuterRef("pk")) for _ in range(2))
        on_child = child.filter(kind=AllowanceKind.KEY_CEILING, subject=str(limit.lineage))
        on_parent = parent.filter(kind=AllowanceKind.KEY_CEILING, subject=str(limit.parent))
        on_month = parent.filter(kind=AllowanceKind.KEY_MONTH, subject__startswith=f"{limit.parent}:")
        for budget in Budget.objects.filter(Exists(on_child)).exclude(Exists(on_parent), Exists(on_month)).order_by("pk").iterator():
            what = f"{budget.source} of key {limit.lineage} on key {limit.parent}, which it comes from"
            yield Difference(what, 0, budget.settled_microusd if budget.closed_at else budget.bound_microusd)


def _payment_differences() -> Iterator[Difference]:
    """A payment's entries: its credit once it is paid, what its refunds have taken, and what disputes that were not won have."""
    entries = LedgerEntry.objects.filter(kind__in=(EntryKind.CREDIT_PURCHASE, EntryKind.REFUND, EntryKind.DISPUTE))
    taken = sum_of(Refund.objects.filter(payment=OuterRef("pk")), "payment", "taken_microusd")
    disputed = sum_of(Dispute.objects.filter(payment=OuterRef("pk"), status__in=TAKING_DISPUTES), "payment", "credit_microusd")
    payments = Payment.objects.annotate(taken=taken, disputed=disputed).order_by("pk")
    for part in batched(payments.iterator(), PART):
        stands = _by_source(entries.filter(source__in=[source_of(payment) for payment in part]))
        for payment in part:
            source, amounts = source_of(payment), stands.get(source_of(payment), {})
            bought = payment.credit_microusd if payment.status == PaymentStatus.PAID else 0
            yield from _unless_equal(f"purchase of {source}", amounts.get(EntryKind.CREDIT_PURCHASE, 0), bought)
            yield from _unless_equal(f"refunds of {source}", -amounts.get(EntryKind.REFUND, 0), payment.taken)
            yield from _unless_equal(f"disputes of {source}", -amounts.get(EntryKind.DISPUTE, 0), payment.disputed)
            if payment.taken + payment.disputed > payment.credit_microusd:
                yield Difference(f"taken back of {source}", payment.taken + payment.disputed, payment.credit_microusd)
    for sources in batched(entries.order_by("source").values_list("source", flat=True).distinct().iterator(), PART):
        ids = [public_id for source in sources if (public_id := parse_uuid(source.removeprefix("payment:")))]
        known = {f"payment:{public_id}" for public_id in Payment.objects.filter(public_id__in=ids).values_list("public_id", flat=True)}
        for source, amounts in sorted(_by_source(entries.filter(source__in=set(sources) - known)).items()):
            yield Difference(f"entries of {source}, which has no payment", sum(amounts.values()), 0)


def source_of(payment: Payment) -> str:
    """What the entries of a payment name as their source."""
    return f"payment:{payment.public_id}"


def _by_source(entries: QuerySet[LedgerEntry]) -> dict[str, dict[str, int]]:
    """The sums of the entries by source and kind."""
    found: dict[str, dict[str, int]] = {}
    for source, kind, total in entries.order_by().values_list("source", "kind").annotate(total=Sum("amount_microusd")):
        found.setdefault(source, {})[kind] = total
    return found


def _unless_equal(what: str, stands: int, expected: int) -> Iterator[Difference]:
    if stands != expected:
        yield Difference(what, stands, expected)


_OWN: tuple[Check, ...] = (
    _wallet_differences,
    _entry_differences,
    _budget_differences,
    _allowance_differences,
    _chain_differences,
    _payment_differences,
)
