"""That the colours can be shown, read and told apart, in light and dark, by people who see all colours and by people who do not."""

import gzip
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from tests.site.colours import VISIONS, Oklch, ciede2000, contrast, delta_e, distance, linear_rgb, oklab, read_tokens
from workspaces.models import User

ROOT = Path(__file__).resolve().parent.parent.parent
TOKENS = ROOT / "static" / "css" / "tokens.css"
SCHEMES = read_tokens(TOKENS)
SURFACES = ("surface", "surface-raised", "surface-sunken", "surface-hover", "surface-overlay")
TONES = ("good", "bad", "warn", "info", "accent")
SERIES = tuple(f"series-{number}" for number in range(1, 9))

READ = [(text, ground, 7.0) for text in ("text",) for ground in (*SURFACES, *(f"{tone}-soft" for tone in TONES))]
READ += [(text, ground, 4.5) for text in ("text-muted", "text-faint") for ground in SURFACES]
READ += [("text-muted", f"{tone}-soft", 4.5) for tone in TONES]
READ += [(tone, ground, 4.5) for tone in TONES for ground in (*SURFACES, f"{tone}-soft")]
READ += [("on-fill", fill, 4.5) for fill in ("accent-fill", "accent-fill-hover", "bad-fill", "bad-fill-hover")]
SEEN = [(mark, ground, 3.0) for mark in SERIES for ground in SURFACES]
SEEN += [(f"{tone}-mark", ground, 3.0) for tone in TONES for ground in (*SURFACES, "line")]
SEEN += [("line-strong", ground, 3.0) for ground in ("surface", "surface-raised", "surface-sunken", "surface-overlay")]

APART = 0.08
"""The least distance of two series in OKLab, for every vision: about four times the least that people see."""
FIRST_APART = 0.12
"""The same for the first three, which most charts need."""
APART_CIEDE2000 = 7.0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_colour_can_be_shown(scheme: str) -> None:
    shown = {name: linear_rgb(colour) for name, colour in SCHEMES[scheme].items()}
    outside = {name: channels for name, channels in shown.items() if min(channels) < -0.0005 or max(channels) > 1.0005}
    assert len(SCHEMES[scheme]) >= 38
    assert outside == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_words_and_marks_have_contrast_where_they_stand(scheme: str) -> None:
    colours = SCHEMES[scheme]
    too_faint = {
        f"{mark} on {ground}": round(ratio, 2)
        for mark, ground, least in READ + SEEN
        if (ratio := contrast(colours[mark], colours[ground])) < least
    }
    assert too_faint == {}


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_series_are_told_apart(scheme: str, vision: str) -> None:
    colours = SCHEMES[scheme]
    too_near = {}
    for one, other in combinations(SERIES, 2):
        least = FIRST_APART if other in SERIES[:3] else APART
        lab, ciede = distance(colours[one], colours[other], vision), ciede2000(colours[one], colours[other], vision)
        if lab < least or ciede < APART_CIEDE2000:
            too_near[f"{one} and {other}"] = (round(lab, 3), round(ciede, 1))
    assert too_near == {}


def test_test_would_notice_series_that_look_alike() -> None:
    """Red and green of one lightness: far apart for most, near for who misses a cone."""
    red, green = Oklch(0.62, 0.14, 40), Oklch(0.62, 0.14, 135)
    assert distance(red, green, "all cones") > 2 * APART
    assert distance(red, green, "deuteranopia") < APART


def test_conversions_agree_with_published_values() -> None:
    """OKLCH of sRGB's blue and of white (CSS Color 4), CIEDE2000 of pairs 1, 7 and 21 of Sharma, Wu and Dalal."""
    assert linear_rgb(Oklch(0.45201, 0.31321, 264.052)) == pytest.approx((0, 0, 1), abs=1e-4)
    assert oklab((1, 1, 1)) == pytest.approx((1, 0, 0), abs=1e-6)
    assert contrast(Oklch(1, 0, 0), Oklch(0, 0, 0)) == pytest.approx(21)
    assert delta_e((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=5e-5)
    assert delta_e((50, 0, 0), (50, -1, 2)) == pytest.approx(2.3669, abs=5e-5)
    assert delta_e((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387)) == pytest.approx(1.2644, abs=5e-5)


def test_no_sheet_but_the_tokens_names_a_colour() -> None:
    """A colour written elsewhere is one that nobody checks."""
    colour = re.compile(r"oklch\(\d[^)]*\)|#[0-9a-fA-F]{3,8}\b(?=[ ;,)])|\brgba?\(")
    sheets = [path for path in (ROOT / "static" / "css").rglob("*.css") if path != TOKENS]
    named = {path.relative_to(ROOT).as_posix(): found for path in sheets if (found := colour.findall(path.read_text()))}
    assert named == {}


def test_motion_ends_where_people_ask_for_less() -> None:
    text = TOKENS.read_text()
    reduced = re.search(r"@media \(prefers-reduced-motion: reduce\) \{\s*:root \{([^}]*)\}", text)
    assert reduced is not None
    assert set(re.findall(r"--(\w+): 0s", reduced[1])) == set(re.findall(r"--(\w+): \d+ms", text))


def test_typeface_is_small_and_comes_with_its_licence() -> None:
    fonts = ROOT / "static" / "fonts"
    assert [path.name for path in fonts.glob("*.woff2")] == ["geist.woff2"]
    assert (fonts / "geist.woff2").stat().st_size < 120_000
    assert "SIL OPEN FONT LICENSE Version 1.1" in (fonts / "geist-license.txt").read_text()


def test_styles_and_script_are_light() -> None:
    """What every page loads besides its own words, compressed as it is sent: far under the 100 KB that a first answer may weigh."""
    sheets = sum(len(gzip.compress(path.read_bytes())) for path in (ROOT / "static" / "css").rglob("*.css"))
    named = re.findall(r"static '(js/[^']+)'", (ROOT / "templates" / "base.html").read_text())
    script = sum(len(gzip.compress((ROOT / "static" / name).read_bytes())) for name in named)
    assert (sheets < 40_000, len(named), script < 8_000) == (True, 3, True)


@pytest.mark.parametrize("path", ["/", "/login", "/catalog", "/models", "/evaluations", "/evaluations/new", "/command"])
def test_first_answer_of_a_page_is_light(path: str, owner: User, sign_in: Callable[[User], Client]) -> None:
    """The page with every style and script it names, compressed as they are sent; the typeface comes apart."""
    html = (Client() if path in {"/", "/login"} else sign_in(owner)).get(path).content
    named = re.findall(r'(?:href|src)="/static/([^"?#]+\.(?:css|js))"', html.decode())
    found = {name: finders.find(name) for name in named}
    assert [name for name, place in found.items() if place is None] == []
    weight = sum(len(gzip.compress(Path(str(place)).read_bytes())) for place in found.values()) + len(gzip.compress(html))
    assert (len(named) > 15, weight < 80_000) == (True, True), f"{weight:,} bytes"
