"""Budgets: what metered work may spend, checked and reserved in one place.

Locks are taken in one order everywhere: budget, hold, allowances (oldest first), wallet. The functions here take the ones they need
themselves; the caller holds the transaction. A budget with a cap has its whole bound held from the start, so its slices touch no other
row.

A budget counts against the month in which it was opened, with all it spends, also where the work goes on into the next. One that a key
opened counts on the key's lineage and on those that it comes from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from billing.enums import AllowanceKind, Bound, EntryKind
from billing.ledger import lock_wallet, move_held, post_entry, wallet_id_of
from billing.models import Allowance, Budget, Hold, KeyLimit, Wallet
from billing.months import month_of
from billing.queries import lineages_of, monthly_limit
from billing.signals import credit_returned
from common.errors import PaymentRequired
from common.money import format_usd
from workspaces.models import Workspace

HOLD_STEPS = 8
"""Without a cap the hold grows by about this part of what is left of the bound, so that the wallet is not touched by every slice."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What one subject of a budget cost in all, in micro-USD, under a key that makes its entries unique."""

    key: str
    note: str
    usage_microusd: int
    fee_microusd: int


@dataclass(frozen=True, slots=True)
class Want:
    """A reservation asked for: `amount` if it may be, `least` at least; micro-USD."""

    amount: int
    least: int


_ORDER = (AllowanceKind.KEY_CEILING, AllowanceKind.KEY_MONTH, AllowanceKind.WORKSPACE_BUDGET)
"""Limits are looked at in this order, after credit; of two that leave the same, the first is named."""
_BOUND = {
    AllowanceKind.KEY_CEILING: Bound.KEY_CEILING,
    AllowanceKind.KEY_MONTH: Bound.KEY_MONTH,
    AllowanceKind.WORKSPACE_BUDGET: Bound.WORKSPACE_BUDGET,
}


@dataclass(frozen=True, slots=True)
class _Limits:
    """What is left of each limit, with the limits as they are set now."""

    wallet: Wallet
    allowances: list[Allowance]

    def least(self) -> tuple[int, Bound]:
        """The least of what is left, and which limit that is."""
        left = [(self.wallet.available_microusd, Bound.CREDIT)]
        for kind in _ORDER:
            left += [(each.left_microusd, _BOUND[kind]) for each in self.allowances if each.kind == kind and each.left_microusd is not None]
        return min(left, key=lambda pair: pair[0])

    def reserve(self, amount: int) -> None:
        """Hold the amount; wallet and allowances are locked."""
        move_held(self.wallet, amount)
        for allowance in self.allowances:
            allowance.reserved_microusd += amount
            allowance.save(update_fields=["reserved_microusd", "ceiling_microusd"])


def _allowances(workspace: Workspace, key_lineage: str | None, now: datetime) -> list[Allowance]:
    """What work started now counts against, locked, each with its present limit."""
    month = month_of(now)
    wanted = [(AllowanceKind.WORKSPACE_BUDGET, month)]
    for lineage in lineages_of(key_lineage):
        wanted += [(AllowanceKind.KEY_CEILING, lineage), (AllowanceKind.KEY_MONTH, f"{lineage}:{month}")]
    keys = [Allowance.objects.get_or_create(workspace=workspace, kind=kind, subject=subject)[0].pk for kind, subject in wanted]
    return _with_present_limits(Allowance.objects.select_for_update().filter(pk__in=keys))


def _with_present_limits(allowances: QuerySet[Allowance]) -> list[Allowance]:
    """The allowances, oldest first, those of a month with the limit that holds now.

    A limit below what is taken already leaves nothing, it does not fail.
    """
    found = list(allowances.order_by("pk"))
    limits: dict[str, int | None] = {
        str(lineage): monthly
        for lineage, monthly in KeyLimit.objects.filter(
            lineage__in=[each.lineage for each in found if each.kind == AllowanceKind.KEY_MONTH]
        ).values_list("lineage", "monthly_microusd")
    }
    for each in found:
        if each.kind == AllowanceKind.KEY_CEILING:
            continue
        limit = limits.get(each.lineage) if each.kind == AllowanceKind.KEY_MONTH else monthly_limit(each.workspace_id)
        each.ceiling_microusd = None if limit is None else max(limit, each.reserved_microusd + each.spent_microusd)
    return found


