"""What is sent at intervals, and by whom."""

import os

import pytest
from celery import current_app
from celery.beat import Service
from django.conf import settings

from evalrouter_site.beat import MemoryScheduler
from tests.services import Worker, wait_until


def test_every_entry_is_due_when_the_beat_starts_and_then_at_its_interval() -> None:
    scheduler = Service(current_app, scheduler_cls=current_app.conf.beat_scheduler).get_scheduler()
    assert type(scheduler) is MemoryScheduler
    assert sorted(scheduler.schedule) == sorted(settings.CELERY_BEAT_SCHEDULE)
    assert {name for name, entry in scheduler.schedule.items() if entry.is_due()[0]} == set(settings.CELERY_BEAT_SCHEDULE)
    for name, entry in scheduler.schedule.items():
        is_due, seconds = next(entry).is_due()
        assert (is_due, round(seconds)) == (False, settings.CELERY_BEAT_SCHEDULE[name]["schedule"])


@pytest.mark.services
def test_worker_whose_beat_is_killed_ends_so_that_both_are_started_again(celery_worker: Worker) -> None:
    wait_until(lambda: len(celery_worker.children()) == 3)
    for child in celery_worker.children():
        os.kill(child, 9)
    wait_until(lambda: celery_worker.process.poll() is not None, seconds=30)
    assert "worker.child_died" in celery_worker.log.read_text()
