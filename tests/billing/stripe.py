"""What the tests of payments share: a stand-in for Stripe that the settings point to, and the ways that things happen there."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from billing.checking import ledger_differences
from billing.enums import EntryKind
from billing.ledger import lock_wallet, move_held, wallet_id_of
from billing.models import LedgerEntry, Payment, StripeEvent, Wallet
from billing.payments.checkout import start_purchase
from billing.payments.events import work_event
from tests.standins.http import Asked, Reply
from tests.standins.stripe import StripeServer
from workspaces.actors import Actor
from workspaces.models import Workspace

USD = 1_000_000
CENT = 10_000


@pytest.fixture
def stripe(settings: Any) -> Iterator[StripeServer]:
    """An account at Stripe in which nothing happened yet, to which the settings point. Fees are 5%, purchases 5 to 2,000 USD."""
    with StripeServer() as server:
        settings.STRIPE_API_URL, settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRET = server.url, server.key, server.secret
        yield server


def begin(workspace: Workspace, actor: Actor, credit: int = 20 * USD, **more: Any) -> Payment:
    """A purchase that waits at Checkout."""
    payment, _ = start_purchase(workspace, actor=actor, credit_microusd=credit, **more)
    return payment


def buy(stripe: StripeServer, workspace: Workspace, actor: Actor, credit: int = 20 * USD, **more: Any) -> Payment:
    """A purchase that is paid, told of and credited."""
    payment = begin(workspace, actor, credit, **more)
    assert payment.stripe_session_id
    stripe.pay(payment.stripe_session_id)
    tell(stripe, stripe.happened)
    payment.refresh_from_db()
    return payment


def post(stripe: StripeServer, event: dict[str, Any], **signing: Any) -> int:
    """Send the event to the webhook's address; gives the status of the answer."""
    body, signature = stripe.signed(event, **signing)
    return Client().post("/webhooks/stripe", body, "application/json", headers={"Stripe-Signature": signature}).status_code


def tell(stripe: StripeServer, events: Iterable[dict[str, Any]]) -> list[str]:
    """Send the events in this order and work each off at once; gives their states."""
    events = list(events)
    for event in events:
        assert post(stripe, event) == 200
        work_event(StripeEvent.objects.get(event_id=event["id"]).pk)
    return [StripeEvent.objects.get(event_id=event["id"]).state for event in events]


def news(stripe: StripeServer, of: str) -> list[dict[str, Any]]:
    """The events of that type so far."""
    return [event for event in stripe.happened if event["type"] == of]


def hold(workspace: Workspace, amount: int) -> None:
    """Running work holds so much more."""
    with transaction.atomic():
        move_held(lock_wallet(wallet_id_of(workspace)), amount)


def wallet_of(workspace: Workspace) -> Wallet:
    return Wallet.objects.get(workspace=workspace)


def entries(workspace: Workspace, *kinds: EntryKind) -> list[int]:
    """The amounts of the ledger's entries that payments made, oldest first."""
    rows = LedgerEntry.objects.filter(wallet__workspace=workspace, source__startswith="payment:").order_by("id")
    return list((rows.filter(kind__in=kinds) if kinds else rows).values_list("amount_microusd", flat=True))


def books_add_up() -> bool:
    """Whether every balance is the sum of its entries. What `hold` moved has no holds under it, so those are left out."""
    return [each for each in ledger_differences() if "held" not in str(each)] == []


def down(asked: Asked, number: int) -> Reply | None:
    """Stripe answers nothing."""
    return Reply(drop=True)


def lost(stripe: StripeServer, method: str, path: str) -> None:
    """What is asked of the path is done, and the answers are lost, until `stripe.fault` is taken away."""

    def fault(asked: Asked, number: int) -> Reply | None:
        if (asked.request.method, asked.path.partition("?")[0]) != (method, path):
            return None
        stripe.reply("api", asked.request)
        return Reply(drop=True)

    stripe.fault = fault


def stored_text() -> str:
    """Everything that events and payments keep, as text."""
    rows = [*StripeEvent.objects.values(), *Payment.objects.values()]
    return json.dumps(rows, default=str)
