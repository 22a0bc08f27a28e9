"""What the API takes and answers about connections. The credential goes in, and never comes out."""

from typing import Any

from rest_framework import serializers

from common.serializers import Choice, Strict, Text
from gateway.enums import Protocol
from gateway.models import Connection


class ConnectionShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    protocol = serializers.ChoiceField(choices=Protocol.values)
    endpoint = serializers.CharField()
    model = serializers.CharField()
    has_key = serializers.BooleanField()
    revision = serializers.IntegerField(help_text="Rises with every change of what is called; a quote names the revision it was made for.")
    checked_at = serializers.DateTimeField(allow_null=True, help_text="When this revision answered a check; null until it has.")
    check_error = serializers.CharField(allow_null=True)
    served_model = serializers.CharField(allow_null=True)
    latency_ms = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()


class CheckShape(serializers.Serializer[Any]):
    ok = serializers.BooleanField()
    latency_ms = serializers.IntegerField(allow_null=True)
    served_model = serializers.CharField(allow_null=True)
    error = serializers.CharField(allow_null=True)


class ConnectionCreateBody(Strict):
    name = Text(max_length=80)
    endpoint = Text(max_length=500, help_text="The base address, such as `https://models.example.org/v1`.")
    model = Text(max_length=200)
    api_key = Text(required=False, allow_blank=True, max_length=4_096)
    protocol = Choice(choices=Protocol.values, default=Protocol.OPENAI.value)


class ConnectionChangeBody(Strict):
    """Only what is given changes. A new address, model or key makes a new revision, which is unchecked."""

    name = Text(required=False, max_length=80)
    endpoint = Text(required=False, max_length=500)
    model = Text(required=False, max_length=200)
    api_key = Text(required=False, allow_blank=True, max_length=4_096)


def connection_document(connection: Connection) -> dict[str, Any]:
    return {
        "id": connection.public_id,
        "name": connection.name,
        "protocol": connection.protocol,
        "endpoint": connection.endpoint,
        "model": connection.model,
        "has_key": bool(connection.secret),
        "revision": connection.revision,
        "checked_at": connection.checked_at,
        "check_error": connection.check_error or None,
        "served_model": connection.served_model or None,
        "latency_ms": connection.check_latency_ms,
        "created_at": connection.created_at,
    }
