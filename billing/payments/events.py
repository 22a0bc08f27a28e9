"""Events from Stripe: each is stored once by its ID and answered; working it off asks Stripe what it is about."""

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from billing.enums import EventState
from billing.models import StripeEvent
from billing.payments.reconciling import AmountDiffers, reconcile
from billing.payments.stripe_api import error_words, stripe_client
from billing.payments.truth import payment_of_object
from common.errors import Conflict
from common.jobs import enqueue_on_commit
from workspaces import audit
from workspaces.actors import Actor
from workspaces.permissions import is_platform_staff, require

log = structlog.get_logger(__name__)

WORK_EVENT = "billing.work_event"

LEASE = timedelta(minutes=5)
"""How long a worker has for an event before another takes it: it must have died by then."""

MOST_TRIES = 12
FIRST_WAIT = timedelta(seconds=15)
LONGEST_WAIT = timedelta(hours=2)

KINDS = ("checkout.session", "charge.dispute", "charge.refund", "charge", "payment_intent", "refund")
"""What the types of the events that concern payments begin with, the longer before the shorter."""

_WAITING = (EventState.RECEIVED, EventState.PROCESSING)


class BadEvent(Exception):
    """It is not signed by Stripe, is too old, or is no event."""


def receive_event(body: bytes, signature: str | None) -> StripeEvent:
    """Store the event, once by its ID, and enqueue its work. Nothing of it is kept but its ID, its type and its object's ID.

    Raises `BadEvent`.
    """
    import stripe

    try:
        event = stripe.Webhook.construct_event(body, signature, settings.STRIPE_WEBHOOK_SECRET).to_dict()
        event_id, kind, object_id = event["id"], event["type"], event["data"]["object"].get("id", "")
    except (stripe.SignatureVerificationError, ValueError, KeyError, TypeError, AttributeError):
        raise BadEvent from None
    texts = ((event_id, 120), (kind, 80), (object_id, 120))
    if not all(isinstance(text, str) and len(text) <= most for text, most in texts) or not event_id:
        raise BadEvent
    with transaction.atomic():
        row, is_new = StripeEvent.objects.get_or_create(event_id=event_id, defaults={"type": kind, "object_id": object_id})
        if is_new:
            enqueue_on_commit(WORK_EVENT, row.pk)
    return row


def work_event(event_id: int, now: datetime | None = None) -> EventState | None:
    """Work one event off by its database key; gives its state then, None where it is done or another worker has it."""
    event = _claim(event_id, now or timezone.now())
    if event is None:
        return None
    try:
        state, error = _work(event)
    except AmountDiffers as differs:
        state, error = EventState.FAILED, str(differs)
    except Exception as problem:
        state, error = EventState.RECEIVED, _words(problem)
        log.warning("payments.event_failed", event_id=event.event_id, type=event.type, tries=event.tries, error=error)
    if state == EventState.RECEIVED and event.tries >= MOST_TRIES:
        state = EventState.FAILED
    _put_down(event, state, error)
    return state


def _claim(event_id: int, now: datetime) -> StripeEvent | None:
    """The event, where nobody else has it: whoever changes its row first does."""
    due = StripeEvent.objects.filter(pk=event_id, state__in=_WAITING, next_try_at__lte=now)
    if not due.update(state=EventState.PROCESSING, tries=F("tries") + 1, next_try_at=now + LEASE):
        return None
    return StripeEvent.objects.get(pk=event_id)


def _work(event: StripeEvent) -> tuple[EventState, str]:
    if event.tries > MOST_TRIES:
        return EventState.FAILED, "The worker ended at each try."
    kind = next((kind for kind in KINDS if event.type.startswith(f"{kind}.")), None)
    if kind is None:
        return EventState.IGNORED, ""
    with stripe_client() as client:
        found = payment_of_object(client, kind, event.object_id)
        if found is None:
            return EventState.IGNORED, ""
        payment, session_id, intent_id = found
        reconcile(payment, session_id=session_id, intent_id=intent_id, client=client)
    return EventState.PROCESSED, ""


def _put_down(event: StripeEvent, state: EventState, error: str) -> None:
    """Only the worker that has the event now writes: one whose lease ran out finds another number of tries."""
    now = timezone.now()
    wait = min(FIRST_WAIT * 2 ** (event.tries - 1), LONGEST_WAIT)
    StripeEvent.objects.filter(pk=event.pk, state=EventState.PROCESSING, tries=event.tries).update(
        state=state,
        last_error=error[:300],
        next_try_at=now + wait if state == EventState.RECEIVED else now,
        processed_at=None if state == EventState.RECEIVED else now,
    )


def _words(problem: Exception) -> str:
    """What is kept of an error: never its text, which may quote what was sent or a row."""
    import stripe

    return error_words(problem) if isinstance(problem, stripe.StripeError) else type(problem).__name__


def due_events(now: datetime, limit: int = 100) -> list[int]:
    """The database keys of events to be worked now, the oldest first."""
    due = StripeEvent.objects.filter(state__in=_WAITING, next_try_at__lte=now).order_by("id")
    return list(due.values_list("pk", flat=True)[:limit])


def retry_event(event: StripeEvent, *, actor: Actor) -> None:
    """Try a failed event again from the beginning. Only platform staff may. Raises Conflict (`not_failed`) for any other."""
    require(is_platform_staff(actor), "Only platform staff tries events again.")
    with transaction.atomic():
        again = {"state": EventState.RECEIVED, "tries": 0, "next_try_at": timezone.now(), "processed_at": None}
        if not StripeEvent.objects.filter(pk=event.pk, state=EventState.FAILED).update(**again):
            raise Conflict("not_failed", "Only an event that failed can be tried again.")
        audit.record(actor, "billing.retry_event", event.event_id, workspace=None)
        enqueue_on_commit(WORK_EVENT, event.pk)
