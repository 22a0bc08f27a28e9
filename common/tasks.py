"""Celery tasks without a domain."""

from celery import shared_task

from common.idempotency import forget_expired


@shared_task(name="common.forget_answers")
def forget_answers() -> None:
    """Delete answers that were kept for idempotency keys and are past their day."""
    forget_expired()
