"""What the API takes and answers about wallets, ledgers, and API keys with their ceilings."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from billing.enums import EntryKind
from billing.models import Allowance, LedgerEntry
from common.serializers import Choice, Moment, Money, SignedMoney, Strict, Text
from workspaces.enums import Scope
from workspaces.models import ApiKey


class WalletShape(serializers.Serializer[Any]):
    """Micro-USD as strings. Fees are net of fee credits."""

    balance_microusd = SignedMoney()
    held_microusd = SignedMoney()
    available_microusd = SignedMoney()
    settled_usage_microusd = SignedMoney()
    settled_platform_fees_microusd = SignedMoney()
    settled_charges_microusd = SignedMoney()


class EntryShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=EntryKind.values)
    amount_microusd = SignedMoney(help_text="Negative where it was spent.")
    balance_after_microusd = SignedMoney()
    source = serializers.CharField(allow_null=True, help_text="What it came from, such as `run:<id>`.")  # type: ignore[assignment]
    note = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class ApiKeyShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    prefix = serializers.CharField(help_text="The beginning of the secret, to tell keys apart.")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.values))
    status = serializers.ChoiceField(choices=("live", "expired", "revoked"))
    created_by = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    spend_ceiling_microusd = Money(allow_null=True, help_text="What the key and those it is rolled into may spend in all.")
    spent_microusd = Money()


class NewApiKeyShape(ApiKeyShape):
    """A key with its secret, which is shown this once."""

    secret = serializers.CharField()


class ApiKeyCreateBody(Strict):
    label = Text(max_length=80)  # type: ignore[assignment]
    scopes = serializers.ListField(child=Choice(choices=Scope.values), min_length=1, max_length=len(Scope.values))
    spend_ceiling_microusd = Money(required=False, allow_null=True)
    expires_at = Moment(required=False, allow_null=True)


class ApiKeyChangeBody(Strict):
    label = Text(required=False, max_length=80)  # type: ignore[assignment]
    scopes = serializers.ListField(required=False, child=Choice(choices=Scope.values), min_length=1, max_length=len(Scope.values))
    spend_ceiling_microusd = Money(required=False, allow_null=True, help_text="Null lifts the ceiling.")
    expires_at = Moment(required=False, allow_null=True)


def wallet_document(figures: dict[str, int]) -> dict[str, str]:
    return {name: str(amount) for name, amount in figures.items()}


def entry_document(entry: LedgerEntry) -> dict[str, Any]:
    return {
        "id": entry.public_id,
        "kind": entry.kind,
        "amount_microusd": str(entry.amount_microusd),
        "balance_after_microusd": str(entry.balance_after_microusd),
        "source": entry.source or None,
        "note": entry.note or None,
        "created_at": entry.created_at,
    }


def api_key_document(key: ApiKey, allowance: Allowance | None) -> dict[str, Any]:
    """A key without its secret; the allowance is its lineage's, None where it has neither a ceiling nor spent anything."""
    now = timezone.now()
    ceiling = allowance.ceiling_microusd if allowance else None
    return {
        "id": key.public_id,
        "label": key.label,
        "prefix": f"er_{key.prefix}",
        "scopes": key.scopes,
        "status": "revoked" if key.revoked_at else "live" if key.is_live(now) else "expired",
        "created_by": key.created_by.public_id if key.created_by else None,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
        "spend_ceiling_microusd": None if ceiling is None else str(ceiling),
        "spent_microusd": str(allowance.spent_microusd if allowance else 0),
    }
