"""Old evaluations over HTTP: upload, say what is in them, bring them in, run them, and see where the verdicts agree."""

from pathlib import Path
from typing import Any

import pytest

from catalog.models import Benchmark, BenchmarkVersion
from gateway.models import RecordedModel
from tests import factories
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.imports.recorded import FIXTURES
from workspaces.enums import Scope
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


def uploaded(api: ApiClient, *names: str) -> list[str]:
    """The files of `old_evaluations/` as sources."""
    contents = {name: (FIXTURES / name).read_bytes() for name in names}
    made = api.post("/v1/benchmark-uploads", {"files": [{"name": name, "bytes": len(each)} for name, each in contents.items()]}).json()
    for file in made["files"]:
        path = "/v1/" + file["upload_url"].partition("/v1/")[2]
        assert api.ask("PUT", path, raw=contents[file["name"]], content_type="application/octet-stream").status_code == 200
    completed = api.post(f"/v1/benchmark-uploads/{made['id']}/complete").json()
    return [file["source"] for file in completed["files"]]


def all_pages(api: ApiClient, path: str) -> list[dict[str, Any]]:
    """The rows of all pages of the list."""
    rows, cursor = [], ""
    while True:
        page = api.get(f"{path}&cursor={cursor}" if cursor else path).json()
        rows += page["data"]
        if not (cursor := page["next_cursor"]):
            return rows


def predictions(api: ApiClient, version: BenchmarkVersion, **more: Any) -> Any:
    body = {"sources": uploaded(api, "predictions.csv"), "format": "predictions", "benchmark": version.profile_id}
    return api.post("/v1/recorded-models", {**body, "rights_attestation": True, **more})


def test_dry_run_says_what_was_understood_and_creates_nothing(api: ApiClient) -> None:
    sources = uploaded(api, "openai_eval.json", "openai_items.jsonl")
    answer = api.post("/v1/recorded-models", {"sources": sources, "dry_run": True})
    assert answer.status_code == 200
    document = answer.json()
    document["benchmark"]["source"] = {}
    assert_stored("recorded_report", document)
    assert (RecordedModel.objects.count(), Benchmark.objects.count()) == (0, 0)


def test_old_evaluation_becomes_a_benchmark_with_its_answers(api: ApiClient, foreign_api: ApiClient) -> None:
    sources = uploaded(api, "openai_eval.json", "openai_items.jsonl")
    answer = api.post("/v1/recorded-models", {"sources": sources, "rights_attestation": True, "name": "Rivers of old"})
    assert answer.status_code == 201
    made = answer.json()
    assert [(each["name"], each["answers"], each["profile_id"]) for each in made["recorded_models"]] == [
        ("example/a", 3, made["profile_id"]),
        ("b on rivers", 4, made["profile_id"]),
    ]
    detail = api.get(f"/v1/recorded-models/{made['recorded_models'][1]['id']}").json()
    assert detail["agreement"] == {
        "counts": {"both_right": 2, "both_wrong": 1, "only_ours": 0, "only_theirs": 1, "ours_unreadable": 0, "no_old_verdict": 0},
        "compared": 4,
        "agreeing": 3,
        "ours_right": 2,
        "theirs_right": 3,
    }
    [only] = api.get(f"/v1/recorded-models/{detail['id']}/agreement?agreement=only_theirs").json()["data"]
    assert only == {
        "task_id": "0",
        "agreement": "only_theirs",
        "was_correct": True,
        "old_extracted": None,
        "correct": False,
        "extracted": "Ebbing.",
        "text": "Ebbing.",
        "finish_reason": "stop",
    }
    for path in (f"/v1/recorded-models/{detail['id']}", f"/v1/recorded-models/{detail['id']}/agreement"):
        assert foreign_api.get(path).status_code == 404
    assert foreign_api.get("/v1/recorded-models").json()["data"] == []
    model = {"kind": "recorded", "recorded_model_id": detail["id"]}
    quoted = api.post("/v1/quotes", {"model": model, "benchmark": made["profile_id"], "coverage": {"mode": "full"}}).json()
    assert quoted["plan"]["subjects"][0]["model"] == {**model, "name": "b on rivers", "answers": 4}


