"""Subjects of one run keep pace, also where the cap does not last for all of them."""

from collections.abc import Callable

import pytest

from runs.models import Run, Subject
from tests.runs.working import sums, work
from tests.standins.chat import ChatServer

pytestmark = pytest.mark.django_db(transaction=True)


def test_subjects_under_a_short_cap_finish_about_as_many_tasks(quick: None, start_sums: Callable[..., Run]) -> None:
    with ChatServer(sums, latency=0.002) as server:
        one = work(start_sums(tasks=1, endpoint=server.url))
        short = work(start_sums(tasks=240, endpoint=server.url, routes=4, concurrency=8, max_charge_microusd=str(320 * one.spend_microusd)))
    finished = list(Subject.objects.filter(run=short).values_list("processed", flat=True))
    assert (short.status, short.interruption["reason"]) == ("partial", "cap_reached")
    assert sum(finished) == short.processed > 960 // 4
    assert max(finished) <= 1.5 * min(finished)
