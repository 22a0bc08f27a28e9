"""What is refused, and how."""

import io
import json
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from tests.api.conftest import ApiClient, error_of, key_client
from workspaces.models import Workspace

UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/v1/nothing", "/v1/runs/", "/v1/runs/nonsense", "/v1/runs/%00", "/v1/benchmarks/%ff%fe", "/v1/é"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_address_that_does_not_exist_is_answered_as_json(nobody: ApiClient, path: str, method: str) -> None:
    answer = nobody.client.generic(method, path)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/json")
    assert error_of(answer)["code"] == "not_found"
    assert error_of(answer)["request_id"] == answer["X-Request-Id"]
    assert error_of(answer)["feedback"]["request_id"] == answer["X-Request-Id"]


@pytest.mark.parametrize(
    ("path", "allowed"), [("/v1/account", "GET, HEAD"), ("/v1/runs", "GET, POST, HEAD"), (f"/v1/runs/{UNKNOWN_ID}/cancel", "POST")]
)
def test_a_verb_that_is_not_taken_is_refused_before_anything_else(nobody: ApiClient, path: str, allowed: str) -> None:
    for method in ("PUT", "OPTIONS", "TRACE", "PURGE"):
        answer = nobody.client.generic(method, path)
        assert (answer.status_code, error_of(answer)["code"], answer["Allow"]) == (405, "method_not_allowed", allowed)


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b'{"label": NaN}',
        b'{"label": "\\ud800"}',
        b"[" * 100_000,
        b'{"a": 1}{',
        b"\x00",
        b'{"label": "a\nb"}',
    ],
)
def test_a_body_that_is_not_json_is_malformed(api: ApiClient, raw: bytes) -> None:
    answer = api.ask("POST", "/v1/api-keys", raw=raw)
    assert (answer.status_code, error_of(answer)["code"]) == (400, "malformed_json")


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jso", "x"]
)
def test_a_body_of_another_type_is_unsupported(api: ApiClient, content_type: str) -> None:
    answer = api.ask("POST", "/v1/api-keys", raw=b"label=x", content_type=content_type)
    assert (answer.status_code, error_of(answer)["code"]) == (415, "unsupported_media_type")


def test_a_body_with_a_charset_is_json(api: ApiClient) -> None:
    raw = json.dumps({"label": "k", "scopes": ["eval:read"]}).encode()
    assert api.ask("POST", "/v1/api-keys", raw=raw, content_type="application/json; charset=utf-8").status_code == 201


def test_a_body_that_is_too_large_is_refused(api: ApiClient, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = api.ask("POST", "/v1/api-keys", raw=b'{"label": "' + b"x" * 1000 + b'"}')
    assert (answer.status_code, error_of(answer)["code"]) == (413, "request_too_large")
    assert error_of(answer)["details"] == {"limit_bytes": 1000}


def test_a_body_in_chunks_is_read(api: ApiClient, settings: Settings) -> None:
    def send(raw: bytes) -> Any:
        environment = {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": "", "CONTENT_TYPE": "application/json"}
        return api.client.generic("POST", "/v1/api-keys", headers=api.headers, **environment, **{"wsgi.input": io.BytesIO(raw)})

    assert send(b'{"label": "k", "scopes": ["eval:read"]}').status_code == 201
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    assert send(b'{"label": "' + b"x" * 2000).status_code == 413


@pytest.mark.parametrize("body", [None, [], "text", 1, [{}], {"label": {}}])
def test_a_body_of_another_shape_is_invalid(api: ApiClient, body: Any) -> None:
    answer = api.ask("POST", "/v1/api-keys", raw=json.dumps(body).encode())
    assert (answer.status_code, error_of(answer)["code"]) == (422, "validation_error")


def test_details_name_each_field(api: ApiClient) -> None:
    body = {"label": 7, "scopes": ["eval:read", "all"], "spend_ceiling_microusd": 1.5, "expires_at": "tomorrow", "colour": "red"}
    answer = api.post("/v1/api-keys", body)
    assert answer.status_code == 422
    assert error_of(answer)["details"] == {
        "label": ["Not a valid string."],
        "scopes.1": ['"all" is not a valid choice.'],
        "spend_ceiling_microusd": ["State money as a string of an integer of micro-USD, zero or more."],
        "expires_at": ["Datetime has wrong format. Use one of these formats instead: 2026-01-31T12:00:00Z."],
        "colour": ["Unknown field."],
    }


@pytest.mark.parametrize("amount", [1, -1, 1.0, True, "", "-1", "1.0", "1e3", " 1", "１", "9" * 17, str(10**15 + 1), [], {}])
def test_money_is_a_string_of_an_integer(api: ApiClient, amount: Any) -> None:
    answer = api.post("/v1/api-keys", {"label": "k", "scopes": ["eval:read"], "spend_ceiling_microusd": amount})
    assert (answer.status_code, list(error_of(answer)["details"])) == (422, ["spend_ceiling_microusd"])


@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-13-01T00:00:00Z",
        5,
        "2026-01-01T00:00:00Z",
    ],
)
def test_a_time_that_cannot_be_is_refused(api: ApiClient, moment: Any) -> None:
    answer = api.post("/v1/api-keys", {"label": "k", "scopes": ["eval:read"], "expires_at": moment})
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("colour=red", "colour"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=ten", "limit"),
        ("limit=1_0", "limit"),
        ("limit=%EF%BC%91", "limit"),
        ("limit=" + "9" * 5000, "limit"),
        ("limit=5&limit=6", "limit"),
        ("limit=", "limit"),
        ("cursor=", "cursor"),
        ("cursor=nonsense", "cursor"),
        ("cursor=" + "A" * 22, "cursor"),
        ("cursor=%00", "cursor"),
        ("cursor=" + "x" * 5000, "cursor"),
        ("status=asleep", "status"),
        ("status=%00", "status"),
        ("benchmark=%00", "benchmark"),
        ("id_prefix=xyz", "id_prefix"),
        ("%00=1", "\0"),
    ],
)
def test_a_parameter_that_is_wrong_is_named(api: ApiClient, query: str, field: str) -> None:
    answer = api.get(f"/v1/runs?{query}")
    assert (answer.status_code, error_of(answer)["code"], list(error_of(answer)["details"])) == (422, "validation_error", [field])


