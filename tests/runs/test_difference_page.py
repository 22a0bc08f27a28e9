"""A run against an earlier one: the same figures on the page and over HTTP, and never a difference of what is unlike."""

import re
import sys
from collections.abc import Callable
from math import comb

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from catalog.models import BenchmarkVersion
from gateway.models import RecordedAnswer, RecordedModel
from runs.models import Run, RunBenchmark
from runs.statistics import Table, newcombe_paired
from tests.factories import make_version
from tests.paging import HTMX
from tests.runs.drawn import drawn_models, drawn_run
from workspaces.actors import Actor, actor_of_user
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
TASKS = 30
THEN = "R" * 14 + "w" * 15 + "."
NOW = "R" * 12 + "w" * 2 + "R" * 10 + "w" * 6


@pytest.fixture
def tasks(db: None) -> BenchmarkVersion:
    return make_version(tasks=TASKS)


class Changing:
    """A model whose recorded answers a test changes between runs, and one that stays as it is."""

    def __init__(self, workspace: Workspace, actor: Actor, version: BenchmarkVersion, letters: dict[str, str]) -> None:
        self.workspace, self.actor, self.version = workspace, actor, version
        self.subjects = drawn_models(version, workspace, letters)

    def run(self, **more: object) -> Run:
        return drawn_run(self.workspace, self.actor, self.version, self.subjects, **more)

    def answer(self, name: str, letters: str) -> None:
        """From now on the model answers so."""
        model = RecordedModel.objects.get(name=name, workspace=self.workspace)
        model.answers.all().delete()
        tasks = self.version.tasks.select_related("content").order_by("ordinal")
        RecordedAnswer.objects.bulk_create(
            RecordedAnswer(model=model, task=task, text=f"It is {int(task.content.reference) + (letter != 'R')}.", finish_reason="stop")
            for task, letter in zip(tasks, letters, strict=True)
            if letter != "."
        )


@pytest.fixture
def changing(workspace: Workspace, actor: Actor, tasks: BenchmarkVersion) -> Changing:
    return Changing(workspace, actor, tasks, {"moving": THEN, "still": "Rw" * 15})


def diff_of(client: Client, run: Run) -> list[dict]:
    return client.get(f"/v1/runs/{run.public_id}/results?diff=previous").json()["diff"]


def page_of(client: Client, run: Run, **query: str) -> str:
    response = client.get(f"/evaluations/{run.public_id}/difference", query)
    assert response.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def test_difference_is_paired_on_the_tasks_that_both_finished(changing: Changing, owner: User, sign_in: SignIn) -> None:
    before = changing.run(name="Last week")
    changing.answer("moving", NOW)
    run = changing.run()
    client = sign_in(owner)
    moving, still = diff_of(client, run)
    # Of the 29 tasks that both finished: 12 right in both, 2 only then, 10 only now, 5 in neither.
    value, interval = newcombe_paired(Table(12, 10, 2, 5))
    exact = 2 * sum(comb(12, k) for k in range(3)) / 2**12
    assert (moving["run_id"], moving["same_tasks"], moving["unlike"], moving["tasks_compared"]) == (str(before.public_id), True, [], 29)
    assert (moving["difference"], moving["flips"]) == (round(value, 10), {"to_wrong": 2, "to_right": 10})
    assert moving["interval"] == {"low": round(interval.low, 10), "high": round(interval.high, 10), "level": 0.95, "method": "newcombe"}
    assert moving["p_method"] == "mcnemar_mid"
    assert moving["p_value"] == pytest.approx(exact - comb(12, 2) / 2**12)
    assert moving["p_holm"] == pytest.approx(2 * moving["p_value"])
    assert (still["difference"], still["flips"], still["p_holm"], still["separable"]) == (0.0, {"to_wrong": 0, "to_right": 0}, 1.0, False)
    text = page_of(client, run)
    for words in ("48.3%", "73.3%", "+27.6", "Last week", "29 tasks that both finished", "Cannot be told apart"):
        assert words in text


def test_flipped_tasks_are_listed_with_both_samples(changing: Changing, viewer: User, sign_in: SignIn) -> None:
    before = changing.run()
    changing.answer("moving", NOW)
    run = changing.run()
    client = sign_in(viewer)
    path = f"/evaluations/{run.public_id}/difference"
    every = client.get(path)
    assert [flip["position"] for flip in every.context["flips"]] == [*range(12, 24)]
    assert [segment["count"] for segment in every.context["segments"]] == [12, 2, 10]
    wrong = client.get(path, {"flips": "to_wrong", "model": "0-0"})
    assert [(flip["position"], flip["is_better"]) for flip in wrong.context["flips"]] == [(12, False), (13, False)]
    content = wrong.content.decode()
    for target in (before, run):
        assert f'href="/evaluations/{target.public_id}/samples/12#model-0"' in content
    still = client.get(path, {"model": "0-1"})
    assert (still.context["flips"], "No task changed." in still.content.decode()) == ([], True)
    assert client.get(path, {"cursor": "nonsense"}).status_code == 422


def test_flips_come_in_pages(changing: Changing, owner: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["runs.views.difference"], "TASKS_A_PAGE", 5)
    changing.run()
    changing.answer("moving", NOW)
    run = changing.run()
    client = sign_in(owner)
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        context = client.get(f"/evaluations/{run.public_id}/difference", {"cursor": cursor} if cursor else {}).context
        seen += [flip["position"] for flip in context["flips"]]
        cursor = context["next_cursor"]
    assert seen == [*range(12, 24)]


