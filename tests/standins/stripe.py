"""Stripe on a loopback socket, for the real client: what EvalRouter asks of its API, a page to pay on, and signed webhooks.

    with StripeServer() as stripe:
        settings.STRIPE_API_URL, settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRET = stripe.url, stripe.key, stripe.secret
        …start a purchase…
        stripe.pay(session_id)
        body, header = stripe.signed(stripe.happened[-1])

Whatever happens is kept as an event in `happened`, and sent on demand: once, twice, late, or in another order; with `webhook_url`, at once.
Parameters that it does not know are refused, as Stripe refuses them. `fault` sees each request first; one that should be
worked all the same, with its answer lost, calls `reply` itself and returns `Reply(drop=True)`.

As a process of its own, which prints the settings to start the product with and how to try them:

    python -m tests.standins.stripe
"""

import copy
import os
import threading
import time
from contextlib import suppress
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.standins.http import Reply, Request
from tests.standins.stripe_account import StripeAccount, Thing, declined

KNOWN = {
    "customers": {"description", "metadata"},
    "checkout/sessions": {
        *("mode", "customer", "client_reference_id", "metadata", "line_items", "allowed_payment_method_types", "adaptive_pricing"),
        *("invoice_creation", "payment_intent_data", "expires_at", "success_url", "cancel_url"),
    },
    "payment_intents": {
        *("amount", "currency", "customer", "payment_method", "off_session", "confirm", "metadata", "description"),
        *("allowed_payment_method_types", "error_on_requires_action"),
    },
    "refunds": {"payment_intent", "amount", "reason", "metadata"},
}
"""What may be said when each is created."""

KINDS = {
    "customers": "customer",
    "checkout/sessions": "checkout.session",
    "payment_intents": "payment_intent",
    "refunds": "refund",
    "disputes": "dispute",
    "charges": "charge",
    "payment_methods": "payment_method",
    "invoices": "invoice",
}


class ApiError(Exception):
    def __init__(self, status: int, kind: str, code: str | None, message: str, **more: Any) -> None:
        super().__init__(message)
        self.reply = Reply(status, {"error": {"type": kind, "code": code, "message": message, **more}}, {"Request-Id": "req_standin"})


