"""Buying credit in a browser, from the billing page over Stripe's page (a stand-in's) and back, where the page says how it stands."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from billing.models import Payment
from billing.queries import get_wallet
from tests.axe import enter, violations
from tests.billing.stripe import tell
from tests.site.gallery import in_thread
from tests.standins.stripe import StripeServer
from workspaces.models import User, Workspace

pytestmark = pytest.mark.browser


@pytest.fixture
def shop(stripe: StripeServer, settings: Any) -> StripeServer:
    """The stand-in, to which forms may lead, as settings that name it say."""
    settings.SECURE_CSP = {**settings.SECURE_CSP, "form-action": [*settings.SECURE_CSP["form-action"], stripe.url]}
    return stripe


def test_credit_is_bought_with_the_fee_shown_before_and_the_state_shown_after(
    page: Page, shop: StripeServer, workspace: Workspace, owner: User
) -> None:
    enter(page, owner)
    page.goto("/settings/billing")
    page.get_by_role("link", name="Buy credit").click()
    expect(page.get_by_text("$26.25", exact=True)).to_be_visible()
    page.get_by_label("Another amount", exact=True).check()
    page.get_by_label("Another amount, in USD").fill("40.01")
    expect(page.get_by_text("$42.02", exact=True)).to_be_visible()
    page.get_by_label("Another amount, in USD").fill("1")
    expect(page.get_by_text("State an amount from $5.00")).to_be_visible()
    assert violations(page) == []
    page.get_by_label("Another amount, in USD").fill("40.01")
    page.get_by_label("Save this card").check()
    page.get_by_role("button", name="Go to payment").click()
    expect(page.get_by_role("heading", name="Pay 42.02 USD")).to_be_visible()
    page.get_by_role("button", name="Pay", exact=True).click()
    expect(page.get_by_text("Waiting for Stripe")).to_be_visible()
    assert "failed" not in in_thread(tell, shop, list(shop.happened))
    expect(page.get_by_text("The credit is in the wallet.")).to_be_visible()
    assert in_thread(lambda: get_wallet(workspace).balance_microusd) == 50_010_000
    assert in_thread(lambda: [payment.status for payment in Payment.objects.all()]) == ["paid"]
    page.get_by_role("link", name="Credit and spend").last.click()
    expect(page.get_by_text("is saved. Nothing is charged by itself while this is off.")).to_be_visible()


def test_leaving_stripes_page_says_that_nothing_was_charged(page: Page, shop: StripeServer, workspace: Workspace, owner: User) -> None:
    enter(page, owner)
    page.goto("/settings/billing/purchase")
    page.get_by_role("button", name="Go to payment").click()
    page.get_by_role("link", name="Back").click()
    expect(page.get_by_text("If you left Stripe's page without paying, nothing was charged.")).to_be_visible()