def test_predictions_are_added_to_a_benchmark_and_listed_in_pages(api: ApiClient, version: BenchmarkVersion) -> None:
    answer = predictions(api, version)
    assert [(each["name"], each["answers"]) for each in answer.json()["recorded_models"]] == [("first", 3), ("second", 1)]
    listed = all_pages(api, f"/v1/recorded-models?limit=1&benchmark={version.profile_id}")
    assert sorted(each["name"] for each in listed) == ["first", "second"]
    first = next(each for each in listed if each["name"] == "first")
    answers = all_pages(api, f"/v1/recorded-models/{first['id']}/agreement?limit=2")
    assert [(each["task_id"], each["agreement"]) for each in answers] == [
        ("t0", "both_right"),
        ("t1", "both_wrong"),
        ("t2", "ours_unreadable"),
    ]
    again = predictions(api, version)
    assert (again.status_code, error_of(again)["code"], error_of(again)["details"]) == (
        409,
        "recorded_model_exists",
        {"names": ["first", "second"]},
    )


def test_archived_models_are_listed_when_asked_for(api: ApiClient, version: BenchmarkVersion) -> None:
    [first, second] = predictions(api, version).json()["recorded_models"]
    assert api.post(f"/v1/recorded-models/{first['id']}/archive").json()["archived_at"] is not None
    assert [each["id"] for each in api.get("/v1/recorded-models").json()["data"]] == [second["id"]]
    assert len(api.get("/v1/recorded-models?archived=true").json()["data"]) == 2


@pytest.mark.parametrize(
    ("files", "body", "code"),
    [
        (["predictions.csv"], {"format": "predictions"}, "recorded_benchmark_needed"),
        (["oaieval.jsonl"], {}, "recorded_grader_needed"),
        (["oaieval.jsonl"], {"rights_attestation": False}, "byob_rights_not_attested"),
        (["oaieval.jsonl"], {"benchmark": "nothing@1"}, "benchmark_not_found"),
        (["oaieval.jsonl"], {"task": "numeric"}, "byob_invalid_rows"),
        (["oaieval.jsonl"], {"task": "regex_match"}, "invalid_grader_options"),
        (["oaieval.jsonl"], {"columns": {"who": "x"}}, "validation_error"),
        (["promptfooconfig.yaml"], {"format": "inspect"}, "recorded_unreadable_file"),
    ],
)
def test_refusals(api: ApiClient, files: list[str], body: dict[str, Any], code: str) -> None:
    answer = api.post("/v1/recorded-models", {"sources": uploaded(api, *files), "rights_attestation": True, **body})
    assert (answer.status_code, error_of(answer)["code"]) == (422, code)
    assert (RecordedModel.objects.count(), Benchmark.objects.count()) == (0, 0)


def test_a_grader_that_is_named_is_taken(api: ApiClient) -> None:
    body = {"sources": uploaded(api, "oaieval.jsonl"), "rights_attestation": True, "task": "exact_match"}
    [model] = api.post("/v1/recorded-models", body).json()["recorded_models"]
    counts = api.get(f"/v1/recorded-models/{model['id']}").json()["agreement"]["counts"]
    assert (counts["both_right"], counts["both_wrong"]) == (2, 1)


def test_a_key_that_only_reads_brings_nothing_in(workspace: Workspace, version: BenchmarkVersion) -> None:
    reader = key_client(workspace, Scope.EVAL_READ)
    assert reader.post("/v1/recorded-models", {"sources": ["workspace://x"]}).status_code == 403
    model = factories.make_recorded_model(version, {"t0": "0"}, workspace=workspace)
    assert reader.get(f"/v1/recorded-models/{model.public_id}").status_code == 200
    assert reader.post(f"/v1/recorded-models/{model.public_id}/archive").status_code == 403


def test_sources_of_another_workspace_are_not_there(api: ApiClient, foreign_api: ApiClient) -> None:
    sources = uploaded(api, "oaieval.jsonl")
    answer = foreign_api.post("/v1/recorded-models", {"sources": sources, "dry_run": True})
    assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")


def test_the_same_request_under_a_key_brings_it_in_once(api: ApiClient) -> None:
    body = {"sources": uploaded(api, "oaieval.jsonl"), "rights_attestation": True, "task": "exact_match"}
    first, second = (api.post("/v1/recorded-models", body, idempotency_key="once") for _ in range(2))
    assert (first.json(), RecordedModel.objects.count()) == (second.json(), 1)


def test_fixture_files_are_described() -> None:
    assert "CC0-1.0" in Path(FIXTURES, "README.md").read_text(encoding="utf-8")
