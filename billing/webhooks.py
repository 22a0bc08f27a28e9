"""Where Stripe tells that something happened. It is stored and answered; nothing is done before the answer."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from billing.payments.events import BadEvent, receive_event
from billing.payments.stripe_api import purchases_enabled

MOST_BYTES = 1024 * 1024


@csrf_exempt
@require_POST
def stripe(request: HttpRequest) -> HttpResponse:
    """200 for an event that Stripe signed, also for one that is known; 400 for any other body, 413 for too long a one, 404 without keys."""
    if not purchases_enabled():
        return _answer(404, "not set up")
    if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
        return _answer(413, "too long")
    try:
        receive_event(request.body, request.headers.get("Stripe-Signature"))
    except BadEvent:
        return _answer(400, "not an event signed for this endpoint")
    return _answer(200, "received")


def _answer(status: int, words: str) -> HttpResponse:
    return HttpResponse(f"{words}\n", status=status, content_type="text/plain; charset=utf-8")
