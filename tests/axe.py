"""What browser tests of pages share: signing in without the form, and what axe-core finds against WCAG 2.2 AA and good practice.

axe-core is run by the browser's debugger, which no content policy stops.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from django.conf import settings
from django.test import Client
from playwright.sync_api import Page

from workspaces.models import User

RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""What alone can differ between the schemes of one page."""


def enter(page: Page, user: User) -> None:
    """Sign the browser in. `settings.SITE_URL` is the live server's, as the fixture `page` has set it."""
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": settings.SITE_URL}])


def violations(page: Page, *, within: str = "", rules: Mapping[str, object] = RULES) -> list[str]:
    """A line for each violation in the page as it stands: the rule, how many elements, and the first with why; empty where all is well."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found: dict[str, Any] = page.evaluate(
        """([rules, within]) => axe.run(within || document, {runOnly: rules, resultTypes: ["violations"]})""",
        [dict(rules), within],
    )
    return [
        f"{rule['id']} ({len(rule['nodes'])}): {rule['help']}; {node['html'][:200]}; {node['failureSummary'].replace(chr(10), ' ')}"
        for rule in found["violations"]
        for node in rule["nodes"][:1]
    ]
