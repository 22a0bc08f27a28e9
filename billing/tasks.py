"""Celery tasks: primitive IDs in, one thing called. Each is sent at intervals and looks for itself what there is to do."""

from celery import shared_task

from billing.alerts import watch_spend
from billing.bookkeeping import check_today


@shared_task(name="billing.watch_spend")
def watch() -> None:
    watch_spend()


@shared_task(name="billing.check_books")
def check_books() -> None:
    check_today()
