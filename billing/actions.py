"""Credit that is given: by staff, and with a person's first workspace."""

from django.conf import settings
from django.db import IntegrityError, transaction

from billing.enums import EntryKind
from billing.ledger import EntryDiffers, entry_under, lock_wallet, post_entry, wallet_id_of
from billing.models import LedgerEntry, Wallet
from common.errors import Conflict, Refused
from common.ids import new_id
from common.money import MAX_MICROUSD, format_usd
from workspaces import audit
from workspaces.actors import SYSTEM, Actor
from workspaces.models import User, Workspace
from workspaces.permissions import is_platform_staff, require


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
