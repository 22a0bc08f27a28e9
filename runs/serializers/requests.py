"""What the API takes for quotes and runs. A quote's body is parsed by `runs.requests`, for pages and commands too."""

from typing import Any, ClassVar

from rest_framework import serializers

from common.pages import MAX_LIMIT
from common.serializers import Choice, Id, ListQuery, Money, Query, Strict, Text, Truth, WholeNumber
from runs.enums import RunStatus
from runs.exports.formats import FORMAT_NAMES
from runs.requests import (
    DEFAULT_CONCURRENCY,
    DEFAULT_SAMPLE,
    EFFORTS,
    MAX_ATTEMPTS,
    MAX_BENCHMARKS,
    MAX_CONCURRENCY,
    MAX_SAMPLE,
    MAX_SUBJECTS,
    MAX_WEIGHT,
)

EXPORT_FORMATS = FORMAT_NAMES
MAX_SEED = 2**53


def _text(limit: int, **more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": limit, **more}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


_SEED = {"type": "integer", "minimum": 0, "maximum": MAX_SEED, "default": 0}
_REASONING = {
    "oneOf": [
        _object({"effort": {"type": ["string", "null"], "enum": [*EFFORTS, None]}}, "effort"),
        _object({"budget_tokens": {"type": "integer", "minimum": 1, "maximum": 1_000_000}}, "budget_tokens"),
    ]
}
_MODEL = {
    "oneOf": [
        _text(200, description="A route's ID or name, `connection:ID`, `recorded:ID` or its name, or a baseline's name."),
        _object({"kind": {"const": "managed"}, "route_id": _text(200), "reasoning": _REASONING}, "kind", "route_id"),
        _object({"kind": {"const": "connection"}, "connection_id": _text(200), "reasoning": _REASONING}, "kind", "connection_id"),
        _object({"kind": {"const": "baseline"}, "name": _text(200), "seed": _SEED}, "kind", "name"),
        _object({"kind": {"const": "recorded"}, "recorded_model_id": _text(200)}, "kind", "recorded_model_id"),
    ]
}
_COVERAGE = {
    "oneOf": [
        _object(
            {
                "mode": {"const": "sample"},
                "sample_count": {"type": "integer", "minimum": 1, "maximum": MAX_SAMPLE, "default": DEFAULT_SAMPLE},
                "seed": _SEED,
            },
            "mode",
        ),
        _object({"mode": {"const": "full"}}, "mode"),
        _object(
            {
                "mode": {"const": "tasks"},
                "task_ids": {"type": "array", "items": _text(200), "minItems": 1, "maxItems": MAX_SAMPLE, "uniqueItems": True},
            },
            "mode",
            "task_ids",
        ),
    ]
}
_QUOTE_FIELDS: dict[str, Any] = {
    "model": _MODEL,
    "subjects": {"type": "array", "items": _MODEL, "minItems": 1, "maxItems": MAX_SUBJECTS},
    "benchmark": _text(200, description="A slug, a display name, `slug@number` or a private benchmark's ID."),
    "selection": _object(
        {
            "profile_ids": {"type": "array", "items": _text(200), "minItems": 1, "maxItems": MAX_BENCHMARKS, "uniqueItems": True},
            "output_format": {"type": "string", "enum": ["default"]},
            "weights": {
                "type": ["array", "null"],
                "items": {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_WEIGHT},
                "minItems": 2,
                "maxItems": MAX_BENCHMARKS,
                "description": "One for each of several benchmarks, in their order: with them there is a composite score, else none.",
            },
        },
        "profile_ids",
    ),
    "coverage": _COVERAGE,
    "attempts": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_ATTEMPTS,
        "default": 1,
        "description": "How often each subject is asked each task; its score at a task is the mean.",
    },
    "reuse_from": {
        **_text(64),
        "type": ["string", "null"],
        "description": "An ended run of the workspace whose finished answers are taken over for nothing where they fit.",
    },
    "max_charge_microusd": {"type": ["string", "null"], "pattern": "^[0-9]{1,16}$", "description": "The cap in micro-USD."},
    "concurrency": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_CONCURRENCY,
        "default": DEFAULT_CONCURRENCY,
        "description": "The most calls in flight for each subject.",
    },
    "reasoning": _REASONING,
    "max_output_tokens": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "name": {"type": "string", "minLength": 1, "maxLength": 160},
    "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
}
_ONE_OF_EACH = [
    {"oneOf": [{"required": ["model"]}, {"required": ["subjects"]}]},
    {"oneOf": [{"required": ["selection"]}, {"required": ["benchmark"]}]},
]

