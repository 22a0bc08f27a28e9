"""What the page for old evaluations asks, read from its form or its address: everything is text, and nothing need be right yet."""

import json
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from catalog.enums import Grader
from catalog.models import BenchmarkVersion
from common.errors import Refused
from gateway.recorded import FORMATS as FORMAT_WORDS
from imports.actions.recorded import DEFAULT_TOKENS, RecordedRequest
from imports.recorded.predictions import ROLES
from imports.recorded.understanding import FORMATS

COLUMN_ROLES = ("id", "answer", "model", "correct")
"""Roles that the page asks for; a program may name more."""
CHOICES = tuple((value, FORMAT_WORDS[value]) for value in FORMATS)


@dataclass(slots=True)
class Asked:
    """The page's state."""

    format: str = ""
    benchmark: str = ""
    name: str = ""
    model: str = ""
    filter: str = ""
    scorer: str = ""
    task: str = ""
    grader_options: str = ""
    license: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    attested: bool = False

    @classmethod
    def of(cls, data: QueryDict) -> "Asked":
        """What the form or the address holds."""
        asked = cls()
        for name in ("benchmark", "name", "model", "filter", "scorer", "grader_options", "license"):
            setattr(asked, name, data.get(name, "").strip()[:2_000])
        asked.format = data.get("format", "") if data.get("format") in FORMATS else ""
        asked.task = data.get("task", "") if data.get("task") in Grader.values else ""
        asked.columns = {role: column for role in ROLES if (column := data.get(f"column_{role}", "").strip()[:500])}
        asked.attested = data.get("attested") == "on"
        return asked

    def request(self, version: BenchmarkVersion | None) -> RecordedRequest:
        """What it asks for. Raises `Refused` `invalid_grader_options` for options that are no JSON object."""
        options: dict[str, Any] = {name: value for name in ("model", "filter", "scorer") if (value := getattr(self, name))}
        if self.columns:
            options["columns"] = dict(self.columns)
        return RecordedRequest(
            format=self.format,
            options=options,
            version=version,
            name=self.name,
            task=self.task,
            grader_options=_object(self.grader_options),
            max_output_tokens=DEFAULT_TOKENS,
            data_license=self.license,
            rights_attestation=self.attested,
        )


def _object(text: str) -> dict[str, Any] | None:
    if not text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refused("invalid_grader_options", 'The options are one JSON object, such as {"extract": "last_line"}.')
    return value
