"""What moves on a page by itself: the browser's own count of layout shifts, and where elements lie before and after."""

from typing import Any

from playwright.sync_api import Page

COUNT = """(() => {
  const shifts = window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      const moved = entry.sources.map(({node, previousRect: from, currentRect: to}) => {
        const at = node?.nodeType === 3 ? node.parentElement : node;
        const name = at ? at.cloneNode(false).outerHTML.slice(0, 60) : "what is gone";
        return `${name} from ${from.x.toFixed()},${from.y.toFixed()} to ${to.x.toFixed()},${to.y.toFixed()}`;
      });
      shifts.push([entry.value, moved.slice(0, 3).join("; ")]);
    }
  }).observe({type: "layout-shift", buffered: true});
})()"""
STEADY = 0.01
"""The most that may have shifted: a tenth of what is called good."""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"
PLACES = """(selectors) => selectors.map((selector) => {
  const box = document.querySelector(selector)?.getBoundingClientRect();
  return box ? [Math.round(box.x + scrollX), Math.round(box.y + scrollY)] : null;
})"""


def count_shifts(page: Page) -> None:
    """From the next navigation on."""
    page.add_init_script(COUNT)


def shifts(page: Page) -> list[str]:
    """What has shifted on this page since it began to load, where that is more than may be; empty where it stood."""
    page.evaluate(FRAMES)
    found: list[list[Any]] = page.evaluate("window.shifts.splice(0)")
    total = sum(value for value, _ in found)
    return [f"shifted by {total:.3f}: {words}" for _, words in found] if total >= STEADY else []


def places(page: Page, *selectors: str) -> dict[str, list[int] | None]:
    """Where the first element of each lies on the page, in CSS pixels from its corner; None where there is none."""
    page.evaluate(FRAMES)
    return dict(zip(selectors, page.evaluate(PLACES, list(selectors)), strict=True))
