"""The ledger: the one place that changes a balance. Each entry is written under the wallet's lock, once for its idempotency key."""

from billing.enums import DisputeStatus, EntryKind
from billing.models import Dispute, LedgerEntry, Wallet
from billing.signals import credit_returned
from workspaces.models import Workspace


class EntryDiffers(ValueError):
    """Under the idempotency key stands an entry of another wallet, kind or amount."""


def lock_wallet(wallet_id: int) -> Wallet:
    """The wallet under its row lock. Call it once a transaction, after every other lock.

    The order is: shard, subject, run, budget, hold, allowances, payment, wallet.
    """
    return Wallet.objects.select_for_update().get(pk=wallet_id)


def wallet_id_of(workspace: Workspace) -> int:
    """The wallet of the workspace, made on first use."""
    wallet, _ = Wallet.objects.get_or_create(workspace=workspace)
    return wallet.pk


def move_held(wallet: Wallet, change: int, *, owed: int = 0) -> None:
    """Hold more of the locked wallet's credit, or less, in micro-USD; `owed` is what the entries of a released hold are about to take."""
    wallet.held_microusd += change
    _consider_dispute(wallet, owed=owed)
    wallet.save(update_fields=["held_microusd", "is_disputed"])


def end_dispute(wallet: Wallet) -> None:
    """Let the locked wallet start work again, unless another dispute is open or there is less than running work holds."""
    _consider_dispute(wallet)
    wallet.save(update_fields=["is_disputed"])


def _consider_dispute(wallet: Wallet, *, owed: int = 0) -> None:
    if wallet.is_disputed:
        is_open = Dispute.objects.filter(payment__wallet=wallet, status=DisputeStatus.OPEN).exists()
        wallet.is_disputed = is_open or wallet.balance_microusd - owed < wallet.held_microusd


def entry_under(key: str) -> LedgerEntry | None:
    """The entry that stands under the idempotency key."""
    return LedgerEntry.objects.filter(idempotency_key=key).first()


def post_entry(
    wallet: Wallet, kind: EntryKind, amount_microusd: int, *, key: str, source: str = "", note: str = "", actor_label: str = ""
) -> tuple[LedgerEntry, bool]:
    """Write one entry and move the locked wallet's balance by it.

    Returns the entry that stands under the key, and whether it was written now: another try of the same thing finds the one there is.
    Raises `EntryDiffers` where the key stands for something else, and IntegrityError where another wallet took it at the same moment.
    The wallet instance is changed too, so that several entries can follow one lock. An entry of a dispute may leave less than is held, and
    less than nothing; with any other that would, the database refuses the transaction.
    """
    standing = entry_under(key)
    if standing is not None:
        if (standing.wallet_id, standing.kind, standing.amount_microusd) != (wallet.pk, kind, amount_microusd):
            raise EntryDiffers(f"{key} stands for {standing}, not for {kind} {amount_microusd}")
        return standing, False
    wallet.balance_microusd += amount_microusd
    wallet.is_disputed |= kind == EntryKind.DISPUTE
    if amount_microusd > 0:
        _consider_dispute(wallet)
    wallet.save(update_fields=["balance_microusd", "is_disputed"])
    entry = LedgerEntry.objects.create(
        wallet=wallet,
        kind=kind,
        amount_microusd=amount_microusd,
        balance_after_microusd=wallet.balance_microusd,
        source=source,
        note=note,
        idempotency_key=key,
        actor_label=actor_label,
    )
    if amount_microusd > 0:
        credit_returned.send(Wallet, workspace_id=wallet.workspace_id)
    return entry, True
