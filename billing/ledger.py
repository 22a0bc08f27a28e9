"""The ledger: the one place that changes a balance. Each entry is written under the wallet's lock, once for its idempotency key."""

from billing.enums import EntryKind
from billing.models import LedgerEntry, Wallet
from workspaces.models import Workspace


def lock_wallet(wallet_id: int) -> Wallet:
    """The wallet under its row lock. Call it once a transaction, after every other lock (the order: shard, subject, run, budget, allowance, wallet)."""
    return Wallet.objects.select_for_update().get(pk=wallet_id)


def wallet_id_of(workspace: Workspace) -> int:
    """The wallet of the workspace, made on first use."""
    wallet, _ = Wallet.objects.get_or_create(workspace=workspace)
    return wallet.pk


def post_entry(
    wallet: Wallet, kind: EntryKind, amount_microusd: int, *, key: str, source: str = "", note: str = "", actor_label: str = ""
) -> LedgerEntry:
    """Write one entry and move the locked wallet's balance by it.

    Returns the entry that stands under the key: written now, or earlier by another try of the same thing.
    The wallet instance is changed too, so that several entries can follow one lock.
    """
    standing = LedgerEntry.objects.filter(idempotency_key=key).first()
    if standing is not None:
        return standing
    wallet.balance_microusd += amount_microusd
    wallet.save(update_fields=["balance_microusd"])
    return LedgerEntry.objects.create(
        wallet=wallet,
        kind=kind,
        amount_microusd=amount_microusd,
        balance_after_microusd=wallet.balance_microusd,
        source=source,
        note=note,
        idempotency_key=key,
        actor_label=actor_label,
    )
