"""Every main flow by keyboard alone: no mouse, at each stop the focus is seen, and no fragment that arrives takes it away."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Locator, Page, expect

from runs.models import Run
from tests import factories
from tests.runs.working import sums, work
from tests.site.gallery import in_thread
from tests.site.keys import Keys
from tests.standins.chat import ChatServer
from workspaces.enums import Role

pytestmark = pytest.mark.browser
TASKS = 12


@pytest.fixture
def keys(page: Page) -> Iterator[Keys]:
    """The keyboard of the page; what it noted on the way fails the test at its end."""
    page.emulate_media(reduced_motion="reduce")
    page.set_default_timeout(10_000)
    made = Keys(page)
    yield made
    if made.problems:
        pytest.fail("\n".join(dict.fromkeys(made.problems)), pytrace=False)


@contextmanager
def swapped(page: Page, selector: str) -> Iterator[Locator]:
    """Ends when a fragment has taken the place of the element that is there now."""
    page.locator(selector).evaluate("(each) => { each.dataset.old = ''; }")
    yield page.locator(selector)
    expect(page.locator(f"{selector}[data-old]")).to_have_count(0)


def sign_in(page: Page, keys: Keys) -> None:
    page.goto("/login")
    main = page.get_by_role("main")
    if not main.locator("[autofocus]").count():
        keys.skip()
        keys.reach(main.locator("[name=login]"))
    keys.type("ada@example.org")
    keys.reach(main.locator("[name=password]"))
    keys.type(factories.PASSWORD)
    keys.press("Enter")
    page.wait_for_url(re.compile(r"/(onboarding|evaluations)$"))


def find_a_benchmark(page: Page, keys: Keys) -> None:
    """By the command bar to the catalog, by its search and a facet to the benchmark."""
    keys.press("Tab", "Tab")
    before = page.evaluate("document.activeElement.textContent")
    keys.press("Control+k")
    box = page.get_by_role("combobox", name="Search")
    expect(box).to_be_focused()
    keys.look()
    keys.press("Escape")
    expect(page.locator("#command")).not_to_be_visible()
    assert page.evaluate("document.activeElement.textContent") == before
    keys.press("Control+k")
    keys.type("catalog")
    keys.press("Enter")
    page.wait_for_url("**/catalog")

    search = page.get_by_role("main").get_by_role("searchbox")
    keys.skip()
    keys.reach(search)
    with swapped(page, "#list"):
        keys.type("plain")
    expect(page.get_by_role("main")).not_to_contain_text("Letter work")
    keys.stays(search, "when the list was searched")
    keys.follow(page.locator(".facets a").first)
    expect(page.locator(".facets a[aria-current]")).to_have_count(1)
    keys.skip()
    keys.follow(page.get_by_role("link", name="Plain sums"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Plain sums")


def set_up(page: Page, keys: Keys) -> None:
    """From the benchmark's page through the steps to a started run."""
    keys.skip()
    keys.follow(page.get_by_role("link", name="Run it"))
    page.wait_for_url("**/evaluations/new?*")
    keys.skip()
    for name, chosen in (("Adder", "1"), ("most-frequent-answer", "2")):
        box = page.get_by_label(name)
        keys.reach(box)
        with swapped(page, "#reach"):
            keys.press("Space")
        expect(page.locator("#reach dd").nth(1)).to_have_text(chosen)
        keys.stays(box, "when what is chosen was shown")
    keys.follow(page.get_by_role("button", name="Next: tasks"))
    page.wait_for_url("**step=tasks**")

    keys.skip()
    keys.reach(page.get_by_label("A random sample"))
    with swapped(page, "#reach"):
        keys.press("ArrowDown")
    expect(page.get_by_label(f"All {TASKS} tasks")).to_be_checked()
    keys.stays(page.get_by_label(f"All {TASKS} tasks"), "when the tasks were counted")
    keys.follow(page.get_by_role("button", name="Next: settings"))
    page.wait_for_url("**step=settings**")

    keys.skip()
    cap = page.get_by_label("Cap")
    keys.reach(cap)
    keys.type("nothing")
    keys.follow(page.get_by_role("button", name="Get the quote"))
    page.wait_for_load_state()
    expect(page.locator("#cap[aria-invalid]")).to_be_visible()
    keys.skip()
    keys.reach(cap)
    keys.type("1")
    keys.follow(page.get_by_role("button", name="Get the quote"))
    page.wait_for_url("**/evaluations/quotes/*")
    keys.skip()
    keys.follow(page.get_by_role("button", name=re.compile("^Start")))
    page.wait_for_url(re.compile(r"/evaluations/[0-9a-f-]{36}$"))


