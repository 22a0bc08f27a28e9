"""Writing a run's events. The caller holds the run's row lock: sequences rise under it, so none is skipped and none appears late."""

from typing import Any

from django.utils import timezone

from runs.models import Event, Run


def append_events(run: Run, *events: tuple[str, dict[str, Any]]) -> None:
    """Insert (type, data) pairs and raise the locked run's `last_sequence`; the caller saves that field with the run."""
    now = timezone.now()
    rows = []
    for type_, data in events:
        run.last_sequence += 1
        rows.append(Event(run=run, sequence=run.last_sequence, type=type_, data=data, created_at=now))
    Event.objects.bulk_create(rows)


def append_event(run_id: int, type_: str, data: dict[str, Any]) -> None:
    """Lock the run, write one event, save the sequence. Inside the caller's transaction."""
    run = Run.objects.select_for_update().get(pk=run_id)
    append_events(run, (type_, data))
    run.save(update_fields=["last_sequence"])
