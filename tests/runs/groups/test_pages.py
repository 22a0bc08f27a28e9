"""The pages of groups: the list, choosing results, the two tabs and the files."""

import csv
import io
from collections.abc import Callable

import pytest
from django.test import Client

from catalog.models import BenchmarkVersion
from runs.models import ResultVersion, Run
from runs.models.groups import ResultGroup
from tests import factories
from tests.paging import HTMX, cost
from tests.runs.groups.making import checks, group_of, run_alone
from tests.runs.working import start, work
from workspaces.actors import Actor
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
NEW = "/evaluations/groups/new"


@pytest.fixture
def sums(db: None) -> BenchmarkVersion:
    return factories.make_version(tasks=40)


@pytest.fixture
def runs(workspace: Workspace, actor: Actor, sums: BenchmarkVersion) -> list[Run]:
    """36, 20 and (with another limit) 20 of 40 right."""
    return [
        run_alone(workspace, actor, sums, 36, name="Large"),
        run_alone(workspace, actor, sums, 20, name="Small"),
        run_alone(workspace, actor, sums, 20, name="Cut", max_output_tokens=32),
    ]


def started(workspace: Workspace, actor: Actor, version: BenchmarkVersion, **more: object) -> Run:
    subjects = ["random-choice", "most-frequent-answer"]
    return start(workspace, actor, subjects=subjects, selection={"profile_ids": [version.profile_id]}, coverage={"mode": "full"}, **more)


def keys(client: Client, *runs: Run, query: str = "") -> list[str]:
    """The keys that the page gives results of these runs."""
    response = client.get(NEW + "?" + "&".join(f"results={run.public_id}" for run in runs) + query)
    return [each["key"] for each in response.context["chosen"]]


def test_the_list_has_groups_of_each_kind_newest_first(
    workspace: Workspace, actor: Actor, sums: BenchmarkVersion, runs: list[Run], viewer: User, stranger: User, sign_in: SignIn
) -> None:
    group = group_of(workspace, actor, runs, name="Which?", policy=checks(min_score=0.1))
    together = started(workspace, actor, sums, name="Together")
    client = sign_in(viewer)
    page = client.get("/evaluations/groups")
    assert [(row["id"], row["decision_words"], row["status"]) for row in page.context["groups"]] == [
        (str(together.public_id), "", "pending"),
        (str(group.public_id), "Cannot tell", "ready"),
    ]
    part = client.get("/evaluations/groups?kind=from_results", headers=HTMX)
    assert [row["id"] for row in part.context["groups"]] == [str(group.public_id)]
    assert b"<html" not in part.content
    assert sign_in(stranger).get("/evaluations/groups").context["groups"] == []


def test_results_are_chosen_in_the_address_and_say_what_is_unlike(runs: list[Run], member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    offered = client.get(NEW).context["offered"]
    assert [each["run"] for each in offered] == runs[::-1]
    page = client.get(f"{NEW}?results={runs[0].public_id}")
    assert ([each["run"] for each in page.context["chosen"]], page.context["can_make"]) == ([runs[0]], False)
    assert [(each["run"], each["is_chosen"], each["differences"]) for each in page.context["offered"]] == [
        (runs[2], False, ["output_limit_differs"]),
        (runs[1], False, []),
        (runs[0], True, []),
    ]
    two = keys(client, runs[0], runs[1])
    assert client.get(f"{NEW}?results={two[0]}&results={two[1]}").context["can_make"] is True


def test_offered_results_are_first_those_of_the_same_version(
    workspace: Workspace, actor: Actor, runs: list[Run], member: User, sign_in: SignIn
) -> None:
    other = run_alone(workspace, actor, factories.make_version(tasks=5), 3)
    client = sign_in(member)
    assert [each["run"] for each in client.get(NEW).context["offered"]] == [other, *runs[::-1]]
    assert [each["run"] for each in client.get(f"{NEW}?results={runs[0].public_id}").context["offered"]] == runs[::-1]
    every = client.get(f"{NEW}?results={runs[0].public_id}&benchmark=")
    assert [each["run"] for each in every.context["offered"]] == [other, *runs[::-1]]
    label = other.subjects.get().label
    assert [each["run"] for each in client.get(f"{NEW}?model={label}").context["offered"]] == [other]


def test_a_group_is_made_and_opens_at_its_comparison(runs: list[Run], member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    chosen = keys(client, *runs)
    body = {
        "workspace": str(runs[0].workspace.public_id),
        "results": chosen,
        "baseline": chosen[1],
        "name": "Which?",
        "min_score": "40",
        "max_drop": "5",
        "min_coverage": "100 %",
    }
    answer = client.post(NEW, body)
    group = ResultGroup.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/evaluations/groups/{group.public_id}/comparison")
    assert (group.name, group.baseline, group.created_by, group.decision) == ("Which?", 1, member, "inconclusive")
    assert group.frozen["policy"] == {"min_score": 0.4, "max_drop": 0.05, "min_coverage": 1.0}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"results": 1}, "Choose 2 to 8 results: 1 is chosen."),
        ({"baseline": ""}, "Choose the baseline that the others are compared with."),
        ({"baseline": "x"}, "The baseline is one of the chosen results."),
        ({"min_score": "101"}, "Ensure this value is less than or equal to 100."),
        ({"max_drop": "much"}, "Enter a number."),
    ],
)
def test_what_cannot_be_made_comes_back_with_the_reason(
    runs: list[Run], member: User, sign_in: SignIn, changed: dict[str, object], words: str
) -> None:
    client = sign_in(member)
    chosen = keys(client, *runs[:2])
    named = str(runs[0].workspace.public_id)
    body = {"workspace": named, "results": chosen[: changed.pop("results", 2)], "baseline": chosen[0], **changed}  # type: ignore[misc]
    answer = client.post(NEW, body)
    assert (answer.status_code, words in answer.content.decode(), ResultGroup.objects.count()) == (422, True, 0)


