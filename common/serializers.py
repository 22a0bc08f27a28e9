"""Serializers of the API: strict ones for what comes in, and shapes for what goes out.

What comes in is refused unless it is exactly what the schema says: an unknown field, a number where a text belongs, a NUL character. The
types here read JSON bodies and query strings alike; in a query string every value is text, so numbers and truth values are read from it.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.money import MAX_MICROUSD
from common.pages import DEFAULT_LIMIT, MAX_LIMIT

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_MONEY = re.compile(r"-?[0-9]{1,16}")
_RFC3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})")


class Strict(serializers.Serializer[Any]):
    """Refuses fields that it does not name."""

    def to_internal_value(self, data: Any) -> Any:
        unknown: list[str] = []
        if isinstance(data, Mapping):
            unknown = [str(name) for name in data if name not in self.fields]
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not unknown or not isinstance(error.detail, dict):
                raise
            raise serializers.ValidationError({**error.detail, **_unknown(unknown)}) from None
        if unknown:
            raise serializers.ValidationError(_unknown(unknown))
        return value


def _unknown(names: Sequence[str]) -> dict[str, list[str]]:
    return {name[:100]: ["Unknown field."] for name in names[:20]}


class Query(Strict):
    """The parameters of a query string. An unknown one is refused, as is one that is given twice."""


class ListQuery(Query):
    """What every list takes."""

    cursor = serializers.CharField(required=False, max_length=400, help_text="`next_cursor` of the page before.")
    limit: serializers.Field[Any, Any, Any, Any]

    def get_fields(self) -> dict[str, Any]:
        limit = WholeNumber(default=DEFAULT_LIMIT, min_value=1, max_value=MAX_LIMIT, help_text="The most rows of a page.")
        return {**super().get_fields(), "limit": limit}


class NoBody(Strict):
    """A request without fields: an empty body, or an empty object."""


def query_values(query: QueryDict) -> dict[str, Any]:
    """The parameters as a plain mapping; one that is given twice stays a list, which no field takes."""
    return {name: values[0] if len(values) == 1 else values for name, values in query.lists()}


class Text(serializers.CharField):
    """A text: nothing else is turned into one."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Id(serializers.UUIDField):
    """The ID of a thing, as text."""

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class WholeNumber(serializers.IntegerField):
    """An integer of at most 18 digits: a JSON number in a body, digits in a query string."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, str) and isinstance(self.root, Query):
            if not _INTEGER.fullmatch(data):
                self.fail("invalid")
            return int(data)
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return data


class Truth(serializers.BooleanField):
    """`true` or `false`, and nothing that only looks like it."""

    def to_internal_value(self, data: Any) -> bool:
        if isinstance(data, str) and isinstance(self.root, Query):
            found = {"true": True, "false": False}.get(data)
            if found is None:
                self.fail("invalid", input=data)
            return found
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Choice(serializers.ChoiceField):
    """One of the named texts."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return super().to_internal_value(data)


class Moment(serializers.DateTimeField):
    """A time with its offset, as RFC 3339 writes it."""

    def to_internal_value(self, value: Any) -> datetime:
        if not isinstance(value, str) or not _RFC3339.fullmatch(value):
            self.fail("invalid", format="2026-01-31T12:00:00Z")
        try:
            return super().to_internal_value(value)
        except (OverflowError, ValueError):
            self.fail("invalid", format="2026-01-31T12:00:00Z")


@extend_schema_field({"type": "string", "pattern": "^[0-9]{1,16}$", "examples": ["1000000"]})
class Money(serializers.Field[int, str, str, int]):
    """Micro-USD, zero or more, as a string of an integer."""

    default_error_messages: ClassVar[dict[str, str]] = {
        "invalid": "State money as a string of an integer of micro-USD, zero or more.",
        "too_large": f"No more than {MAX_MICROUSD} micro-USD.",
    }

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or not _MONEY.fullmatch(data) or data.startswith("-"):
            self.fail("invalid")
        amount = int(data)
        if amount > MAX_MICROUSD:
            self.fail("too_large")
        return amount

    def to_representation(self, value: int) -> str:
        return str(int(value))


@extend_schema_field({"type": "string", "pattern": "^-?[0-9]+$", "examples": ["-1250"]})
class SignedMoney(Money):
    """Micro-USD with a sign, going out."""


@extend_schema_field({"type": "object", "additionalProperties": True})
class AnyObject(serializers.DictField):
    """An object whose fields are described elsewhere, or are the caller's own."""


_page_shapes: dict[type[serializers.Serializer[Any]], type[serializers.Serializer[Any]]] = {}


def page_of_shape(shape: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """The shape of a list of these: `{"data": […], "next_cursor": …}`."""
    if shape not in _page_shapes:
        fields = {
            "data": shape(many=True),
            "next_cursor": serializers.CharField(allow_null=True, help_text="Null on the last page."),
        }
        _page_shapes[shape] = type(f"{shape.__name__.removesuffix('Shape')}List", (serializers.Serializer,), fields)
    return _page_shapes[shape]
