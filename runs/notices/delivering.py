"""Delivering webhooks: rows that are due are claimed, sent at once, and put down with what came of it.

A claim is a conditional UPDATE that counts the try and moves the row's next time past the moment at which its sender must have died. So a
delivery is sent at least once, and again only where nobody is known to have accepted it. No transaction is open while anything is sent.
"""

import random
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from common.crypto import Undecryptable, decrypt
from common.jobs import enqueue
from common.webhooks import signed_headers
from runs.documents import instant
from runs.models.notices import WebhookDelivery, WebhookEndpoint
from runs.notices.enums import DeliveryState, OffReason
from runs.notices.jobs import DELIVER, HINT_LIFETIME
from runs.notices.sending import Outcome, Parcel, send_all
from workspaces import audit
from workspaces.actors import SYSTEM

log = structlog.get_logger(__name__)

WAITS = tuple(timedelta(minutes=minutes) for minutes in (0.5, 2, 10, 30, 120, 360, 900))
"""After the first try, the second, and so on: eight tries in a day."""
JITTER = 0.2
"""A wait is longer by up to this share, so that what failed together does not come back together."""
MOST_TRIES = len(WAITS) + 1

LEASE = timedelta(minutes=2)
"""How long a sender has for a delivery before another takes it: many times what one may take."""
BATCH = 32
AT_ONCE = 4
"""Deliveries of one endpoint in a batch: one that hangs keeps few places."""
TURN_SECONDS = 20.0
"""After which a task gives its worker back; a new hint goes on."""
KEPT_TRIES = 20

TURNED_OFF = "The endpoint was turned off."
UNREADABLE = "Its secret cannot be read with the present CREDENTIAL_KEYS. Rotate it."


@dataclass(slots=True)
class _Claimed:
    """A delivery that this process alone may send now, and put down."""

    delivery: WebhookDelivery
    parcel: Parcel | None


def deliver_due() -> int:
    """Send what is due until nothing is, or for a while. Returns how many tries were made."""
    began, tries = time.monotonic(), 0
    while ids := _due(timezone.now()):
        tries += _work(ids)
        if time.monotonic() - began > TURN_SECONDS:
            enqueue(DELIVER, expires=HINT_LIFETIME)
            break
    return tries


def send_claimed(delivery: WebhookDelivery) -> None:
    """Send one that its maker has claimed, and put it down."""
    _send([_Claimed(delivery, _parcel(delivery, timezone.now()))])


def _due(now: datetime) -> list[int]:
    """The next batch: the first of each endpoint before the second of any."""
    place = Window(RowNumber(), partition_by=F("endpoint_id"), order_by=[F("next_try_at").asc(), F("id").asc()])
    due = WebhookDelivery.objects.filter(state=DeliveryState.PENDING, next_try_at__lte=now).annotate(place=place)
    return list(due.filter(place__lte=AT_ONCE).order_by("place", "next_try_at", "id").values_list("pk", flat=True)[:BATCH])


def is_due(now: datetime) -> bool:
    return WebhookDelivery.objects.filter(state=DeliveryState.PENDING, next_try_at__lte=now).exists()


def _work(ids: list[int]) -> int:
    now = timezone.now()
    claimed = [each for each in (_claim(key, now) for key in ids) if each is not None]
    _send(claimed)
    return len(claimed)


def _send(claimed: list[_Claimed]) -> None:
    parcels = [each.parcel for each in claimed if each.parcel is not None]
    outcomes = iter(async_to_sync(send_all)(parcels) if parcels else [])
    for each in claimed:
        _put_down(each.delivery, Outcome(None, UNREADABLE) if each.parcel is None else next(outcomes))


def _claim(delivery_id: int, now: datetime) -> _Claimed | None:
    """The delivery, where nobody else has it: whoever changes its row first does."""
    due = WebhookDelivery.objects.filter(pk=delivery_id, state=DeliveryState.PENDING, next_try_at__lte=now)
    if not due.update(tries=F("tries") + 1, next_try_at=now + LEASE):
        return None
    delivery = WebhookDelivery.objects.select_related("event", "endpoint").get(pk=delivery_id)
    return _Claimed(delivery, _parcel(delivery, now))


