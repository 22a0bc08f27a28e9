"""The one way to enqueue work: by task name, when the transaction has committed.

A message is a hint. Whatever it asks for is also found by the sweep, so a message that the broker cannot take is logged, not raised.
"""

import structlog
from celery import current_app
from django.db import transaction

log = structlog.get_logger(__name__)


def enqueue_on_commit(task_name: str, *args: str | int, expires: float | None = None, countdown: float | None = None) -> None:
    """Send the task by name after commit. Arguments are primitive IDs. `expires` and `countdown` are in seconds."""
    transaction.on_commit(lambda: enqueue(task_name, *args, expires=expires, countdown=countdown))


def enqueue(task_name: str, *args: str | int, expires: float | None = None, countdown: float | None = None) -> None:
    """Send the task by name now; a broker that does not answer is logged and left to the sweep."""
    try:
        current_app.send_task(task_name, args=args, expires=expires, countdown=countdown)
    except (OSError, current_app.connection_for_write().recoverable_connection_errors) as error:
        log.warning("jobs.not_sent", task=task_name, error=type(error).__name__)
