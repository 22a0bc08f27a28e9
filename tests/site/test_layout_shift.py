"""Nothing moves by itself: fonts that come late, fragments that arrive, and pages that follow each other keep things where they were."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from asgiref.sync import async_to_sync
from playwright.sync_api import Page, Route, expect

from runs.engine.executor import Executor
from runs.models import Run
from tests import factories
from tests.axe import enter
from tests.runs.working import start, sums, work
from tests.site.gallery import in_thread
from tests.site.shifts import count_shifts, places, shifts
from tests.site.test_keyboard import end, swapped
from tests.standins.chat import ChatServer
from workspaces.actors import actor_of_user
from workspaces.enums import Role
from workspaces.models import ApiKey, User, Workspace

pytestmark = pytest.mark.browser
TASKS = 24
TALL = {"width": 1280, "height": 2000}
"""A window in which what lies far down shifts too."""
PAINTED = "() => new Promise((done) => new PerformanceObserver(() => done()).observe({type: 'paint', buffered: true}))"
FONT = "**/geist*.woff2"


class Steady:
    """Collects what moved in `problems`."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []

    def settled(self, what: str) -> None:
        """What the browser counted since the page was opened."""
        self.problems += [f"{what}: {each}" for each in shifts(self.page)]

    @contextmanager
    def kept(self, what: str, *selectors: str) -> Iterator[None]:
        """These elements lie after the step where they did before it."""
        before = places(self.page, *selectors)
        missing = [selector for selector, place in before.items() if place is None]
        assert not missing, f"{what}: there is no {missing}"
        yield
        after = places(self.page, *selectors)
        self.problems += [f"{what}: {each} went from {before[each]} to {after[each]}" for each in selectors if before[each] != after[each]]


@pytest.fixture
def steady(page: Page) -> Iterator[Steady]:
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size(TALL)  # type: ignore[arg-type]
    page.set_default_timeout(10_000)
    count_shifts(page)
    made = Steady(page)
    yield made
    if made.problems:
        pytest.fail("\n".join(made.problems), pytrace=False)


def open_with_a_late_font(page: Page, path: str) -> None:
    """The page is drawn in the face that stands in, then the font arrives."""
    waiting: list[Route] = []
    page.route(FONT, lambda route: waiting.append(route))  # a builtin takes no attribute, which Playwright sets
    page.goto(path, wait_until="domcontentloaded")
    page.evaluate(PAINTED)
    places(page)
    assert waiting, f"{path} asks for no font"
    for route in waiting:
        route.continue_()
    page.wait_for_load_state("load")
    assert page.evaluate("document.fonts.ready.then((fonts) => [...fonts].some((each) => each.status === 'loaded'))")
    page.unroute_all(behavior="wait")


def count_is_awake(page: Page) -> None:
    """A control: what pushes the page down is counted."""
    page.goto("/models")
    page.evaluate("document.querySelector('main').prepend(Object.assign(document.createElement('div'), {id: 'pushed'}))")
    page.evaluate("document.getElementById('pushed').animate([{height: '0'}, {height: '200px'}], {duration: 1, fill: 'forwards'})")
    page.wait_for_timeout(200)
    assert shifts(page) != []


def pages_that_open(page: Page, steady: Steady, run: Run, key: ApiKey) -> None:
    paths = ["/", "/onboarding", "/onboarding/comparison", f"/evaluations/{run.public_id}", f"/settings/api-keys/{key.public_id}"]
    for path in (*paths, "/catalog/sums", "/catalog/letters"):  # of which letters has no results yet
        open_with_a_late_font(page, path)
        page.wait_for_load_state("networkidle")
        expect(page.locator(".skeleton, .skeleton-table, .skeleton-block")).to_have_count(0)
        steady.settled(f"{path} with a late font")


def search_and_filters(page: Page, steady: Steady) -> None:
    page.goto("/catalog")
    around = ("h1", "#q", "#list", ".list-filters button")
    for words in ("plain", "nothing like it"):
        with steady.kept(f"the catalog searched for “{words}”", *around), swapped(page, "#list"):
            page.get_by_role("main").get_by_role("searchbox").fill(words)
    page.goto("/evaluations")
    for status in ("completed", "failed"):
        with steady.kept(f"the history filtered by {status}", "h1", "#filter-status", "#list"), swapped(page, "#list"):
            page.get_by_label("Status").select_option(status)
    steady.settled("the history filtered")


