"""What notices do when a run ends."""

from typing import Any

from django.dispatch import receiver

from runs.models import ResultVersion, Run
from runs.notices.outbox import note_ended
from runs.signals import run_ended


@receiver(run_ended)
def tell(sender: type[Run], *, run: Run, result: ResultVersion, **_: Any) -> None:
    """In the transaction that ends the run: it has not ended without its notices."""
    note_ended(run, result)
