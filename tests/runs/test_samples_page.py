"""The samples of a run, and one task with all models side by side."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from catalog.enums import ExportPolicy
from catalog.models import BenchmarkVersion
from runs.browsing.filters import count_samples
from runs.models import Run, Sample
from tests.factories import make_route, make_version
from tests.paging import HTMX, cost
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


def run_of(workspace: Workspace, actor: Actor, version: BenchmarkVersion, *subjects: Any) -> Run:
    request = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
    return start(workspace, actor, subjects=list(subjects), **request)


def samples_of(run: Run) -> str:
    return f"/evaluations/{run.public_id}/samples"


@pytest.fixture
def run(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> Run:
    """A model that is always right beside a baseline."""
    with ChatServer(sums) as server:
        route = make_route("example/right", endpoint=server.url)
        return work(run_of(workspace, actor, version, route.route_id, "most-frequent-answer"))


def listed(client: Client, run: Run, **query: str) -> list[tuple[int, str]]:
    return [(sample.subject.index, sample.task.task_id) for sample in client.get(samples_of(run), query).context["samples"]]


def test_list_has_every_finished_answer(run: Run, viewer: User, sign_in: SignIn) -> None:
    found = listed(sign_in(viewer), run)
    assert sorted(found) == sorted((subject, f"t{number}") for subject in (0, 1) for number in range(10))


def test_one_model_is_listed_in_the_order_of_the_tasks(run: Run, viewer: User, sign_in: SignIn) -> None:
    assert listed(sign_in(viewer), run, subject="0") == [(0, f"t{number}") for number in range(10)]


def test_filters_narrow_the_list(run: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    wrong = Sample.objects.filter(subject__run=run, correct=False)
    assert sorted(listed(client, run, verdict="incorrect")) == sorted((each.subject.index, each.task.task_id) for each in wrong)
    assert listed(client, run, subject="0", verdict="incorrect") == []
    assert listed(client, run, subject="0", q="t7") == [(0, "t7")]
    assert listed(client, run, status="error") == []
    assert listed(client, run, flag="truncated") == []
    for nonsense in ({"subject": "x"}, {"subject": "99"}, {"verdict": "x"}, {"flag": "x"}):
        assert listed(client, run, **nonsense) == []


def test_groups_are_offered_where_there_are_any(workspace: Workspace, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    rows = [
        {"values": {"question": f"What is {n} + {n}?"}, "reference": str(2 * n), "group": "even" if n % 2 == 0 else "odd"} for n in range(4)
    ]
    grouped = work(run_of(workspace, actor, make_version(rows=rows), "random-choice"))
    client = sign_in(viewer)
    assert client.get(samples_of(grouped)).context["groups"] == ["even", "odd"]
    assert listed(client, grouped, group="odd", subject="0") == [(0, "t1"), (0, "t3")]


def test_nothing_found_and_nothing_yet_are_told_apart(
    run: Run, workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    client = sign_in(viewer)
    assert "Clear the filters" in client.get(samples_of(run), {"status": "error"}).content.decode()
    queued = run_of(workspace, actor, version, "random-choice")
    assert "No answers yet" in client.get(samples_of(queued)).content.decode()


def test_htmx_gets_the_list_alone(run: Run, viewer: User, sign_in: SignIn) -> None:
    text = sign_in(viewer).get(samples_of(run), headers=HTMX).content.decode()
    assert (text.strip().startswith('<div id="list">'), "<html" in text) == (True, False)


def test_pages_follow_each_other_without_gaps(workspace: Workspace, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    long = work(run_of(workspace, actor, make_version(tasks=60), "random-choice"))
    client = sign_in(viewer)
    for query in ({}, {"subject": "0"}):
        first = client.get(samples_of(long), query).context
        second = client.get(samples_of(long), query | {"cursor": first["next_cursor"]}).context
        positions = [sample.position for sample in (*first["samples"], *second["samples"])]
        assert (sorted(positions), second["next_cursor"]) == (list(range(60)), None)


def test_list_costs_the_same_with_one_model_and_with_three(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    client = sign_in(viewer)
    one = work(run_of(workspace, actor, make_version(tasks=1), "random-choice"))
    many = work(run_of(workspace, actor, version, *({"kind": "baseline", "name": "random-choice", "seed": seed} for seed in range(3))))
    assert cost(client, samples_of(one)) == cost(client, samples_of(many))
    assert cost(client, f"{samples_of(one)}/0") == cost(client, f"{samples_of(many)}/0")


def test_task_shows_what_was_sent_what_came_back_and_the_steps(run: Run, viewer: User, sign_in: SignIn) -> None:
    response = sign_in(viewer).get(f"{samples_of(run)}/3")
    assert response.context["messages_sent"] == [{"role": "user", "content": "What is 3 + 3?"}]
    answers = response.context["answers"]
    assert (answers[0]["label"], answers[0]["correct"]) == ("example/right", True)
    text = response.content.decode()
    for words in ("What is 3 + 3?", "The answer is 6.", "Last number", "Equals the reference", "Reference, never sent", "Number 4 of 10"):
        assert words in text


def test_neighbours_lead_on_and_the_ends_do_not(run: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    found = [
        (client.get(f"{samples_of(run)}/{n}").context["previous"], client.get(f"{samples_of(run)}/{n}").context["next"]) for n in (0, 5, 9)
    ]
    assert found == [(None, 1), (4, 6), (8, None)]
    assert client.get(f"{samples_of(run)}/10").status_code == 404


def test_task_that_is_not_finished_says_so(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    queued = run_of(workspace, actor, version, "random-choice")
    response = sign_in(viewer).get(f"{samples_of(queued)}/0")
    assert (response.context["unfinished"], "Not finished yet" in response.content.decode()) == (["random-choice"], True)


@pytest.mark.parametrize(
    ("policy", "shows"),
    [(ExportPolicy.FULL, (True, True)), (ExportPolicy.NO_ANSWERS, (True, False)), (ExportPolicy.AGGREGATE, (False, False))],
)
def test_export_policy_decides_what_is_shown(run: Run, viewer: User, sign_in: SignIn, policy: str, shows: tuple[bool, bool]) -> None:
    BenchmarkVersion.objects.update(export_policy=policy)
    text = sign_in(viewer).get(f"{samples_of(run)}/3").content.decode()
    assert ("What is 3 + 3?" in text, "Reference, never sent" in text) == shows
    assert ("The answer is 6." in text) == shows[0]


def test_task_is_a_fragment_for_htmx_and_404_for_a_stranger(run: Run, viewer: User, stranger: User, sign_in: SignIn) -> None:
    text = sign_in(viewer).get(f"{samples_of(run)}/3", headers=HTMX).content.decode()
    assert (text.strip().startswith('<div id="task"'), "<html" in text) == (True, False)
    assert sign_in(stranger).get(f"{samples_of(run)}/3").status_code == 404


def test_failures_and_disagreements_can_be_shown_alone(run: Run, viewer: User, sign_in: SignIn) -> None:
    """The model is always right, so that the baseline's failures are the tasks on which they differ."""
    client = sign_in(viewer)
    wrong = sorted(Sample.objects.filter(subject__run=run, correct=False).values_list("subject__index", "task__task_id"))
    assert sorted(listed(client, run, show="failures")) == wrong
    assert sorted(listed(client, run, show="disagreements")) == sorted((index, task) for _, task in wrong for index in (0, 1))
    assert listed(client, run, show="failures", subject="0") == []
    segments = client.get(samples_of(run), {"show": "failures", "q": "t7"}).context["segments"]
    assert [(each["label"], each["is_current"]) for each in segments] == [("All", False), ("Failures", True), ("Disagreements", False)]
    assert segments[2]["href"] == "?show=disagreements&q=t7"


