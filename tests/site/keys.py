"""A person at the keyboard: no mouse, and at each stop the question whether it is seen where the focus is."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

MOST_STOPS = 90

STOP = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  // The ring may be drawn by what stands for the control: its label, its row, or the frame around it.
  const drawn = (each) => {
    const style = getComputedStyle(each[0], each[1]);
    return [style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 ? "outline" : "", style.boxShadow, style.borderColor];
  };
  const beside = [at.parentElement, at.closest("label"), at.closest("tr, li"), at.closest("form"), at.nextElementSibling];
  const around = [[at], [at, "::after"], ...beside.filter(Boolean).map((each) => [each])];
  const focused = around.map(drawn);
  at.blur();
  const plain = around.map(drawn);
  at.focus({focusVisible: true, preventScroll: true});
  const words = (at.getAttribute("aria-label") || at.textContent || "").trim().replace(/\\s+/g, " ").slice(0, 40);
  const name = at.tagName.toLowerCase() + (at.id ? "#" + at.id : "") + " " + words;
  const isMarked = focused.some(([outline, shadow, border], place) =>
    (outline && outline !== plain[place][0]) || shadow !== plain[place][1] || border !== plain[place][2]);
  // A control that is drawn by its label is as large as the label. Some point of it has to lie on top, and in the window.
  const small = (each) => each.getBoundingClientRect().width < 8 || each.getBoundingClientRect().height < 8;
  const shown = small(at) && at.closest("label") || at;
  const points = [[0.5, 0.5], [0.05, 0.5], [0.95, 0.5], [0.5, 0.1], [0.5, 0.9]];
  const isOnTop = [...shown.getClientRects()].some((box) => points.some(([x, y]) => {
    const hit = document.elementFromPoint(box.left + box.width * x, box.top + box.height * y);
    return hit && (shown.contains(hit) || hit.contains(shown) && hit.closest("tr, label, .picker, .row-link, .panel") !== null);
  }));
  return [name, isMarked, isOnTop];
}"""
"""The element with the focus: its name, whether it shows that it has it, whether it can be seen; null where none has."""


class Keys:
    """Goes through a page by Tab and collects what is wrong on the way in `problems`."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """Replace what stands in the field with the focus."""
        self.press("Control+a")
        self.page.keyboard.type(text)

    def look(self) -> str:
        """The name of the stop, its problems noted; empty where the focus is nowhere."""
        told: list[Any] | None = self.page.evaluate(STOP)
        if told is None:
            return ""
        name, is_marked, is_on_top = told
        where = self.page.url.partition("//")[2].partition("/")[2]
        if not is_marked:
            self.problems.append(f"/{where}: focus is not seen at {name}")
        if not is_on_top:
            self.problems.append(f"/{where}: {name} has the focus and cannot be seen")
        return str(name)

    def reach(self, wanted: Locator, key: str = "Tab") -> None:
        """Press Tab, or Shift+Tab, until the element has the focus."""
        stops = []
        for _ in range(MOST_STOPS):
            self.press(key)
            stops.append(self.look())
            if wanted.evaluate("(each) => each === document.activeElement"):
                return
        raise AssertionError(f"{key} does not reach {wanted} at {self.page.url}: {list(dict.fromkeys(stops))}")

    def follow(self, wanted: Locator, key: str = "Tab") -> None:
        """Reach a link or a button, and press Enter."""
        self.reach(wanted, key)
        self.press("Enter")

    def skip(self) -> None:
        """From the top of a page into its content, by the link that is there for it."""
        self.press("Tab")
        expect(self.page.get_by_role("link", name="Skip to the content")).to_be_focused()
        self.look()
        self.press("Enter")

    def stays(self, wanted: Locator, why: str) -> None:
        """The focus is still, or again, there."""
        try:
            expect(wanted).to_be_focused(timeout=2_000)
        except AssertionError:
            self.problems.append(f"{self.page.url}: the focus was lost {why}, it is at {self.look() or 'the body'}")
            wanted.focus()
