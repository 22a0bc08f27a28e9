"""What runs do when something happened elsewhere."""

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver

from billing.models import Wallet
from billing.signals import credit_returned
from common.jobs import enqueue
from runs.engine.sweeping import wake_workspace
from runs.exports.storing import delete_file
from runs.jobs import HINT_LIFETIME, WORK
from runs.models import Export


@receiver(credit_returned)
def wake(sender: type[Wallet], *, workspace_id: int, **_: Any) -> None:
    """Let parked work of the workspace try again, after the commit: the sender holds the wallet, and shards are locked before wallets.

    A wake that is lost costs one interval: where a run has nothing but parked shards the sweep looks whether the money is there.
    """
    transaction.on_commit(partial(_wake, workspace_id), robust=True)


def _wake(workspace_id: int) -> None:
    if wake_workspace(workspace_id):
        enqueue(WORK, expires=HINT_LIFETIME)


@receiver(post_delete, sender=Export)
def delete_exported_file(sender: type[Export], *, instance: Export, **_: Any) -> None:
    """A file goes with its row, after the commit, however the row came to be deleted."""
    transaction.on_commit(partial(delete_file, instance), robust=True)
