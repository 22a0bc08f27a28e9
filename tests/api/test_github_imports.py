"""Imports from GitHub over HTTP."""

from typing import Any

import pytest

from imports.models import GithubInstallation, SourceImport
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.imports.github import NAME, PATH
from tests.standins.github import GithubServer, Repo
from workspaces.enums import Scope
from workspaces.models import Workspace

BASE = "/v1/benchmark-imports/github"
MANIFEST = {
    "name": "Sums",
    "task": "numeric",
    "columns": {"question": "question", "answer": "answer"},
    "prompt_template": "{question}",
    "rights_attestation": True,
}


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, error_of(answer)["code"]


def imported(api: ApiClient, repo: Repo, **named: Any) -> dict[str, Any]:
    answer = api.post(BASE, {"repository": repo.name, "revision": repo.head, "path": PATH} | named)
    assert answer.status_code == 201
    return answer.json()


def manifest_of(made: dict[str, Any], **changes: Any) -> dict[str, Any]:
    file = made["receipt"]["files"][0]
    return MANIFEST | {"source": file["source"], "source_sha256": file["sha256"], "source_bytes": file["bytes"]} | changes


def test_three_steps_to_a_benchmark(api: ApiClient, foreign_api: ApiClient, github: GithubServer, github_repo: Repo) -> None:
    github_repo.tags["v1"] = github_repo.head
    refs = api.post(f"{BASE}/refs", {"repository": NAME})
    looked = api.post(f"{BASE}/preview", {"repository": NAME, "revision": "v1", "path": PATH})
    body = {"repository": NAME, "revision": looked.json()["commit_sha"], "path": PATH}
    made, again = api.post(BASE, body), api.post(BASE, body)

    assert [answer["Cache-Control"] for answer in (refs, looked, made)] == ["no-store"] * 3
    assert (refs.status_code, looked.status_code, made.status_code, again.status_code) == (200, 200, 201, 200)
    assert_stored("github_refs", refs.json())
    assert_stored("github_preview", looked.json())
    assert_stored("github_imported", made.json())
    assert (again.json(), github.downloads()) == (made.json(), 2)
    created = api.post("/v1/private-benchmarks", manifest_of(made.json()))
    assert (created.status_code, created.json()["source"]["commit"], created.json()["task_count"]) == (201, github_repo.head, 10)
    assert code_of(foreign_api.post("/v1/private-benchmarks", manifest_of(made.json()))) == (404, "not_found")


def test_capabilities_say_whether_it_is_available(api: ApiClient, github: GithubServer, settings: Any) -> None:
    assert api.get("/v1/benchmark-imports/capabilities").json()["github"] is True
    settings.GITHUB_IMPORTS = False
    assert api.get("/v1/benchmark-imports/capabilities").json()["github"] is False
    bodies = {"/refs": {"repository": NAME}, "/preview": {"repository": NAME, "path": PATH}}
    for path, body in bodies.items():
        assert code_of(api.post(BASE + path, body)) == (403, "github_imports_disabled")
    assert code_of(api.post(BASE, {"repository": NAME, "path": PATH, "revision": "0" * 40})) == (403, "github_imports_disabled")


def test_source_needs_availability_and_access_when_a_benchmark_is_made(
    api: ApiClient, github: GithubServer, github_repo: Repo, settings: Any
) -> None:
    body = manifest_of(imported(api, github_repo))
    github_repo.private = True
    assert code_of(api.post("/v1/private-benchmarks", body)) == (404, "access_refused")
    assert code_of(api.post("/v1/private-benchmarks", body | {"dry_run": True})) == (404, "access_refused")
    recorded = {"sources": [body["source"]], "format": "predictions", "rights_attestation": True}
    assert code_of(api.post("/v1/recorded-models", recorded)) == (404, "access_refused")
    assert code_of(api.post("/v1/recorded-models", recorded | {"dry_run": True})) == (404, "access_refused")
    settings.GITHUB_IMPORTS = False
    assert code_of(api.post("/v1/private-benchmarks", body)) == (403, "github_imports_disabled")
    assert code_of(api.post("/v1/recorded-models", recorded)) == (403, "github_imports_disabled")
    settings.GITHUB_IMPORTS, settings.GITHUB_API_URL = True, "http://127.0.0.1:9"
    assert code_of(api.post("/v1/private-benchmarks", body)) == (502, "github_unavailable")


def test_private_repository_needs_both_identifiers_and_its_connection(
    api: ApiClient, foreign_api: ApiClient, github_app: GithubServer, github_connection: GithubInstallation
) -> None:
    repo = github_app.repos["acme/secret"]
    ids = {"github_connection_id": str(github_connection.public_id), "github_repository_id": repo.id}
    assert code_of(api.post(f"{BASE}/refs", {"repository": repo.name})) == (404, "access_refused")
    assert code_of(api.post(f"{BASE}/refs", {"github_repository_id": repo.id})) == (422, "invalid_source")
    assert api.post(f"{BASE}/refs", ids).json()["private"] is True
    assert api.post(f"{BASE}/preview", ids | {"path": PATH}).json()["commit_sha"] == repo.head
    assert code_of(foreign_api.post(f"{BASE}/refs", ids)) == (404, "access_refused")
    body = manifest_of(imported(api, repo, repository="", **ids), dry_run=True)
    assert api.post("/v1/private-benchmarks", body).status_code == 200
    github_app.installations[github_connection.installation_id].repositories.clear()
    assert code_of(api.post("/v1/private-benchmarks", body)) == (404, "access_refused")


def test_refusals_have_codes_and_statuses(api: ApiClient, github: GithubServer, github_repo: Repo) -> None:
    named = {"repository": NAME, "revision": github_repo.head}
    asked: list[tuple[dict[str, Any], int, str]] = [
        (named | {"path": "linked.csv"}, 422, "file_refused"),
        (named | {"path": "none.csv"}, 422, "file_not_found"),
        (named | {"path": "x.json"}, 422, "unsupported_format"),
        (named | {"path": "../x.csv"}, 422, "invalid_selection"),
        (named | {"path": PATH, "revision": "main"}, 422, "invalid_source"),
        (named | {"path": PATH, "revision": "0" * 40}, 422, "revision_unresolved"),
        (named | {"path": PATH, "repository": "acme/none"}, 404, "access_refused"),
        ({"path": PATH, "revision": github_repo.head}, 422, "invalid_source"),
    ]
    assert [code_of(api.post(BASE, body)) for body, *_ in asked] == [(status, code) for _, status, code in asked]
    assert SourceImport.objects.count() == 0


@pytest.mark.parametrize("body", [{}, {"path": 5, "revision": "x"}, {"path": PATH}, {"path": PATH, "revision": "x", "token": "t"}])
def test_malformed_body_is_refused(api: ApiClient, github: GithubServer, body: dict[str, Any]) -> None:
    assert (api.post(BASE, body).status_code, github.asked) == (422, [])


def test_key_without_the_scope_may_not(workspace: Workspace, github: GithubServer) -> None:
    client = key_client(workspace, Scope.EVAL_READ, Scope.EVAL_WRITE)
    assert code_of(client.post(f"{BASE}/refs", {"repository": NAME})) == (403, "forbidden")
    assert github.asked == []
