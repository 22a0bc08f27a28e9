"""What a workspace's runs say about a benchmark's tasks."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from catalog.models import BenchmarkVersion
from runs.health import Item, ItemHealth, _Answers, _summed, discrimination, document, item_health
from runs.models import Run
from tests.factories import make_route
from tests.paging import HTMX
from tests.runs.working import start, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


def answering(**exceptions: str) -> Callable[[list[dict[str, str]]], str]:
    """The sums' right answers, but for those of the tasks named."""

    def answer(messages: list[dict[str, str]]) -> str:
        one, other = re.findall(r"\d+", messages[-1]["content"])[:2]
        return exceptions.get(f"t{one}", str(int(one) + int(other)))

    return answer


def run_of(workspace: Workspace, actor: Actor, version: BenchmarkVersion, answers: dict[str, Callable[[list[dict[str, str]]], str]]) -> Run:
    servers = {name: ChatServer(answer) for name, answer in answers.items()}
    try:
        routes = [make_route(f"example/{name}", endpoint=server.__enter__().url).route_id for name, server in servers.items()]
        request: dict[str, Any] = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
        return work(start(workspace, actor, subjects=[*routes, "most-frequent-answer"], **request))
    finally:
        for server in servers.values():
            server.__exit__(None, None, None)


@pytest.fixture
def health(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> ItemHealth:
    one = answering(t3="41", t5="no idea", t7="9", t8="1")
    other = answering(t3="It is 41.", t5="who knows", t7="12", t8="2")
    run_of(workspace, actor, version, {"one": one, "other": other})
    found = item_health(workspace, version)
    assert found is not None
    return found


def test_tasks_that_stand_out_are_counted_and_named(health: ItemHealth) -> None:
    assert len(health.models) == 2
    assert (health.tasks, health.all_right_count, health.all_wrong_count, health.telling_count) == (10, 6, 4, 0)
    assert ([item.task_id for item in health.same_wrong], health.same_wrong_count) == (["t3"], 1)
    assert [item.task_id for item in health.unreadable] == ["t5"]


def test_the_document_names_ids_alone(health: ItemHealth) -> None:
    assert document(health) == {
        "models": list(health.models),
        "tasks": 10,
        "telling": 0,
        "all_right": 6,
        "all_wrong": 4,
        "same_wrong": {"count": 1, "tasks": ["t3"]},
        "unreadable": {"count": 1, "tasks": ["t5"]},
        "reversed": {"count": 0, "tasks": []},
    }


def test_one_model_and_a_baseline_say_nothing(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> None:
    run_of(workspace, actor, version, {"one": answering()})
    assert item_health(workspace, version) is None
    assert document(None) is None


def test_other_workspaces_see_nothing_of_it(health: ItemHealth, other_workspace: Workspace, version: BenchmarkVersion) -> None:
    assert item_health(other_workspace, version) is None


def test_part_links_to_an_answer_of_each_task(
    health: ItemHealth, version: BenchmarkVersion, viewer: User, stranger: User, sign_in: SignIn
) -> None:
    path = f"/evaluations/benchmarks/{version.benchmark.slug}/health"
    client = sign_in(viewer)
    part = client.get(path, headers=HTMX).content.decode()
    item = health.same_wrong[0]
    link = f"/evaluations/{item.run_id}/samples/{item.position}"
    assert f'<a href="{link}"><code>t3</code></a>' in part
    assert client.get(link).status_code == 200
    assert "two models or more" in sign_in(stranger).get(path).content.decode()
    assert path in client.get(f"/catalog/{version.benchmark.slug}").content.decode()


def test_two_queries_whatever_there_is(health: ItemHealth, workspace: Workspace, version: BenchmarkVersion) -> None:
    with CaptureQueriesContext(connection) as asked:
        item_health(workspace, version)
    assert len(asked) == 2


def test_an_item_that_weaker_models_have_right_is_told() -> None:
    items = {ordinal: _Answers(Item(f"t{ordinal}", uuid4(), ordinal)) for ordinal in range(10)}
    for model in range(5):  # model m has the first 2 + m tasks right, and the last one where it is weak
        for ordinal, answers in items.items():
            answers.right[model] = ordinal < 2 + model if ordinal < 9 else model < 2
            answers.read += 1
            answers.said["x"] += 1
    found = _summed([f"m{model}" for model in range(5)], items)
    assert ([item.task_id for item in found.reversed], found.all_right_count) == (["t9"], 2)


def test_discrimination_is_a_correlation_without_the_item_itself() -> None:
    assert discrimination({0: False, 1: True}, {0: 1, 1: 3}) == pytest.approx(1.0)
    assert discrimination({0: False, 1: True}, {0: 3, 1: 2}) == pytest.approx(-1.0)
    assert discrimination({0: True, 1: True}, {0: 3, 1: 5}) == 0.0
    assert discrimination({0: False, 1: False, 2: True, 3: True}, {0: 1, 1: 3, 2: 3, 3: 5}) == pytest.approx(1 / 5**0.5)
