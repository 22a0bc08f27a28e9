"""What the API takes and answers about webhooks. A secret comes out once, where it is made."""

from typing import Any

import orjson
from django.utils import timezone
from rest_framework import serializers

from common.serializers import AnyObject, Choice, Id, ListQuery, Strict, Text, Truth, WholeNumber
from runs.documents import instant
from runs.models.notices import WebhookDelivery, WebhookEndpoint
from runs.notices.enums import CHOOSABLE, DeliveryState, EventType, OffReason

EVENTS = [str(kind) for kind in CHOOSABLE]


class WebhookEndpointShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    url = serializers.CharField()
    description = serializers.CharField(allow_null=True)
    events = serializers.ListField(child=serializers.ChoiceField(choices=EVENTS))
    enabled = serializers.BooleanField()
    off_reason = serializers.ChoiceField(
        choices=OffReason.values,
        allow_null=True,
        help_text="`gone`: it answered 410. `failing`: it accepted nothing for days. `person`: somebody turned it off.",
    )
    failing_since = serializers.DateTimeField(allow_null=True, help_text="The first failed try since it last accepted something.")
    last_delivered_at = serializers.DateTimeField(allow_null=True)
    old_secret_until = serializers.DateTimeField(
        allow_null=True, help_text="Until when each delivery is signed with the secret before the present one too."
    )
    created_at = serializers.DateTimeField()


class NewWebhookEndpointShape(WebhookEndpointShape):
    secret = serializers.CharField(help_text="`whsec_…`, shown this once.")


class WebhookEndpointCreateBody(Strict):
    url = Text(max_length=500, help_text="Begins with `https://`.")
    events = serializers.ListField(child=Choice(choices=EVENTS), min_length=1, max_length=len(EVENTS))
    description = Text(required=False, allow_blank=True, max_length=200)


class WebhookEndpointChangeBody(Strict):
    """Only what is given changes."""

    url = Text(required=False, max_length=500)
    events = serializers.ListField(required=False, child=Choice(choices=EVENTS), min_length=1, max_length=len(EVENTS))
    description = Text(required=False, allow_blank=True, max_length=200)
    enabled = Truth(required=False, help_text="While it is off nothing is sent, and what happens is not sent later.")


class WebhookSecretBody(Strict):
    overlap_hours = WholeNumber(
        default=24, min_value=0, max_value=168, help_text="How long the present secret is signed with as well; 0 ends it at once."
    )


class WebhookTryShape(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    status = serializers.IntegerField(allow_null=True, help_text="What it answered; null where it did not.")
    error = serializers.CharField(allow_null=True)
    latency_ms = serializers.IntegerField()


class WebhookDeliveryShape(serializers.Serializer[Any]):
    """One event for one endpoint."""

    id = serializers.UUIDField(help_text="The header `webhook-id` of each try.")
    endpoint_id = serializers.UUIDField()
    event_id = serializers.UUIDField(help_text="`id` of the body, the same for every endpoint.")
    event_type = serializers.ChoiceField(choices=EventType.values)
    run_id = serializers.UUIDField(allow_null=True)
    state = serializers.ChoiceField(choices=DeliveryState.values)
    tries = serializers.IntegerField()
    next_try_at = serializers.DateTimeField(allow_null=True)
    last_status = serializers.IntegerField(allow_null=True)
    last_error = serializers.CharField(allow_null=True)
    latency_ms = serializers.IntegerField(allow_null=True)
    delivered_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class WebhookDeliveryDetailShape(WebhookDeliveryShape):
    last_excerpt = serializers.CharField(allow_null=True, help_text="The beginning of the last answer's body, credentials removed.")
    history = WebhookTryShape(many=True, help_text="The last 20 tries, oldest first.")
    body = AnyObject(help_text="What is sent.")


class DeliveriesQuery(ListQuery):
    endpoint_id = Id(required=False)
    state = Choice(required=False, choices=DeliveryState.values)


def endpoint_document(endpoint: WebhookEndpoint) -> dict[str, Any]:
    return {
        "id": endpoint.public_id,
        "url": endpoint.url,
        "description": endpoint.description or None,
        "events": endpoint.events,
        "enabled": endpoint.is_enabled,
        "off_reason": endpoint.off_reason or None,
        "failing_since": endpoint.failing_since,
        "last_delivered_at": endpoint.last_delivered_at,
        "old_secret_until": endpoint.old_secret_until if endpoint.has_old_secret(timezone.now()) else None,
        "created_at": endpoint.created_at,
    }


def delivery_document(delivery: WebhookDelivery) -> dict[str, Any]:
    return {
        "id": delivery.public_id,
        "endpoint_id": delivery.endpoint.public_id,
        "event_id": delivery.event.public_id,
        "event_type": delivery.event.type,
        "run_id": delivery.event.run.public_id if delivery.event.run else None,
        "state": delivery.state,
        "tries": delivery.tries,
        "next_try_at": instant(delivery.next_try_at) if delivery.state == DeliveryState.PENDING else None,
        "last_status": delivery.last_status,
        "last_error": delivery.last_error or None,
        "latency_ms": delivery.latency_ms,
        "delivered_at": delivery.delivered_at,
        "created_at": delivery.created_at,
    }


def delivery_detail_document(delivery: WebhookDelivery) -> dict[str, Any]:
    return {
        **delivery_document(delivery),
        "last_excerpt": delivery.last_excerpt or None,
        "history": [{**tried, "error": tried["error"] or None} for tried in delivery.history],
        "body": orjson.loads(delivery.event.body),
    }
