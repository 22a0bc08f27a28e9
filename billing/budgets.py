"""Budgets: what metered work may spend, checked and reserved in one place.

Locks are taken in one order everywhere: budget, hold, key allowance, workspace allowance, wallet. The functions here take the ones they
need themselves; the caller holds the transaction. A budget with a cap has its whole bound held from the start, so its slices touch no
other row.

A budget counts against the month in which it was opened, with all it spends, also where the work goes on into the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F
from django.utils import timezone

from billing.enums import AllowanceKind, Bound, EntryKind
from billing.ledger import lock_wallet, post_entry, wallet_id_of
from billing.models import Allowance, Budget, Hold, Wallet, WorkspaceLimit
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


@dataclass(frozen=True, slots=True)
class _Limits:
    """What is left of each limit, locked."""

    wallet: Wallet
    key: Allowance | None
    workspace: Allowance

    def least(self) -> tuple[int, Bound]:
        """The least of what is left, and which limit that is; the first named wins a tie."""
        left = [(self.wallet.available_microusd, Bound.CREDIT)]
        if self.key is not None and self.key.left_microusd is not None:
            left.append((self.key.left_microusd, Bound.KEY_CEILING))
        if self.workspace.left_microusd is not None:
            left.append((self.workspace.left_microusd, Bound.WORKSPACE_BUDGET))
        return min(left, key=lambda pair: pair[0])

    def reserve(self, amount: int) -> None:
        self.wallet.held_microusd += amount
        self.wallet.save(update_fields=["held_microusd"])
        for allowance in (self.key, self.workspace):
            if allowance is not None:
                allowance.reserved_microusd += amount
                allowance.save(update_fields=["reserved_microusd", "ceiling_microusd"])


def _month(now: datetime) -> str:
    return f"{now:%Y-%m}"


def _allowance(workspace: Workspace, kind: AllowanceKind, subject: str) -> Allowance:
    allowance, _ = Allowance.objects.get_or_create(workspace=workspace, kind=kind, subject=subject)
    return Allowance.objects.select_for_update().get(pk=allowance.pk)


def _workspace_allowance(workspace: Workspace, now: datetime) -> Allowance:
    """This month's, locked, with the workspace's present limit."""
    return _with_present_limit(_allowance(workspace, AllowanceKind.WORKSPACE_BUDGET, _month(now)))


def _with_present_limit(allowance: Allowance) -> Allowance:
    """A workspace's allowance, with the limit that holds now. One below what is spent already leaves nothing, it does not fail."""
    limit = WorkspaceLimit.objects.filter(workspace=allowance.workspace_id).values_list("monthly_microusd", flat=True).first()
    allowance.ceiling_microusd = None if limit is None else max(limit, allowance.reserved_microusd + allowance.spent_microusd)
    return allowance


def open_budget(
    workspace: Workspace, *, source: str, cap_microusd: int | None, ceiling_microusd: int, minimum_microusd: int, key_lineage: str | None
) -> Budget:
    """Check credit, key ceiling and workspace budget, place the hold, and return the budget of the work called `source`.

    The bound is min(cap, ceiling) with a cap, all of it held now; without one, the least of the ceiling and what the limits leave now,
    of which nothing is held yet. A ceiling of 0 needs no credit. Raises PaymentRequired, naming the limit that binds
    (`insufficient_credit`, `key_ceiling_reached`, `workspace_budget_reached`), what is left and what is needed.
    """
    if ceiling_microusd == 0:
        return Budget.objects.create(
            source=source, wallet_id=wallet_id_of(workspace), cap_microusd=cap_microusd, bound_microusd=0, bound_by=Bound.CEILING
        )
    wallet_id = wallet_id_of(workspace)
    key = _allowance(workspace, AllowanceKind.KEY_CEILING, key_lineage) if key_lineage else None
    limits = _Limits(key=key, workspace=_workspace_allowance(workspace, timezone.now()), wallet=lock_wallet(wallet_id))
    left, binding = limits.least()
    wanted = ceiling_microusd if cap_microusd is None else min(cap_microusd, ceiling_microusd)
    needed = minimum_microusd if cap_microusd is None else wanted
    if limits.wallet.is_disputed:
        raise PaymentRequired(
            "insufficient_credit", "A disputed payment is open on this workspace's wallet; nothing can be started until it is settled."
        )
    if needed > left:
        raise _refusal(binding, left=left, needed=needed)
    bound_by = Bound.CAP if cap_microusd is not None and cap_microusd <= ceiling_microusd else Bound.CEILING
    if wanted > left:
        wanted, bound_by = left, binding
    hold = Hold.objects.create(wallet=limits.wallet, source=source, amount_microusd=0 if cap_microusd is None else wanted)
    if cap_microusd is not None:
        limits.reserve(wanted)
    return Budget.objects.create(
        source=source,
        wallet=limits.wallet,
        hold=hold,
        cap_microusd=cap_microusd,
        bound_microusd=wanted,
        bound_by=bound_by,
        key_allowance=limits.key,
        workspace_allowance=limits.workspace,
    )


def _refusal(binding: Bound, *, left: int, needed: int) -> PaymentRequired:
    amounts = {"needed_microusd": str(needed), "left_microusd": str(left)}
    short = f"{format_usd(needed)} is needed and {format_usd(left)} is left"
    if binding == Bound.KEY_CEILING:
        return PaymentRequired(
            "key_ceiling_reached",
            f"The API key's spending ceiling does not cover this: {short}. Raise the ceiling or lower the cap.",
            details=amounts,
        )
    if binding == Bound.WORKSPACE_BUDGET:
        return PaymentRequired(
            "workspace_budget_reached",
            f"The workspace's budget for this month does not cover this: {short}. Raise the budget or lower the cap.",
            details=amounts,
        )
    return PaymentRequired(
        "insufficient_credit", f"The workspace's credit does not cover this: {short}. Add credit, or lower the cap.", details=amounts
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
    allowances = Allowance.objects.select_for_update() if lock else Allowance.objects.all()
    key = None if budget.key_allowance_id is None else allowances.get(pk=budget.key_allowance_id)
    workspace = _with_present_limit(allowances.get(pk=budget.workspace_allowance_id or 0))
    wallet = lock_wallet(budget.wallet_id) if lock else Wallet.objects.get(pk=budget.wallet_id)
    return _Limits(key=key, workspace=workspace, wallet=wallet)


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
        for allowance_id in filter(None, (budget.key_allowance_id, budget.workspace_allowance_id)):
            Allowance.objects.filter(pk=allowance_id).update(
                reserved_microusd=F("reserved_microusd") - hold.amount_microusd, spent_microusd=F("spent_microusd") + total
            )
        wallet = lock_wallet(budget.wallet_id)
        wallet.held_microusd -= hold.amount_microusd
        wallet.save(update_fields=["held_microusd"])
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
