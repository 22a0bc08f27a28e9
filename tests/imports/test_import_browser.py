"""The whole import wizard in a browser: by mouse, by keyboard alone, and a file that is gone on with after a lost connection."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from catalog.models import BenchmarkVersion
from imports.models import ImportDraft, UploadFile
from tests import factories
from tests.axe import enter, violations
from tests.imports.hub import jsonl
from tests.imports.wizard import work_checks
from tests.site.gallery import in_thread
from tests.site.keys import Keys
from tests.standins.hub import HubServer, card
from workspaces.enums import Role
from workspaces.models import User, Workspace

pytestmark = pytest.mark.browser
GOOD = "question,answer,remarks\nOf Peru?,Lima,old one\nOf France?,Paris,old one\nOf Japan?,Tokyo,new one\nOf Kenya?,Nairobi,new one\n"
BAD = GOOD.replace("Tokyo", "")
PART = 4 * 1024 * 1024


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    """A busy machine is no failure."""
    expect.set_options(timeout=20_000)
    yield
    expect.set_options(timeout=5_000)


@pytest.fixture
def lab(db: None) -> Workspace:
    return factories.make_workspace("Lab", credit=10_000_000)


@pytest.fixture
def ada(lab: Workspace) -> User:
    return factories.make_user("ada@example.org", workspace=lab, role=Role.MEMBER, name="Ada")


@pytest.fixture
def keys(page: Page) -> Iterator[Keys]:
    page.emulate_media(reduced_motion="reduce")
    made = Keys(page)
    yield made
    if made.problems:
        pytest.fail("\n".join(dict.fromkeys(made.problems)), pytrace=False)


def file_of(tmp_path: Path, text: str, name: str = "capitals.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def check(page: Page, step: str = "check") -> None:
    """Do what a worker would, while the page's questions wait: SQLite would refuse one of both."""
    page.route(f"**/{step}", lambda route: route.fulfill(status=204))
    in_thread(work_checks)
    page.unroute_all(behavior="wait")


def give(page: Page, path: Path) -> None:
    page.get_by_label("Drop it here, or choose it").set_input_files(path)
    page.get_by_role("button", name="Upload and look at it").click()
    page.wait_for_url("**/preview")


