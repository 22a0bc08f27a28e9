"""Imports from Hugging Face over HTTP."""

from typing import Any

import pytest

from imports.models import SourceImport
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.imports.hub import MMLU_FILES, NAME, TOKEN, jsonl
from tests.standins.hub import HubServer, Repo, card
from workspaces.enums import Scope
from workspaces.models import Workspace

PATH = "/v1/benchmark-imports/huggingface"
SOURCE = f"hf://{NAME}@main"
MAPPING = {"grader": "numeric", "prompt_field": "question", "answer_field": "answer"}


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, error_of(answer)["code"]


def test_import_answers_its_receipt_and_again_the_same(api: ApiClient, workspace: Workspace, hub: HubServer, hub_repo: Repo) -> None:
    made = api.post(PATH, {"source": SOURCE, "split": "test", "mapping": MAPPING})
    again = api.post(PATH, {"source": SOURCE, "config": None, "split": "test", "files": None, "token": None, "mapping": None})

    assert (made.status_code, again.status_code) == (201, 200)
    assert_stored("huggingface_imported", made.json())
    assert again.json() == made.json() | {"declaration": None}
    assert made.json()["receipt"]["commit"] == hub_repo.head
    assert "test.jsonl" not in "".join(hub.downloads()[2:])


def test_declared_file_becomes_a_benchmark(api: ApiClient, hub: HubServer) -> None:
    hub.add(NAME, {"README.md": card("cc-by-4.0"), **MMLU_FILES})
    mapping = {
        "grader": "multiple_choice",
        "prompt_field": "question",
        "answer_field": "answer",
        "choices_field": "choices",
        "grader_options": {"answer_format": "index"},
    }
    body = {"source": SOURCE, "config": "algebra", "split": "test", "mapping": mapping}
    declared = api.post(PATH, body).json()["declaration"]
    checked = api.post("/v1/private-benchmarks", declared | {"name": "Algebra", "rights_attestation": True, "dry_run": True})

    assert (checked.status_code, checked.json()["rows"]) == (200, 10)
    assert checked.json()["preview"][0]["messages"][0]["content"].endswith('Answer with one letter as "ANSWER: <letter>".')


def test_refusals_have_the_codes_and_statuses_of_the_documentation(api: ApiClient, hub: HubServer, hub_repo: Repo) -> None:
    hub.add("acme/gated", {"README.md": card("mit"), "test.jsonl": jsonl(1)}, gated="auto", readers={TOKEN})
    hub.add("acme/other", {"README.md": card("other"), "test.jsonl": jsonl(1)})
    asked: list[tuple[dict[str, Any], int, str]] = [
        ({"source": NAME, "split": "test"}, 422, "invalid_source"),
        ({"source": f"https://huggingface.co/datasets/{NAME}", "split": "test"}, 422, "invalid_source"),
        ({"source": SOURCE, "files": ["/x.csv"]}, 422, "invalid_selection"),
        ({"source": f"hf://{NAME}@gone", "split": "test"}, 422, "revision_unresolved"),
        ({"source": SOURCE}, 422, "split_required"),
        ({"source": SOURCE, "split": "x"}, 422, "unknown_split"),
        ({"source": SOURCE, "config": "x", "split": "test"}, 422, "unknown_config"),
        ({"source": SOURCE, "files": ["x.csv"]}, 422, "file_not_found"),
        ({"source": SOURCE, "files": ["x.json"]}, 422, "unsupported_format"),
        ({"source": SOURCE, "files": ["x.csv"] * 101}, 422, "too_many_files"),
        ({"source": "hf://acme/other@main", "split": "test"}, 422, "license_refused"),
        ({"source": "hf://acme/gated@main", "split": "test"}, 403, "token_required"),
        ({"source": "hf://acme/none@main", "split": "test"}, 404, "access_refused"),
        ({"source": "hf://acme/gated@main", "split": "test", "token": "hf_wrong"}, 404, "access_refused"),
        ({"source": SOURCE, "split": "test", "mapping": MAPPING | {"prompt_field": "x"}}, 422, "invalid_mapping"),
    ]
    assert [code_of(api.post(PATH, body)) for body, *_ in asked] == [(status, code) for _, status, code in asked]


def test_hub_that_is_away_is_a_bad_gateway(api: ApiClient, settings: Any) -> None:
    settings.HF_ENDPOINT = "http://127.0.0.1:9"

    assert code_of(api.post(PATH, {"source": SOURCE, "split": "test"})) == (502, "hub_unavailable")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"source": 5},
        {"source": SOURCE, "token": "x" * 501},
        {"source": SOURCE, "files": "test.csv"},
        {"source": SOURCE, "files": [1]},
        {"source": SOURCE, "files": ["a.csv"] * 1001},
        {"source": SOURCE, "mapping": {"grader": "essay", "prompt_field": "a", "answer_field": "b"}},
        {"source": SOURCE, "mapping": {"grader": "numeric"}},
        {"source": SOURCE, "mapping": {**MAPPING, "grader_options": []}},
        {"source": SOURCE, "secret": "x"},
    ],
)
def test_malformed_body_is_refused_without_asking_the_hub(api: ApiClient, hub: HubServer, body: dict[str, Any]) -> None:
    answer = api.post(PATH, body)

    assert (code_of(answer), hub.asked) == ((422, "validation_error"), [])
    assert b"xxxx" not in answer.content


def test_key_without_the_scope_may_not(workspace: Workspace, hub: HubServer) -> None:
    answer = key_client(workspace, Scope.EVAL_READ, Scope.EVAL_WRITE).post(PATH, {"source": SOURCE, "split": "test"})

    assert (code_of(answer), hub.asked) == ((403, "forbidden"), [])


def test_request_that_is_sent_twice_is_done_once(api: ApiClient, hub: HubServer, hub_repo: Repo) -> None:
    body = {"source": SOURCE, "split": "test"}
    first = api.post(PATH, body, idempotency_key="once")
    asked = len(hub.asked)
    second = api.post(PATH, body, idempotency_key="once")
    other = api.post(PATH, {"source": SOURCE, "split": "train"}, idempotency_key="once")

    assert (first.status_code, second.status_code, second.json(), len(hub.asked)) == (201, 201, first.json(), asked)
    assert code_of(other) == (409, "idempotency_key_reused")
    assert SourceImport.objects.count() == 1


def test_refused_request_may_be_sent_again_with_a_token_under_the_same_key(api: ApiClient, hub: HubServer) -> None:
    hub.add(NAME, {"README.md": card("mit"), "test.jsonl": jsonl(1)}, gated="auto", readers={TOKEN})
    body = {"source": SOURCE, "split": "test"}

    assert code_of(api.post(PATH, body, idempotency_key="k")) == (403, "token_required")
    made = api.post(PATH, {**body, "token": TOKEN}, idempotency_key="k")
    assert (made.status_code, made.json()["receipt"]["gated"]) == (201, True)
    assert TOKEN.encode() not in made.content


def test_imported_file_is_another_workspaces_nothing(api: ApiClient, foreign_api: ApiClient, hub_repo: Repo) -> None:
    declared = api.post(PATH, {"source": SOURCE, "split": "test", "mapping": MAPPING}).json()["declaration"]
    body = declared | {"name": "Sums", "rights_attestation": True, "dry_run": True}

    assert api.post("/v1/private-benchmarks", body).status_code == 200
    assert code_of(foreign_api.post("/v1/private-benchmarks", body)) == (404, "not_found")