def end(page: Page, run: Run) -> None:
    """Work the run while the page's questions wait: SQLite would refuse one of both."""
    page.route(f"**/evaluations/{run.public_id}", lambda route: route.fulfill(status=204))
    in_thread(work, run)
    page.unroute_all(behavior="wait")


def watch(page: Page, keys: Keys) -> None:
    """The live report: fragments arrive around the focus, the dialog is opened and left, the run ends meanwhile."""
    keys.skip()
    scores = page.get_by_role("group", name="Scores so far")
    keys.reach(scores)
    with swapped(page, "#live"):
        pass
    keys.stays(scores, "when the live figures arrived")
    cancel = page.get_by_role("button", name="Cancel", exact=True)
    keys.follow(cancel, "Shift+Tab")
    dialog = page.get_by_role("dialog", name="Cancel this run?")
    expect(dialog).to_be_visible()
    assert dialog.evaluate("(each) => each.contains(document.activeElement)")
    keys.look()
    with swapped(page, "#live"):
        keys.press("Tab")
    assert dialog.evaluate("(each) => each.contains(document.activeElement)")
    keys.look()
    keys.press("Escape")
    expect(dialog).not_to_be_visible()
    keys.stays(cancel, "when the dialog was left by Escape")
    keys.press("Enter")
    keys.reach(dialog.get_by_role("button", name="Let it run"), "Shift+Tab")
    keys.press("Space")
    expect(dialog).not_to_be_visible()
    keys.stays(cancel, "when the dialog was left by its button")
    with swapped(page, "#report"):
        end(page, Run.objects.get())
    expect(page.get_by_role("main")).to_contain_text("Completed")
    keys.stays(page.get_by_role("main"), "when the run ended")


def read_the_result(page: Page, keys: Keys) -> None:
    """The report from end to end, what is folded opened, then the samples by their own keys."""
    page.reload()
    keys.skip()
    closed = page.locator("main details:not([open]) > summary")
    for _ in range(closed.count()):
        before = closed.count()
        keys.follow(closed.first)
        expect(closed).to_have_count(before - 1)
    keys.follow(page.get_by_role("main").get_by_role("link", name="Samples").first, "Shift+Tab")
    page.wait_for_url("**/samples")

    rows = page.locator("#list .row-link a")
    keys.press("j")
    expect(rows.nth(0)).to_be_focused()
    keys.look()
    keys.press("j", "ArrowDown", "k")
    expect(rows.nth(1)).to_be_focused()
    keys.look()
    keys.press("Enter")
    page.wait_for_url(re.compile(r"/samples/\d+"))
    first = page.get_by_role("heading", level=1).inner_text()
    keys.press("j")
    expect(page.get_by_role("heading", level=1)).not_to_have_text(first)
    keys.press("ArrowLeft")
    expect(page.get_by_role("heading", level=1)).to_have_text(first)
    keys.press("f")
    page.wait_for_url("**show=failures**")
    keys.press("f")
    page.wait_for_url(lambda url: "show=failures" not in url)
    keys.skip()
    off = page.get_by_role("button", name="Keys on")
    keys.reach(off)
    keys.press("Space")
    expect(page.get_by_role("button", name="Keys off")).to_be_focused()
    here = page.url
    keys.press("j")
    keys.press("Space")
    expect(page.get_by_role("button", name="Keys on")).to_be_focused()
    assert page.url == here
    for _ in range(20):  # through the answers
        keys.press("Tab")
        keys.look()


def filter_the_history(page: Page, keys: Keys) -> None:
    keys.press("Control+k")
    keys.type("evaluations")
    keys.press("Enter")
    page.wait_for_url("**/evaluations")
    keys.skip()
    status = page.get_by_label("Status")
    keys.reach(status)
    with swapped(page, "#list"):
        keys.press("ArrowDown")
    keys.stays(status, "when the history was filtered")
    model = page.get_by_role("button", name=re.compile("^Model"))
    keys.reach(model)
    keys.press("ArrowDown")
    expect(page.get_by_role("combobox", name="Model")).to_be_focused()
    keys.look()
    keys.press("Escape")
    keys.stays(model, "when the list of models was left by Escape")
    with swapped(page, "#list"):
        keys.press("ArrowDown", "ArrowDown", "Enter")
    keys.stays(model, "when a model was chosen")


