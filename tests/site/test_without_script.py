"""The main job with script turned off: every page reads, every form is a plain form."""

import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, expect

from runs.models import Run
from tests import factories
from tests.runs.working import sums, work
from tests.site.gallery import in_thread
from tests.standins.chat import ChatServer
from workspaces.enums import Role

pytestmark = pytest.mark.browser
TASKS = 12


@pytest.fixture
def plain(page: Page, chromium: Browser) -> Iterator[Page]:
    """A page without script, on the same live server as `page`."""
    context = chromium.new_context(base_url=settings.SITE_URL, java_script_enabled=False, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


def test_main_job_works_without_script(plain: Page) -> None:
    factories.make_version(factories.make_benchmark("sums", name="Plain sums"), tasks=TASKS)
    factories.make_version(factories.make_benchmark("letters", name="Letter work"), tasks=3)
    workspace = factories.make_workspace("Lab", credit=10_000_000)
    factories.make_user("ada@example.org", workspace=workspace, role=Role.OWNER)
    main = plain.get_by_role("main")
    with ChatServer(sums) as provider:
        factories.make_route("acme/adder", endpoint=provider.url, name="Adder")

        plain.goto("/login")
        plain.get_by_label("Email").or_(plain.get_by_label("E-mail")).first.fill("ada@example.org")
        plain.get_by_label("Password").first.fill(factories.PASSWORD)
        plain.get_by_role("main").get_by_role("button", name="Sign in").click()
        plain.wait_for_url(re.compile(r"/(onboarding|evaluations)$"))

        plain.goto("/catalog")
        plain.get_by_role("searchbox").first.fill("plain")
        plain.get_by_role("searchbox").first.press("Enter")
        plain.wait_for_url(re.compile(r"q=plain"))
        expect(main).not_to_contain_text("Letter work")
        plain.get_by_role("link", name="Plain sums").click()
        expect(plain.get_by_role("heading", level=1)).to_have_text("Plain sums")

        plain.get_by_role("link", name="Run it").click()
        plain.get_by_label("Adder").check()
        plain.get_by_label("most-frequent-answer").check()
        plain.get_by_role("button", name="Next: tasks").click()
        plain.get_by_label(f"All {TASKS} tasks").check()
        plain.get_by_role("button", name="Next: settings").click()
        plain.get_by_label("Cap").fill("1")
        plain.get_by_role("button", name="Get the quote").click()

        plain.wait_for_url("**/evaluations/quotes/*")
        expect(main).to_contain_text("acme/adder")
        plain.get_by_role("button", name=re.compile("^Start")).click()

        plain.wait_for_url(re.compile(r"/evaluations/[0-9a-f-]{36}$"))
        expect(main).to_contain_text("Queued")
        in_thread(work, Run.objects.get())

    plain.reload()
    expect(main).to_contain_text("Completed")
    expect(main).to_contain_text("100")
    plain.get_by_role("link", name="Samples").first.click()
    plain.get_by_role("link", name="t0").first.click()
    expect(main).to_contain_text("What is 0 + 0?")
    expect(main).to_contain_text("The answer is 0.")
