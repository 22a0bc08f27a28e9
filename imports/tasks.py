"""Celery tasks: primitive IDs in, one thing called."""

from celery import shared_task

from imports.actions.checking import run_check, sweep_checks
from imports.actions.drafts import expire_drafts
from imports.actions.health import compute_missing_health
from imports.actions.uploads import expire_uploads, sweep_files
from imports.jobs import CHECK, EXPIRE_DRAFTS, SWEEP_CHECKS
from imports.queries.drafts import find_check
from workspaces.actors import SYSTEM


@shared_task(name="imports.compute_health")
def compute_health() -> None:
    compute_missing_health(actor=SYSTEM)


@shared_task(name="imports.expire_uploads")
def expire() -> None:
    expire_uploads(actor=SYSTEM)


@shared_task(name="imports.sweep_files")
def sweep() -> None:
    sweep_files(actor=SYSTEM)


@shared_task(name=CHECK)
def check_rows(public_id: str) -> None:
    check = find_check(public_id)
    if check is not None:
        run_check(check, actor=SYSTEM)


@shared_task(name=SWEEP_CHECKS)
def sweep_unfinished_checks() -> None:
    sweep_checks(actor=SYSTEM)


@shared_task(name=EXPIRE_DRAFTS)
def expire_old_drafts() -> None:
    expire_drafts(actor=SYSTEM)
