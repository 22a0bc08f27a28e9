"""What the API takes and answers about the charges of a month."""

from typing import Any

from rest_framework import serializers

from billing.months import InvalidMonth, month_bounds
from billing.statements import Charged
from common.serializers import Money, Query, Text
from runs.spending import Spending, Spent


class Month(Text):
    """A calendar month (UTC), as YYYY-MM."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        try:
            month_bounds(text)
        except InvalidMonth:
            raise serializers.ValidationError("State a month as YYYY-MM, such as 2026-11.") from None
        return text


class UsageQuery(Query):
    month = Month(required=False, min_length=7, max_length=7, help_text="YYYY-MM (UTC); the present month where it is left out.")


class ChargedAmountsShape(serializers.Serializer[Any]):
    usage_microusd = Money()
    platform_fee_microusd = Money()
    total_microusd = Money()


class SpendingDayShape(ChargedAmountsShape):
    day = serializers.DateField()


class SpendingPartShape(ChargedAmountsShape):
    id = serializers.CharField(allow_null=True, help_text="Null for what belongs to none.")
    name = serializers.CharField()
    share = serializers.FloatField(help_text="Of the month's charges, from 0 to 1.")


class SpendingShape(ChargedAmountsShape):
    """The charges that were entered in the month. Days and each of the lists add up to the total."""

    month = serializers.CharField()
    days = SpendingDayShape(many=True)
    benchmarks = SpendingPartShape(many=True, help_text="`id` is the slug.")
    models = SpendingPartShape(many=True, help_text="`id` is the label that the model had in its run.")
    members = SpendingPartShape(many=True, help_text="By who started the run; those that keys started are one.")
    api_keys = SpendingPartShape(many=True, help_text="By the key that started the run, named by the newest that it was rolled into.")


def usage_document(spending: Spending) -> dict[str, Any]:
    return {
        "month": spending.month,
        **_charged(spending.total),
        "days": [{"day": day, **_charged(charged)} for day, charged in spending.days.items()],
        "benchmarks": _rows(spending.benchmarks),
        "models": _rows(spending.models),
        "members": _rows(spending.members),
        "api_keys": _rows(spending.keys),
    }


def _rows(rows: list[Spent]) -> list[dict[str, Any]]:
    return [{"id": row.id, "name": row.name, **_charged(row.charged), "share": round(row.share, 6)} for row in rows]


def _charged(charged: Charged) -> dict[str, str]:
    return {
        "usage_microusd": str(charged.usage_microusd),
        "platform_fee_microusd": str(charged.fee_microusd),
        "total_microusd": str(charged.total_microusd),
    }