@pytest.mark.parametrize(
    "narrow", [{}, {"subject": "1"}, {"subject": "0"}, {"q": "t7"}, {"verdict": "correct", "subject": "1"}, {"subject": "9"}]
)
def test_segments_count_what_they_list(run: Run, viewer: User, sign_in: SignIn, narrow: dict[str, str]) -> None:
    client = sign_in(viewer)
    for show in ("", "failures", "disagreements"):
        query = narrow | ({"show": show} if show else {})
        segments = client.get(samples_of(run), query).context["segments"]
        count = next(each["count"] for each in segments if each["is_current"])
        if show == "disagreements" and narrow.keys() - {"subject"}:
            assert count is None  # beside other filters it would cost a pass over the run each time
        else:
            assert count == len(listed(client, run, **query))


def test_counts_of_a_run_follow_its_samples(run: Run) -> None:
    """Disagreements are counted in one pass and kept; what is kept is not told of another state of the run."""
    first = count_samples(run)
    with CaptureQueriesContext(connection) as queries:
        assert count_samples(run) == first
    assert [each["sql"] for each in queries if "sample" in each["sql"]] == []
    Sample.objects.filter(subject__run=run).update(correct=True)
    run.processed += 1
    assert count_samples(run)["disagreements"] == 0 < first["disagreements"]


def test_one_model_has_nothing_to_disagree_with(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    alone = work(run_of(workspace, actor, version, "most-frequent-answer"))
    client = sign_in(viewer)
    assert [each["label"] for each in client.get(samples_of(alone)).context["segments"]] == ["All", "Failures"]
    assert listed(client, alone, show="disagreements") == []


def test_neighbours_among_failures_are_failures(run: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    wrong = sorted(Sample.objects.filter(subject__run=run, correct=False).values_list("position", flat=True))
    for show in ("failures", "disagreements"):
        response = client.get(f"{samples_of(run)}/{wrong[3]}", {"show": show})
        assert (response.context["previous"], response.context["next"]) == (wrong[2], wrong[4])
        assert f"{samples_of(run)}/{wrong[4]}?show={show}" in response.content.decode()
    context = client.get(f"{samples_of(run)}/{wrong[3]}", {"show": "failures", "subject": "0"}).context
    assert (context["previous"], context["next"]) == (None, None)


def test_one_models_samples_can_be_turned_round(workspace: Workspace, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    long = work(run_of(workspace, actor, make_version(tasks=60), "random-choice"))
    client = sign_in(viewer)
    query = {"subject": "0", "sort": "-task"}
    first = client.get(samples_of(long), query).context
    second = client.get(samples_of(long), query | {"cursor": first["next_cursor"]}).context
    assert [sample.position for sample in (*first["samples"], *second["samples"])] == list(range(59, -1, -1))