def test_a_cursor_of_another_list_is_refused(api: ApiClient, workspace: Workspace) -> None:
    for _ in range(3):
        key_client(workspace)
    cursor = api.get("/v1/api-keys?limit=1").json()["next_cursor"]
    assert api.get(f"/v1/api-keys?limit=1&cursor={cursor}").status_code == 200
    assert api.get(f"/v1/connections?limit=1&cursor={cursor}").status_code == 422


def test_a_parameter_where_none_is_taken_is_refused(api: ApiClient) -> None:
    assert error_of(api.get("/v1/account?verbose=1"))["details"] == {"verbose": ["Unknown field."]}


def test_a_nul_in_a_body_is_named(api: ApiClient) -> None:
    for body in ({"label": "a\0b"}, {"a\0": 1}, {"label": {"deep": ["x", "\0"]}}):
        answer = api.post("/v1/api-keys", body)
        assert (answer.status_code, error_of(answer)["code"]) == (422, "validation_error")
    literal = {"label": "\\u0000", "scopes": ["eval:read"]}
    assert api.post("/v1/api-keys", literal).json()["label"] == "\\u0000"


@pytest.mark.parametrize("text", ["é" * 80, "\u202e\u0007\ufffe", "🦓" * 20, "\u2028", "ﷺ" * 80])
def test_any_text_is_kept_or_refused(api: ApiClient, text: str) -> None:
    answer = api.post("/v1/api-keys", {"label": text, "scopes": ["eval:read"]})
    assert answer.status_code in {201, 422}


def test_a_failure_of_ours_is_an_envelope_without_its_words(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr("billing.api.wallet_figures", fail)
    api.client.raise_request_exception = False
    answer = api.get("/v1/billing/wallet")
    assert (answer.status_code, error_of(answer)["code"]) == (500, "internal_error")
    assert b"secret words" not in answer.content
    assert error_of(answer)["request_id"] == answer["X-Request-Id"]
    assert "secret words" in caplog.text


def test_a_host_that_is_not_ours_is_answered_as_json() -> None:
    answer = Client().get("/v1/benchmarks", headers={"Host": "elsewhere.example.org"})
    assert (answer.status_code, error_of(answer)["code"]) == (400, "malformed_request")


def test_head_answers_as_get(api: ApiClient) -> None:
    answer = api.client.head("/v1/account", headers=api.headers)
    assert (answer.status_code, answer.content) == (200, b"")


def test_accept_changes_nothing(api: ApiClient) -> None:
    for accept in ("text/html", "application/xml", "*/*", "nonsense", "image/*;q=0"):
        assert api.get("/v1/account", accept=accept)["Content-Type"] == "application/json"
