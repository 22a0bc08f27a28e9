"""Every page as all people can use it: axe-core, in light and dark; 200 % zoom and a phone; where the focus is."""

import pytest
from playwright.sync_api import Page

from tests.axe import COLOURS, violations
from tests.site.gallery import Gallery, Shot, make_gallery
from tests.site.keys import STOP

pytestmark = pytest.mark.browser

NARROW = (640, 390)
"""CSS pixels: a window of 1280 at 200 % zoom, and a phone."""
FOCUSED = ("sign-in", "catalog", "new-evaluation-models", "quote", "report", "samples", "settings-members")
TABS = 25

WIDEST = """() => {
  const inside = (each) => each.closest("[class*=table-frame], pre, .scroll, [popover], dialog");
  return [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !inside(each))
    .slice(0, 3).map((each) => each.tagName.toLowerCase() + "." + each.className).join(", ");
}"""


CUT = """() => {
  const controls = "a[href]:not(.skip-link), button, input:not([type=hidden]), select, textarea, summary";
  const edges = (each) => each.getBoundingClientRect();
  const isCut = (each) => {
    const {left, right} = edges(each);
    let shown = each;
    for (let at = each.parentElement; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (["auto", "scroll"].includes(style.overflowX)) shown = null; // it can be scrolled there
      if (!shown) break;
      if (style.overflowX !== "visible" && (left < edges(at).left - 1 || right > edges(at).right + 1)) return true;
    }
    if (shown && (left < -1 || right > innerWidth + 1)) return true;
    return each.matches("button, .button") && each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline";
  };
  return [...document.querySelectorAll(controls)]
    .filter((each) => each.checkVisibility({visibilityProperty: true}) && edges(each).width > 2 && isCut(each))
    .slice(0, 3).map((each) => each.cloneNode(false).outerHTML.slice(0, 80) + " " + each.textContent.trim().slice(0, 30));
}"""
"""The controls of which a part lies where it cannot be seen."""


def problems_of(page: Page, gallery: Gallery, shot: Shot) -> list[str]:
    """What is wrong with one page, in both schemes and at all widths."""
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    gallery.show(page, shot)
    found = [f"{shot.name}, light: {each}" for each in violations(page)]
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found += [f"{shot.name}, dark: {each}" for each in violations(page, rules=COLOURS)]
    for width in NARROW:
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            found.append(f"{shot.name}: {wide} px wide in a window of {width}: {page.evaluate(WIDEST)}")
        found += [f"{shot.name}: cut off in a window of {width}: {each}" for each in page.evaluate(CUT)]
    return found


def unseen_focus(page: Page, gallery: Gallery, shot: Shot) -> list[str]:
    """The elements that Tab reaches without showing that it has."""
    page.set_viewport_size({"width": 1280, "height": 900})
    gallery.show(page, shot)
    found, reached = [], set()
    for _ in range(TABS):
        page.keyboard.press("Tab")
        told = page.evaluate(STOP)
        if told is None:
            break
        name, seen, _ = told
        reached.add(name)
        if not seen:
            found.append(f"{shot.name}: focus is not seen at {name}")
    return found if len(reached) > 4 else [*found, f"{shot.name}: Tab reaches {len(reached)} elements only"]


def test_every_page_can_be_used_by_everyone(page: Page) -> None:
    """One test, because making what the pages show takes longer than looking at it."""
    gallery = make_gallery()
    shots = [shot for shot in gallery.shots if shot.name != "design"]  # has both schemes on one page, and its own test
    found = [problem for shot in shots for problem in problems_of(page, gallery, shot)]
    found += [problem for shot in shots if shot.name in FOCUSED for problem in unseen_focus(page, gallery, shot)]
    if found:
        pytest.fail("\n".join(found), pytrace=False)
