"""Filters, neighbours, comparison and second figures of a run over two benchmarks with two attempts at each task."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from runs.browsing.filters import SampleFilter, filter_samples
from runs.documents import result_document
from runs.models import Run, Sample
from runs.queries import get_result, get_run, samples_of
from runs.reviews.actions import override_verdict
from runs.reviews.figures import second_figures
from tests.factories import make_benchmark, make_route, make_version
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    first, second = make_version(make_benchmark("first"), tasks=4), make_version(make_benchmark("second"), tasks=6)
    request: dict[str, Any] = {
        "selection": {"profile_ids": [first.profile_id, second.profile_id]},
        "coverage": {"mode": "full"},
        "attempts": 2,
    }
    with ChatServer(sums) as server:
        route = make_route(endpoint=server.url)
        made = work(start(workspace, actor, subjects=[route.route_id, "most-frequent-answer"], **request))
    return get_run(workspace, made.public_id)


def test_each_benchmark_and_attempt_can_be_listed_alone(run: Run, viewer: User, sign_in: SignIn) -> None:
    def found(**asked: Any) -> list[tuple[int, int]]:
        return sorted((each.position, each.attempt) for each in filter_samples(samples_of(run), run, SampleFilter(subject=0, **asked)))

    assert found(benchmark="first@1") == [(position, attempt) for position in range(4) for attempt in (1, 2)]
    assert found(benchmark="second@1", attempt=2) == [(position, 2) for position in range(4, 10)]
    context = sign_in(viewer).get(f"/evaluations/{run.public_id}/samples", {"subject": "0", "benchmark": "second@1"}).context
    assert [(each.position, each.attempt) for each in context["samples"]] == [(n, k) for n in range(4, 10) for k in (1, 2)]
    assert [each.version.profile_id for each in context["benchmarks"]] == ["first@1", "second@1"]


def test_attempts_of_one_task_stand_side_by_side(run: Run, viewer: User, sign_in: SignIn) -> None:
    client, address = sign_in(viewer), f"/evaluations/{run.public_id}/samples/5"
    response = client.get(address, {"left": "0.1", "right": "0.2", "benchmark": "second@1"})
    assert [answer["anchor"] for answer in response.context["answers"]] == ["model-0", "model-0-2", "model-1", "model-1-2"]
    assert (response.context["pair"]["difference"].is_same, response.context["benchmark"].version.profile_id) == (True, "second@1")
    assert "The answers are the same." in response.content.decode()
    assert (response.context["previous"], response.context["next"]) == (4, 6)
    first_of_second = client.get(f"/evaluations/{run.public_id}/samples/4", {"benchmark": "second@1"}).context
    assert (first_of_second["previous"], first_of_second["next"]) == (None, 5)
    assert client.get(f"/evaluations/{run.public_id}/samples/10").status_code == 404


def test_a_changed_attempt_is_half_a_task_of_its_benchmark(run: Run, actor: Actor) -> None:
    """Six tasks of two attempts, all right; one attempt at one task changed is 5.5 of 6. The other benchmark has no second figure."""
    sample = Sample.objects.select_related("subject").get(subject__run=run, subject__index=0, position=7, attempt=2)
    override_verdict(run, sample, actor=actor, correct=False, reason="No")
    (figure,) = second_figures(run, get_result(run))
    assert (figure["benchmark_index"], figure["profile_id"], figure["changed"]) == (1, "second@1", 1)
    assert (figure["grader"]["value"], round(figure["reviewed"]["value"], 6), figure["reviewed"]["n"]) == (1.0, round(5.5 / 6, 6), 6)
    frozen = {(each["index"], each["benchmark_index"]): each["headline"] for each in result_document(get_result(run))["subjects"]}
    assert figure["grader"] == frozen[0, 1]
