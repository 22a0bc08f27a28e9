"""Reading wallets and ledgers. The workspace comes first."""

from dataclasses import dataclass

from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Coalesce

from billing.enums import AllowanceKind, EntryKind
from billing.models import Allowance, Budget, Hold, LedgerEntry, Wallet, WorkspaceLimit
from workspaces.models import ApiKey, Workspace

_SETTLED_FEES = (EntryKind.PLATFORM_FEE, EntryKind.FEE_CREDIT)


def get_wallet(workspace: Workspace) -> Wallet:
    """The workspace's wallet; an unsaved empty one where nothing has happened yet."""
    return Wallet.objects.filter(workspace=workspace).first() or Wallet(workspace=workspace)


def entries_for(workspace: Workspace) -> QuerySet[LedgerEntry]:
    """The ledger, newest first."""
    return LedgerEntry.objects.filter(wallet__workspace=workspace).order_by("-id")


def entries_of_source(workspace: Workspace, source: str) -> QuerySet[LedgerEntry]:
    """The entries that one piece of work led to, oldest first."""
    return LedgerEntry.objects.filter(wallet__workspace=workspace, source=source).order_by("id")


def wallet_figures(workspace: Workspace) -> dict[str, int]:
    """The wallet's figures in micro-USD, named as the API names them. Fees are net of fee credits."""
    wallet = get_wallet(workspace)
    sums = dict(
        LedgerEntry.objects.filter(wallet__workspace=workspace, kind__in=[EntryKind.USAGE, *_SETTLED_FEES])
        .values_list("kind")
        .annotate(total=Sum("amount_microusd"))
        .order_by()
    )
    usage = -sums.get(EntryKind.USAGE, 0)
    fees = -sum(sums.get(kind, 0) for kind in _SETTLED_FEES)
    return {
        "balance_microusd": wallet.balance_microusd,
        "held_microusd": wallet.held_microusd,
        "available_microusd": wallet.available_microusd,
        "settled_usage_microusd": usage,
        "settled_platform_fees_microusd": fees,
        "settled_charges_microusd": usage + fees,
    }


def get_budget(source: str) -> Budget:
    return Budget.objects.get(source=source)


def budgets_of(sources: list[str]) -> dict[str, Budget]:
    """The budgets by source."""
    return {budget.source: budget for budget in Budget.objects.filter(source__in=sources)}


def allowance_of_key(api_key: ApiKey) -> Allowance | None:
    """What the key's lineage may spend and has spent; None where it has done neither."""
    return Allowance.objects.filter(workspace=api_key.workspace, kind=AllowanceKind.KEY_CEILING, subject=str(api_key.lineage)).first()


def allowances_of_keys(workspace: Workspace) -> dict[str, Allowance]:
    """The workspace's key allowances by lineage."""
    return {row.subject: row for row in Allowance.objects.filter(workspace=workspace, kind=AllowanceKind.KEY_CEILING)}


def monthly_limit(workspace: Workspace) -> int | None:
    """What the workspace may spend in a calendar month, None for no limit."""
    return WorkspaceLimit.objects.filter(workspace=workspace).values_list("monthly_microusd", flat=True).first()


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in the books that does not add up."""

    what: str
    stands: int
    expected: int

    def __str__(self) -> str:
        return f"{self.what}: stands at {self.stands}, should be {self.expected} micro-USD"


def ledger_differences() -> list[Difference]:
    """Every balance, hold and budget that is not what its parts say. Empty when all is well."""
    found = []
    for wallet in Wallet.objects.annotate(total=Coalesce(Sum("entries__amount_microusd"), 0)).exclude(balance_microusd=F("total")):
        found.append(Difference(f"balance of {wallet}", wallet.balance_microusd, wallet.total))
    held = dict(Hold.objects.filter(released_at=None).values_list("wallet").annotate(total=Sum("amount_microusd")).order_by())
    for wallet in Wallet.objects.all():
        if wallet.held_microusd != held.get(wallet.pk, 0):
            found.append(Difference(f"held of {wallet}", wallet.held_microusd, held.get(wallet.pk, 0)))
    charged = dict(
        LedgerEntry.objects.filter(kind__in=[EntryKind.USAGE, EntryKind.PLATFORM_FEE])
        .values_list("source")
        .annotate(total=Sum("amount_microusd"))
        .order_by()
    )
    for budget in Budget.objects.exclude(closed_at=None):
        if budget.settled_microusd != -charged.get(budget.source, 0):
            found.append(Difference(f"entries of {budget.source}", -charged.get(budget.source, 0), budget.settled_microusd))
    return found