def open_budget(
    workspace: Workspace, *, source: str, cap_microusd: int | None, ceiling_microusd: int, minimum_microusd: int, key_lineage: str | None
) -> Budget:
    """Check credit, the key's limits and the workspace's, place the hold, and return the budget of the work called `source`.

    The bound is min(cap, ceiling) with a cap, all of it held now; without one, the least of the ceiling and what the limits leave now,
    of which nothing is held yet. A ceiling of 0 needs no credit. Raises PaymentRequired, naming the limit that binds
    (`insufficient_credit`, `key_ceiling_reached`, `key_month_reached`, `workspace_budget_reached`), what is left, what is needed and what
    would help, and `wallet_disputed`, which stops everything.
    """
    wallet_id = wallet_id_of(workspace)
    if ceiling_microusd == 0:
        _refuse_disputed(Wallet.objects.get(pk=wallet_id))
        return Budget.objects.create(
            source=source, wallet_id=wallet_id, cap_microusd=cap_microusd, bound_microusd=0, bound_by=Bound.CEILING
        )
    allowances = _allowances(workspace, key_lineage, timezone.now())
    limits = _Limits(allowances=allowances, wallet=lock_wallet(wallet_id))
    _refuse_disputed(limits.wallet)
    left, binding = limits.least()
    wanted = ceiling_microusd if cap_microusd is None else min(cap_microusd, ceiling_microusd)
    needed = minimum_microusd if cap_microusd is None else wanted
    if needed > left:
        raise _refusal(binding, left=left, needed=needed)
    bound_by = Bound.CAP if cap_microusd is not None and cap_microusd <= ceiling_microusd else Bound.CEILING
    if wanted > left:
        wanted, bound_by = left, binding
    hold = Hold.objects.create(wallet=limits.wallet, source=source, amount_microusd=0 if cap_microusd is None else wanted)
    if cap_microusd is not None:
        limits.reserve(wanted)
    budget = Budget.objects.create(
        source=source, wallet=limits.wallet, hold=hold, cap_microusd=cap_microusd, bound_microusd=wanted, bound_by=bound_by
    )
    budget.allowances.set(allowances)
    return budget


_REFUSALS = {
    Bound.CREDIT: ("insufficient_credit", "The workspace's credit", "Add credit, or lower the cap."),
    Bound.KEY_CEILING: ("key_ceiling_reached", "The API key's spending ceiling", "Raise the ceiling or lower the cap."),
    Bound.KEY_MONTH: (
        "key_month_reached",
        "The API key's limit of this month",
        "Raise the limit, lower the cap, or wait for the next month (UTC).",
    ),
    Bound.WORKSPACE_BUDGET: ("workspace_budget_reached", "The workspace's budget for this month", "Raise the budget or lower the cap."),
}


def _refusal(binding: Bound, *, left: int, needed: int) -> PaymentRequired:
    code, limit, help_ = _REFUSALS[binding]
    return PaymentRequired(
        code,
        f"{limit} does not cover this: {format_usd(needed)} is needed and {format_usd(left)} is left. {help_}",
        details={"needed_microusd": str(needed), "left_microusd": str(left)},
    )


def _refuse_disputed(wallet: Wallet) -> None:
    if wallet.is_disputed:
        raise PaymentRequired(
            "wallet_disputed",
            "A disputed payment has taken credit back from this workspace's wallet; nothing can be started until it is settled. "
            "Buy credit for what is owed, or wait until the dispute is decided.",
            details={"balance_microusd": str(wallet.balance_microusd)},
        )


def lock_budget(source: str) -> Budget:
    """The budget under its row lock."""
    return Budget.objects.select_for_update().get(source=source)