QUOTE_BODY: dict[str, Any] = {**_object(_QUOTE_FIELDS), "allOf": _ONE_OF_EACH}
"""One model or a list of subjects, and a selection or a benchmark's name."""

_START_FIELDS: dict[str, Any] = {
    "quote_id": {"type": "string", "format": "uuid"},
    "max_charge_microusd": {
        **_QUOTE_FIELDS["max_charge_microusd"],
        "description": "What you agree to; below what the quote may charge it is refused.",
    },
}
RUN_BODY: dict[str, Any] = {"anyOf": [_object(_START_FIELDS, "quote_id"), QUOTE_BODY]}
"""A quote's ID, or a quote's body in its place under an `Idempotency-Key`."""


class StartBody(Strict):
    """Start a quote."""

    quote_id = Id()
    max_charge_microusd = Money(required=False, allow_null=True)


class ContinueBody(Strict):
    """What is agreed to when a run is continued."""

    max_charge_microusd = Money(required=False, allow_null=True)
    include_cancelled = Truth(default=False)
    retry_unknown = Truth(default=False)
    retry_unknown_max = WholeNumber(required=False, allow_null=True, min_value=0, max_value=10**9)
    accept_duplicate_provider_charges = Truth(default=False)
    accept_left_out = Truth(default=False)
    dry_run = Truth(default=False)


class RunsQuery(ListQuery):
    status = Choice(choices=RunStatus.values, required=False)
    benchmark = Text(required=False, max_length=200, help_text="A slug or a version's ID.")
    model = Text(
        required=False,
        max_length=200,
        help_text="A subject's label, the ID of a route, a connection or a recorded model, or a baseline's name.",
    )
    id_prefix = serializers.RegexField(r"^[0-9a-fA-F-]{1,36}$", required=False, help_text="The first digits of a run's ID.")


class EventsQuery(Query):
    after = WholeNumber(required=False, min_value=0, max_value=10**17, help_text="Events past this sequence.")
    type = serializers.RegexField(
        r"^[a-z_]{1,20}(\.[a-z_*]{0,20})?$", required=False, help_text="A type such as `run.started`, or a family such as `sample.*`."
    )
    tail = WholeNumber(required=False, min_value=1, max_value=MAX_LIMIT, help_text="Only the last so many.")
    limit = WholeNumber(default=MAX_LIMIT, min_value=1, max_value=MAX_LIMIT)
    cursor = serializers.RegexField(r"^[0-9]{1,18}$", required=False, help_text="`next_cursor` of the page before.")

    default_error_messages: ClassVar[dict[str, str]] = {"both": "Name one of `after`, `cursor` and `tail`."}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len({"after", "tail", "cursor"} & set(attrs)) > 1:
            self.fail("both")
        return attrs


class ResultsQuery(Query):
    version = WholeNumber(required=False, min_value=1, max_value=10**6, help_text="A result version; the latest without it.")
    include_resumed = Truth(default=False, help_text="The result of the newest run that continues this one.")
    diff = Choice(choices=("previous",), required=False, help_text="Adds the last completed run of the same version and model.")


class ExportQuery(Query):
    format = Text(default="json", max_length=20, help_text=f"One of {', '.join(EXPORT_FORMATS)}.")
    version = WholeNumber(required=False, min_value=1, max_value=10**6)
    include_resumed = Truth(default=False)