def test_wizard_by_mouse(page: Page, lab: Workspace, ada: User, tmp_path: Path, settings: Any) -> None:
    """A refused licence, a lost connection, a reload half-way, a leaking column, a bad row, and at last the benchmark."""
    enter(page, ada)
    with HubServer() as hub:
        settings.HF_ENDPOINT, settings.HF_FILE_HOSTS = hub.url, [hub.cdn_host]
        hub.add("acme/closed", {"README.md": card("cc-by-nc-4.0"), "data/test.jsonl": jsonl(8)})
        page.goto("/catalog")
        page.get_by_role("link", name="Import a benchmark").first.click()
        page.get_by_role("link", name="Hugging Face").click()
        page.get_by_label("Search, or name it").fill("closed")
        page.get_by_role("button", name="Find").click()
        page.get_by_role("link", name="acme/closed").click()
        expect(page.get_by_text("Its licence is not accepted")).to_be_visible()
        page.get_by_role("link", name="data/").click()
        page.get_by_role("link", name="test.jsonl").click()
        page.get_by_role("link", name="Preview selected file").click()
        expect(page.get_by_text("What is 3 + 3?")).to_be_visible()
        assert violations(page) == []
        page.get_by_role("button", name="Use test.jsonl").click()
        expect(page.get_by_text("It was not fetched")).to_be_visible()
        assert ImportDraft.objects.count() == 0

    page.get_by_role("link", name="A file").click()
    page.route("**/files/*", lambda route: route.abort("connectionreset"), times=1)
    page.get_by_label("Drop it here, or choose it").set_input_files(file_of(tmp_path, BAD))
    page.get_by_role("button", name="Upload and look at it").click()
    expect(page.get_by_text("The connection was lost.")).to_be_visible()
    page.get_by_role("button", name="Try again now").click()
    page.wait_for_url("**/preview")

    expect(page.get_by_role("columnheader", name="answer")).to_be_visible()
    page.get_by_role("button", name="Next: columns").click()
    page.wait_for_url("**/mapping")
    beside = page.locator("#beside")
    expect(beside).to_contain_text("Peru")
    with page.expect_response("**/mapping"):
        page.get_by_label("Prompt", exact=True).fill("Name the capital. {question}")
    expect(beside).to_contain_text("Name the capital. Of Peru?")
    page.get_by_label("Row 2").check(force=True)
    expect(beside).to_contain_text("Name the capital. Of France?")
    page.reload()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("Name the capital. {question}")
    page.get_by_role("button", name="Next: grading").click()

    page.wait_for_url("**/grading")
    page.get_by_label("A model’s answer").fill("It is\nLima.")
    expect(page.locator("#trial .badge")).to_have_count(1)
    expect(page.locator("#trial .badge")).to_have_text("Right")
    page.get_by_label("A model’s answer").fill("Cusco")
    expect(page.locator("#trial .badge")).to_have_text("Wrong")
    with page.expect_response("**/grading"):  # SQLite in memory refuses a save beside another one
        page.get_by_label("A model’s answer").blur()
    assert violations(page) == []
    page.get_by_role("button", name="Next: rights").click()

    page.wait_for_url("**/rights")
    page.get_by_role("button", name="Next: check").click()
    expect(page.locator("#attested-error")).to_be_visible()
    page.get_by_label("I confirm this for Lab").check()
    page.get_by_role("button", name="Next: check").click()

    page.wait_for_url("**/check")
    page.get_by_role("button", name="Import and validate").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    check(page)
    expect(page.get_by_role("rowheader", name="Row 3")).to_be_visible()
    expect(page.get_by_text("The answer is empty", exact=True)).to_be_visible()
    assert violations(page) == []
    with page.expect_download() as loaded:
        page.get_by_role("link", name="All as CSV").click()
    assert Path(loaded.value.path()).read_text().splitlines()[1] == "3,4,answer,The answer is empty"

    page.get_by_role("link", name="Give a corrected file").click()
    give(page, file_of(tmp_path, GOOD, "corrected.csv"))
    for label, following in (("Next: columns", "mapping"), ("Next: grading", "grading"), ("Next: rights", "rights")):
        page.get_by_role("button", name=label).click()
        page.wait_for_url(f"**/{following}")
    page.get_by_label("Name").fill("Capitals")
    page.get_by_label("I confirm this for Lab").check()
    page.get_by_role("button", name="Next: check").click()
    page.get_by_role("button", name="Import and validate").click()
    check(page)
    page.get_by_role("link", name="Next: create").click()
    expect(page.get_by_role("heading", name="Three rows as they are delivered")).to_be_visible()
    page.get_by_role("button", name="Create benchmark").click()
    check(page, "create")
    page.wait_for_url(re.compile(r"/catalog/byob-"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Capitals")
    page.get_by_role("link", name="Configure an evaluation").click()
    page.wait_for_url("**/evaluations/new?*")
    version = BenchmarkVersion.objects.get()
    assert (version.benchmark.name, version.task_count, version.benchmark.workspace) == ("Capitals", 4, lab)


def test_wizard_by_keyboard_alone(page: Page, keys: Keys, lab: Workspace, ada: User, tmp_path: Path) -> None:
    enter(page, ada)
    page.goto("/catalog/import")
    keys.skip()
    chooser = page.get_by_label("Drop it here, or choose it")
    keys.reach(chooser)
    with page.expect_file_chooser() as opened:
        keys.press("Space")
    opened.value.set_files(file_of(tmp_path, BAD))
    keys.follow(page.get_by_role("button", name="Upload and look at it"))
    page.wait_for_url("**/preview")

    keys.skip()
    keys.follow(page.get_by_role("button", name="Next: columns"))
    page.wait_for_url("**/mapping")
    keys.skip()
    prompt = page.get_by_label("Prompt", exact=True)
    keys.reach(prompt)
    keys.type("Which city? {question}")
    expect(page.locator("#beside")).to_contain_text("Which city? Of Peru?")
    keys.stays(prompt, "when the prompt was shown")
    keys.follow(page.get_by_role("button", name="Next: grading"))

    page.wait_for_url("**/grading")
    keys.skip()
    answer = page.get_by_label("A model’s answer")
    keys.reach(answer)
    keys.type("Lima")
    expect(page.locator("#trial .badge")).to_have_count(1)
    expect(page.locator("#trial .badge")).to_have_text("Right")
    keys.stays(answer, "when the answer was tried")
    keys.follow(page.get_by_role("button", name="Next: rights"))

    page.wait_for_url("**/rights")
    keys.skip()
    keys.reach(page.get_by_label("I confirm this for Lab"))
    keys.press("Space")
    keys.follow(page.get_by_role("button", name="Next: check"))
    page.wait_for_url("**/check")
    keys.skip()
    keys.follow(page.get_by_role("button", name="Import and validate"))
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    check(page)
    expect(page.get_by_role("rowheader", name="Row 3")).to_be_visible()
    keys.skip()
    keys.follow(page.get_by_role("link", name="Give a corrected file"))
    page.wait_for_url("**/source")
    keys.skip()
    keys.reach(chooser)
    with page.expect_file_chooser() as opened:
        keys.press("Space")
    opened.value.set_files(file_of(tmp_path, GOOD, "corrected.csv"))
    keys.follow(page.get_by_role("button", name="Upload and look at it"))
    page.wait_for_url("**/preview")
    for label, following in (("Next: columns", "mapping"), ("Next: grading", "grading"), ("Next: rights", "rights")):
        keys.skip()
        keys.follow(page.get_by_role("button", name=label))
        page.wait_for_url(f"**/{following}")
    keys.skip()
    keys.reach(page.get_by_label("I confirm this for Lab"))
    keys.press("Space")
    keys.follow(page.get_by_role("button", name="Next: check"))
    page.wait_for_url("**/check")
    keys.skip()
    keys.follow(page.get_by_role("button", name="Import and validate"))
    check(page)
    expect(page.get_by_role("link", name="Next: create")).to_be_visible()
    keys.skip()
    keys.follow(page.get_by_role("link", name="Next: create"))
    page.wait_for_url("**/create")
    keys.skip()
    keys.follow(page.get_by_role("button", name="Create benchmark"))
    check(page, "create")
    page.wait_for_url(re.compile(r"/catalog/byob-"))
    assert BenchmarkVersion.objects.get().task_count == 4


def test_upload_is_gone_on_with_after_the_page_was_left(page: Page, lab: Workspace, ada: User, tmp_path: Path) -> None:
    """What has arrived stays; the same file, chosen again, goes on from there."""
    enter(page, ada)
    cell = "word " * 100_000
    big = file_of(tmp_path, "question,answer\n" + "".join(f"{number} {cell},yes\n" for number in range(12)), "long.csv")
    sent: list[str] = []

    def lose_second(route: Route) -> None:
        sent.append(route.request.headers["content-range"])
        if len(sent) == 2:
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/files/*", lose_second)
    page.goto("/catalog/import")
    page.get_by_label("Drop it here, or choose it").set_input_files(big)
    page.get_by_role("button", name="Upload and look at it").click()
    expect(page.get_by_text("The connection was lost.")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".file .field-error")).to_contain_text("it goes on from where it was")
    assert UploadFile.objects.get().received == PART

    page.reload()
    expect(page.get_by_text("long.csv has not arrived whole")).to_be_visible()
    page.get_by_label("Drop it here, or choose it").set_input_files(big)
    page.get_by_role("button", name="Upload and look at it").click()
    page.wait_for_url("**/preview")
    size = big.stat().st_size
    assert sent == [f"bytes 0-{PART - 1}/{size}", *[f"bytes {PART}-{size - 1}/{size}"] * 2]
    assert (UploadFile.objects.get().rows, ImportDraft.objects.count()) == (12, 1)
