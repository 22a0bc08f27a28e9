"""The tab of GitHub in a browser: the tree by keyboard alone, on a phone, and clean to axe."""

import pytest
from playwright.sync_api import Page, expect

from imports.models import SourceImport
from tests import factories
from tests.axe import enter, violations
from tests.imports.github import NAME
from tests.site.gallery import in_thread
from tests.standins.github import GithubServer, Repo
from workspaces.enums import Role

pytestmark = pytest.mark.browser


def opened(page: Page, path: str = f"/catalog/import?source=github&repository={NAME}") -> None:
    workspace = factories.make_workspace("Lab", credit=10_000_000)
    enter(page, factories.make_user("ada@example.org", workspace=workspace, role=Role.OWNER, name="Ada"))
    page.goto(path)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def test_tree_by_keyboard(page: Page, github_repo: Repo) -> None:
    opened(page)
    page.locator("[data-tree] summary").first.focus()
    assert focused(page) == "data/"
    seen = []
    for key in ("ArrowLeft", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "Home", "End"):
        page.keyboard.press(key)
        seen.append(focused(page))
    # Folded, the next one is what stands below it; unfolded and gone into, its first folder; left goes back out of it.
    assert seen[0] == "data/"
    assert seen[2:5] == ["data/", "data/", "deep/"]
    assert (seen[5], seen[6], seen[7]) == ("train.csv", "deep/", "data/")
    page.get_by_role("link", name="train.csv").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Use train.csv")).to_be_visible()
    assert focused(page) == "train.csv"
    page.get_by_role("link", name="Preview selected file").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("What is 1 + 1?")).to_be_visible()
    page.get_by_role("button", name="Use train.csv").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/preview")
    assert in_thread(lambda: SourceImport.objects.get().repository) == NAME


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_and_are_clean(page: Page, github_app: GithubServer, github_repo: Repo, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    opened(page, f"/catalog/import?source=github&repository={NAME}&file=data/deep/train.csv&look=1")
    for path in ("", "/catalog/import?source=github", "/catalog/import?source=github&access=private", "/settings/integrations"):
        if path:
            page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        assert violations(page) == []
