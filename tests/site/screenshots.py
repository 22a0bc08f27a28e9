"""Takes the screenshots: `make screenshots`. Every page in light, dark and on a phone, into var/screenshots, which git ignores.

It is a test by its fixtures alone: a database in memory, a data folder that is thrown away, the live server. Named, never collected.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.site.gallery import Shot, make_gallery

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "var" / "screenshots"
DIFFERENCES = "Differences between models"
KEPT = {
    ("report", "light"): ("screenshot", ""),
    ("quote", "light"): ("screenshot-quote", ""),
    ("report", "dark"): ("screenshot-dark", DIFFERENCES),
}
"""What the README shows, written into docs/ when KEEP is set (`make screenshots KEEP=yes`): a screen, from a heading on or from the top."""
SCREEN = 960
KINDS: tuple[tuple[str, Any, int], ...] = (("light", "light", 1280), ("dark", "dark", 1280), ("phone", "light", 390))
TALLEST = 12_000


def take(page: Page, shot: Shot, kind: str) -> None:
    folder = FOLDER / kind
    folder.mkdir(parents=True, exist_ok=True)
    height = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
    width = page.viewport_size["width"] if page.viewport_size else 1280
    page.screenshot(path=folder / f"{shot.name}.png", full_page=True, clip={"x": 0, "y": 0, "width": width, "height": max(height, 700)})
    if os.environ.get("KEEP") and (kept := KEPT.get((shot.name, kind))):
        name, heading = kept
        top = page.get_by_role("heading", name=heading).first.bounding_box() if heading else None
        clip = {"x": 0, "y": top["y"] - 40 if top else 0, "width": width, "height": SCREEN}
        page.screenshot(path=ROOT / "docs" / f"{name}.png", clip=clip, full_page=True)  # type: ignore[arg-type]


def test_screenshots(page: Page) -> None:
    gallery = make_gallery()
    wanted = os.environ.get("SHOTS", "").split()
    shutil.rmtree(FOLDER, ignore_errors=True)
    for shot in gallery.shots:
        if wanted and shot.name not in wanted:
            continue
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        gallery.show(page, shot)
        page.evaluate("document.fonts.ready")
        for kind, scheme, width in KINDS:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size({"width": width, "height": 900})
            take(page, shot, kind)
        page.set_viewport_size({"width": 1280, "height": 900})
    taken = len(list(FOLDER.rglob("*.png")))
    assert taken
    print(f"\n{taken} screenshots of {taken // len(KINDS)} pages in {FOLDER}")
