"""What people and the platform do with money."""

from django.conf import settings
from django.db import IntegrityError, transaction

from billing.enums import AllowanceKind, EntryKind
from billing.ledger import EntryDiffers, entry_under, lock_wallet, post_entry, wallet_id_of
from billing.models import Allowance, LedgerEntry, Wallet, WorkspaceLimit
from billing.signals import credit_returned
from common.errors import Conflict, Refused
from common.ids import new_id
from common.money import MAX_MICROUSD, format_usd
from workspaces import audit
from workspaces.actors import SYSTEM, Actor
from workspaces.models import ApiKey, User, Workspace
from workspaces.permissions import can_manage_keys, can_manage_workspace, is_platform_staff, require


def grant_credit(workspace: Workspace, *, actor: Actor, amount_microusd: int, reason: str, key: str | None = None) -> LedgerEntry:
    """Add credit (or, with a negative amount, correct it) by an `adjustment` entry. Only platform staff may; a reason is required.

    `key` makes a repeated grant the same grant. Raises Refused (`invalid_amount`, `reason_required`) and Conflict: `balance_held` where a
    correction would take what running work holds, `balance_too_low` where there is less than it would take, `idempotency_key_reused`
    for another grant under the same key.
    """
    require(is_platform_staff(actor), "Only platform staff grants credit.")
    if amount_microusd == 0 or abs(amount_microusd) > MAX_MICROUSD:
        raise Refused("invalid_amount", f"State an amount other than zero, of at most {format_usd(MAX_MICROUSD)}.")
    reason = reason.strip()
    if not reason:
        raise Refused("reason_required", "State why the credit is granted; the reason is shown in the ledger.")
    entry_key = f"grant:{key or new_id()}"
    with transaction.atomic():
        wallet = lock_wallet(wallet_id_of(workspace))
        if amount_microusd < 0 and entry_under(entry_key) is None:
            _check_correction(wallet, amount_microusd)
        try:
            entry, is_new = post_entry(
                wallet, EntryKind.ADJUSTMENT, amount_microusd, key=entry_key, note=reason[:300], actor_label=actor.label
            )
        except EntryDiffers:
            raise Conflict("idempotency_key_reused", "This key was used for another grant; use a new key for a new grant.") from None
        if is_new:
            audit.record(
                actor,
                "billing.grant_credit",
                entry.public_id,
                workspace=workspace,
                amount_microusd=str(amount_microusd),
                reason=reason,
            )
    return entry


def _check_correction(wallet: Wallet, amount_microusd: int) -> None:
    """Raise Conflict where the locked wallet cannot give what a correction takes. The database checks the same."""
    left = wallet.balance_microusd + amount_microusd
    if left < 0:
        raise Conflict(
            "balance_too_low",
            f"The wallet has {format_usd(wallet.balance_microusd)}; a correction takes no more than that.",
            details={"available_microusd": str(wallet.available_microusd)},
        )
    if left < wallet.held_microusd:
        raise Conflict(
            "balance_held",
            "Running work holds the credit that this would take; wait for it, or take less.",
            details={"available_microusd": str(wallet.available_microusd)},
        )


def grant_welcome_credit(workspace: Workspace, *, user: User) -> LedgerEntry | None:  # lint: actors (the system's alone)
    """The welcome credit of a person's first workspace, once for the person; None where it is turned off or was given before."""
    amount = settings.WELCOME_CREDIT_MICROUSD
    key = f"welcome:{user.public_id}"
    if amount <= 0 or entry_under(key) is not None:
        return None
    try:
        with transaction.atomic():
            wallet = lock_wallet(wallet_id_of(workspace))
            entry, is_new = post_entry(wallet, EntryKind.WELCOME_CREDIT, amount, key=key, note="Welcome credit", actor_label=SYSTEM.label)
    except (EntryDiffers, IntegrityError):
        if entry_under(key) is None:
            raise
        return None  # another workspace of the person's was faster: its wallet has another lock, and the unique key decides
    return entry if is_new else None


