"""Writing on a task's page, and the list of all that people said of a run."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from runs.models import Run, Sample
from runs.models.reviews import Note, VerdictOverride
from runs.queries import get_run
from runs.reviews.actions import add_note, override_verdict, withdraw_override
from tests.factories import make_route, make_user, make_version
from tests.paging import HTMX, cost
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor, actor_of_user
from workspaces.enums import Role
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


def made(workspace: Workspace, actor: Actor, tasks: int = 10) -> Run:
    version = make_version(tasks=tasks)
    request: dict[str, Any] = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
    with ChatServer(sums) as server:
        route = make_route(endpoint=server.url)
        run = work(start(workspace, actor, subjects=[route.route_id, "most-frequent-answer"], **request))
    return get_run(workspace, run.public_id)


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    """A model that is right on all ten tasks, beside a baseline."""
    return made(workspace, actor)


def sample_at(run: Run, subject: int = 0, position: int = 3) -> Sample:
    return Sample.objects.select_related("task", "subject").get(subject__run=run, subject__index=subject, position=position)


def address(run: Run, sample: Sample, what: str = "notes") -> str:
    return f"/evaluations/{run.public_id}/samples/{sample.public_id}/{what}"


def task(run: Run, position: int = 3) -> str:
    return f"/evaluations/{run.public_id}/samples/{position}"


def test_a_note_is_written_and_shown_within_the_filter_that_led_there(run: Run, member: User, sign_in: SignIn) -> None:
    client, sample = sign_in(member), sample_at(run)
    response = client.post(f"{address(run, sample)}?verdict=correct&left=0.1&right=1.1", {"text": "Both are right."})
    assert response["Location"] == f"{task(run)}?verdict=correct&left=0.1&right=1.1#model-0"
    page = client.get(response["Location"])
    said = page.context["answers"][0]["said"]
    assert [each.note.text for each in said.notes] == ["Both are right."]
    assert ("Both are right." in page.content.decode(), "The note is written." in page.content.decode()) == (True, True)


def test_a_note_is_changed_and_deleted(run: Run, member: User, sign_in: SignIn) -> None:
    client, sample = sign_in(member), sample_at(run)
    note = add_note(run, sample, actor=actor_of_user(member), text="First")
    client.post(address(run, sample, f"notes/{note.public_id}"), {"text": "Second"})
    note.refresh_from_db()
    assert note.text == "Second"
    assert client.post(address(run, sample, f"notes/{note.public_id}/deletion"))["Location"] == f"{task(run)}#model-0"
    assert Note.objects.count() == 0


def test_a_persons_verdict_stands_beside_the_graders(run: Run, member: User, sign_in: SignIn) -> None:
    client, sample = sign_in(member), sample_at(run)
    form = client.get(task(run)).context["answers"][0]["said"].verdict_form
    assert form.initial["verdict"] == "incorrect"  # what the grader did not say
    client.post(address(run, sample, "override"), {"verdict": "incorrect", "reason": "Right by chance"})
    page = client.get(task(run))
    answer = page.context["answers"][0]
    assert (answer["correct"], answer["said"].override.correct, answer["override"]["verdict"]) == (True, False, "incorrect")
    assert page.content.decode().index("Incorrect<span") > page.content.decode().index("Correct</span>")  # the grader's comes first
    client.post(address(run, sample, "override/withdrawal"))
    said = client.get(task(run)).context["answers"][0]["said"]
    assert (said.override, [each.reason for each in said.earlier]) == (None, ["Right by chance"])


@pytest.mark.parametrize(
    ("what", "typed", "field"),
    [
        ("notes", {"text": " "}, "text"),
        ("notes", {"text": "a\0b"}, "text"),
        ("notes", {"text": "x" * 4_001}, "text"),
        ("override", {"verdict": "correct"}, "reason"),
        ("override", {"verdict": "maybe", "reason": "x"}, "verdict"),
    ],
)
def test_what_is_filled_in_wrongly_comes_back_with_the_task(
    run: Run, member: User, sign_in: SignIn, what: str, typed: dict[str, str], field: str
) -> None:
    response = sign_in(member).post(address(run, sample_at(run), what), typed)
    said = response.context["answers"][0]["said"]
    form = said.note_form if what == "notes" else said.verdict_form
    assert (response.status_code, list(form.errors), Note.objects.count() + VerdictOverride.objects.count()) == (422, [field], 0)
    assert "<details open>" in response.content.decode()
    assert response.context["answers"][1]["said"].note_form.errors == {}  # another answer's form is not touched


def test_a_verdict_on_an_error_is_refused_in_words(run: Run, member: User, sign_in: SignIn) -> None:
    sample = sample_at(run)
    Sample.objects.filter(pk=sample.pk).update(status="error", correct=None, score=None, error_code="timeout")
    response = sign_in(member).post(address(run, sample, "override"), {"verdict": "correct", "reason": "x"})
    assert response.status_code == 409
    assert sign_in(member).get(task(run)).context["answers"][0]["said"].verdict_form is None


def test_viewers_read_and_find_no_forms(run: Run, viewer: User, member: User, actor: Actor, sign_in: SignIn) -> None:
    add_note(run, sample_at(run), actor=actor, text="Read me")
    client = sign_in(viewer)
    page = client.get(task(run))
    said = page.context["answers"][0]["said"]
    assert (said.note_form, said.verdict_form, said.notes[0].form, said.notes[0].may_delete) == (None, None, None, False)
    assert ("Read me" in page.content.decode(), 'method="post"' in page.content.decode().partition("<main")[2]) == (True, False)
    for what in ("notes", "override", "override/withdrawal"):
        assert client.post(address(run, sample_at(run), what), {"text": "x", "verdict": "correct", "reason": "x"}).status_code == 403
    assert sign_in(member).get(task(run)).context["answers"][0]["said"].notes[0].may_delete is False


def test_a_note_of_another_answer_or_run_is_not_found(run: Run, workspace: Workspace, actor: Actor, member: User, sign_in: SignIn) -> None:
    other = made(workspace, actor, tasks=2)
    note = add_note(run, sample_at(run), actor=actor_of_user(member), text="Here")
    client = sign_in(member)
    for path in (
        address(run, sample_at(run, 0, 4), f"notes/{note.public_id}"),
        address(other, sample_at(run), f"notes/{note.public_id}"),
        address(other, sample_at(other, 0, 1), f"notes/{note.public_id}/deletion"),
        address(other, sample_at(run), "override"),
    ):
        assert client.post(path, {"text": "There", "verdict": "correct", "reason": "x"}).status_code == 404
    note.refresh_from_db()
    assert note.text == "Here"


def test_markup_and_directions_in_words_stay_words(run: Run, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    add_note(run, sample_at(run), actor=actor, text="<b>bold</b>\u202egnirts")
    override_verdict(run, sample_at(run), actor=actor, correct=False, reason="<script>alert(1)</script>")
    client = sign_in(viewer)
    for path in (task(run), f"/evaluations/{run.public_id}/reviews", f"/evaluations/{run.public_id}/reviews?kind=notes"):
        text = client.get(path).content.decode()
        assert ("<b>bold" in text, "<script>alert" in text) == (False, False)
    assert '<p class="saying-words" dir="auto">&lt;b&gt;bold&lt;/b&gt;\u202egnirts</p>' in client.get(task(run)).content.decode()


def test_list_has_what_people_said_newest_first_and_what_became_of_it(run: Run, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    override_verdict(run, sample_at(run, 0, 1), actor=actor, correct=False, reason="One")
    override_verdict(run, sample_at(run, 0, 2), actor=actor, correct=False, reason="Two")
    withdraw_override(run, sample_at(run, 0, 2), actor=actor)
    add_note(run, sample_at(run, 1, 5), actor=actor, text="Words")
    client = sign_in(viewer)
    response = client.get(f"/evaluations/{run.public_id}/reviews")
    rows = [(row["said"].reason, row["said"].is_current, row["sample"].position) for row in response.context["rows"]]
    assert rows == [("Two", False, 2), ("One", True, 1)]
    assert [(each["label"], each["count"]) for each in response.context["segments"]] == [("Verdicts", 2), ("Notes", 1)]
    assert "Withdrawn" in response.content.decode()
    notes = client.get(f"/evaluations/{run.public_id}/reviews", {"kind": "notes"})
    assert [(row["said"].text, row["sample"].subject.index) for row in notes.context["rows"]] == [("Words", 1)]
    text = client.get(f"/evaluations/{run.public_id}/reviews", headers=HTMX).content.decode()
    assert (text.strip().startswith('<section id="list"'), "<html" in text) == (True, False)


def test_list_goes_on_without_gaps_and_costs_the_same(run: Run, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    client, path = sign_in(viewer), f"/evaluations/{run.public_id}/reviews?kind=notes"
    add_note(run, sample_at(run), actor=actor, text="0")
    few = cost(client, path)
    for number in range(1, 60):
        add_note(run, sample_at(run, number % 2, number % 10), actor=actor, text=str(number))
    assert cost(client, path) == few
    first = client.get(path).context
    second = client.get(f"{path}&cursor={first['next_cursor']}").context
    assert [row["said"].text for row in (*first["rows"], *second["rows"])] == [str(number) for number in reversed(range(60))]
    assert second["next_cursor"] is None


def test_report_shows_the_second_figure_under_its_own_name(run: Run, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    client, report = sign_in(viewer), f"/evaluations/{run.public_id}"
    before = client.get(report)
    assert "With verdicts changed by people" not in before.content.decode()
    override_verdict(run, sample_at(run), actor=actor, correct=False, reason="No")
    after = client.get(report)
    text = " ".join(after.content.decode().split())
    assert ("With verdicts changed by people" in text, "90.0%" in text) == (True, True)
    for name in ("result", "rows"):
        assert after.context[name] == before.context[name]


def test_a_task_costs_the_same_with_little_and_with_much_said(
    run: Run, actor: Actor, member: User, workspace: Workspace, sign_in: SignIn
) -> None:
    client = sign_in(member)
    add_note(run, sample_at(run), actor=actor_of_user(member), text="0")
    few = cost(client, task(run))
    others = [actor_of_user(make_user(workspace=workspace, role=Role.MEMBER)) for _ in range(2)]
    for number, each in enumerate([*others, actor_of_user(member)] * 3):
        add_note(run, sample_at(run, number % 2), actor=each, text=str(number))
        override_verdict(run, sample_at(run, number % 2), actor=each, correct=bool(number % 3), reason=str(number))
    assert cost(client, task(run)) == few


# Two answers side by side


def test_two_answers_are_compared_with_what_differs_marked(run: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    assert client.get(task(run)).context["pair"] is None
    response = client.get(task(run), {"left": "0.1", "right": "1.1", "verdict": "correct"})
    pair = response.context["pair"]
    assert (pair["left"]["subject_index"], pair["right"]["subject_index"]) == (0, 1)
    own = [each.text for each in pair["difference"].left if each.is_own]
    assert "The answer is" in own[0]
    text = response.content.decode()
    assert '<mark class="own"><span class="visually-hidden">[only here: </span>The answer is' in text
    assert f'href="{task(run, 4)}?verdict=correct&amp;left=0.1&amp;right=1.1"' in text.replace("&amp;amp;", "&amp;")


@pytest.mark.parametrize(
    "query", [{"left": "0.1"}, {"left": "0.1", "right": "0.1"}, {"left": "9.9", "right": "0.1"}, {"left": "\0", "right": "x"}]
)
def test_a_pair_that_is_none_shows_none(run: Run, viewer: User, sign_in: SignIn, query: dict[str, str]) -> None:
    response = sign_in(viewer).get(task(run), query)
    assert (response.status_code, response.context["pair"]) == (200, None)


@pytest.mark.parametrize("policy", ["aggregate", "no_answers"])
def test_a_comparison_shows_no_more_than_the_answers(run: Run, viewer: User, sign_in: SignIn, policy: str) -> None:
    version = run.benchmarks.get().version
    type(version).objects.filter(pk=version.pk).update(export_policy=policy)
    response = sign_in(viewer).get(task(run), {"left": "0.1", "right": "1.1"})
    text = response.content.decode()
    shows = policy == "no_answers"
    assert ("The answer is" in text, response.context["pair"]["difference"] is not None) == (shows, shows)
    assert "Reference, never sent" not in text
    assert ("Read from it" in text) == shows
