"""What people and the platform do with money."""

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from billing.enums import AllowanceKind, EntryKind
from billing.ledger import lock_wallet, post_entry, wallet_id_of
from billing.models import Allowance, LedgerEntry, Wallet, WorkspaceLimit
from billing.signals import credit_returned
from common.errors import Conflict, Refused
from common.ids import new_id
from common.money import MAX_MICROUSD
from workspaces import audit
from workspaces.actors import SYSTEM, Actor
from workspaces.models import ApiKey, User, Workspace
from workspaces.permissions import can_manage_keys, can_manage_workspace, is_platform_staff, require


def grant_credit(workspace: Workspace, *, actor: Actor, amount_microusd: int, reason: str, key: str | None = None) -> LedgerEntry:
    """Add credit (or, with a negative amount, correct it) by an `adjustment` entry. Only platform staff may; a reason is required.

    `key` makes a repeated grant the same grant. Raises Refused (`invalid_amount`, `reason_required`) and Conflict (`balance_held`) where a
    correction would take what running work holds.
    """
    require(is_platform_staff(actor), "Only platform staff grants credit.")
    if amount_microusd == 0 or abs(amount_microusd) > MAX_MICROUSD:
        raise Refused("invalid_amount", "State an amount other than zero.")
    if not reason.strip():
        raise Refused("reason_required", "State why the credit is granted; the reason is shown in the ledger.")
    try:
        with transaction.atomic():
            wallet = lock_wallet(wallet_id_of(workspace))
            entry = post_entry(
                wallet,
                EntryKind.ADJUSTMENT,
                amount_microusd,
                key=f"grant:{key or new_id()}",
                note=reason.strip()[:300],
                actor_label=actor.label,
            )
            audit.record(
                actor,
                "billing.grant_credit",
                entry.public_id,
                workspace=workspace,
                amount_microusd=str(amount_microusd),
                reason=reason.strip(),
            )
            credit_returned.send(Wallet, workspace_id=workspace.pk)
    except IntegrityError as error:
        if "wallet_held_within_balance" not in str(error):
            raise
        raise Conflict("balance_held", "Running work holds the credit that this would take; wait for it, or take less.") from None
    return entry


def grant_welcome_credit(workspace: Workspace, *, user: User) -> LedgerEntry | None:
    """The welcome credit of a person's first workspace, once for the person; None where it is turned off or was given before."""
    amount = settings.WELCOME_CREDIT_MICROUSD
    key = f"welcome:{user.public_id}"
    if amount <= 0 or LedgerEntry.objects.filter(idempotency_key=key).exists():
        return None
    with transaction.atomic():
        wallet = lock_wallet(wallet_id_of(workspace))
        return post_entry(wallet, EntryKind.WELCOME_CREDIT, amount, key=key, note="Welcome credit", actor_label=SYSTEM.label)


def set_key_ceiling(api_key: ApiKey, *, actor: Actor, ceiling_microusd: int | None) -> Allowance:
    """Set, change or lift what a key's lineage may spend in all.

    A key never raises its own ceiling, and gives another no more than its own has left. Raises Refused (`invalid_amount`, `ceiling_exceeded`)
    and Conflict (`ceiling_below_spend`).
    """
    workspace = api_key.workspace
    require(can_manage_keys(actor, workspace))
    if ceiling_microusd is not None and not 0 <= ceiling_microusd <= MAX_MICROUSD:
        raise Refused("invalid_amount", "A ceiling is an amount of at least zero.")
    with transaction.atomic():
        allowance, _ = Allowance.objects.get_or_create(workspace=workspace, kind=AllowanceKind.KEY_CEILING, subject=str(api_key.lineage))
        _check_own_ceiling(actor, workspace, allowance, ceiling_microusd)
        changed = Allowance.objects.filter(pk=allowance.pk)
        if ceiling_microusd is not None:
            changed = changed.filter(spent_microusd__lte=ceiling_microusd - F("reserved_microusd"))
        if not changed.update(ceiling_microusd=ceiling_microusd):
            raise Conflict("ceiling_below_spend", "The key has spent or reserved more than that already.")
        audit.record(
            actor,
            "api_key.set_ceiling",
            api_key.public_id,
            workspace=workspace,
            ceiling_microusd=None if ceiling_microusd is None else str(ceiling_microusd),
        )
    allowance.refresh_from_db()
    return allowance


def _check_own_ceiling(actor: Actor, workspace: Workspace, allowance: Allowance, ceiling: int | None) -> None:
    if actor.api_key is None:
        return
    own = Allowance.objects.filter(workspace=workspace, kind=AllowanceKind.KEY_CEILING, subject=str(actor.api_key.lineage)).first()
    if own is None or own.ceiling_microusd is None:
        return
    if allowance.pk == own.pk:
        if ceiling is None or ceiling > own.ceiling_microusd:
            raise Refused("ceiling_exceeded", "A key cannot raise its own ceiling.")
    elif ceiling is None or ceiling > (own.left_microusd or 0):
        raise Refused("ceiling_exceeded", "A key gives another key no more than its own ceiling has left; state a lower ceiling.")


def set_workspace_limit(workspace: Workspace, *, actor: Actor, monthly_microusd: int | None) -> WorkspaceLimit:
    """Set or lift what the workspace may spend in a calendar month. Raises Refused (`invalid_amount`)."""
    require(can_manage_workspace(actor, workspace))
    if monthly_microusd is not None and not 0 <= monthly_microusd <= MAX_MICROUSD:
        raise Refused("invalid_amount", "A budget is an amount of at least zero.")
    with transaction.atomic():
        limit, _ = WorkspaceLimit.objects.update_or_create(workspace=workspace, defaults={"monthly_microusd": monthly_microusd})
        audit.record(
            actor,
            "workspace.set_budget",
            workspace.public_id,
            workspace=workspace,
            monthly_microusd=None if monthly_microusd is None else str(monthly_microusd),
        )
    return limit
