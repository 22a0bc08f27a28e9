"""What people do about notices: their own choices, and a workspace's endpoints."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from yarl import URL

from common.crypto import encrypt
from common.errors import Conflict, Refused
from common.jobs import enqueue_on_commit
from common.outbound import check_url
from common.webhooks import new_secret
from runs.models.notices import NoticeChoice, WebhookDelivery, WebhookEndpoint
from runs.notices.delivering import LEASE, send_claimed, turn_off
from runs.notices.enums import CHOOSABLE, DeliveryState, EndedMail, EventType, OffReason
from runs.notices.jobs import DELIVER, HINT_LIFETIME
from runs.notices.outbox import new_event
from runs.permissions import can_manage_webhooks
from workspaces import audit
from workspaces.actors import Actor
from workspaces.models import User, Workspace
from workspaces.permissions import require
from workspaces.signals import UNSET, Unset

MAX_ENDPOINTS = 10
MAX_DESCRIPTION = 200
LONGEST_OVERLAP = timedelta(days=7)
"""How long the secret before may still be signed with."""
TESTS_A_MINUTE = 5
"""Of one workspace."""


def choose_notices(user: User, *, actor: Actor, ended: str, interrupted: bool, waiting: bool) -> NoticeChoice:
    """Remember what the person wants mail about. Raises Refused (`unknown_choice`)."""
    require(actor.user == user)
    if ended not in EndedMail.values:
        raise Refused("unknown_choice", f"Choose one of {', '.join(EndedMail.values)}.")
    chosen = {"ended": ended, "interrupted": interrupted, "waiting": waiting}
    choice, _ = NoticeChoice.objects.update_or_create(user=user, defaults=chosen)
    return choice


def create_endpoint(
    workspace: Workspace, *, actor: Actor, url: str, events: Collection[str], description: str = ""
) -> tuple[WebhookEndpoint, str]:
    """A new endpoint, which is told of what happens from now on; returns it and its secret, which cannot be had again.

    Raises Refused (`invalid_endpoint`, `blocked_address`, `https_required`, `invalid_events`, `invalid_description`), Conflict
    (`too_many_endpoints`) and Forbidden.
    """
    require(can_manage_webhooks(actor, workspace))
    url, wanted, description = _checked_url(url), _checked_events(events), _checked_description(description)
    secret = new_secret()
    with transaction.atomic():
        Workspace.objects.select_for_update().get(pk=workspace.pk)
        if WebhookEndpoint.objects.filter(workspace=workspace).count() >= MAX_ENDPOINTS:
            raise Conflict("too_many_endpoints", f"A workspace has at most {MAX_ENDPOINTS} endpoints. Delete one first.")
        endpoint = WebhookEndpoint.objects.create(
            workspace=workspace, url=url, events=wanted, description=description, secret=encrypt(secret), created_by=actor.user
        )
        audit.record(actor, "webhook_endpoint.create", endpoint.public_id, workspace=workspace, name=_host(url), events=wanted)
    return endpoint, secret


def change_endpoint(
    endpoint: WebhookEndpoint,
    *,
    actor: Actor,
    url: str | Unset = UNSET,
    events: Collection[str] | Unset = UNSET,
    description: str | Unset = UNSET,
    enabled: bool | Unset = UNSET,
) -> WebhookEndpoint:
    """Change what is given and leave the rest; what was still to be delivered fails where it is turned off. Raises as `create_endpoint`."""
    require(can_manage_webhooks(actor, endpoint.workspace))
    given: dict[str, object] = {}
    if not isinstance(url, Unset):
        given["url"] = _checked_url(url)
    if not isinstance(events, Unset):
        given["events"] = _checked_events(events)
    if not isinstance(description, Unset):
        given["description"] = _checked_description(description)
    with transaction.atomic():
        row = _locked(endpoint)
        changed = {name: value for name, value in given.items() if value != getattr(row, name)}
        for name, value in changed.items():
            setattr(row, name, value)
        if "url" in changed:
            row.failing_since = None  # what another address did says nothing of this one
        if changed:
            row.save(update_fields=[*changed, "failing_since"])
        if not isinstance(enabled, Unset) and enabled != row.is_enabled:
            changed["enabled"] = enabled
            _turn(row, enabled=enabled)
        if changed:
            noted = {**changed, "url": _host(row.url)} if "url" in changed else changed
            audit.record(actor, "webhook_endpoint.change", row.public_id, workspace=row.workspace, name=_host(row.url), **noted)
    return row


def _turn(endpoint: WebhookEndpoint, *, enabled: bool) -> None:
    if not enabled:
        turn_off(endpoint, OffReason.PERSON)
        return
    endpoint.is_enabled, endpoint.off_reason, endpoint.off_told_at, endpoint.failing_since = True, "", None, None
    endpoint.save(update_fields=["is_enabled", "off_reason", "off_told_at", "failing_since"])


def rotate_secret(endpoint: WebhookEndpoint, *, actor: Actor, overlap: timedelta) -> tuple[WebhookEndpoint, str]:
    """A new secret, which cannot be had again; the one before is signed with too for `overlap`, one older than that no more.

    Raises Refused (`invalid_overlap`).
    """
    require(can_manage_webhooks(actor, endpoint.workspace))
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise Refused("invalid_overlap", "The secret before may go on for at most seven days.")
    secret = new_secret()
    with transaction.atomic():
        row = _locked(endpoint)
        until: datetime | None = timezone.now() + overlap if overlap else None
        row.old_secret, row.old_secret_until = (row.secret, until) if until else ("", None)
        row.secret = encrypt(secret)
        row.save(update_fields=["secret", "old_secret", "old_secret_until"])
        ends = until.isoformat() if until else None
        audit.record(
            actor, "webhook_endpoint.rotate_secret", row.public_id, workspace=row.workspace, name=_host(row.url), old_works_until=ends
        )
    return row, secret


def delete_endpoint(endpoint: WebhookEndpoint, *, actor: Actor) -> None:
    """Delete it with its secret and the record of its deliveries."""
    require(can_manage_webhooks(actor, endpoint.workspace))
    with transaction.atomic():
        row = _locked(endpoint)
        audit.record(actor, "webhook_endpoint.delete", row.public_id, workspace=row.workspace, name=_host(row.url))
        row.delete()


def try_endpoint(endpoint: WebhookEndpoint, *, actor: Actor) -> WebhookDelivery:
    """Send a test once, also to one that is turned off, and wait for what comes of it. Raises Conflict (`too_many_tests`)."""
    require(can_manage_webhooks(actor, endpoint.workspace))
    with transaction.atomic():
        Workspace.objects.select_for_update().get(pk=endpoint.workspace_id)
        row = _locked(endpoint)
        now = timezone.now()
        recent = WebhookDelivery.objects.filter(
            workspace=row.workspace_id, event__type=EventType.TEST, created_at__gt=now - timedelta(minutes=1)
        )
        if recent.count() >= TESTS_A_MINUTE:
            raise Conflict("too_many_tests", f"{TESTS_A_MINUTE} tests a minute are enough. Wait a moment.")
        event = new_event(row.workspace, EventType.TEST, {"endpoint_id": str(row.public_id)})
        event.save(force_insert=True)
        # It is claimed as it is made, so that nobody else sends it; should this process die the sweep finds it.
        delivery = WebhookDelivery.objects.create(workspace=row.workspace, event=event, endpoint=row, tries=1, next_try_at=now + LEASE)
        audit.record(actor, "webhook_endpoint.test", row.public_id, workspace=row.workspace, name=_host(row.url))
    send_claimed(delivery)
    delivery.refresh_from_db()
    return delivery


def redeliver(delivery: WebhookDelivery, *, actor: Actor) -> WebhookDelivery:
    """Deliver it again from the first try, under the same `webhook-id`. Raises Conflict (`still_pending`, `endpoint_off`, `is_a_test`)."""
    require(can_manage_webhooks(actor, delivery.workspace))
    with transaction.atomic():
        endpoint = WebhookEndpoint.objects.select_for_update(of=("self",)).select_related("workspace").get(pk=delivery.endpoint_id)
        if delivery.is_test:
            raise Conflict("is_a_test", "A test is not delivered again. Send another.")
        if not endpoint.is_enabled:
            raise Conflict("endpoint_off", "The endpoint is turned off. Turn it on first.")
        ended = WebhookDelivery.objects.filter(pk=delivery.pk).exclude(state=DeliveryState.PENDING)
        again = {"state": DeliveryState.PENDING, "tries_before": F("tries"), "next_try_at": timezone.now(), "delivered_at": None}
        if not ended.update(**again):
            raise Conflict("still_pending", "It is still being delivered.")
        audit.record(actor, "webhook_delivery.again", delivery.public_id, workspace=endpoint.workspace, name=_host(endpoint.url))
        enqueue_on_commit(DELIVER, expires=HINT_LIFETIME)
    delivery.refresh_from_db()
    return delivery


def _locked(endpoint: WebhookEndpoint) -> WebhookEndpoint:
    return WebhookEndpoint.objects.select_for_update(of=("self",)).select_related("workspace").get(pk=endpoint.pk)


def _host(url: str) -> str:
    """What the record of changes says of an address: the rest of it may be a secret."""
    return URL(url).host or ""


def _checked_url(url: str) -> str:
    if not settings.ALLOW_PRIVATE_ENDPOINTS and url.strip().lower().startswith("http://"):
        raise Refused("https_required", "Webhooks go to https:// addresses only.")
    return check_url(url)


def _checked_events(events: Collection[str]) -> list[str]:
    unknown = sorted(set(events) - set(CHOOSABLE))
    if unknown or not events:
        raise Refused("invalid_events", f"Choose at least one of {', '.join(CHOOSABLE)}.", details={"unknown": unknown})
    return [str(kind) for kind in CHOOSABLE if kind in events]


def _checked_description(description: str) -> str:
    description = " ".join(description.split())
    if len(description) > MAX_DESCRIPTION:
        raise Refused("invalid_description", f"At most {MAX_DESCRIPTION} characters.")
    return description