def _parcel(delivery: WebhookDelivery, now: datetime) -> Parcel | None:
    """What is sent; None where the secret cannot be read."""
    endpoint, body = delivery.endpoint, delivery.event.body.encode()
    try:
        known = [decrypt(endpoint.secret), *([decrypt(endpoint.old_secret)] if endpoint.has_old_secret(now) else [])]
    except Undecryptable:
        return None
    return Parcel(endpoint.url, signed_headers(known, str(delivery.public_id), int(now.timestamp()), body), body, tuple(known))


def _put_down(delivery: WebhookDelivery, outcome: Outcome) -> None:
    """Write what came of the try, unless the delivery was claimed anew since."""
    with transaction.atomic():
        endpoint = WebhookEndpoint.objects.select_for_update().filter(pk=delivery.endpoint_id).select_related(None).first()
        mine = WebhookDelivery.objects.filter(pk=delivery.pk, state=DeliveryState.PENDING, tries=delivery.tries)
        if endpoint is None or not _write(mine, delivery, endpoint, outcome):
            return
        if outcome.is_accepted:
            endpoint.last_delivered_at, endpoint.failing_since = timezone.now(), None
            endpoint.save(update_fields=["last_delivered_at", "failing_since"])
        elif not delivery.is_test:
            _count_failure(endpoint, outcome, is_given_up=_is_last(delivery, endpoint, outcome))
    log.info("notices.tried", delivery=str(delivery.public_id), tries=delivery.tries, status=outcome.status, error=outcome.error)


def _is_last(delivery: WebhookDelivery, endpoint: WebhookEndpoint, outcome: Outcome) -> bool:
    """Whether a failed try is not followed by another."""
    over = delivery.tries - delivery.tries_before >= MOST_TRIES
    return over or delivery.is_test or outcome.status == 410 or not endpoint.is_enabled


def _write(mine: QuerySet[WebhookDelivery], delivery: WebhookDelivery, endpoint: WebhookEndpoint, outcome: Outcome) -> bool:
    now = timezone.now()
    state, next_try_at = DeliveryState.DELIVERED, now
    if not outcome.is_accepted:
        state = DeliveryState.FAILED
        if not _is_last(delivery, endpoint, outcome):
            state = DeliveryState.PENDING
            next_try_at = now + WAITS[delivery.tries - delivery.tries_before - 1] * (1 + JITTER * random.random())  # noqa: S311
    tried = {"at": instant(now), "status": outcome.status, "error": outcome.error, "latency_ms": outcome.latency_ms}
    written = mine.update(
        state=state,
        next_try_at=next_try_at,
        last_status=outcome.status,
        last_error=outcome.error[:300],
        last_excerpt=outcome.excerpt,
        latency_ms=outcome.latency_ms,
        history=[*delivery.history, tried][-KEPT_TRIES:],
        delivered_at=now if state == DeliveryState.DELIVERED else None,
    )
    return bool(written)


def _count_failure(endpoint: WebhookEndpoint, outcome: Outcome, *, is_given_up: bool) -> None:
    """Remember since when the locked endpoint accepts nothing; turn it off where it says so, or where it has for days."""
    now = timezone.now()
    if endpoint.failing_since is None:
        endpoint.failing_since = now
        endpoint.save(update_fields=["failing_since"])
    if not endpoint.is_enabled:
        return
    if outcome.status == 410:
        turn_off(endpoint, OffReason.GONE)
        audit.record(SYSTEM, "webhook_endpoint.turn_off", endpoint.public_id, workspace=endpoint.workspace, reason="It answered 410 Gone")
    elif is_given_up and endpoint.failing_since <= now - timedelta(days=settings.WEBHOOK_OFF_AFTER_DAYS):
        turn_off(endpoint, OffReason.FAILING)
        audit.record(SYSTEM, "webhook_endpoint.turn_off", endpoint.public_id, workspace=endpoint.workspace, reason="It failed for days")


def turn_off(endpoint: WebhookEndpoint, reason: OffReason) -> None:
    """Tell the locked endpoint nothing more; what it was still to be told has failed."""
    endpoint.is_enabled, endpoint.off_reason, endpoint.off_told_at = False, reason, None
    endpoint.save(update_fields=["is_enabled", "off_reason", "off_told_at"])
    pending = WebhookDelivery.objects.filter(endpoint=endpoint, state=DeliveryState.PENDING)
    pending.update(state=DeliveryState.FAILED, last_error=TURNED_OFF)
