"""Reading wallets and ledgers. The workspace comes first."""

from django.db.models import QuerySet, Sum

from billing.enums import AllowanceKind, EntryKind
from billing.models import Allowance, Budget, KeyLimit, LedgerEntry, Wallet, WorkspaceLimit
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


def monthly_limit(workspace: Workspace | int) -> int | None:
    """What the workspace, or that of the database key, may spend in a calendar month; None for no limit."""
    return WorkspaceLimit.objects.filter(workspace=workspace).values_list("monthly_microusd", flat=True).first()


def key_limit(lineage: str) -> int | None:
    """What a key's lineage may spend in a calendar month, None for no limit."""
    return KeyLimit.objects.filter(lineage=lineage).values_list("monthly_microusd", flat=True).first()


def lineages_of(lineage: str | None) -> list[str]:
    """A key's lineage and those that it comes from, the nearest first; empty for no key."""
    found: list[str] = []
    while lineage is not None and lineage not in found:
        found.append(lineage)
        parent = KeyLimit.objects.filter(lineage=lineage).values_list("parent", flat=True).first()
        lineage = None if parent is None else str(parent)
    return found
