"""What a Stripe account holds, what people and banks do to it, and the signed webhooks that tell of it. `stripe` serves its API."""

import copy
import hashlib
import hmac
import itertools
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tests.standins.http import Fault, Reply, StandIn

type Thing = dict[str, Any]


class StripeAccount(StandIn):
    servers = ("api",)

    def __init__(self, fault: Fault | None = None, *, webhook_url: str | None = None) -> None:
        super().__init__(fault)
        self.key = "sk_test_standin0000000000000000"
        self.secret = "whsec_standin0000000000000000"
        self.webhook_url = webhook_url
        self.things: dict[str, Thing] = {}
        """Every object by its ID."""
        self.happened: list[Thing] = []
        """The events, oldest first."""
        self.decline = ""
        """The code that cards are declined with where they are charged without their owner, "" for none."""
        self.refund_status = "succeeded"
        """What a new refund is."""
        self.invoice_is_late = False
        self._answers: dict[str, tuple[tuple[str, bytes], Reply]] = {}
        self._numbers = itertools.count(1)
        self._plans: dict[str, Thing] = {}
        """What a session was created with."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    def all(self, kind: str) -> list[Thing]:
        return [thing for thing in self.things.values() if thing["object"] == kind]

    # What its people and banks do

    def pay(self, session_id: str, *, amount: int | None = None, currency: str = "usd", last4: str = "4242") -> Thing:
        """The person pays on the session's page; with `amount`, in cents, something else than was asked."""
        session, plan = self.things[session_id], self._plans[session_id]
        data = plan.get("payment_intent_data", {})
        method = self._add("payment_method", "pm", type="card", customer=session["customer"], card={"brand": "visa", "last4": last4})
        if session["payment_intent"] is None:
            session["payment_intent"] = self._intent(0, "usd", session["customer"], data.get("metadata", {}))["id"]
        intent = self.things[session["payment_intent"]]
        intent |= {"amount": amount or session["amount_total"], "currency": currency}
        intent |= {"payment_method": method["id"], "setup_future_usage": data.get("setup_future_usage")}
        self._succeed(intent)
        invoice = self._add("invoice", "in", hosted_invoice_url=f"{self.url}/invoices/{session_id}", customer=session["customer"])
        session |= {"status": "complete", "payment_status": "paid", "payment_intent": intent["id"], "url": None}
        session |= {"amount_total": intent["amount"], "currency": currency, "invoice": invoice["id"]}
        self._tell("checkout.session.completed", session)
        return intent

    def decline_payment(self, session_id: str) -> None:
        """The card is declined on the session's page, which stays open."""
        session = self.things[session_id]
        if session["payment_intent"] is None:
            metadata = self._plans[session_id].get("payment_intent_data", {}).get("metadata", {})
            session["payment_intent"] = self._intent(session["amount_total"], session["currency"], session["customer"], metadata)["id"]
        intent = self.things[session["payment_intent"]]
        intent |= {"status": "requires_payment_method", "last_payment_error": declined("card_declined")}
        self._tell("payment_intent.payment_failed", intent)

    def expire(self, session_id: str) -> None:
        self.things[session_id] |= {"status": "expired", "url": None}
        self._tell("checkout.session.expired", self.things[session_id])

    def refund(self, intent_id: str, amount: int, *, status: str = "succeeded", metadata: Mapping[str, str] | None = None) -> Thing:
        """Money goes back, as from Stripe's own pages; `amount` in cents."""
        charge = self.things[self.things[intent_id]["latest_charge"]]
        charge["amount_refunded"] += amount
        made = self._add(
            "refund",
            "re",
            amount=amount,
            currency=charge["currency"],
            charge=charge["id"],
            payment_intent=intent_id,
            status=status,
            failure_reason=None,
            metadata=dict(metadata or {}),
        )
        self._tell("refund.created", made)
        self._tell("charge.refunded", charge)
        return made

    def end_refund(self, refund_id: str, status: str) -> None:
        """The bank takes the refund ("succeeded"), or sends it back ("failed")."""
        refund = self.things[refund_id]
        if status in ("failed", "canceled"):
            self.things[refund["charge"]]["amount_refunded"] -= refund["amount"]
            refund["failure_reason"] = "lost_or_stolen_card"
        refund["status"] = status
        self._tell("refund.failed" if status == "failed" else "refund.updated", refund)

    def dispute(self, intent_id: str, *, status: str = "needs_response") -> Thing:
        """The card's owner contests the payment."""
        charge = self.things[self.things[intent_id]["latest_charge"]]
        charge["disputed"] = True
        made = self._add(
            "dispute",
            "du",
            amount=charge["amount"],
            currency=charge["currency"],
            charge=charge["id"],
            payment_intent=intent_id,
            status=status,
            reason="fraudulent",
        )
        self._tell("charge.dispute.created", made)
        return made

    def end_dispute(self, dispute_id: str, status: str) -> None:
        """The bank decides: "won" is for us, "lost" against us."""
        self.things[dispute_id]["status"] = status
        self._tell("charge.dispute.closed", self.things[dispute_id])

    # Webhooks

    def signed(self, event: Thing, *, at: float | None = None, secret: str | None = None) -> tuple[bytes, str]:
        """The body and the `Stripe-Signature` that the event is sent with."""
        body = json.dumps(event).encode()
        stamp = int(time.time() if at is None else at)
        digest = hmac.new((secret or self.secret).encode(), b"%d." % stamp + body, hashlib.sha256).hexdigest()
        return body, f"t={stamp},v1={digest}"

    def send(self, event: Thing, url: str) -> int:
        """Post the event, and give the status of the answer."""
        body, signature = self.signed(event)
        request = urllib.request.Request(url, body, {"Content-Type": "application/json", "Stripe-Signature": signature})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def _tell(self, kind: str, thing: Thing) -> None:
        event = {
            "id": f"evt_{next(self._numbers)}",
            "object": "event",
            "type": kind,
            "api_version": "2026-10-28.endive",
            "created": int(time.time()),
            "livemode": False,
            "data": {"object": copy.deepcopy(thing)},
        }
        self.happened.append(event)
        if self.webhook_url:
            threading.Thread(target=self._send_quietly, args=(event, self.webhook_url), daemon=True).start()

    def _send_quietly(self, event: Thing, url: str) -> None:
        with suppress(OSError):
            self.send(event, url)

    def _intent(self, amount: int, currency: str, customer: str, metadata: Mapping[str, str]) -> Thing:
        return self._add(
            "payment_intent",
            "pi",
            amount=amount,
            amount_received=0,
            currency=currency,
            customer=customer,
            metadata=dict(metadata),
            status="requires_payment_method",
            latest_charge=None,
            payment_method=None,
            setup_future_usage=None,
            last_payment_error=None,
        )

    def _succeed(self, intent: Thing) -> None:
        charge = self._add(
            "charge",
            "ch",
            amount=intent["amount"],
            amount_refunded=0,
            currency=intent["currency"],
            payment_intent=intent["id"],
            receipt_url=f"{self.url}/receipts/{intent['id']}",
            disputed=False,
            paid=True,
            status="succeeded",
            metadata=intent["metadata"],
        )
        intent |= {"status": "succeeded", "amount_received": intent["amount"], "latest_charge": charge["id"], "last_payment_error": None}
        self._tell("payment_intent.succeeded", intent)
        self._tell("charge.succeeded", charge)

    def _add(self, kind: str, prefix: str, **fields: Any) -> Thing:
        thing = {"id": f"{prefix}_{next(self._numbers)}", "object": kind, "created": int(time.time()), "livemode": False, **fields}
        self.things[thing["id"]] = thing
        return thing


def declined(code: str) -> Thing:
    return {"type": "card_error", "code": code, "message": "Your card was declined."}
