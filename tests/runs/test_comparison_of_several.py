"""Comparisons, disagreements and differences of runs with several benchmarks, and with several attempts at each task."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.test import Client

from runs.comparison.queries import Asked, comparison_of, disagreements, run_benchmark, verdicts_of
from runs.comparison.verdicts import Verdicts, page_of_places
from runs.models import Run
from tests.factories import make_benchmark, make_route, make_version
from tests.runs.drawn import drawn_models
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


@pytest.fixture
def on_two(workspace: Workspace, actor: Actor) -> list[Run]:
    """Two models twice on two benchmarks: `sums` with six tasks and `more` with four."""
    versions = [make_version(make_benchmark("sums"), tasks=6), make_version(make_benchmark("more"), tasks=4)]
    with ChatServer(sums) as right, ChatServer(lambda _: "The answer is 6.") as six:
        for name, server in (("right", right), ("six", six)):
            make_route(f"example/{name}", endpoint=server.url)
        request: dict[str, Any] = {
            "subjects": ["example/right", "example/six"],
            "selection": {"profile_ids": [version.profile_id for version in versions]},
            "coverage": {"mode": "full"},
        }
        return [work(start(workspace, actor, **request)) for _ in range(2)]


def words_of(client: Client, path: str, **query: str) -> str:
    response = client.get(path, query)
    assert response.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def test_each_benchmark_has_its_own_comparison(on_two: list[Run], owner: User, sign_in: SignIn) -> None:
    run, client = on_two[1], sign_in(owner)
    for profile_id, tasks, scores in (("sums@1", 6, [1.0, round(1 / 6, 10)]), ("more@1", 4, [1.0, 0.25])):
        found = comparison_of(run, profile_id)
        assert (found.profile_id, found.document["tasks_compared"]) == (profile_id, tasks)
        assert [row["score"] for row in found.tables["ranking"].rows] == scores
        assert client.get(f"/v1/runs/{run.public_id}/compare?profile_id={profile_id}").json() == found.document
        text = words_of(client, f"/evaluations/{run.public_id}/comparison", profile_id=profile_id)
        assert f"{tasks} of {tasks} tasks that all compared models finished" in text
        page = client.get(f"/evaluations/{run.public_id}/comparison", {"profile_id": profile_id}).content.decode()
        assert f"profile_id={profile_id.replace('@', '%40')}" in page
    assert comparison_of(run).profile_id == "sums@1"
    assert client.get(f"/evaluations/{run.public_id}/comparison?profile_id=none@1").status_code == 404


def test_disagreements_of_the_second_benchmark_begin_where_its_tasks_do(on_two: list[Run], owner: User, sign_in: SignIn) -> None:
    run, client = on_two[1], sign_in(owner)
    # "six" is right on 3 + 3 alone, which both benchmarks have.
    first = client.get(f"/v1/runs/{run.public_id}/disagreements").json()
    second = client.get(f"/v1/runs/{run.public_id}/disagreements?profile_id=more@1&limit=2").json()
    assert [row["position"] for row in first["data"]] == [0, 1, 2, 4, 5]
    assert [(row["position"], row["task_id"]) for row in second["data"]] == [(6, "t0"), (7, "t1")]
    rest = client.get(f"/v1/runs/{run.public_id}/disagreements?profile_id=more@1&limit=2&cursor={second['next_cursor']}").json()
    assert ([row["position"] for row in rest["data"]], rest["next_cursor"]) == ([8], None)
    page = client.get(f"/evaluations/{run.public_id}/disagreements", {"profile_id": "more@1"}).content.decode()
    assert f'href="/evaluations/{run.public_id}/samples/8"' in page


def test_a_run_of_several_is_set_against_the_one_before_benchmark_by_benchmark(on_two: list[Run], owner: User, sign_in: SignIn) -> None:
    before, run = on_two
    client = sign_in(owner)
    entries = client.get(f"/v1/runs/{run.public_id}/results?diff=previous").json()["diff"]
    assert [(entry["benchmark_index"], entry["subject_index"], entry["tasks_compared"]) for entry in entries] == [
        (0, 0, 6),
        (0, 1, 6),
        (1, 0, 4),
        (1, 1, 4),
    ]
    assert {(entry["run_id"], entry["difference"]) for entry in entries} == {(str(before.public_id), 0.0)}
    assert [entry["headline"]["value"] for entry in entries] == pytest.approx([1.0, 1 / 6, 1.0, 0.25])
    text = words_of(client, f"/evaluations/{run.public_id}/difference")
    assert text.count("Cannot be told apart") == 4
    assert "more@1" in text


def test_several_attempts_are_compared_by_their_mean(workspace: Workspace, actor: Actor, owner: User, sign_in: SignIn) -> None:
    version = make_version(make_benchmark("sums"), tasks=6)
    asked: Counter[str] = Counter()

    def every_other(messages: list[dict[str, Any]]) -> str:
        """Right at the first attempt at a task only."""
        asked[messages[-1]["content"]] += 1
        return sums(messages) if asked[messages[-1]["content"]] == 1 else "The answer is -1."

    with ChatServer(sums) as right, ChatServer(every_other) as wavering:
        make_route("example/right", endpoint=right.url)
        make_route("example/wavering", endpoint=wavering.url)
        run = work(
            start(
                workspace,
                actor,
                subjects=["example/right", "example/wavering"],
                selection={"profile_ids": [version.profile_id]},
                coverage={"mode": "full"},
                attempts=2,
            )
        )
    client = sign_in(owner)
    found = comparison_of(run)
    assert [row["score"] for row in found.tables["ranking"].rows] == [1.0, 0.5]
    (pair,) = found.tables["pairs"].rows
    assert (pair["difference"], pair["a_only"], pair["p_method"]) == (0.5, None, "bootstrap")
    assert disagreements(run, run_benchmark(run), Asked(show="a_only")).counts == {
        "any": 6,
        "a_only": 6,
        "b_only": 0,
        "all_wrong": 0,
        "all_right": 0,
        "errors": 0,
    }
    text = words_of(client, f"/evaluations/{run.public_id}/disagreements", show="a_only")
    for words in ("A right more often", "by the mean of 2 attempts", "50% right"):
        assert words in text
    assert "One answer a task" not in words_of(client, f"/evaluations/{run.public_id}/comparison")
    answers = client.get(f"/v1/runs/{run.public_id}/disagreements").json()["data"][0]["answers"]
    assert [(answer["verdict"], answer["score"]) for answer in answers] == [("right", 1.0), ("mixed", 0.5)]
    assert verdicts_of(run, run_benchmark(run)).values.tolist() == [[1.0] * 6, [0.5] * 6]


def test_a_task_without_all_of_its_attempts_is_unfinished() -> None:
    samples = [(10, 0, "graded", 1.0), (10, 0, "graded", 1.0), (10, 1, "graded", 1.0), (10, 1, "error", None), (20, 0, "graded", 0.0)]
    verdicts = Verdicts.of([(10, 0), (20, 3)], samples, first=0, tasks=2, k=2)
    assert [[verdicts.cell(row, task)["verdict"] for task in range(2)] for row in range(2)] == [["right", "error"], ["unfinished"] * 2]
    assert [verdicts.shown(show, 0, 3).tolist() for show in ("any", "errors", "all_right")] == [[False] * 2, [False, True], [False] * 2]


def test_pages_of_places_end_where_they_should() -> None:
    places = np.array([1, 4, 5, 9])
    assert page_of_places(places, None, 2) == ([1, 4], 4)
    assert page_of_places(places, 4, 2) == ([5, 9], None)
    assert page_of_places(places, 9, 2) == ([], None)
    assert page_of_places(places, 4, 1) == ([5], 5)


def test_recorded_models_are_compared_without_a_cost(workspace: Workspace, actor: Actor, owner: User, sign_in: SignIn) -> None:
    version = make_version(tasks=6)
    subjects = drawn_models(version, workspace, {"a": "RRRRRR", "b": "RRRwww"})
    run = work(start(workspace, actor, subjects=subjects, selection={"profile_ids": [version.profile_id]}, coverage={"mode": "full"}))
    rows = comparison_of(run).tables["ranking"].rows
    assert [(row["answers_1000_microusd"], row["p50_ms"], row["cheapest_near_best"]) for row in rows] == [(None, None, False)] * 2
    assert "What a score costs" not in words_of(sign_in(owner), f"/evaluations/{run.public_id}/comparison")
