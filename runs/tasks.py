"""Celery tasks: primitive IDs in, one thing called. A message is a hint: each task looks for itself what there is to do."""

import asyncio
import os

import uvloop
from asgiref.sync import async_to_sync
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from common.jobs import enqueue
from common.locks import first_free_lock
from common.processes import is_asked_to_stop
from runs import retention
from runs.engine.executor import Executor
from runs.engine.sweeping import sweep
from runs.finalizing import finalize_run
from runs.gradings.queries import unfinished
from runs.gradings.regrading import grade_run_again
from runs.jobs import FINALIZE, GRADE_AGAIN, HINT_LIFETIME, SWEEP, WORK
from runs.models import Run


@shared_task(name=WORK)
def execute() -> None:
    """Work leases until there are none. No more executors a worker than `ENGINE_EXECUTORS`, so that a child stays free for everything
    else.
    """
    with first_free_lock(settings.DATA_DIR / "executors", str(os.getppid()), settings.ENGINE_EXECUTORS) as is_free:
        if not is_free:
            return
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
        async_to_sync(Executor(should_stop=is_asked_to_stop).run)()
    if not is_asked_to_stop():
        enqueue(SWEEP, expires=HINT_LIFETIME)


@shared_task(name=SWEEP)
def sweep_runs() -> None:
    sweep()


@shared_task(name=FINALIZE)
def finalize(public_id: str) -> None:
    run_id = Run.objects.filter(public_id=public_id).values_list("pk", flat=True).first()  # lint: tenant_scoping (every workspace's)
    if run_id is not None:
        finalize_run(run_id)


@shared_task(name=GRADE_AGAIN)
def grade_again(public_id: str) -> None:
    grade_run_again(public_id)


@shared_task(name="runs.sweep_gradings")
def sweep_gradings() -> None:
    """Work gradings whose message was lost, or whose worker."""
    for public_id in unfinished(timezone.now()):
        enqueue(GRADE_AGAIN, str(public_id))


@shared_task(name="runs.expire_content")
def expire_content() -> None:
    retention.expire_content()
