"""What the API takes and answers about wallets, ledgers, and API keys with their ceilings."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from billing.enums import DisputeStatus, EntryKind, PaymentKind, PaymentStatus, RefundStatus
from billing.models import Allowance, LedgerEntry, Payment, SpendAlert
from billing.statements import KeyLimits, Limit
from common.serializers import Choice, ListQuery, Moment, Money, SignedMoney, Strict, Text
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


class EntriesQuery(ListQuery):
    kind = Choice(required=False, choices=EntryKind.values)
    source = Text(required=False, max_length=120, help_text="What they came from, such as `run:<id>`.")  # type: ignore[assignment]
    created_from = Moment(required=False, help_text="From this moment on.")
    created_to = Moment(required=False, help_text="Before this moment.")


class RefundShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=RefundStatus.values)
    amount_microusd = Money(help_text="The money that goes back, its part of the fee included.")
    credit_microusd = Money(help_text="The credit that it takes with it.")
    taken_microusd = Money(help_text="What of that was there to be taken; the rest is taken from the next credit that comes in.")
    created_at = serializers.DateTimeField()


class DisputeShape(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=DisputeStatus.values)
    credit_microusd = Money(help_text="Taken back when it opens, given again if it is won.")
    opened_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)


class PaymentShape(serializers.Serializer[Any]):
    """Credit that is bought. The card pays credit and fee; the wallet gets the credit."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=PaymentKind.values)
    status = serializers.ChoiceField(choices=PaymentStatus.values)
    credit_microusd = Money()
    fee_microusd = Money()
    total_microusd = Money()
    failure = serializers.CharField(allow_null=True)
    receipt_url = serializers.URLField(allow_null=True)
    invoice_url = serializers.URLField(allow_null=True)
    created_at = serializers.DateTimeField()
    paid_at = serializers.DateTimeField(allow_null=True)
    refunds = RefundShape(many=True)
    disputes = DisputeShape(many=True)


class SpendingLimitShape(serializers.Serializer[Any]):
    """A limit and what of it is used. Without a limit `limit_microusd` and `left_microusd` are null."""

    limit_microusd = Money(allow_null=True)
    spent_microusd = Money()
    reserved_microusd = Money(help_text="Held by runs in progress.")
    left_microusd = Money(allow_null=True)


class KeySpendingLimitsShape(serializers.Serializer[Any]):
    api_key_id = serializers.UUIDField(help_text="The newest of those that share the limits.")
    label = serializers.CharField()  # type: ignore[assignment]
    ceiling = SpendingLimitShape(help_text="In all.")
    month = SpendingLimitShape()


class SpendingLimitsShape(serializers.Serializer[Any]):
    """The limits that hold now. A run counts in the month in which it was started, to its end."""

    month = serializers.CharField(help_text="YYYY-MM (UTC).")
    workspace = SpendingLimitShape()
    api_keys = KeySpendingLimitsShape(many=True, help_text="Those that have a limit or have spent something.")


class SpendAlertShape(serializers.Serializer[Any]):
    """A share of the workspace's monthly limit that was reached."""

    month = serializers.CharField(help_text="YYYY-MM (UTC).")
    percent = serializers.IntegerField()
    used_microusd = Money()
    limit_microusd = Money()
    reached_at = serializers.DateTimeField()


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


def payment_document(payment: Payment) -> dict[str, Any]:
    """A payment with its refunds and disputes, which were fetched with it."""
    return {
        "id": payment.public_id,
        "kind": payment.kind,
        "status": payment.status,
        "credit_microusd": str(payment.credit_microusd),
        "fee_microusd": str(payment.fee_microusd),
        "total_microusd": str(payment.total_microusd),
        "failure": payment.failure or None,
        "receipt_url": payment.receipt_url or None,
        "invoice_url": payment.invoice_url or None,
        "created_at": payment.created_at,
        "paid_at": payment.paid_at,
        "refunds": [
            {
                "id": refund.public_id,
                "status": refund.status,
                "amount_microusd": str(refund.amount_microusd),
                "credit_microusd": str(refund.credit_microusd),
                "taken_microusd": str(refund.taken_microusd),
                "created_at": refund.created_at,
            }
            for refund in payment.refunds.all()
        ],
        "disputes": [
            {
                "status": dispute.status,
                "credit_microusd": str(dispute.credit_microusd),
                "opened_at": dispute.opened_at,
                "closed_at": dispute.closed_at,
            }
            for dispute in payment.disputes.all()
        ],
    }


def limit_document(limit: Limit) -> dict[str, str | None]:
    return {
        "limit_microusd": None if limit.limit_microusd is None else str(limit.limit_microusd),
        "spent_microusd": str(limit.spent_microusd),
        "reserved_microusd": str(limit.reserved_microusd),
        "left_microusd": None if limit.left_microusd is None else str(limit.left_microusd),
    }


def limits_document(month: str, workspace: Limit, keys: list[KeyLimits]) -> dict[str, Any]:
    return {
        "month": month,
        "workspace": limit_document(workspace),
        "api_keys": [
            {
                "api_key_id": each.key.public_id,
                "label": each.key.label,
                "ceiling": limit_document(each.ceiling),
                "month": limit_document(each.month),
            }
            for each in keys
        ],
    }


def alert_document(alert: SpendAlert) -> dict[str, Any]:
    return {
        "month": alert.month,
        "percent": alert.percent,
        "used_microusd": str(alert.used_microusd),
        "limit_microusd": str(alert.limit_microusd),
        "reached_at": alert.reached_at,
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
