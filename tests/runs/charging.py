"""Charges in the ledger as ended runs leave them, at moments of the test's choice."""

from datetime import datetime

from django.db.models import F

from billing.enums import EntryKind
from billing.models import LedgerEntry, Wallet
from runs.models import Run
from tests.runs.working import start
from workspaces.actors import Actor
from workspaces.models import Workspace


def free_run(workspace: Workspace, actor: Actor, profile_id: str) -> Run:
    """A started run that costs nothing of its own."""
    return start(workspace, actor, subjects=["random-choice"], selection={"profile_ids": [profile_id]}, coverage={"mode": "full"})


def charge(workspace: Workspace, source: str, model: str, *, usage: int, fee: int, at: datetime) -> None:
    """The two entries of a model of the run (or other work) that ended at that moment."""
    wallet = Wallet.objects.get(workspace=workspace)
    for kind, amount in ((EntryKind.USAGE, usage), (EntryKind.PLATFORM_FEE, fee)):
        if not amount:
            continue
        Wallet.objects.filter(pk=wallet.pk).update(balance_microusd=F("balance_microusd") - amount)
        wallet.refresh_from_db()
        LedgerEntry.objects.create(
            wallet=wallet,
            kind=kind,
            amount_microusd=-amount,
            balance_after_microusd=wallet.balance_microusd,
            source=source,
            note=model,
            idempotency_key=f"{kind}:{source}:{model}:{at}",
            created_at=at,
        )
