"""The main job, by clicking: sign up, choose a benchmark and models, read the quote, start, watch, read the result."""

import re
from typing import Any

import pytest
from django.core import mail
from playwright.sync_api import Page, expect

from billing.checking import ledger_differences
from runs.models import Run
from tests import factories
from tests.runs.working import sums
from tests.services import Worker
from tests.standins.chat import ChatServer
from workspaces.models import User

pytestmark = [pytest.mark.services, pytest.mark.browser]
TASKS = 40


def sign_up(page: Page, email: str) -> None:
    """Make an account and follow the link of the mail."""
    page.goto("/")
    page.get_by_role("link", name="Create account").first.click()
    page.get_by_label("Email").or_(page.get_by_label("E-mail")).first.fill(email)
    page.get_by_label("Password").first.fill(factories.PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url("**/accounts/confirm-email/")
    link = re.search(r"https?://\S+/accounts/confirm-email/\S+", str(mail.outbox[-1].body))
    assert link is not None, mail.outbox[-1].body
    page.goto(link.group())
    page.get_by_role("button", name="confirm").click()
    page.wait_for_url("**/onboarding")


def test_person_signs_up_and_reads_a_result(services: None, page: Page, celery_worker: Worker, live_server: Any) -> None:
    factories.make_version(factories.make_benchmark("sums", name="Plain sums"), tasks=TASKS)
    with ChatServer(sums, latency=0.02) as provider:
        factories.make_route("acme/adder", endpoint=provider.url, name="Adder")
        sign_up(page, "ada@example.org")
        person = User.objects.get(email="ada@example.org")
        assert person.memberships.get().role == "owner"

        page.goto("/catalog")
        page.get_by_role("link", name="Plain sums").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Plain sums")
        page.get_by_role("link", name="Run it").click()
        page.get_by_label("Adder").check()
        page.get_by_label("most-frequent-answer").check()
        page.get_by_role("button", name="Next: tasks").click()
        page.get_by_label(f"All {TASKS} tasks").check()
        page.get_by_role("button", name="Next: settings").click()
        page.get_by_label("Cap").fill("1")
        page.get_by_role("button", name="Get the quote").click()

        page.wait_for_url("**/evaluations/quotes/*")
        expect(page.get_by_role("main")).to_contain_text("acme/adder")
        page.get_by_role("button", name=re.compile("^Start")).click()

        page.wait_for_url(re.compile(r"/evaluations/[0-9a-f-]{36}$"))
        expect(page.get_by_text("Completed").first).to_be_visible(timeout=60_000)
        expect(page.get_by_role("main")).to_contain_text("100")
        run = Run.objects.get()
        assert (run.status, run.processed, run.errors) == ("completed", 2 * TASKS, 0)
        assert 0 < run.spend_microusd <= 1_000_000
        assert ledger_differences() == []

        page.reload()
        page.get_by_role("link", name="Samples").first.click()
        expect(page.get_by_role("main")).to_contain_text("t0")
        page.get_by_role("link", name="t0").first.click()
        expect(page.get_by_role("main")).to_contain_text("What is 0 + 0?")
        expect(page.get_by_role("main")).to_contain_text("The answer is 0.")


def test_pages_read_without_script(services: None, chromium: Any, live_server: Any) -> None:
    """Reading and plain forms work with script turned off."""
    factories.make_version(factories.make_benchmark("sums", name="Plain sums"), tasks=3)
    context = chromium.new_context(base_url=live_server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/catalog?q=plain")
    page.get_by_role("link", name="Plain sums").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Plain sums")
    context.close()
