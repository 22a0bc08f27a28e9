"""A client of the API for tests. It checks each answer against the OpenAPI document, so that no test passes on one outside it."""

import json
import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from evalrouter_site.api.schema import openapi_text
from workspaces.actions import create_api_key
from workspaces.actors import SYSTEM
from workspaces.enums import Scope
from workspaces.models import User, Workspace

ANSWERS = Path(__file__).parent / "answers"
ALL_SCOPES = [scope.value for scope in Scope]


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    return json.loads(openapi_text())


@lru_cache(maxsize=1)
def _paths() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    found = [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), item) for path, item in document()["paths"].items()]
    return sorted(found, key=lambda pair: pair[0].pattern.count("[^/]+"))


@lru_cache(maxsize=1)
def _registry() -> Registry[Any]:
    return Registry().with_resource("urn:api", Resource.from_contents(document(), default_specification=DRAFT202012))


def check_answer(response: HttpResponse, method: str, path: str) -> None:
    """Assert that the document allows this answer at this address: its status, its content type and its body."""
    item = next((item for pattern, item in _paths() if pattern.fullmatch(path)), None)
    operation = (item or {}).get(method.lower())
    if operation is None:
        assert response.status_code in {404, 405}, f"{method} {path} is not in the document and answered {response.status_code}"
        return
    assert str(response.status_code) in operation["responses"], (
        f"{method} {path} answered {response.status_code}, which is not in the document"
    )
    assert response["X-Request-Id"]
    answer = operation["responses"][str(response.status_code)]
    if "$ref" in answer:
        answer = document()["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    if "content" not in answer:
        assert response.content == b""
        return
    media = response["Content-Type"].partition(";")[0]
    assert media in answer["content"]
    if media == "application/json":
        schema = json.loads(json.dumps(answer["content"][media]["schema"]).replace('"#/', '"urn:api#/'))
        text = b"".join(response.streaming_content) if response.streaming else response.content
        if response.streaming:
            response.streaming_content = [text]
        body = json.loads(text)
        Draft202012Validator(schema, registry=_registry(), format_checker=FormatChecker()).validate(body)


class ApiClient:
    """Asks as a key, as a person, or as nobody."""

    def __init__(self, client: Client, **headers: str) -> None:
        self.client, self.headers = client, headers

    def ask(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> HttpResponse:
        """`headers` are written as in Python: `idempotency_key="a"`."""
        sent = {name.replace("_", "-"): value for name, value in {**self.headers, **headers}.items()}
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        kind = sent.pop("content-type", "application/json")
        response = self.client.generic(method, path, data, content_type=kind, headers=sent)
        check_answer(response, method, path.partition("?")[0])
        return response

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.ask("POST", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.ask("PATCH", path, body, **headers)

    def delete(self, path: str, **headers: str) -> HttpResponse:
        return self.ask("DELETE", path, **headers)


def key_client(workspace: Workspace, *scopes: str) -> ApiClient:
    """A client with a fresh key of the workspace."""
    _, text = create_api_key(workspace, actor=SYSTEM, label="tests", scopes=scopes or ALL_SCOPES)
    return ApiClient(Client(), authorization=f"Bearer {text}")


@pytest.fixture
def api(workspace: Workspace) -> ApiClient:
    """A key of `workspace` with every scope."""
    return key_client(workspace)


@pytest.fixture
def foreign_api(other_workspace: Workspace) -> ApiClient:
    """A key of another workspace with every scope."""
    return key_client(other_workspace)


@pytest.fixture
def nobody(db: None) -> ApiClient:
    return ApiClient(Client())


@pytest.fixture
def session_api(sign_in: Callable[[User], Client]) -> Callable[[User], ApiClient]:
    """A signed-in browser, which sends its CSRF token."""

    def make(user: User) -> ApiClient:
        return ApiClient(sign_in(user))

    return make


def error_of(response: HttpResponse) -> dict[str, Any]:
    """The error of an answer."""
    return response.json()["error"]


_VARYING = {
    "id": re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    "sha256": re.compile(r"\b[0-9a-f]{64}\b"),
    "time": re.compile(r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z"),
    "key": re.compile(r"\ber_[A-Za-z0-9]{8}(?:_[A-Za-z0-9]{40})?\b"),
    "slug": re.compile(r"\b(?:sums|byob)-[0-9a-f]+\b"),
    "model": re.compile(r"\b(?:example/)?model-\d+\b"),
}
_MEASURED = {"elapsed_seconds", "latency_ms", "price_version", "next_cursor"}


def assert_stored(name: str, document: Any) -> None:
    """Assert that the answer is the one stored as `answers/<name>.json`, up to IDs, hashes and times, which are numbered as they come.

    A changed answer is a changed contract: look at the difference, then store it with `UPDATE_ANSWERS=1`.
    """
    seen: dict[str, str] = {}

    def steady(value: Any, field: str = "") -> Any:
        if isinstance(value, dict):
            return {key: steady(each, field if field in _MEASURED else key) for key, each in value.items()}
        if isinstance(value, list):
            return [steady(each) for each in value]
        if field in _MEASURED and value is not None:
            return f"<{field}>"
        if isinstance(value, str):
            for kind, pattern in _VARYING.items():
                value = pattern.sub(lambda found, kind=kind: numbered(kind, found[0]), value)
        return value

    def numbered(kind: str, text: str) -> str:
        if kind == "time":
            return "<time>"
        return seen.setdefault(text, f"<{kind} {sum(known.startswith(f'<{kind} ') for known in seen.values()) + 1}>")

    got = json.dumps(steady(document), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    stored = ANSWERS / f"{name}.json"
    if os.environ.get("UPDATE_ANSWERS"):
        stored.write_text(got)
    assert got == stored.read_text()
