"""Celery tasks: a message is a hint, each task looks for itself what there is to do."""

from celery import shared_task

from runs.notices.delivering import deliver_due
from runs.notices.jobs import DELIVER, MAIL, SWEEP
from runs.notices.mailing import mail_due
from runs.notices.sweeping import sweep_notices


@shared_task(name=DELIVER)
def deliver() -> None:
    deliver_due()


@shared_task(name=MAIL)
def mail() -> None:
    mail_due()


@shared_task(name=SWEEP)
def sweep() -> None:
    sweep_notices()