def set_key_ceiling(api_key: ApiKey, *, actor: Actor, ceiling_microusd: int | None) -> Allowance:
    """Set, change or lift what a key's lineage may spend in all.

    A key never raises its own ceiling, and gives another no more than its own has left. Raises Refused (`invalid_amount`,
    `ceiling_exceeded`) and Conflict (`ceiling_below_spend`).
    """
    workspace = api_key.workspace
    require(can_manage_keys(actor, workspace))
    if ceiling_microusd is not None and not 0 <= ceiling_microusd <= MAX_MICROUSD:
        raise Refused("invalid_amount", "A ceiling is an amount of at least zero.")
    with transaction.atomic():
        found, _ = Allowance.objects.get_or_create(workspace=workspace, kind=AllowanceKind.KEY_CEILING, subject=str(api_key.lineage))
        allowance = Allowance.objects.select_for_update().get(pk=found.pk)
        _check_own_ceiling(actor, allowance, ceiling_microusd)
        taken = allowance.spent_microusd + allowance.reserved_microusd
        if ceiling_microusd is not None and ceiling_microusd < taken:
            raise Conflict(
                "ceiling_below_spend",
                f"The key has spent or reserved {format_usd(taken)} already; a ceiling is no lower than that.",
                details={"spent_microusd": str(allowance.spent_microusd), "reserved_microusd": str(allowance.reserved_microusd)},
            )
        before, allowance.ceiling_microusd = allowance.ceiling_microusd, ceiling_microusd
        allowance.save(update_fields=["ceiling_microusd"])
        audit.record(
            actor,
            "api_key.set_ceiling",
            api_key.public_id,
            workspace=workspace,
            ceiling_microusd=None if ceiling_microusd is None else str(ceiling_microusd),
        )
        if before is not None and (ceiling_microusd is None or ceiling_microusd > before):
            credit_returned.send(Wallet, workspace_id=workspace.pk)
    return allowance


def _check_own_ceiling(actor: Actor, allowance: Allowance, ceiling: int | None) -> None:
    """Raise Refused where a key would raise the locked allowance and it is its own, or would give away more than its own has left."""
    if actor.api_key is None:
        return
    lineage = str(actor.api_key.lineage)
    if allowance.subject == lineage:
        if allowance.ceiling_microusd is not None and (ceiling is None or ceiling > allowance.ceiling_microusd):
            raise Refused("ceiling_exceeded", "A key cannot raise its own ceiling.")
        return
    own = Allowance.objects.filter(workspace=allowance.workspace_id, kind=AllowanceKind.KEY_CEILING, subject=lineage).first()
    if own is not None and own.left_microusd is not None and (ceiling is None or ceiling > own.left_microusd):
        raise Refused("ceiling_exceeded", "A key gives another key no more than its own ceiling has left; state a lower ceiling.")


def set_workspace_limit(workspace: Workspace, *, actor: Actor, monthly_microusd: int | None) -> WorkspaceLimit:
    """Set or lift what the workspace may spend in a calendar month. Raises Refused (`invalid_amount`)."""
    require(can_manage_workspace(actor, workspace))
    if monthly_microusd is not None and not 0 <= monthly_microusd <= MAX_MICROUSD:
        raise Refused("invalid_amount", "A budget is an amount of at least zero.")
    with transaction.atomic():
        limit, _ = WorkspaceLimit.objects.select_for_update().get_or_create(workspace=workspace)
        before, limit.monthly_microusd = limit.monthly_microusd, monthly_microusd
        limit.save(update_fields=["monthly_microusd"])
        audit.record(
            actor,
            "workspace.set_budget",
            workspace.public_id,
            workspace=workspace,
            monthly_microusd=None if monthly_microusd is None else str(monthly_microusd),
        )
        if before is not None and (monthly_microusd is None or monthly_microusd > before):
            credit_returned.send(Wallet, workspace_id=workspace.pk)
    return limit