def change_settings(page: Page, keys: Keys) -> None:
    """The menu, a key made, a member added and asked about."""
    menu = page.get_by_role("button", name="Workspace: Lab")
    keys.reach(menu, "Shift+Tab")
    keys.press("Enter")
    expect(page.locator("#workspace-menu")).to_be_visible()
    keys.press("Tab")
    keys.look()
    keys.press("Escape")
    expect(page.locator("#workspace-menu")).not_to_be_visible()
    keys.stays(menu, "when the menu was left by Escape")
    keys.press("Enter")
    keys.follow(page.locator("#workspace-menu").get_by_role("link", name="API keys"))
    page.wait_for_url("**/settings/api-keys")
    keys.skip()
    keys.reach(page.locator("#id_label"))
    keys.type("Nightly")
    scope = page.locator("#id_scopes input").first
    keys.reach(scope)
    if not scope.is_checked():
        keys.press("Space")
    keys.follow(page.get_by_role("button", name="Make the key"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Nightly")
    keys.skip()
    keys.reach(page.locator("#key-text"))
    keys.follow(page.get_by_role("link", name="I have copied it"))
    page.wait_for_url("**/settings/api-keys")

    keys.skip()
    keys.follow(page.get_by_role("main").get_by_role("link", name="Members"))
    page.wait_for_url("**/settings/members")
    keys.skip()
    keys.reach(page.locator("#id_email"))
    keys.type("vera@example.org")
    keys.press("Enter")
    remove = page.get_by_role("button", name="Remove", exact=True).first
    expect(remove).to_be_visible()
    keys.skip()
    keys.follow(remove)
    expect(page.get_by_role("dialog")).to_be_visible()
    keys.look()
    keys.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    keys.stays(remove, "when the dialog was left by Escape")


def add_a_connection(page: Page, keys: Keys) -> None:
    """A form that is refused first: the answer says where, and the focus goes there."""
    keys.follow(page.get_by_role("navigation", name="Sections").get_by_role("link", name="Connections"), "Shift+Tab")
    page.wait_for_url("**/connections")
    keys.skip()
    keys.follow(page.get_by_role("main").get_by_role("link", name=re.compile("add|connect", re.IGNORECASE)).first)
    page.wait_for_url("**/connections/new")
    keys.skip()
    keys.reach(page.locator("#id_name"))
    keys.type("Lab server")
    keys.reach(page.locator("#id_endpoint"))
    keys.type("https://127.0.0.1/v1")
    keys.reach(page.locator("#id_model"))
    keys.type("lab-13b")
    with swapped(page, "#connection-form"):
        keys.press("Enter")
    expect(page.locator("#id_endpoint[aria-invalid=true]")).to_be_visible()
    keys.stays(page.locator("#id_endpoint"), "when the form was refused")
    keys.type("https://models.example.org/v1")
    keys.press("Enter")
    page.wait_for_url(re.compile(r"/connections/[0-9a-f-]{36}$"))
    keys.skip()
    keys.press("Tab")
    assert keys.look()


def test_everything_is_done_by_keyboard_alone(page: Page, keys: Keys) -> None:
    """One test, one world: each part begins where the one before has led."""
    factories.make_version(factories.make_benchmark("sums", name="Plain sums", category="math"), tasks=TASKS)
    factories.make_version(factories.make_benchmark("letters", name="Letter work", category="language"), tasks=3)
    workspace = factories.make_workspace("Lab", credit=10_000_000)
    factories.make_user("ada@example.org", workspace=workspace, role=Role.OWNER)
    factories.make_user("vera@example.org", workspace=factories.make_workspace("Elsewhere"))
    with ChatServer(sums) as provider:
        factories.make_route("acme/adder", endpoint=provider.url, name="Adder")
        sign_in(page, keys)
        find_a_benchmark(page, keys)
        set_up(page, keys)
        watch(page, keys)
    read_the_result(page, keys)
    filter_the_history(page, keys)
    change_settings(page, keys)
    add_a_connection(page, keys)
