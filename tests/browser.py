"""A real browser for tests: Chromium driven by Playwright against Django's live server.

Tests that use it are marked `browser` and run by `make test-services`. A page fails its test when the browser reports an error, a refused
script or style, or an answer of 500. Screenshots of failures are kept in DATA_DIR. Wait with Playwright, never with `time.sleep`.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.servers.basehttp import ThreadedWSGIServer
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TIMEOUT_MS = 20_000


@pytest.fixture(autouse=True, scope="session")
def _closed_connections() -> Iterator[None]:
    """Threads of the live server close what they have opened: a database in memory ignores Django's own closing."""

    def close_own(server: ThreadedWSGIServer) -> None:
        for each in connections.all(initialized_only=True):
            if server.connections_override:  # type: ignore[attr-defined]
                each.close()
            else:
                BaseDatabaseWrapper.close(each)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ThreadedWSGIServer, "_close_connections", close_own)
        yield


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, started once; the tests are skipped where it is not installed."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    # Playwright keeps an event loop in this thread, beside which Django's ORM refuses to work unless told that it may.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def page(chromium: Browser, live_server: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page of a fresh browser profile, at home on the live server: `page.goto("/catalog")`."""
    monkeypatch.setattr(settings, "SITE_URL", live_server.url)
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(TIMEOUT_MS)
    opened = context.new_page()
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        ignored = (
            "the server responded with a status of 4",
            "htmx:sendAbort",
            "htmx:afterRequest",
            "net::ERR_CONNECTION_RESET",
        )  # refusals; requests cut off by leaving; connections that a test cuts
        if message.type == "error" and not any(words in message.text for words in ignored):
            problems.append(f"console: {message.text}")

    opened.on("console", note)
    opened.on("pageerror", lambda error: problems.append(f"script: {error}"))
    opened.on("response", lambda response: problems.append(f"{response.status}: {response.url}") if response.status >= 500 else None)
    failed_before = request.session.testsfailed
    yield opened
    if request.session.testsfailed > failed_before or problems:
        opened.screenshot(path=Path(settings.DATA_DIR) / f"{request.node.name}.png", full_page=True)
    context.close()
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