def test_runs_on_different_tasks_are_compared_on_those_in_common(changing: Changing, owner: User, sign_in: SignIn) -> None:
    changing.run(coverage={"mode": "tasks", "task_ids": [f"t{n}" for n in range(5, 25)]})
    changing.answer("moving", NOW)
    run = changing.run(coverage={"mode": "tasks", "task_ids": [f"t{n}" for n in range(10, 30)]})
    client = sign_in(owner)
    moving, _ = diff_of(client, run)
    common = range(10, 25)
    changed = [(NOW[n] == "R") - (THEN[n] == "R") for n in common]
    assert (moving["same_tasks"], moving["tasks_compared"], moving["difference"]) == (False, 15, round(sum(changed) / 15, 10))
    assert moving["flips"] == {"to_wrong": changed.count(-1), "to_right": changed.count(1)}
    assert "The runs had different tasks: on the 15 that both had and finished" in page_of(client, run)
    flips = client.get(f"/evaluations/{run.public_id}/difference").context["flips"]
    assert [(flip["position"] + 10, flip["then"] + 5, flip["task"].task_id) for flip in flips] == [(n, n, f"t{n}") for n in range(12, 24)]


def test_runs_without_a_common_task_have_no_difference(changing: Changing, owner: User, sign_in: SignIn) -> None:
    changing.run(coverage={"mode": "tasks", "task_ids": ["t0", "t1"]})
    run = changing.run(coverage={"mode": "tasks", "task_ids": ["t2", "t3"]})
    client = sign_in(owner)
    moving, _ = diff_of(client, run)
    assert (moving["difference"], moving["interval"], moving["tasks_compared"], moving["p_holm"]) == (None, None, 0, None)
    assert "No task in common" in page_of(client, run)


def test_another_token_limit_is_named_and_nothing_is_subtracted(changing: Changing, owner: User, sign_in: SignIn) -> None:
    before = changing.run()
    run = changing.run()
    RunBenchmark.objects.filter(run=before).update(output_limit=7)
    client = sign_in(owner)
    moving, _ = diff_of(client, run)
    assert (moving["unlike"], moving["difference"], moving["flips"]) == (["output_limit_differs"], None, None)
    text = page_of(client, run)
    assert "Not compared: the output limit differs" in text
    assert "Tasks that changed" not in text


def test_another_earlier_run_can_be_chosen(changing: Changing, owner: User, sign_in: SignIn, stranger: User) -> None:
    first = changing.run(name="First")
    changing.answer("moving", NOW)
    changing.run(name="Second")
    run = changing.run(name="Third")
    client = sign_in(owner)
    assert page_of(client, run).count("Cannot be told apart") == 2
    models = client.get(f"/evaluations/{run.public_id}/difference", {"against": str(first.public_id)}).context["models"]
    assert [model["difference"]["flips"] for model in models] == [{"to_wrong": 2, "to_right": 10}, {"to_wrong": 0, "to_right": 0}]
    for other in (run, "nonsense", "00000000-0000-4000-8000-000000000000"):
        answer = client.get(f"/evaluations/{run.public_id}/difference", {"against": str(getattr(other, "public_id", other))})
        assert answer.status_code == 404
    assert sign_in(stranger).get(f"/evaluations/{run.public_id}/difference").status_code == 404


def test_an_earlier_run_of_other_models_is_said_to_have_none(
    changing: Changing, workspace: Workspace, actor: Actor, tasks: BenchmarkVersion, owner: User, sign_in: SignIn
) -> None:
    other = drawn_run(workspace, actor, tasks, ["random-choice"])
    run = changing.run()
    client = sign_in(owner)
    assert "No earlier run to set it against" in page_of(client, run)
    assert "That run has none of these models" in page_of(client, run, against=str(other.public_id))


def test_runs_of_others_are_never_met(
    changing: Changing, other_workspace: Workspace, stranger: User, actor: Actor, tasks: BenchmarkVersion, owner: User, sign_in: SignIn
) -> None:
    theirs = drawn_run(other_workspace, actor_of_user(stranger), tasks, ["random-choice"])
    ours = drawn_run(changing.workspace, actor, tasks, ["random-choice"])
    client = sign_in(owner)
    assert diff_of(client, ours) == []
    assert client.get(f"/evaluations/{ours.public_id}/difference", {"against": str(theirs.public_id)}).status_code == 404


def test_the_reports_link_is_there_where_there_is_an_earlier_run(changing: Changing, owner: User, sign_in: SignIn) -> None:
    first = changing.run()
    second = changing.run()
    client = sign_in(owner)
    headers = {**HTMX, "HX-Target": "earlier-run"}
    link = [client.get(f"/evaluations/{run.public_id}/difference", headers=headers).content.decode().strip() for run in (first, second)]
    assert (link[0], "Against an earlier run" in link[1], "<html" in link[1]) == ("", True, False)


def test_page_costs_the_same_with_many_models_and_tasks(workspace: Workspace, actor: Actor, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    costs = []
    for count, models in ((4, 1), (60, 8)):
        version = make_version(tasks=count)
        changing = Changing(workspace, actor, version, {f"m{n}": ("Rw" * count)[:count] for n in range(models)})
        changing.run()
        run = changing.run()
        path = f"/evaluations/{run.public_id}/difference"
        client.get(path)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(path).status_code == 200
        costs.append(len(queries))
        asked = " ".join(query["sql"].lower() for query in queries)
        assert not any(column in asked for column in ("extracted", "response", "gateway_call", "catalog_taskcontent"))
    assert costs[0] == costs[1]