def steps(page: Page, steady: Steady) -> None:
    page.goto("/evaluations/new")
    around = ("h1", ".stepper", "#step-benchmark", "#q")
    with steady.kept("benchmarks searched", *around), swapped(page, "#benchmarks"):
        page.get_by_role("main").get_by_role("searchbox").fill("plain")
    with steady.kept("the step of models", "h1", ".stepper", ".step"):
        page.get_by_role("main").get_by_role("link", name="Plain sums").click()
        page.wait_for_url("**benchmark=**")
    models = ("h1", ".stepper", "#step-models", "fieldset:last-of-type", ".setup-submit", "#side")
    with steady.kept("a model chosen", *models), swapped(page, "#reach"):
        page.get_by_label("Adder").check()
    with steady.kept("the step of tasks", "h1", ".stepper", ".step", "#side"):
        page.get_by_role("button", name="Next: tasks").click()
        page.wait_for_url("**step=tasks**")
    with steady.kept("all tasks chosen", "h1", ".stepper", ".coverage-choice:last-of-type", "#side"), swapped(page, "#reach"):
        page.get_by_label(f"All {TASKS} tasks").check()
    with steady.kept("the step of settings", "h1", ".stepper", ".step", "#side"):
        page.get_by_role("button", name="Next: settings").click()
        page.wait_for_url("**step=settings**")
    with steady.kept("a cap given", "#name", "#max_output_tokens", ".setup-submit", "#side"), swapped(page, "#reach"):
        page.get_by_label("Cap").fill("1")
    steady.settled("the steps")


def samples(page: Page, steady: Steady, run: Run) -> None:
    page.goto(f"/evaluations/{run.public_id}/samples/3")
    around = ("h1", ".browse", "a[rel=next]", "a[rel=prev]", "#sent-heading")
    for key, place in (("j", 4), ("j", 5), ("k", 4)):
        with steady.kept(f"sample by {key}", *around):
            page.keyboard.press(key)
            page.wait_for_url(re.compile(rf"/samples/{place}\b"))
            page.wait_for_load_state()
    steady.settled("the next sample")
    page.goto(f"/evaluations/{run.public_id}/samples")
    with steady.kept("samples filtered", "h1", "#q", "#list", ".browse"), swapped(page, "#list"):
        page.get_by_label("Verdict").select_option("correct")


def live(page: Page, steady: Steady, run: Run, until: Callable[[], bool]) -> None:
    page.goto(f"/evaluations/{run.public_id}")
    expect(page.locator("#progress .skeleton-block")).to_have_count(0)
    around = ("h1", "#live", ".live-figures", "#so-far", ".live-progress", "#progress-heading", "footer")
    with steady.kept("the live report while it waits", *around), swapped(page, "#live"):
        pass
    with steady.kept("the live report when it begins", *around), swapped(page, "#live"):
        page.route(f"**/evaluations/{run.public_id}", lambda route: route.fulfill(status=204))
        in_thread(async_to_sync(Executor(should_stop=until).run))
        page.unroute_all(behavior="wait")
    expect(page.locator("#live .progress, #live progress").first).to_be_visible()
    with steady.kept("the live report while it goes on", *around), swapped(page, "#live"):
        pass
    steady.settled("the live report")
    with steady.kept("the run's end", "h1", ".breadcrumbs", ".page-lede"), swapped(page, "#report"):
        end(page, run)


def test_nothing_moves_by_itself(page: Page, steady: Steady) -> None:
    """One test, one world, because making it takes longer than looking at it."""
    version = factories.make_version(factories.make_benchmark("sums", name="Plain sums"), tasks=TASKS)
    factories.make_version(factories.make_benchmark("letters", name="Letter work"), tasks=3)
    workspace: Workspace = factories.make_workspace("Lab", credit=10_000_000)
    person: User = factories.make_user("ada@example.org", workspace=workspace, role=Role.OWNER)
    with ChatServer(sums) as provider:
        factories.make_route("acme/adder", endpoint=provider.url, name="Adder")
        request = {
            "subjects": ["acme/adder", "most-frequent-answer"],
            "selection": {"profile_ids": [version.profile_id]},
            "coverage": {"mode": "full"},
        }
        actor = actor_of_user(person)
        ended = in_thread(lambda: work(start(workspace, actor, **request)))
        running = in_thread(lambda: start(workspace, actor, **request))
        key, _ = factories.make_key(workspace, label="Nightly")
        before = provider.stats.answered
        enter(page, person)
        count_is_awake(page)
        pages_that_open(page, steady, ended, key)
        search_and_filters(page, steady)
        steps(page, steady)
        samples(page, steady, ended)
        live(page, steady, running, lambda: provider.stats.answered > before + TASKS // 3)
