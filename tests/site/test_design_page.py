"""The page of components: for staff alone, with every component, and as anyone can use it: by keyboard, in both schemes, without script."""

import re
from collections.abc import Callable

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from tests.axe import enter, violations
from tests.site.test_pages_frame import ROOT
from workspaces.models import User

SignIn = Callable[[User], Client]


def test_staff_see_every_component_twice(staff: User, sign_in: SignIn) -> None:
    response = sign_in(staff).get("/design")
    text = response.content.decode()
    assert response.status_code == 200
    assert (text.count('specimen-side scheme-light"'), text.count('specimen-side scheme-dark"')) == (13, 13)
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert sorted({each for each in ids if ids.count(each) > 1}) == []


def test_others_do_not_find_it(owner: User, sign_in: SignIn) -> None:
    assert sign_in(owner).get("/design").status_code == 404
    response = Client().get("/design")
    assert (response.status_code, response["Location"]) == (302, "/login?next=/design")


def test_every_component_is_shown() -> None:
    """All but those that are a part of every page anyway."""
    frame = {"brand", "command", "header", "styles", "form", "field"}
    shown = {
        name
        for path in (ROOT / "templates" / "design").glob("*.html")
        for name in re.findall(r'include "components/([a-z_]+)\.html"', path.read_text())
    }
    assert {path.stem for path in (ROOT / "templates" / "components").glob("*.html")} - shown - frame == set()


def test_every_component_says_what_it_takes() -> None:
    silent = [path.name for path in (ROOT / "templates" / "components").glob("*.html") if not path.read_text().startswith("{#")]
    assert silent == []


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_no_violation(page: Page, staff: User, scheme: str, width: int) -> None:
    """Each page shows both schemes; what lies around them has the browser's."""
    enter(page, staff)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/design")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("button[popovertarget=light-menu]").click()
    assert violations(page, within="#light-menu") == []
    page.keyboard.press("Escape")
    page.locator("button[commandfor=dark-dialog][command=show-modal]").click()
    assert violations(page, within="#dark-dialog") == []


@pytest.mark.browser
def test_select_is_searched_by_keyboard_and_keeps_its_value(page: Page, staff: User) -> None:
    enter(page, staff)
    page.goto("/design#choosing")
    page.evaluate(
        """document.getElementById("light-picker").addEventListener("change", (event) => { window.told = event.target.value; })"""
    )
    button = page.get_by_role("button", name="Model Claude Haiku 4.5").first
    button.focus()
    page.keyboard.press("ArrowDown")
    search = page.get_by_role("combobox", name="Model").locator("visible=true")
    expect(search).to_be_focused()
    assert violations(page, within=".picker-list:popover-open") == []
    page.keyboard.type("flash")
    expect(page.get_by_role("option").locator("visible=true")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#light-picker")).to_have_value("flash")
    assert page.evaluate("[told, document.activeElement.textContent]") == ["flash", "Gemini 2.5 Flash"]

    page.keyboard.press("q")  # a letter opens the list with what it begins
    page.keyboard.type("zzz")
    expect(page.get_by_text("Nothing matches").locator("visible=true")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("#light-picker")).to_have_value("flash")


@pytest.mark.browser
def test_toast_stays_until_it_is_closed(page: Page, staff: User) -> None:
    enter(page, staff)
    page.goto("/design")
    page.evaluate("""document.getElementById("toasts").append(document.querySelector("[data-toast]").cloneNode(true))""")
    toast = page.locator("#toasts [data-toast]")
    expect(toast).to_be_visible()
    toast.get_by_role("button", name="Close").click()
    expect(toast).to_have_count(0)


@pytest.mark.browser
def test_typeface_and_its_stand_in_take_the_same_room(page: Page, staff: User) -> None:
    """A paragraph is as high, and a line within 3% as wide, before the file has come as after it."""
    enter(page, staff)
    page.goto("/design")
    page.evaluate("document.fonts.ready")
    width = """(family) => { const span = document.createElement("span"); span.style.font = `400 16px ${family}`;
        span.textContent = "The most it may charge, and the smallest difference so many tasks can show"; document.body.append(span);
        const box = span.getBoundingClientRect(); span.remove(); return [box.width, box.height]; }"""
    real, stand_in = page.evaluate(width, '"Geist"'), page.evaluate(width, '"Geist stand-in"')
    assert stand_in == pytest.approx(real, rel=0.03)
    assert page.evaluate("""document.fonts.check('16px "Geist"')""") is True


@pytest.mark.browser
def test_without_script_everything_is_there(chromium: Browser, live_server: object, page: Page, staff: User) -> None:
    enter(page, staff)
    plain = chromium.new_context(
        java_script_enabled=False,
        base_url=str(live_server),
        storage_state=page.context.storage_state(),
        viewport={"width": 1280, "height": 900},
    )
    opened = plain.new_page()
    opened.goto("/design")
    expect(opened.locator("#light-picker")).to_be_visible()
    opened.locator("#light-picker").select_option("qwen")
    expect(opened.locator("#light-picker")).to_have_value("qwen")
    opened.locator("button[commandfor=light-dialog][command=show-modal]").click()
    expect(opened.locator("#light-dialog")).to_be_visible()
    plain.close()
