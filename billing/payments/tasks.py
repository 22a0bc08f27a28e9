"""Celery tasks: primitive IDs in, one thing called. What is lost of them is found by the sweep, save for the mail and the card."""

from celery import shared_task

from billing.payments.events import WORK_EVENT, work_event
from billing.payments.sweeping import sweep_payments
from billing.payments.top_ups import forget_card, tell_top_up_off

_TRY_AGAIN = {"autoretry_for": (Exception,), "retry_backoff": 60, "max_retries": 8}


@shared_task(name=WORK_EVENT)
def work(event_id: int) -> None:
    work_event(event_id)


@shared_task(name="billing.sweep_payments")
def sweep() -> None:
    sweep_payments()


@shared_task(name="billing.forget_card", **_TRY_AGAIN)
def forget(method_id: str) -> None:
    forget_card(method_id)


@shared_task(name="billing.tell_top_up_off", **_TRY_AGAIN)
def tell(wallet_id: int) -> None:
    tell_top_up_off(wallet_id)
