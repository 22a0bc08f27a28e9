"""What every page has: the policy without inline script and style, the landing page's real result, words for numbers and states."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.template import Context, Template
from django.test import Client
from django.utils import timezone

from evalrouter_site.example import example_result
from evalrouter_site.templatetags import evalrouter as filters
from workspaces.models import User

ROOT = Path(__file__).resolve().parent.parent.parent


def test_policy_allows_scripts_by_nonce_alone(owner: User, sign_in: Callable[[User], Client]) -> None:
    response = sign_in(owner).get("/settings/account")
    policy = dict(part.strip().split(" ", 1) for part in response["Content-Security-Policy"].split(";") if " " in part.strip())
    nonce = re.findall(r'nonce="([^"]+)"', response.content.decode())
    assert len(nonce) == 2 and len(set(nonce)) == 1
    assert policy["script-src"] == f"'self' 'nonce-{nonce[0]}'"
    assert (policy["style-src"], policy["default-src"]) == ("'self'", "'self'")


@pytest.mark.parametrize(
    "template", sorted((ROOT / "templates").rglob("*.html")), ids=lambda path: path.relative_to(ROOT / "templates").as_posix()
)
def test_template_has_no_inline_script_style_or_handler(template: Path) -> None:
    if "email" in template.parts or template.name == "export.html":
        return  # mail programs read no style sheets, and an exported report is one file that brings its own
    text = template.read_text()
    assert re.findall(r"<script(?![^>]*(?:src=|type=\"application/json\"))|<style|\sstyle=|\son\w+=\"|hx-on|javascript:", text) == []


def test_style_sheets_are_small_and_all_are_linked() -> None:
    css = ROOT / "static" / "css"
    pages = [ROOT / "templates" / "components" / "styles.html", ROOT / "templates" / "design.html"]
    linked = {sheet for page in pages for sheet in re.findall(r"static 'css/([^']+)'", page.read_text())}
    assert {path.relative_to(css).as_posix() for path in css.rglob("*.css")} == linked
    assert {path.name: lines for path in css.rglob("*.css") if (lines := len(path.read_text().splitlines())) > 200} == {}


def test_every_icon_that_templates_name_is_drawn() -> None:
    drawn = set(re.findall(r'<symbol id="([^"]+)"', (ROOT / "static" / "img" / "icons.svg").read_text()))
    named = {
        name
        for path in (ROOT / "templates").rglob("*.html")
        for name in re.findall(r'{% icon "([^"]+)" %}|icon="([^"]+)"', path.read_text())
        for name in name
        if name
    }
    assert named - drawn == set()


def test_landing_page_shows_a_real_result(db: None, client: Client) -> None:
    result = example_result()
    assert [round(row["value"], 3) for row in result["rows"]] == [0.563, 0.39, 0.347, 0.217]
    assert (round(result["pair"]["points"], 1), round(result["pair"]["p"], 6)) == (4.3, 0.003151)
    text = client.get("/").content.decode()
    assert ("56.3%" in text, "1,319 school maths problems" in text) == (True, True)


def test_landing_page_of_a_signed_in_person_leads_to_work(owner: User, sign_in: Callable[[User], Client]) -> None:
    text = sign_in(owner).get("/").content.decode()
    assert ('href="/evaluations/new"' in text, 'href="/register"' in text) == (True, False)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{{ 4200|usd }} {{ none|usd }} {{ '4200'|usd }}", "$0.0042 — $0.0042"),
        ("{{ 1239999|usd_rounded }}", "$1.23"),
        ("{{ 410|usd_aligned }}", '$0.00041<span class="pad" data-pad="0"></span>'),
        ("{{ 410123|usd_aligned }}", "$0.410123"),
        ("{{ none|usd_aligned }}", "—"),
        ("{{ 0.5625|percent }} {{ 0.56254|percent:2 }} {{ 1|percent:0 }} {{ none|percent }}", "56.3% 56.25% 100% —"),
        ("{{ 1319|number }} {{ 0.5|number }} {{ '1000000'|number }} {{ none|number }}", "1,319 0.5 1,000,000 —"),
        (
            "{{ 0.42|duration }} {{ 31|duration }} {{ 65|duration }} {{ 7380|duration }} {{ 180000|duration }}",
            "0.4 s 31 s 1 min 5 s 2 h 3 min 2 d 2 h",
        ),
        ("{{ 48.4|milliseconds }} {{ 1240|milliseconds }}", "48 ms 1.24 s"),
        (
            "{{ 'partial'|status_words }} {{ 'in_review'|status_words }} {{ 'cap_reached'|status_words }}",
            "Interrupted In review Cap reached",
        ),
        (
            "{{ 'completed'|status_tone }} {{ 'running'|status_tone }} {{ 'partial'|status_tone }} {{ 'nonsense'|status_tone }}",
            "good live warn neutral",
        ),
        ("{{ 1.5|svg_percent }} {{ 3|svg_part:12 }} {{ 3|svg_part:0 }}", "100.000% 25.000% 0.000%"),
        ("{{ '2026-11-29T17:05:00Z'|date_words }}", "29 November 2026, 17:05 UTC"),
        ("{{ 'run:abc'|source_href }}|{{ 'grant:abc'|source_href }}", "/evaluations/abc|"),
        ("{{ 'member.add'|audit_words }} {{ 'version.published'|audit_words }}", "Member added Version: published"),
    ],
)
def test_filter_says_it_in_words(written: str, expected: str) -> None:
    assert Template(written).render(Context({"none": None})) == expected


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(minutes=59, seconds=40), "1 h ago"),
        (timedelta(hours=3), "3 h ago"),
        (timedelta(seconds=-130), "in 2 min"),
    ],
)
def test_time_within_a_day_is_told_from_now(ago: timedelta, words: str) -> None:
    assert re.sub(r"<[^>]+>", "", filters.when(timezone.now() - ago)) == words


def test_older_time_is_a_date_with_the_full_time_in_its_title() -> None:
    moment = datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert filters.when(moment) == '<time datetime="2020-02-03T04:05:06+00:00" title="3 February 2020, 04:05 UTC">3 Feb 2020</time>'
