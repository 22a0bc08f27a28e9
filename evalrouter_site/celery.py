"""The Celery application. Tasks are named `<app>.<what>` and found in each app's `tasks` module."""

import os
import signal
from typing import Any

from celery import Celery
from celery.signals import beat_embedded_init, worker_process_init, worker_shutting_down

from common.processes import ask_to_stop, end_with_parent
from evalrouter_site.watching import WatchChildren

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalrouter_site.settings")

app = Celery("evalrouter")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["billing.payments", "runs.notices"])
app.steps["worker"].add(WatchChildren)

_WORKER = os.getpid()
"""Of the process that loaded this, before it forks: a child that finds another parent was forked by a worker that is dead by now."""


@worker_process_init.connect
@beat_embedded_init.connect
def _end_with_worker(**_kwargs: Any) -> None:
    """A killed worker leaves no child that goes on without it; what it held is found by its expired lease."""
    end_with_parent(_WORKER, signal.SIGKILL)


@worker_shutting_down.connect
def _give_back(**_kwargs: Any) -> None:
    """Running tasks see that the worker ends and give back their leases, so that it ends in moments."""
    ask_to_stop()
