"""Getting started: the recorded comparison, the three steps from the person's own quotes and runs, and closing it for good."""

import re
from collections.abc import Callable

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from catalog.models import BenchmarkVersion
from evalrouter_site.onboarding.recorded import recorded_comparison
from runs.actions import create_quote
from runs.models import Quote, Run
from tests.factories import PASSWORD, make_user
from tests.paging import cost
from tests.runs.working import start, work
from workspaces.actors import Actor, actor_of_user
from workspaces.models import Membership, User, Workspace

SignIn = Callable[[User], Client]
BASELINES = ["random-choice", "most-frequent-answer"]
PATHS = ["/onboarding", "/onboarding/comparison", "/onboarding/comparison/tasks/1"]
RECORDED = "No model was asked"


def wanted(version: BenchmarkVersion) -> dict[str, object]:
    return {"subjects": BASELINES, "selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}


def quoted(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> Quote:
    return create_quote(workspace, actor=actor, request=wanted(version))


def steps(client: Client) -> list[tuple[str, str, str]]:
    """State, what it was done with, and where its first link leads, of each step."""
    return [(step.state, step.found, step.links[0].href) for step in client.get("/onboarding").context["steps"]]


def confirmed(client: Client, email: str) -> str:
    """Sign up and confirm the address; returns where that leads."""
    client.post("/register", {"email": email, "password1": PASSWORD})
    link = re.search(r"http://testserver(/accounts/\S+)", str(mail.outbox[-1].body))
    assert link is not None
    return str(client.post(link.group(1))["Location"])


# ── The recorded comparison ─────────────────────────────────────────────────────────────────────────────────────────


def test_recorded_comparison_is_shown_and_named_as_recorded(owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    recording = recorded_comparison()
    first, whole, task = (client.get(path).content.decode() for path in PATHS)
    assert [recording.compare["summary"] in text for text in (first, whole)] == [True, True]
    assert [
        ">Recorded<" in first,
        RECORDED in first,
        "This comparison is recorded, and no model is in it" in whole,
        ">Recorded<" in task,
    ] == [True] * 4
    assert [f"{solver.label}</" in whole or solver.label in whole for solver in recording.solvers] == [True] * 5
    assert [f'id="{chart}-chart-title"' in whole for chart in ("scores", "differences", "groups")] == [True] * 3
    assert [place["rank_label"] for place in (row["place"] for row in client.get(PATHS[1]).context["rows"])] == ["1", "2", "3", "4", "5"]


def test_every_task_opens_with_all_answers_and_leads_to_its_neighbours(owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    count = len(recorded_comparison().tasks)
    pages = [client.get(f"/onboarding/comparison/tasks/{number}") for number in range(1, count + 1)]
    assert [len(page.context["answers"]) for page in pages] == [5] * count
    neighbours = [re.findall(r'rel="(?:prev|next)" href="/onboarding/comparison/tasks/(\d+)"', page.content.decode()) for page in pages]
    assert neighbours == [["2"], *([str(number - 1), str(number + 1)] for number in range(2, count)), [str(count - 1)]]
    unreadable = next(page for page in pages if "unreadable" in page.context["answers"][0]["flags"]).content.decode()
    assert ("None of these can be the case." in unreadable, "No choice could be read" in unreadable) == (True, True)


@pytest.mark.parametrize("number", [0, 13])
def test_task_that_was_not_recorded_is_not_found(owner: User, sign_in: SignIn, number: int) -> None:
    assert sign_in(owner).get(f"/onboarding/comparison/tasks/{number}").status_code == 404


@pytest.mark.parametrize("path", PATHS)
def test_recorded_pages_have_one_filled_button_at_most(owner: User, sign_in: SignIn, path: str) -> None:
    assert sign_in(owner).get(path).content.decode().count("button-primary") == (0 if "tasks" in path else 1)


# ── The three steps ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_new_person_begins_with_the_catalog(owner: User, sign_in: SignIn) -> None:
    assert steps(sign_in(owner)) == [("current", "", "/catalog"), ("todo", "", "/models"), ("todo", "", "/evaluations/new")]


def test_quote_is_two_steps_and_the_third_leads_to_it(
    workspace: Workspace, owner: User, actor: Actor, version: BenchmarkVersion, sign_in: SignIn
) -> None:
    quote = quoted(workspace, actor, version)
    name = version.benchmark.name
    assert steps(sign_in(owner)) == [
        ("done", name, "/catalog"),
        ("done", "random-choice, most-frequent-answer", "/models"),
        ("current", "", f"/evaluations/quotes/{quote.public_id}"),
    ]


def test_quote_whose_time_is_over_leads_to_a_new_one(
    workspace: Workspace, owner: User, actor: Actor, version: BenchmarkVersion, sign_in: SignIn
) -> None:
    quoted(workspace, actor, version)
    Quote.objects.update(expires_at=timezone.now())
    assert steps(sign_in(owner))[2] == ("current", "", "/evaluations/new")


def test_run_is_the_third_step_and_leads_to_its_result(
    workspace: Workspace, owner: User, actor: Actor, version: BenchmarkVersion, sign_in: SignIn
) -> None:
    client = sign_in(owner)
    run: Run = start(workspace, actor, **wanted(version))
    path = f"/evaluations/{run.public_id}"
    assert steps(client)[2] == ("done", "It is on its way.", path)
    assert f'<a href="{path}">Watch it</a>' in client.get("/onboarding").content.decode()
    work(run)
    assert steps(client)[2] == ("done", "Its result is there.", path)
    assert f'<a href="{path}">Read the result</a>' in client.get("/onboarding").content.decode()


def test_steps_of_colleagues_are_not_ones_own(
    workspace: Workspace, actor: Actor, member: User, version: BenchmarkVersion, sign_in: SignIn
) -> None:
    start(workspace, actor, **wanted(version))
    assert [state for state, _, _ in steps(sign_in(member))] == ["current", "todo", "todo"]


def test_steps_of_a_workspace_that_was_left_are_gone(
    workspace: Workspace, member: User, version: BenchmarkVersion, sign_in: SignIn
) -> None:
    quoted(workspace, actor_of_user(member), version)
    Membership.objects.filter(user=member).delete()
    assert [state for state, _, _ in steps(sign_in(member))] == ["current", "todo", "todo"]


def test_who_cannot_run_is_told_why_and_what_helps(viewer: User, member: User, sign_in: SignIn) -> None:
    alone = make_user()
    words = [sign_in(person).get("/onboarding").context["obstacle"] for person in (viewer, alone, member)]
    assert words == [
        "In Ours you may read, not run. Ask one of its admins to make you a member, or make a workspace of your own.",
        "You are in no workspace. Make one in your account settings, or ask to be added to one.",
        "",
    ]


def test_pages_cost_the_same_with_one_run_and_with_three(
    workspace: Workspace, owner: User, actor: Actor, version: BenchmarkVersion, sign_in: SignIn
) -> None:
    client = sign_in(owner)
    start(workspace, actor, **wanted(version))
    one = [cost(client, path) for path in PATHS]
    start(workspace, actor, **wanted(version))
    work(start(workspace, actor, **wanted(version)))
    assert [cost(client, path) for path in PATHS] == one


# ── Landing there, and closing it ───────────────────────────────────────────────────────────────────────────────────


def test_new_person_lands_there_when_their_address_is_confirmed(client: Client, db: None) -> None:
    assert confirmed(client, "new@example.org") == "/onboarding"
    assert client.get("/onboarding").status_code == 200


def test_first_sign_in_elsewhere_lands_there_too_and_no_later_one_does(db: None) -> None:
    make_user("new@example.org")
    locations = [Client().post("/login", {"login": "new@example.org", "password": PASSWORD})["Location"] for _ in range(2)]
    assert locations == ["/onboarding", "/evaluations"]


def test_page_that_was_asked_for_comes_first(db: None) -> None:
    make_user("new@example.org")
    answer = Client().post("/login?next=/settings/account", {"login": "new@example.org", "password": PASSWORD, "next": "/settings/account"})
    assert answer["Location"] == "/settings/account"


def test_closed_one_does_not_come_up_again(db: None) -> None:
    make_user("new@example.org", onboarding_closed_at=timezone.now())
    assert Client().post("/login", {"login": "new@example.org", "password": PASSWORD})["Location"] == "/evaluations"


def test_it_is_closed_for_good_and_stays_in_the_account_menu(owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    assert "Close for good" in client.get("/onboarding").content.decode()
    answer = client.post("/onboarding/closure", follow=True)
    assert [link for link, _ in answer.redirect_chain] == ["/evaluations"]
    owner.refresh_from_db()
    closed_at = owner.onboarding_closed_at
    assert closed_at is not None
    text = client.get("/onboarding").content.decode()
    assert ("Close for good" in text, 'class="menu-item" href="/onboarding"' in text) == (False, True)
    client.post("/onboarding/closure")
    owner.refresh_from_db()
    assert owner.onboarding_closed_at == closed_at