class StripeServer(StripeAccount):
    def posted(self, path: str) -> list[dict[str, Any]]:
        """The parameters of each POST to the path, in order."""
        return [_form(each.request.body) for each in self.asked if each.request.method == "POST" and each.path == f"/v1/{path}"]

    # Its API

    def reply(self, server: str, request: Request) -> Reply:
        try:
            return self._reply(request)
        except ApiError as error:
            return error.reply

    def _reply(self, request: Request) -> Reply:
        url = urlsplit(request.path)
        if url.path.startswith("/pay/"):
            return self._page(url.path.removeprefix("/pay/"), request)
        if request.headers.get("authorization") != f"Bearer {self.key}":
            raise ApiError(401, "invalid_request_error", None, "Invalid API Key provided: sk_test_********0000")
        path = url.path.removeprefix("/v1/")
        if request.method == "GET":
            return Reply(body=self._read(path, _form(url.query.encode())))
        key, said = request.headers.get("idempotency-key", ""), (path, request.body)
        if key in self._answers:
            before, reply = self._answers[key]
            if before != said:
                message = "Keys for idempotent requests can only be used with the same parameters they were first used with."
                raise ApiError(400, "idempotency_error", None, message)
            return reply
        try:
            reply = Reply(body=copy.deepcopy(self._write(path, _form(request.body))))
        except ApiError as error:
            reply = error.reply
        if key:
            self._answers[key] = said, reply
        return reply

    def _read(self, path: str, query: Thing) -> Thing:
        if path in KINDS:
            wanted = {name: query[name] for name in ("payment_intent", "charge", "customer") if name in query}
            found = [thing for thing in self.all(KINDS[path]) if all(thing.get(name) == value for name, value in wanted.items())]
            return {"object": "list", "data": [copy.deepcopy(each) for each in reversed(found)], "has_more": False, "url": f"/v1/{path}"}
        kind, _, name = path.rpartition("/")
        return self._expanded(self._found(name, KINDS.get(kind)), query.get("expand", {}))

    def _found(self, name: str, kind: str | None) -> Thing:
        thing = self.things.get(name)
        if thing is None or thing["object"] != kind:
            raise ApiError(404, "invalid_request_error", "resource_missing", f"No such {kind}: '{name}'", param="id")
        return thing

    def _expanded(self, thing: Thing, paths: Thing) -> Thing:
        thing = copy.deepcopy(thing)
        for path in paths.values():
            inside = thing
            for name in path.split("."):
                if inside is None or inside.get(name) is None:
                    break
                if isinstance(inside[name], str):
                    inside[name] = copy.deepcopy(self.things[inside[name]])
                inside = inside[name]
        return thing

    def _write(self, path: str, form: Thing) -> Thing:
        parts = path.split("/")
        expand = form.pop("expand", {})
        if path in KNOWN:
            if unknown := form.keys() - KNOWN[path]:
                raise ApiError(400, "invalid_request_error", "parameter_unknown", f"Received unknown parameter: {min(unknown)}")
            made = {
                "customers": self._create_customer,
                "checkout/sessions": self._create_session,
                "payment_intents": self._create_intent,
                "refunds": self._create_refund,
            }[path](form)
        elif parts[0] == "payment_methods" and parts[2:] == ["detach"]:
            made = self._found(parts[1], "payment_method")
            made["customer"] = None
        elif parts[:2] == ["checkout", "sessions"] and parts[3:] == ["expire"]:
            made = self._found(parts[2], "checkout.session")
            if made["status"] != "open":
                raise ApiError(400, "invalid_request_error", None, "Only Checkout Sessions with a status of open can be expired.")
            self.expire(made["id"])
        else:
            raise ApiError(404, "invalid_request_error", None, f"Unrecognized request URL (POST: /v1/{path}).")
        return self._expanded(made, expand)

    def _create_customer(self, form: Thing) -> Thing:
        return self._add("customer", "cus", description=form.get("description"), metadata=form.get("metadata", {}))

    def _create_session(self, form: Thing) -> Thing:
        self._found(form["customer"], "customer")
        if not time.time() + 1700 <= int(form.get("expires_at", time.time() + 86_400)) <= time.time() + 86_500:
            raise ApiError(400, "invalid_request_error", None, "The `expires_at` timestamp must be 30 minutes to 24 hours from now.")
        lines = form["line_items"].values()
        made = self._add(
            "checkout.session",
            "cs_test",
            amount_total=sum(int(line["price_data"]["unit_amount"]) * int(line["quantity"]) for line in lines),
            currency=next(iter(lines))["price_data"]["currency"],
            client_reference_id=form.get("client_reference_id"),
            customer=form["customer"],
            metadata=form.get("metadata", {}),
            mode=form["mode"],
            payment_intent=None,
            payment_status="unpaid",
            status="open",
            expires_at=int(form["expires_at"]),
            invoice=None,
            success_url=form["success_url"],
            cancel_url=form["cancel_url"],
        )
        made["url"] = f"{self.url}/pay/{made['id']}"
        self._plans[made["id"]] = form
        return made

    def _create_intent(self, form: Thing) -> Thing:
        if self._found(form["payment_method"], "payment_method")["customer"] != form["customer"]:
            raise ApiError(400, "invalid_request_error", None, "The payment method does not belong to the customer.")
        intent = self._intent(int(form["amount"]), form["currency"], form["customer"], form.get("metadata", {}))
        intent["payment_method"] = form["payment_method"]
        if self.decline:
            intent |= {"status": "requires_payment_method", "last_payment_error": declined(self.decline)}
            self._tell("payment_intent.payment_failed", intent)
            raise ApiError(402, "card_error", self.decline, "Your card was declined.", payment_intent=copy.deepcopy(intent))
        self._succeed(intent)
        return intent

    def _create_refund(self, form: Thing) -> Thing:
        intent = self._found(form["payment_intent"], "payment_intent")
        charge, amount = self.things[intent["latest_charge"]], int(form["amount"])
        if charge["disputed"]:
            raise ApiError(400, "invalid_request_error", "charge_disputed", "Charge has been charged back; cannot issue a refund.")
        if amount > charge["amount"] - charge["amount_refunded"]:
            raise ApiError(400, "invalid_request_error", "charge_already_refunded", "Refund amount is greater than unrefunded amount.")
        return self.refund(intent["id"], amount, status=self.refund_status, metadata=form.get("metadata"))

    # Its page

    def _page(self, session_id: str, request: Request) -> Reply:
        session = self._found(session_id, "checkout.session")
        said = _form(request.body)
        if request.method == "POST" and session["status"] == "open":
            if said.get("card") == "declined":
                self.decline_payment(session_id)
            else:
                if said.get("save"):
                    self._plans[session_id].setdefault("payment_intent_data", {})["setup_future_usage"] = "off_session"
                self.pay(session_id)
                return Reply(303, b"", {"Location": session["success_url"]})
        lines = "".join(
            f"<li>{escape(line['price_data']['product_data']['name'])}: {int(line['price_data']['unit_amount']) / 100:.2f} USD"
            for line in self._plans[session_id]["line_items"].values()
        )
        told = "<p>Your card was declined.</p>" if said.get("card") == "declined" else ""
        page = (
            f"<!doctype html><html lang=en><title>Stand-in for Checkout</title><h1>Pay {session['amount_total'] / 100:.2f} USD</h1>"
            f"<p>A stand-in: no money moves. The session is {session['status']}.</p><ul>{lines}</ul>{told}<form method=post>"
            "<p><label><input type=checkbox name=save value=yes> Save the card</label></p><button>Pay</button> "
            f"<button name=card value=declined>Use a card that is declined</button></form>"
            f"<p><a href='{escape(session['cancel_url'])}'>Back</a></p>"
        )
        return Reply(body=page, headers={"Content-Type": "text/html; charset=utf-8"})


def _form(body: bytes) -> Thing:
    """The nested form: `line_items[0][quantity]=1` is {"line_items": {"0": {"quantity": "1"}}}."""
    found: Thing = {}
    for name, value in parse_qsl(body.decode(), keep_blank_values=True):
        first, *rest = name.replace("]", "").split("[")
        inside = found
        for part, following in zip([first, *rest], [*rest, None], strict=True):
            if following is None:
                inside[part] = value
            else:
                inside = inside.setdefault(part, {})
    return found


def main() -> None:
    site = os.environ.get("SITE_URL", "http://127.0.0.1:8000").rstrip("/")
    with StripeServer(webhook_url=f"{site}/webhooks/stripe") as server:
        print(f"STRIPE_API_URL={server.url} STRIPE_SECRET_KEY={server.key} STRIPE_WEBHOOK_SECRET={server.secret}", flush=True)
        print(f"Start the product with these settings at {site} (SITE_URL, for another address) and buy credit on its billing page.")
        print("Checkout is a page of this stand-in: pay, or use a card that is declined. Webhooks are sent as things happen.", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