def settle_and_reserve(budget: Budget, *, settled: int, returned: int, wants: Sequence[Want]) -> list[int]:
    """Move a locked budget by one batch: settle charges, take back `returned` of the reservation, then reserve for each want in turn.

    Of each want at most a quarter of what is free is granted, but at least its `least` where that fits; otherwise 0. Returns the grants.
    Saves the budget once; touches wallet and allowances only where the hold must grow. Raises ValueError for a closed budget: its entries
    are written, so nothing may be settled any more.
    """
    if budget.closed_at is not None:
        raise ValueError(f"{budget.source} is closed")
    budget.settled_microusd += settled
    budget.reserved_microusd -= returned
    grants = []
    for want in wants:
        free = budget.free_microusd
        granted = min(want.amount, max(want.least, free // 4))
        if granted < want.least or granted > free:
            granted = 0
        if granted and budget.cap_microusd is None:
            granted = _grow_hold(budget, granted, want.least)
        budget.reserved_microusd += granted
        grants.append(granted)
    budget.save(update_fields=["settled_microusd", "reserved_microusd"])
    return grants


def _grow_hold(budget: Budget, granted: int, least: int) -> int:
    """Let the hold cover what is settled, reserved and now granted; returns what the limits really allow (0 or at least `least`)."""
    assert budget.hold_id is not None
    hold = Hold.objects.select_for_update().get(pk=budget.hold_id)
    covered = hold.amount_microusd - budget.settled_microusd - budget.reserved_microusd
    if covered >= granted:
        return granted
    limits = _limits_of(budget, lock=True)
    left, _ = limits.least()
    step = max(granted - covered, (budget.bound_microusd - hold.amount_microusd) // HOLD_STEPS)
    growth = min(step, left, budget.bound_microusd - hold.amount_microusd)
    granted = min(granted, covered + growth)
    if granted < least:
        return 0
    hold.amount_microusd += growth
    hold.save(update_fields=["amount_microusd"])
    limits.reserve(growth)
    return granted


def _limits_of(budget: Budget, *, lock: bool) -> _Limits:
    """What is left of the limits of a budget that holds credit, read now."""
    allowances = Allowance.objects.filter(budgets=budget)
    found = _with_present_limits(allowances.select_for_update(of=("self",)) if lock else allowances)
    return _Limits(allowances=found, wallet=lock_wallet(budget.wallet_id) if lock else Wallet.objects.get(pk=budget.wallet_id))


def spendable(budget: Budget) -> tuple[int, Bound]:
    """The most that a reservation could get now, in micro-USD, and what binds it: the bound, or, without a cap, what the limits leave.

    The limits are read without locks: what is really granted `settle_and_reserve` decides.
    """
    free, bound = budget.free_microusd, Bound(budget.bound_by)
    if budget.cap_microusd is not None or budget.hold_id is None:
        return free, bound
    left, binding = _limits_of(budget, lock=False).least()
    backed = Hold.objects.get(pk=budget.hold_id).amount_microusd - budget.settled_microusd - budget.reserved_microusd + left
    return (free, bound) if free <= backed else (backed, binding)


def close_budget(source: str, *, charges: list[Charge], actor_label: str = "") -> Budget:
    """Write the entries of the work's charges, release the hold, and close the budget. A closed budget is returned as it is.

    One `usage` and one `platform_fee` entry for each charge that is not zero. The charges must add up to what was settled (ValueError).
    """
    budget = lock_budget(source)
    if budget.closed_at is not None:
        return budget
    total = sum(charge.usage_microusd + charge.fee_microusd for charge in charges)
    if total != budget.settled_microusd:
        raise ValueError(f"{source}: charges of {total} do not add up to the settled {budget.settled_microusd}")
    now = timezone.now()
    if budget.hold_id is not None:
        hold = Hold.objects.select_for_update().get(pk=budget.hold_id)
        for allowance in Allowance.objects.select_for_update(of=("self",)).filter(budgets=budget).order_by("pk"):
            allowance.reserved_microusd -= hold.amount_microusd
            allowance.spent_microusd += total
            allowance.save(update_fields=["reserved_microusd", "spent_microusd"])
        wallet = lock_wallet(budget.wallet_id)
        move_held(wallet, -hold.amount_microusd, owed=total)
        for charge in charges:
            for kind, amount in ((EntryKind.USAGE, charge.usage_microusd), (EntryKind.PLATFORM_FEE, charge.fee_microusd)):
                if amount:
                    post_entry(wallet, kind, -amount, key=f"{kind}:{charge.key}", source=source, note=charge.note, actor_label=actor_label)
        hold.released_at = now
        hold.save(update_fields=["released_at"])
        credit_returned.send(Wallet, workspace_id=wallet.workspace_id)
    budget.reserved_microusd = 0
    budget.closed_at = now
    budget.save(update_fields=["reserved_microusd", "closed_at"])
    return budget
