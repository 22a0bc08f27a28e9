"""The command bar: what it finds for whom, as a page and as a fragment, and that it is used by keyboard alone."""

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect

from evalrouter_site.command import LONGEST_QUERY, Seeker, find
from runs.models import Run
from tests import factories
from tests.axe import enter, violations
from tests.runs.working import start
from tests.site.test_pages_frame import ROOT
from workspaces.actors import Actor
from workspaces.enums import Role
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
FRAGMENT = {"HX-Request": "true"}

OF_MEMBERS = ["Group from results", "Import a benchmark", "Bring old evaluations along"]


def seeker(workspace: Workspace | None = None, role: Role | None = None, *, is_staff: bool = False) -> Seeker:
    return Seeker(workspace, role, is_signed_in=role is not None or is_staff, is_staff=is_staff)


def titles(found: Seeker, q: str) -> dict[str, list[str]]:
    return {group.name: [each.title for each in group.items] for group in find(found, q)}


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    return started(workspace, actor)


def started(workspace: Workspace, actor: Actor) -> Run:
    version = factories.make_version(factories.make_benchmark(workspace=workspace, name="Zebra sums"), tasks=3)
    return start(
        workspace,
        actor,
        name="Nightly",
        subjects=[{"kind": "baseline", "name": name} for name in ("random-choice", "most-frequent-answer")],
        selection={"profile_ids": [version.profile_id]},
        coverage={"mode": "full"},
    )


def test_empty_bar_offers_latest_runs_actions_and_pages(run: Run, workspace: Workspace) -> None:
    found = titles(seeker(workspace, Role.OWNER), "")
    assert list(found) == ["Latest evaluations", "Actions", "Pages"]
    assert found["Latest evaluations"] == ["Nightly"]
    assert found["Actions"] == ["New evaluation", *OF_MEMBERS, "Connect an endpoint", "Make an API key", "Add a member", "Sign out"]


@pytest.mark.parametrize(
    ("role", "actions"),
    [
        (Role.VIEWER, ["Sign out"]),
        (Role.MEMBER, ["New evaluation", *OF_MEMBERS, "Sign out"]),
        (Role.ADMIN, ["New evaluation", *OF_MEMBERS, "Connect an endpoint", "Make an API key", "Add a member", "Sign out"]),
    ],
)
def test_actions_are_those_the_role_allows(workspace: Workspace, role: Role, actions: list[str]) -> None:
    assert titles(seeker(workspace, role), "").get("Actions", []) == actions


def test_nobody_is_offered_the_public_pages(db: None) -> None:
    assert titles(seeker(), "") == {"Actions": ["Create an account"], "Pages": ["Catalog", "Models", "API description", "Sign in"]}


def test_staff_alone_find_the_admin(db: None) -> None:
    assert titles(seeker(is_staff=True), "admin") == {"Pages": ["Staff admin"]}
    assert titles(seeker(), "admin") == {}


@pytest.mark.parametrize("q", ["nightly", "zebra", "ZEBRA sums", "random nightly", "most-frequent"])
def test_run_is_found_by_name_benchmark_and_model(run: Run, workspace: Workspace, q: str) -> None:
    assert titles(seeker(workspace, Role.VIEWER), q)["Evaluations"] == ["Nightly"]


def test_run_is_found_by_the_beginning_of_its_id(run: Run, workspace: Workspace) -> None:
    found = find(seeker(workspace, Role.VIEWER), str(run.public_id)[:8])
    assert [(each.href, each.note) for each in found[0].items] == [(f"/evaluations/{run.public_id}", "2 models · Queued")]


def test_every_word_must_match(run: Run, workspace: Workspace) -> None:
    assert titles(seeker(workspace, Role.OWNER), "nightly giraffe") == {}


def test_models_connections_and_benchmarks_are_found(workspace: Workspace, run: Run) -> None:
    factories.make_route("acme/zebra-1", name="Zebra one")
    factories.make_connection(workspace, name="Zebra box")
    found = titles(seeker(workspace, Role.VIEWER), "zebra")
    assert found == {
        "Benchmarks": ["Zebra sums"],
        "Models": ["Zebra one"],
        "Connections": ["Zebra box"],
        "Evaluations": ["Nightly"],
    }


def test_group_whose_title_begins_with_the_words_comes_first(workspace: Workspace, db: None) -> None:
    factories.make_version(factories.make_benchmark("of-members", name="A study of members"), tasks=1)
    found = find(seeker(workspace, Role.OWNER), "memb")
    assert [group.name for group in found] == ["Pages", "Actions", "Benchmarks"]
    assert found[0].items[0].href == "/settings/members"


@pytest.mark.parametrize("q", ["run zebra", "new evaluation with zebra", "quote sums on zebra"])
def test_evaluation_with_a_named_benchmark_is_an_action_of_members(run: Run, workspace: Workspace, q: str) -> None:
    profile = run.benchmarks.get().version.profile_id.replace("@", "%40")
    found = [each for group in find(seeker(workspace, Role.MEMBER), q) if group.name == "Actions" for each in group.items]
    assert [(each.title, each.href) for each in found] == [("New evaluation with Zebra sums", f"/evaluations/new?benchmark={profile}")]
    assert "Actions" not in titles(seeker(workspace, Role.VIEWER), q)


