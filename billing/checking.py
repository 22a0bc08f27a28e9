"""The check of the books: everything that is a sum of other things, added up again."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import F, QuerySet, Sum, Window

from billing.enums import EntryKind
from billing.models import Allowance, Budget, Hold, LedgerEntry, Wallet


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in the books that does not add up."""

    what: str
    stands: int
    expected: int

    def __str__(self) -> str:
        return f"{self.what}: stands at {self.stands}, should be {self.expected} micro-USD"


def ledger_differences() -> list[Difference]:
    """Every balance, hold, budget and allowance that is not what its parts say. Empty when all is well.

    Everything is read as of one moment, also while work goes on; on SQLite writers wait meanwhile.
    """
    with _one_moment():
        return [*_wallet_differences(), *_entry_differences(), *_budget_differences(), *_allowance_differences()]


@contextmanager
def _one_moment() -> Iterator[None]:
    """One snapshot for all that is read inside. Within another transaction it is that one's to decide."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _sums(rows: QuerySet[Any], by: str, amount: str) -> dict[Any, int]:
    return dict(rows.order_by().values_list(by).annotate(total=Sum(amount)))


def _wallet_differences() -> Iterator[Difference]:
    """Balance = Σ entries, held = Σ open holds."""
    entered = _sums(LedgerEntry.objects.all(), "wallet", "amount_microusd")
    held = _sums(Hold.objects.filter(released_at=None), "wallet", "amount_microusd")
    for wallet in Wallet.objects.iterator():
        yield from _unless_equal(f"balance of {wallet}", wallet.balance_microusd, entered.get(wallet.pk, 0))
        yield from _unless_equal(f"held of {wallet}", wallet.held_microusd, held.get(wallet.pk, 0))


def _entry_differences() -> Iterator[Difference]:
    """The balance after an entry = the one before + its amount; usage and fees of a source = what its closed budget settled."""
    running = Window(Sum("amount_microusd"), partition_by="wallet", order_by="id")
    for entry in LedgerEntry.objects.annotate(running=running).exclude(balance_after_microusd=F("running")).order_by("id"):
        yield Difference(f"balance after entry {entry.public_id}", entry.balance_after_microusd, entry.running)
    charged = _sums(LedgerEntry.objects.filter(kind__in=[EntryKind.USAGE, EntryKind.PLATFORM_FEE]), "source", "amount_microusd")
    for budget in Budget.objects.iterator():
        settled = budget.settled_microusd if budget.closed_at else 0
        yield from _unless_equal(f"entries of {budget.source}", -charged.pop(budget.source, 0), settled)
    for source, amount in charged.items():
        yield Difference(f"entries of {source}, which has no budget", -amount, 0)


def _budget_differences() -> Iterator[Difference]:
    """With a cap the whole bound is held, without one at least what is settled and reserved; a closed budget holds and reserves nothing."""
    for budget in Budget.objects.select_related("hold").iterator():
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
    for hold in Hold.objects.filter(released_at=None, budget=None):
        yield Difference(f"hold of {hold.source}, which has no budget", hold.amount_microusd, 0)


def _allowance_differences() -> Iterator[Difference]:
    """Reserved = Σ holds of the open budgets that count against it, spent = Σ settled of the closed ones."""
    holding = Budget.objects.filter(hold__isnull=False, allowances__isnull=False)
    reserved = Counter(_sums(holding.filter(closed_at=None), "allowances", "hold__amount_microusd"))
    spent = Counter(_sums(holding.exclude(closed_at=None), "allowances", "settled_microusd"))
    for allowance in Allowance.objects.iterator():
        what = f"{allowance} of workspace {allowance.workspace_id}"
        yield from _unless_equal(f"reserved of {what}", allowance.reserved_microusd, reserved[allowance.pk])
        yield from _unless_equal(f"spent of {what}", allowance.spent_microusd, spent[allowance.pk])


def _unless_equal(what: str, stands: int, expected: int) -> Iterator[Difference]:
    if stands != expected:
        yield Difference(what, stands, expected)
