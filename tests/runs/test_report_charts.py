"""The charts of a report, from a run that was worked over real sockets."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from runs import queries
from runs.actions import continue_run, start_run
from runs.documents import result_document
from runs.events import append_events
from runs.models import Event, Run
from tests.factories import make_route, make_version
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
ROWS = [
    {"values": {"question": f"What is {n} + {n}?"}, "reference": str(2 * n), "group": "even" if n % 2 == 0 else "odd", "task_id": f"t{n}"}
    for n in range(8)
]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(sums, latency=0.002) as server:
        yield server


def run_of(workspace: Workspace, actor: Actor, *subjects: str, **request: Any) -> Run:
    version = make_version(rows=ROWS)
    return start(
        workspace, actor, subjects=list(subjects), selection={"profile_ids": [version.profile_id]}, coverage={"mode": "full"}, **request
    )


def test_report_draws_cost_time_groups_and_progress(
    workspace: Workspace, actor: Actor, server: ChatServer, viewer: User, sign_in: SignIn
) -> None:
    routes = [make_route(f"example/model-{index}", endpoint=server.url) for index in range(2)]
    run = work(run_of(workspace, actor, *(route.route_id for route in routes), "most-frequent-answer"))
    response = sign_in(viewer).get(f"/evaluations/{run.public_id}")
    charts = {
        name: (response.context["parts"][0] | {"progress": response.context["progress"]})[name]
        for name in ("forest", "differences", "cost", "speed", "groups", "latency", "progress")
    }
    assert [name for name, chart in charts.items() if chart is None] == []
    html = response.content.decode()
    drawn = re.findall(r'<svg class="[^"]+" role="img" aria-labelledby="(\w+)-chart-title', html)
    assert drawn == ["scores", "differences", "cost", "speed", "groups", "latency", "progress"]
    assert len(set(re.findall(r' id="([^"]+)"', html))) == len(re.findall(r' id="([^"]+)"', html))
    assert [row[0] for row in charts["progress"].table] == ["example/model-0", "example/model-1", "most-frequent-answer"]
    assert [row[1:3] for row in charts["progress"].table] == [("8", "8")] * 3
    # Each model's mark stands beside its name in the table too, in the colour and shape of the charts.
    assert re.findall(r'<th scope="row"><svg class="chart-swatch series-(\d)"', html) == [
        str(row["subject"]["index"] + 1) for row in response.context["parts"][0]["rows"]
    ]


def test_result_counts_what_answers_cost_in_the_run_that_it_continues(workspace: Workspace, actor: Actor, server: ChatServer) -> None:
    route = make_route("example/model", endpoint=server.url)
    first = work(run_of(workspace, actor, route.route_id, max_charge_microusd="200"))
    assert first.status == "partial"
    second = work(start_run(continue_run(first, actor=actor), actor=actor)[0])
    (before,), (after,) = (result_document(queries.get_result(run))["subjects"] for run in (first, second))
    charges = int(before["charge_microusd"]), int(after["charge_microusd"])
    assert min(charges) > 0
    assert (before["answers_charge_microusd"], after["answers_charge_microusd"]) == (str(charges[0]), str(sum(charges)))
    assert after["counts"]["graded"] == 8


def test_progress_reads_few_events_of_a_long_run_and_the_end_of_each_subject(
    workspace: Workspace, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(workspace, actor, "random-choice", "most-frequent-answer")
    run.started_at = run.created_at
    for turn in range(100):
        stored = [{"subject_index": index, "count": 1, "processed": turn + 1, "planned": 100} for index in (0, 1)]
        append_events(run, *(("sample.stored", data) for data in stored))
    append_events(run, *(("subject.finished", {"subject_index": index, "processed": 100, "errors": 0}) for index in (0, 1)))
    Event.objects.filter(run=run).update(created_at=run.created_at + timedelta(seconds=3))
    everything = queries.stored_over_time(run)
    assert len(everything) == 202
    assert everything[0] == (3.0, 0, 1, 1)
    monkeypatch.setattr(queries, "STORED_READ", 50)
    some = queries.stored_over_time(run)
    assert 20 < len(some) < 90
    assert some == sorted(some, key=everything.index)
    assert some[-2:] == [(3.0, 0, 0, 100), (3.0, 1, 0, 100)]
    assert {index for _, index, _, _ in some[:-2]} == {0, 1}
