"""Celery tasks: primitive IDs in, one thing called."""

from celery import shared_task

from imports.actions.uploads import expire_uploads, sweep_files
from workspaces.actors import SYSTEM


@shared_task(name="imports.expire_uploads")
def expire() -> None:
    expire_uploads(actor=SYSTEM)


@shared_task(name="imports.sweep_files")
def sweep() -> None:
    sweep_files(actor=SYSTEM)