def test_viewers_do_not_make_groups_and_strangers_see_none_of_the_results(
    runs: list[Run], viewer: User, stranger: User, sign_in: SignIn
) -> None:
    assert sign_in(viewer).get(NEW).status_code == 403
    page = sign_in(stranger).get(f"{NEW}?results={runs[0].public_id}")
    assert (page.status_code, page.context["chosen"], page.context["offered"]) == (200, [], [])


def test_a_groups_pages_show_what_was_frozen(workspace: Workspace, actor: Actor, runs: list[Run], viewer: User, sign_in: SignIn) -> None:
    group = group_of(workspace, actor, runs, name="Which?", policy=checks(max_drop=0.1))
    client = sign_in(viewer)
    members = client.get(f"/evaluations/groups/{group.public_id}")
    assert [text in members.content.decode() for text in ("Which?", "90.0%", "50.0%", "the output limit differs", group.sha256)] == [
        True
    ] * 5
    page = client.get(f"/evaluations/groups/{group.public_id}/comparison").content.decode()
    label = runs[1].subjects.get().label
    assert f"{label} is 40.0 points below the baseline" in page
    assert "Answers were cut at different lengths: 32 tokens, and 64 tokens for the baseline." in page
    assert "Best score" in page


def test_a_result_that_is_not_as_it_was_is_told_on_the_page(
    workspace: Workspace, actor: Actor, runs: list[Run], viewer: User, sign_in: SignIn
) -> None:
    group = group_of(workspace, actor, runs[:2])
    ResultVersion.objects.filter(run=runs[1]).update(sha256="0" * 64)
    page = sign_in(viewer).get(f"/evaluations/groups/{group.public_id}").content.decode()
    assert ("its checksum differs" in page, "Not the result that was frozen" in page) == (True, True)


def test_a_run_of_several_models_is_a_group(
    workspace: Workspace, actor: Actor, sums: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    run = started(workspace, actor, sums)
    client = sign_in(viewer)
    for tab in ("", "/comparison"):
        assert "Its models are compared when it has." in client.get(f"/evaluations/groups/{run.public_id}{tab}").content.decode()
    work(run)
    members = client.get(f"/evaluations/groups/{run.public_id}")
    assert ([member["label"] for member in members.context["members"]], members.context["group"]["status"]) == (
        ["random-choice", "most-frequent-answer"],
        "ready",
    )
    (compared,) = client.get(f"/evaluations/groups/{run.public_id}/comparison").context["sets"]
    assert len(compared["pairs"]) == 1


def test_a_run_of_one_model_is_none(runs: list[Run], viewer: User, sign_in: SignIn) -> None:
    assert sign_in(viewer).get(f"/evaluations/groups/{runs[0].public_id}").status_code == 404


def test_files_are_those_of_the_api(
    workspace: Workspace, actor: Actor, runs: list[Run], viewer: User, stranger: User, sign_in: SignIn
) -> None:
    group = group_of(workspace, actor, runs)
    path, client = f"/evaluations/groups/{group.public_id}/export", sign_in(viewer)
    assert client.get(f"{path}/json").content == client.get(f"/v1/result-groups/{group.public_id}/export").content
    rows = list(csv.DictReader(io.StringIO(client.get(f"{path}/csv").content.decode())))
    assert [(row["rank"], row["unlike"]) for row in rows] == [("1", ""), ("2", ""), ("", "output_limit_differs")]
    assert client.get(f"{path}/bundle").status_code == 404
    assert sign_in(stranger).get(f"{path}/json").status_code == 404


def test_pages_cost_the_same_queries_with_many_groups_and_results(
    workspace: Workspace, actor: Actor, sums: BenchmarkVersion, runs: list[Run], member: User, sign_in: SignIn
) -> None:
    client = sign_in(member)
    few, many = group_of(workspace, actor, runs[:2]), group_of(workspace, actor, [*runs, run_alone(workspace, actor, sums, 5)])
    for tab in ("", "/comparison"):
        assert cost(client, f"/evaluations/groups/{few.public_id}{tab}") == cost(client, f"/evaluations/groups/{many.public_id}{tab}")
    work(started(workspace, actor, sums))
    listed, choosing = cost(client, "/evaluations/groups"), cost(client, f"{NEW}?results={runs[0].public_id}")
    for right in (1, 2, 3):
        group_of(workspace, actor, [runs[0], run_alone(workspace, actor, sums, right)])
        work(started(workspace, actor, sums))
    assert cost(client, "/evaluations/groups") == listed
    chosen = "&".join(f"results={run.public_id}" for run in runs)
    assert cost(client, f"{NEW}?{chosen}") == choosing
