"""The OpenAPI document: stored, complete, and true of what the API answers."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from pytest_django.fixtures import Settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from evalrouter_site.api.urls import v1
from evalrouter_site.wsgi import application
from tests.api.conftest import document, key_client
from tests.factories import make_benchmark, make_connection, make_route, make_version
from workspaces.actions import create_api_key
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

STORED = Path(__file__).parent / "openapi.json"
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "0"))
"""Random requests of each operation, with every boundary value besides; without it a few random ones, for a quick look."""

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]


def test_the_document_is_the_stored_one() -> None:
    """A changed document is a changed contract: look at the difference, then store it with `UPDATE_ANSWERS=1`."""
    got = json.dumps(document(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if os.environ.get("UPDATE_ANSWERS"):
        STORED.write_text(got)
    assert got == STORED.read_text()


@pytest.mark.parametrize("path", ["/openapi.json", "/.well-known/openapi.json"])
def test_the_document_is_served_to_everyone(path: str) -> None:
    answer = Client().get(path)
    assert (answer.status_code, answer["Content-Type"], answer.json()) == (200, "application/json", document())
    assert answer.json()["openapi"] == "3.1.1"


def test_every_route_is_in_the_document() -> None:
    assert len(document()["paths"]) == len(v1) - 1  # but the one that catches the rest


def test_every_operation_can_be_made_a_function_of() -> None:
    operations = [operation for item in document()["paths"].values() for operation in item.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert all(operation["summary"] and operation["tags"] for operation in operations)


def test_every_reference_leads_somewhere() -> None:
    text = json.dumps(document())
    named = {part.partition('"')[0] for part in text.split('"$ref": "#/components/')[1:]}
    known = {f"{kind}/{name}" for kind, entries in document()["components"].items() for name in entries}
    assert named <= known


schema = schemathesis.openapi.from_wsgi("/openapi.json", application)


@pytest.fixture
def known(workspace: Workspace, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Path parameters that lead somewhere, and the header of a key that may do everything."""
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": {"api": None, "anonymous": None}}
    settings.ALLOWED_HOSTS = ["*"]
    monkeypatch.setattr(logging.getLogger("django.request"), "disabled", True)  # thousands of refusals
    make_version(make_benchmark("sums"), tasks=3)
    make_route("example/small")
    private = make_version(workspace=workspace, tasks=3)
    api = key_client(workspace)
    body = {"model": "random-choice", "benchmark": "sums", "coverage": {"mode": "full"}}
    run = api.post("/v1/runs", body, idempotency_key="a").json()
    key, _ = create_api_key(workspace, actor=SYSTEM, label="spare", scopes=["eval:read"])
    found = {
        "authorization": api.headers["authorization"],
        "run_id": run["id"],
        "quote_id": run["quote_id"],
        "workspace_id": str(workspace.public_id),
        "key_id": str(key.public_id),
        "connection_id": str(make_connection(workspace).public_id),
        "benchmark_id": private.profile_id,
        "slug": "sums",
        "upload_id": api.post("/v1/benchmark-uploads", {"files": [{"name": "a.csv", "bytes": 100}]}).json()["id"],
        "file_name": "a.csv",
    }
    # A real WSGI call would close the connection of the test's transaction. The test client has put the receivers back in place.
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield found
    for signal in signals:
        signal.connect(close_old_connections)


@schema.parametrize()
@hypothesis_settings(
    max_examples=FUZZ or 5,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate] if FUZZ else [Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_is_answered_outside_the_document(case: Any, known: dict[str, str]) -> None:
    checks = [*CHECKS, negative_data_rejection]
    if len(repr(case.query)) % 2:  # half of the requests are led to something that is there, and so may be right where they were made wrong
        case.path_parameters = {name: known.get(name, value) for name, value in (case.path_parameters or {}).items()}
        case.headers = {name: value for name, value in (case.headers or {}).items() if name.lower() != "x-workspace-id"}
        checks = CHECKS
    case.call_and_validate(headers={"Authorization": known["authorization"]}, checks=checks)
