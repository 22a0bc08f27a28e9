"""Stripe's client, what its errors are told as, and the settings that turn purchases on. Importing `stripe` takes seconds, so it waits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.conf import settings

from common.errors import Refused

if TYPE_CHECKING:
    from stripe import StripeClient, StripeError

CENT = 10_000
"""Micro-USD of a cent, the least that Stripe knows."""

CURRENCY = "usd"

_TIMEOUT_SECONDS = (5, 15)
"""To connect, and to wait for an answer; a person may be waiting, too."""

_RETRIES = 1


def purchases_enabled() -> bool:
    """Whether credit can be bought here: both of Stripe's secrets are set."""
    return bool(settings.STRIPE_SECRET_KEY and settings.STRIPE_WEBHOOK_SECRET)


def require_purchases() -> None:
    """Raise Refused (`purchases_off`, 409) where credit cannot be bought here."""
    if not purchases_enabled():
        raise Refused("purchases_off", "Credit cannot be bought here: payments are not set up.", status=409)


def unavailable() -> Refused:
    """What a person is told when Stripe does not answer or refuses what we ask in a way that they cannot help."""
    return Refused(
        "payments_unavailable", "Stripe does not answer as it should. Nothing was charged; try again in a few minutes.", status=503
    )


@contextmanager
def stripe_client() -> Iterator["StripeClient"]:
    """A client whose connections end with the block. Calls of it belong outside of transactions."""
    import stripe

    http_client = stripe.RequestsClient(timeout=_TIMEOUT_SECONDS)
    try:
        yield stripe.StripeClient(
            settings.STRIPE_SECRET_KEY,
            base_addresses={"api": settings.STRIPE_API_URL},
            max_network_retries=_RETRIES,
            http_client=http_client,
        )
    finally:
        http_client.close()


def error_words(error: "StripeError") -> str:
    """What happened, for staff: the kind, Stripe's code and the status. Never its message, which may quote what was sent."""
    parts = [type(error).__name__, error.code or "", f"HTTP {error.http_status}" if error.http_status else "", error.request_id or ""]
    return ", ".join(part for part in parts if part)


def is_missing(error: "StripeError") -> bool:
    """Whether Stripe knows no such object, at least not for our account."""
    return error.code == "resource_missing" or error.http_status == 404


def is_unclear(error: "StripeError") -> bool:
    """Whether what was asked may have happened all the same: no answer, too many requests, or a fault of Stripe's."""
    return error.http_status is None or error.http_status in {401, 403, 409, 429} or error.http_status >= 500
