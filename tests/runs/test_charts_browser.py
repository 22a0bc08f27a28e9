"""Charts in a real browser, as one exported file has them: nothing covers anything, at any width, and hovering shows numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Browser, Page, expect

from runs.charts import (
    STYLE_SHEETS,
    cost_chart,
    differences_chart,
    groups_chart,
    latency_chart,
    paces_of,
    progress_chart,
    scores_chart,
    speed_chart,
)
from tests.axe import violations
from tests.runs.drawing import pair, ranked, subject

pytestmark = pytest.mark.browser

STATIC = Path(__file__).resolve().parent.parent.parent / "static"
GROUPS = {f"a group of tasks whose name is rather long, number {number}": (number % 5, 5) for number in range(12)}
SUBJECTS = [
    subject(0, "acme/small", correct=40, n=100, cost=900, p50=90, groups=GROUPS),
    subject(1, "acme/a-large-model-with-a-long-name-2026-01-01-preview", correct=90, n=100, cost=400_000, p50=4000, groups=GROUPS),
    subject(2, "acme/a-large-model-with-a-long-name-2026-06-01-preview", correct=91, n=100, cost=430_000, p50=4100, groups=GROUPS),
    subject(3, "other/medium", correct=70, n=100, cost=20_000, p50=800, groups=GROUPS),
    subject(4, "own endpoint", correct=71, n=100, cost=None, kind="connection", p50=850, groups=GROUPS),
    subject(5, "free", correct=69, n=100, cost=0, p50=830, groups=GROUPS),
    subject(6, "random-choice", correct=25, n=100, cost=0, kind="baseline", p50=0, groups=GROUPS),
    subject(7, "most-frequent-answer", correct=26, n=100, cost=0, kind="baseline", p50=0, groups=GROUPS),
]
RESULT = {"subjects": SUBJECTS}
COMPARE: dict[str, Any] = {
    "ranking": [ranked(each["index"], each["label"], each["headline"]["value"], 0.1, 0.9, "ab") for each in SUBJECTS],
    "pairs": [pair(0, other, 0.01 * other, -0.1, 0.1 + 0.01 * other, separable=other > 4) for other in range(1, 7)],
}
STORED = [(0.5 * turn * (1 + index), index, 5, 5 * turn) for turn in range(1, 20) for index in range(8)]

OVERLAPS = """() => {
  const classes = ["chart-name", "chart-tick", "chart-label", "chart-value", "chart-key-item", "chart-caption", "chart-upward"];
  const words = classes.flatMap((name) => [...document.getElementsByClassName(name)]);
  const boxes = words.filter((word) => word.checkVisibility() && word.textContent.trim()).map((word) => {
    const range = document.createRange();
    range.selectNodeContents(word);
    const {left, right, top, bottom} = range.getBoundingClientRect();
    return {left, right, top: top + 3, bottom: bottom - 3, text: word.textContent.trim(), word, figure: word.closest("figure")};
  });
  const outside = boxes.filter((box) => box.left < 0 || box.right > innerWidth).map((box) => "outside: " + box.text);
  const covered = boxes.flatMap((a, place) => boxes.slice(place + 1).filter((b) => a.figure === b.figure && !a.word.contains(b.word)
    && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
    .map((b) => a.text + " / " + b.text));
  return [...outside, ...covered];
}"""


@pytest.fixture
def exported(chromium: Browser) -> Iterator[Page]:
    charts = {
        "forest": scores_chart(RESULT, {**COMPARE, "excluded": []}),
        "differences": differences_chart(COMPARE),
        "groups": groups_chart(RESULT),
        "latency": latency_chart(RESULT),
        "progress": progress_chart(paces_of([(each["index"], each["label"], 100) for each in SUBJECTS], sorted(STORED)), 90.0),
    }
    drawn = [render_to_string(f"runs/charts/{name}.html", {"chart": chart}) for name, chart in charts.items()]
    drawn += [render_to_string("runs/charts/plane.html", {"chart": chart(RESULT)}) for chart in (cost_chart, speed_chart)]
    styles = "".join((STATIC / name).read_text() for name in STYLE_SHEETS)
    page = chromium.new_page()
    page.set_content(
        f'<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Charts</title>'
        f"<style>{styles} body {{ margin: 1rem; font-family: sans-serif; background: var(--surface-raised); color: var(--text) }}</style>"
        f"<main><h1>Charts</h1>{''.join(drawn)}</main>"
    )
    yield page
    page.close()


@pytest.mark.parametrize("width", [340, 390, 600, 650, 820, 1000, 1232])
def test_words_cover_no_words_and_nothing_is_outside(exported: Page, width: int) -> None:
    exported.set_viewport_size({"width": width, "height": 900})
    assert exported.evaluate(OVERLAPS) == []
    assert exported.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_in_an_exported_file(exported: Page, scheme: Any) -> None:
    exported.emulate_media(color_scheme=scheme)
    for details in exported.locator("details").all():
        details.evaluate("details => { details.open = true }")
    assert violations(exported) == []


def test_hovering_a_mark_shows_its_numbers_and_the_others_step_back(exported: Page) -> None:
    exported.set_viewport_size({"width": 1000, "height": 900})
    figure = exported.locator("figure").filter(has=exported.locator("#cost-chart-title"))
    figure.locator(".series-4 .chart-point").first.hover()
    shown = figure.locator(".chart-hover:visible").all_text_contents()
    assert shown == ["70.0% (60.4 to 78.1), $0.20 for 1,000 answers"]
    expect(figure.locator(".chart-mark.series-1")).to_have_css("opacity", "0.25")
    expect(figure.locator(".chart-mark.series-4")).to_have_css("opacity", "1")


def test_a_line_of_the_key_points_out_its_model(exported: Page) -> None:
    figure = exported.locator("figure").filter(has=exported.locator("#groups-chart-title"))
    figure.locator(".chart-key-item").nth(1).hover()
    expect(figure.locator(".chart-mark.series-1").first).to_have_css("opacity", "0.15")
    expect(figure.locator(".chart-mark.series-2").first).to_have_css("opacity", "1")
