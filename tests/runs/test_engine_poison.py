"""Prompts that a provider never answers end as errors of their own; they are no sign that the provider is gone."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from gateway import calls
from gateway.chat import CallError
from gateway.enums import ErrorCode
from runs.engine.lane import PROBE_AFTER, CellLane, Lane
from runs.models import Run, Sample
from tests.runs.working import sums, work
from tests.standins.chat import Asked, ChatServer, error_body
from tests.standins.http import Reply

BROKEN = CallError(ErrorCode.PROVIDER_ERROR, "broken", status=500)


def new_lane() -> Lane:
    return Lane(4, on_room=lambda: None)


def test_cell_that_fails_while_others_are_answered_says_nothing_of_the_provider() -> None:
    lane = new_lane()
    poisoned, healthy = CellLane(lane), CellLane(lane)
    assert poisoned.failed(BROKEN) is False
    healthy.succeeded()
    assert [poisoned.failed(BROKEN) for _ in range(2 * PROBE_AFTER)] == [False] * 2 * PROBE_AFTER


def test_cells_that_fail_with_no_answer_between_make_the_subject_wait() -> None:
    lane = new_lane()
    CellLane(lane).succeeded()
    cells = [CellLane(lane) for _ in range(4)]
    found = [cell.failed(BROKEN) for _ in range(PROBE_AFTER // 4) for cell in cells]
    assert found == [False] * (PROBE_AFTER - 1) + [True]


def test_cell_that_failed_while_the_provider_was_gone_is_a_sign_again_after_it_came_back() -> None:
    lane = new_lane()
    cell = CellLane(lane)
    for _ in range(PROBE_AFTER):
        cell.failed(BROKEN)
    assert lane.probing
    CellLane(lane).succeeded()
    assert [cell.failed(BROKEN) for _ in range(PROBE_AFTER)] == [False] * (PROBE_AFTER - 1) + [True]


@pytest.mark.django_db(transaction=True)
def test_run_with_prompts_that_always_fail_ends_with_their_errors(
    quick: None, start_sums: Callable[..., Run], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PROVIDER_UNAVAILABLE_SECONDS = 1
    monkeypatch.setattr(calls, "FIRST_WAIT_SECONDS", 0.1)  # by then every other prompt is answered
    monkeypatch.setattr(calls, "MAX_WAIT_SECONDS", 0.1)

    def reply(asked: Asked) -> Reply | None:
        number = int(re.findall(r"\d+", asked.question)[0])
        return Reply(500, error_body("Internal error."), hold=False) if number % 3 == 2 else None

    with ChatServer(sums, reply=reply, latency=0.01) as server:
        run = work(start_sums(tasks=30, endpoint=server.url, concurrency=32))
    errors = list(Sample.objects.filter(subject__run=run, status="error").order_by("position").values_list("position", "error_code"))
    assert errors == [(position, "provider_error") for position in range(2, 30, 3)]
    assert (run.status, run.interruption, run.processed) == ("failed", None, 30)