def test_actions_that_change_something_are_posted(owner: User, sign_in: SignIn) -> None:
    """As a page they are forms with the fields; what is posted does what it says."""
    second = factories.make_workspace("Second", owner=owner)
    client = sign_in(owner)
    for headers in ({}, FRAGMENT | {"HX-Current-URL": "http://testserver/models?q=a"}):
        text = client.get("/command?q=switch", headers=headers).content.decode()
        assert 'href="/workspace"' not in text
        *_, form = re.findall(r'<form[^>]*method="post" action="/workspace"[^>]*>(.*?)</form>', text, re.DOTALL)
        fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form))
        assert fields.pop("csrfmiddlewaretoken")
        assert fields == {"workspace": str(second.public_id), "next": "/models?q=a" if headers else ""}
    assert client.post("/workspace", fields)["Location"] == "/models?q=a"
    assert client.get("/settings/members").context["workspace"] == second
    assert Client(enforce_csrf_checks=True).post("/workspace", fields).status_code == 403


def test_stranger_finds_nothing_of_ours(run: Run, stranger: User, sign_in: SignIn) -> None:
    factories.make_connection(run.workspace, name="Zebra box")
    for client in (sign_in(stranger), Client()):
        for q in ("zebra", "nightly", str(run.public_id)[:8]):
            text = client.get("/command", {"q": q}).content.decode()
            assert ("Nothing matches" in text, "Zebra" in text, str(run.public_id) in text) == (True, False, False)


def test_page_lists_what_the_fragment_offers(run: Run, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    page, fragment = client.get("/command?q=nightly"), client.get("/command?q=nightly", headers=FRAGMENT)
    links = re.compile(r'class="command-item"[^>]*href="([^"]+)"')
    assert links.findall(page.content.decode()) == links.findall(fragment.content.decode()) == [f"/evaluations/{run.public_id}"]
    assert (page.content.decode().count("<html"), fragment.content.decode().count("<html")) == (1, 0)
    assert (page["Vary"].count("HX-Request"), fragment.content.decode().count('role="option"')) == (1, 1)


@pytest.mark.parametrize("q", ["%00", "%", "_", "'", "a" * 5000, "%F0%9F%A6%93", "%20%20"])
def test_odd_words_are_only_words(owner: User, sign_in: SignIn, q: str) -> None:
    response = sign_in(owner).get(f"/command?q={q}")
    assert (response.status_code, len(response.context["q"]) <= LONGEST_QUERY) == (200, True)


def test_queries_do_not_grow_with_the_runs(run: Run, actor: Actor, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    client.get("/command?q=night", headers=FRAGMENT)
    counts = []
    for more in (0, 3):
        for _ in range(more):
            started(run.workspace, actor)
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/command?q=night", headers=FRAGMENT).content.decode().count("Nightly") == more + 1
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 9


@pytest.mark.browser
def test_bar_is_used_by_keyboard_alone(page: Page, run: Run, owner: User) -> None:
    enter(page, owner)
    page.goto("/evaluations")
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search")
    expect(box).to_be_focused()
    options = page.locator("#command").get_by_role("option")
    expect(options.first).to_have_attribute("aria-selected", "true")
    assert violations(page, within="#command") == []

    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", options.nth(1).get_attribute("id") or "")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")

    page.keyboard.type("nothing like it")
    expect(page.get_by_text("Nothing matches. Try fewer or other words.")).to_be_visible()
    assert violations(page, within="#command") == []
    page.keyboard.press("Escape")
    expect(page.locator("#command")).not_to_be_visible()

    page.keyboard.press("Control+k")
    page.keyboard.type("zebra")
    page.keyboard.press("Enter")  # at once: before the answer has come
    page.wait_for_url(f"**/catalog/{run.benchmarks.get().version.benchmark.slug}")


@pytest.mark.browser
def test_workspace_is_switched_and_left_by_keyboard(page: Page, owner: User) -> None:
    factories.make_workspace("Second lab", owner=owner)
    enter(page, owner)
    page.goto("/models")
    page.keyboard.press("Control+k")
    page.keyboard.type("switch sec")
    expect(page.locator("#command").get_by_role("option")).to_have_text(["Switch to Second labWorkspace"])
    assert violations(page, within="#command") == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Workspace: Second lab")).to_be_visible()
    page.wait_for_url("**/models")
    page.keyboard.press("Control+k")
    page.keyboard.type("sign out")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()


@pytest.mark.browser
def test_button_opens_the_bar_and_its_page_has_no_violation(page: Page, run: Run, owner: User) -> None:
    enter(page, owner)
    page.goto("/command?q=a")
    assert violations(page) == []
    page.get_by_role("link", name="Search").first.click()
    expect(page.locator("#command")).to_be_visible()
    page.mouse.click(5, 5)
    expect(page.locator("#command")).not_to_be_visible()


def test_script_of_the_bar_is_small() -> None:
    assert (ROOT / "static" / "js" / "command.js").stat().st_size <= 4096
