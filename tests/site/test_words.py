"""The words of every page: whole and plain, none of them the program's own, and no number without what it counts."""

import re
from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module

import pytest
from django.db.models import TextChoices

from tests.site.gallery import Gallery, Shot, make_gallery
from tests.site.reading import Element, read

UNREAD = {"script", "style", "template", "noscript"}
THEIRS = {"code", "pre", "textarea"}
"""What is quoted: code, prompts, answers and IDs, which are written as their author wrote them."""

PATTERNS = {
    "a raw time": re.compile(r"\b\d{4}-\d\d-\d\d(?:T\d\d|\b)"),
    "an internal name": re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b"),
    "a value of the program": re.compile(r"\b(?:None|nan|NaN|True|False|null|undefined|Infinity|inf)\b"),
    "an exclamation": re.compile(r"!|\b[Oo]ops\b"),
    "a marker of the templates": re.compile(r"\{\{|\{%|\}\}|%\}|\{#|#\}"),
    "an object of the program": re.compile(r"<[A-Za-z]+(?: object|:)| object at 0x|datetime\.|Decimal\("),
}
WORDS = {"open", "tasks"}
"""Stored states that are also words of their own."""
BARE = re.compile(r"[~≈<>+±−-]? ?\d[\d,.]*")
MEASURED = re.compile(r", (?:tokens|points|bytes|%|ms|s|USD)$")
"""The end of a heading that says in what its numbers are."""
COUNTED = re.compile(r"(?i)^(?:.*\b)?(?:models|tasks|answers|errors|calls|members|runs|samples|benchmarks|groups|tries|times)$")
OUTCOMES = {
    "Planned",
    "Finished",
    "Missing",
    "Empty",
    "Truncated",
    "Unreadable",
    "Only the first right",
    "Only the second right",
    "Adjusted p",
}
"""Headings under which a number is a count of answers, or a probability, which has no unit."""
ANSWERED = {"Read from the answer", "Reference", "Read by theirs", "Read by ours"}
"""Headings under which stand a model's own words."""
APPS = ("workspaces", "catalog", "billing", "gateway", "imports", "runs")


def stored_states() -> set[str]:
    """Words that columns hold for states, where people would read other ones."""
    found: set[str] = set()
    for app in APPS:
        for each in vars(import_module(f"{app}.enums")).values():
            if isinstance(each, type) and issubclass(each, TextChoices | StrEnum):
                found |= {str(value) for value in each}
    return found


def pieces(page: Element) -> Iterator[tuple[Element, str]]:
    """What is read of a page, without what it quotes."""
    for element, text in page.pieces():
        tags = {each.tag for each in element.above()}
        if not tags & (UNREAD | THEIRS):
            yield element, text


def word_problems(page: Element, states: set[str]) -> Iterator[str]:
    for element, text in pieces(page):
        for what, pattern in PATTERNS.items():
            if match := pattern.search(text):
                yield f"{what}: “{match.group()}” in “{text[:80]}”"
        if text in states - WORDS:
            yield f"a state as stored: “{text}” in <{element.tag}>"
    for each in page.all("time"):
        if not re.search(r"[A-Za-z]{3}", each.text):
            yield f"a time without words: “{each.text}”"


def is_told(heading: str) -> bool:
    """Whether a heading says what the numbers under it are."""
    return bool(MEASURED.search(heading) or COUNTED.search(heading)) or heading in OUTCOMES


def numbers(page: Element) -> Iterator[tuple[str, str]]:
    """The bare numbers of tables, figures and facts, each with its heading or label."""
    for table in page.all("table"):
        headings = [each.text for row in table.all("thead") for each in row.all("th")]
        for row in table.all("tr"):
            at = 0
            for cell in row.inside:
                if isinstance(cell, Element):
                    yield headings[at] if at < len(headings) else "no heading", cell.text
                    at += int(cell.attributes.get("colspan") or 1)
    for each in page.all():
        if each.has("stat-value") and each.parent is not None:
            yield next((label.text for label in each.parent.all() if label.has("stat-label")), "no label"), each.text
    for facts in page.all("dl"):
        term = ""
        for each in facts.all("dt", "dd"):
            if each.tag == "dt":
                term = each.text
            else:
                yield term, each.text


def number_problems(page: Element) -> Iterator[str]:
    for heading, text in numbers(page):
        if BARE.fullmatch(text) and not is_told(heading) and heading not in ANSWERED:
            yield f"a number without its unit: “{text}” under “{heading}”"


def problems_of(gallery: Gallery, shot: Shot, states: set[str]) -> list[str]:
    page = read(gallery.text(shot))
    return [f"{shot.name}: {each}" for each in dict.fromkeys([*word_problems(page, states), *number_problems(page)])]


def test_every_page_speaks_plainly(transactional_db: None) -> None:
    """One test, because making what the pages show takes longer than reading it."""
    gallery = make_gallery()
    states = stored_states()
    found = [problem for shot in gallery.shots for problem in problems_of(gallery, shot, states)]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ("<p>since 2026-01-31T10:00</p>", "a raw time"),
        ("<p>It is in_review.</p>", "an internal name"),
        ("<dd>None</dd>", "a value of the program"),
        ("<p>Done!</p>", "an exclamation"),
        ("<p>{{ count }} runs</p>", "a marker of the templates"),
        ('<input aria-label="answer_limit">', "an internal name"),
        ("<span>queued</span>", "a state as stored"),
        ("<time>12:30</time>", "a time without words"),
        ("<table><thead><tr><th>Input</th></tr></thead><tbody><tr><td>12</td></tr></tbody></table>", "a number without its unit"),
        ('<div class="stat"><span class="stat-label">Time</span><span class="stat-value">3.5</span></div>', "a number without its unit"),
    ],
)
def test_what_is_looked_for_is_found(html: str, problem: str) -> None:
    page = read(html)
    found = [*word_problems(page, stored_states()), *number_problems(page)]
    assert [each.partition(":")[0] for each in found] == [problem]


@pytest.mark.parametrize(
    "html",
    [
        "<p>Run <code>cap_reached</code> ended <time datetime='2026-01-31T10:00'>3 min ago</time>.</p>",
        "<table><thead><tr><th>Input, tokens</th></tr></thead><tbody><tr><td>12</td></tr></tbody></table>",
        "<dl><dt>Models</dt><dd>4</dd><dt>Cap</dt><dd>$0.40</dd></dl>",
        "<script>if (!done) start()</script>",
    ],
)
def test_what_is_in_order_is_left_alone(html: str) -> None:
    page = read(html)
    assert [*word_problems(page, stored_states()), *number_problems(page)] == []
