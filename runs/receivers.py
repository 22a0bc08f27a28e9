"""What runs do when something happened elsewhere."""

from functools import partial
from typing import Any

from django.db import transaction
from django.dispatch import receiver

from billing.models import Wallet
from billing.signals import credit_returned
from common.jobs import enqueue
from runs.engine.sweeping import wake_workspace
from runs.jobs import HINT_LIFETIME, WORK


@receiver(credit_returned)
def wake(sender: type[Wallet], *, workspace_id: int, **_: Any) -> None:
    """Let parked work of the workspace try again, after the commit: the sender holds the wallet, and shards are locked before wallets.

    A wake that is lost costs one interval: where a run has nothing but parked shards the sweep looks whether the money is there.
    """
    transaction.on_commit(partial(_wake, workspace_id), robust=True)


def _wake(workspace_id: int) -> None:
    if wake_workspace(workspace_id):
        enqueue(WORK, expires=HINT_LIFETIME)
