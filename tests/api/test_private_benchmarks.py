"""Making private benchmarks over HTTP: dry run, creation once, what is refused and under which code, and what another workspace sees."""

import io
import json
import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection, connections
from django.db.models import ProtectedError
from django.http import HttpResponse
from django.utils import timezone
from pytest_django.fixtures import Settings

from catalog.actions import archive_benchmark
from catalog.models import Benchmark, BenchmarkVersion, DataFile, Task
from catalog.queries import manifest_of
from catalog.storing import store_file
from common.models import IdempotentAnswer
from imports.enums import SourceKind
from imports.models import SourceFile, SourceImport
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from tests.api.test_uploads import begun, completed, refusal
from tests.factories import make_benchmark
from tests.imports.files import SUMS, json_lines
from tests.standins.github import GithubServer
from workspaces.actors import SYSTEM
from workspaces.enums import Scope
from workspaces.models import User, Workspace

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ROWS = json_lines(*({"id": n, "question": f"What is {n} + {n}?", "answer": 2 * n} for n in range(1, 5)))


def manifest(source: str, **changes: Any) -> dict[str, Any]:
    return {**SUMS, "source": source, **changes}


def create(api: ApiClient, source: str, **changes: Any) -> HttpResponse:
    return api.post("/v1/private-benchmarks", manifest(source, **changes))


def dry_run(api: ApiClient, source: str, **changes: Any) -> HttpResponse:
    return create(api, source, dry_run=True, **changes)


def source_of(api: ApiClient, content: bytes = ROWS, name: str = "sums.jsonl") -> str:
    return str(completed(api, content, name)["source"])


def fetched(
    workspace: Workspace, kind: SourceKind, *, license: str = "", path: str = "data/test.jsonl", content: bytes = ROWS
) -> SourceFile:
    """A file as an import from the Hub or from GitHub leaves it."""
    taken = SourceImport.objects.create(
        workspace=workspace,
        kind=kind,
        repository="owner/name",
        commit=COMMIT,
        selection_sha256="0" * 64,
        license=license,
        receipt="{}",
        sha256="1" * 64,
    )
    stored = store_file(workspace, path.rpartition("/")[2], io.BytesIO(ROWS))
    return SourceFile.objects.create(source_import=taken, path=path, content=stored)


def pinned(file: SourceFile) -> dict[str, Any]:
    return {"source_sha256": file.content.sha256, "source_bytes": file.content.bytes}


# ── The way it goes ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_dry_run_tells_what_would_be_and_creates_nothing(api: ApiClient) -> None:
    answer = dry_run(api, source_of(api))
    assert (answer.status_code, Benchmark.objects.count()) == (200, 0)
    assert_stored("private_benchmark_dry_run", answer.json())


def test_a_benchmark_is_created_read_and_listed(api: ApiClient, workspace: Workspace) -> None:
    answer = create(api, source_of(api), description="Small ones.", system_prompt="Answer with a number.\n")
    made = answer.json()
    assert answer.status_code == 201
    steady = json.loads(re.sub(r"(20[0-9-]+T[0-9:]+)\+00:00", r"\1Z", json.dumps(made)))
    assert_stored("private_benchmark_created", steady)
    version = BenchmarkVersion.objects.get()
    assert (made["id"], version.task_count, manifest_of(version)["system_prompt"]) == (version.profile_id, 4, "Answer with a number.\n")
    shown = api.get(f"/v1/private-benchmarks/{made['id']}").json()
    assert {key: made[key] for key in shown} == shown
    assert api.get("/v1/private-benchmarks").json()["data"] == [shown]


def test_a_person_who_creates_it_stands_on_it(
    workspace: Workspace, member: User, session_api: Any, api: ApiClient, nobody: ApiClient
) -> None:
    made = create(session_api(member), source_of(api)).json()
    assert (made["created_by"], made["created_at"][:4]) == (str(member.public_id), str(timezone.now().year))
    listed = api.get("/v1/evals?include_private=true&catalog_view=true&private_only=true").json()["data"]
    assert [(each["profile_id"], each["created_by"]) for each in listed] == [(made["id"], str(member.public_id))]


def test_a_source_makes_several_benchmarks(api: ApiClient) -> None:
    source = source_of(api)
    made = [create(api, source).json()["id"] for _ in range(2)]
    assert (len(set(made)), DataFile.objects.count()) == (2, 1)


def test_a_benchmark_outlives_the_archiving_of_its_source(api: ApiClient) -> None:
    source = source_of(api)
    made = create(api, source).json()
    api.post(f"/v1/benchmark-uploads/{source.split('/')[2]}/archive")
    assert refusal(create(api, source)) == (409, "source_archived")
    assert api.get(f"/v1/private-benchmarks/{made['id']}").json()["task_count"] == 4
    with pytest.raises(ProtectedError):
        DataFile.objects.all().delete()


def test_an_idempotency_key_creates_once(api: ApiClient) -> None:
    source = source_of(api)
    answers = [api.post("/v1/private-benchmarks", manifest(source), idempotency_key="a") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert (answers[0].json(), Benchmark.objects.count()) == (answers[1].json(), 1)
    other = api.post("/v1/private-benchmarks", manifest(source, name="Other"), idempotency_key="a")
    assert refusal(other) == (409, "idempotency_key_reused")


def test_the_answer_is_kept_exactly_when_the_benchmark_is(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies right after the commit has kept its answer: whoever asks again is given it, and nothing is made twice."""
    source = source_of(api)

    class Died(BaseException):
        pass

    def die(_version: BenchmarkVersion) -> None:
        raise Died

    monkeypatch.setattr("imports.actions.benchmarks.record_health", die)
    with pytest.raises(Died):
        api.post("/v1/private-benchmarks", manifest(source), idempotency_key="a")
    monkeypatch.undo()
    again = api.post("/v1/private-benchmarks", manifest(source), idempotency_key="a")
    assert (again.status_code, again.json()["id"]) == (201, BenchmarkVersion.objects.get().profile_id)


def test_a_failure_before_the_commit_frees_the_key(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(api)

    def fail(*_args: Any, **_fields: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("imports.actions.benchmarks.publish_version", fail)
    with pytest.raises(OSError, match="no space"):  # answered with 500; the test client raises it
        api.post("/v1/private-benchmarks", manifest(source), idempotency_key="a")
    assert (Benchmark.objects.count(), IdempotentAnswer.objects.count()) == (0, 0)
    monkeypatch.undo()
    assert api.post("/v1/private-benchmarks", manifest(source), idempotency_key="a").status_code == 201


# ── From the Hub and GitHub ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("kind", "scheme"), [(SourceKind.HUGGINGFACE, "hf"), (SourceKind.GITHUB, "github")])
def test_a_fetched_file_is_named_at_its_commit_with_its_hash(
    kind: SourceKind, scheme: str, api: ApiClient, foreign_api: ApiClient, workspace: Workspace, github: GithubServer
) -> None:
    github.add("owner/name", {})
    file = fetched(workspace, kind)
    uri = f"{scheme}://owner/name@{COMMIT}/data/test.jsonl"
    assert file.uri == uri
    made = create(api, uri, **pinned(file)).json()
    recorded = {key: made["source"][key] for key in ("kind", "uri", "repository", "commit", "path", "receipt_sha256", "name")}
    assert recorded == {
        "kind": str(kind),
        "uri": uri,
        "repository": "owner/name",
        "commit": COMMIT,
        "path": "data/test.jsonl",
        "receipt_sha256": "1" * 64,
        "name": "test.jsonl",
    }
    unpinned = create(api, uri)
    assert refusal(unpinned) == (422, "invalid_private_benchmark")
    assert error_of(unpinned)["details"] == {"keys": ["source_sha256", "source_bytes"], "code": "source_not_pinned"}
    assert refusal(create(api, "https://example.org/test.jsonl")) == (422, "invalid_source")
    wrong = create(api, uri, **{**pinned(file), "source_bytes": 1})
    assert refusal(wrong) == (422, "source_mismatch")
    assert refusal(create(api, uri, **{**pinned(file), "source_sha256": "0" * 64})) == (422, "source_mismatch")
    assert refusal(create(api, f"{scheme}://owner/name@main/data/test.jsonl", **pinned(file))) == (422, "invalid_source")
    assert refusal(create(api, f"{scheme}://owner/name@{COMMIT}/data/other.jsonl", **pinned(file))) == (404, "not_found")
    assert refusal(create(foreign_api, uri, **pinned(file))) == (404, "not_found")


def test_the_verified_license_of_the_hub_is_kept(api: ApiClient, workspace: Workspace) -> None:
    file = fetched(workspace, SourceKind.HUGGINGFACE, license="cc-by-4.0")
    made = create(api, file.uri, data_license="MIT", **pinned(file)).json()
    assert (made["license"], made["versions"][0]["rights"]["license"]) == ("cc-by-4.0", "cc-by-4.0")


def test_rows_past_the_limit_are_refused_by_where_they_come_from(api: ApiClient, workspace: Workspace, settings: Settings) -> None:
    uploaded, file = source_of(api), fetched(workspace, SourceKind.HUGGINGFACE)
    settings.BENCHMARK_MAX_ROWS = 3
    assert refusal(create(api, uploaded)) == (413, "upload_row_limit")
    assert refusal(create(api, file.uri, **pinned(file))) == (413, "import_row_limit")


# ── Refusals ────────────────────────────────────────────────────────────────────────────────────────────────────────


def told(answer: HttpResponse) -> tuple[int, str, str]:
    return (*refusal(answer), error_of(answer)["details"].get("code", ""))


def test_a_row_that_cannot_be_used_is_named_with_its_reason(api: ApiClient) -> None:
    rows = json_lines({"question": "a", "answer": 1}, {"question": ["b"], "answer": 2}, {"question": "c", "answer": "many"})
    for answer in (dry_run(api, source := source_of(api, rows)), create(api, source)):
        assert told(answer) == (422, "invalid_private_benchmark", "byob_invalid_rows")
        assert [(row["row"], row["message"]) for row in error_of(answer)["details"]["rows"]] == [
            (2, "column 'question' must be text or a number, not a list"),
            (3, "the answer 'many' is not a number"),
        ]
        assert "Row 2 (line 2): column 'question' must be text or a number, not a list." in error_of(answer)["message"]
    assert Benchmark.objects.count() == 0


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"columns": {"question": "question", "answer": "result"}}, "byob_missing_column"),
        ({"columns": {"question": "question"}}, "byob_invalid_manifest"),
        ({"rights_attestation": False}, "byob_rights_not_attested"),
        ({"prompt_template": "no placeholder"}, "missing_placeholder"),
        ({"task": "regex_match", "grader_options": {"pattern": "(?=x)"}}, "invalid_pattern"),
        ({"format": "parquet"}, "byob_unreadable_file"),
        ({"encoding": "klingon"}, "byob_invalid_manifest"),
    ],
)
def test_what_is_wrong_with_a_manifest_is_one_code_with_the_inner_one(changes: dict[str, Any], code: str, api: ApiClient) -> None:
    answer = dry_run(api, source_of(api), **changes)
    assert told(answer) == (422, "invalid_private_benchmark", code)


def test_duplicate_ids_are_listed(api: ApiClient) -> None:
    answer = dry_run(api, source_of(api, ROWS + ROWS), columns={**SUMS["columns"], "id": "id"})  # type: ignore[dict-item]
    assert told(answer) == (422, "invalid_private_benchmark", "byob_duplicate_id")
    assert error_of(answer)["details"]["duplicates"][0] == {"id": "1", "rows": [1, 5]}


def test_a_file_of_the_callers_machine_is_refused_in_words(api: ApiClient) -> None:
    answer = create(api, source_of(api), data="sums.jsonl")
    assert refusal(answer) == (422, "validation_error")
    assert error_of(answer)["details"] == {
        "data": ["It names a file of your machine. Upload the file (POST /v1/benchmark-uploads) and name it as source."]
    }


def test_a_key_that_is_not_known_is_refused(api: ApiClient) -> None:
    answer = create(api, source_of(api), answer_pattrn="x")
    assert (refusal(answer), error_of(answer)["details"]) == ((422, "validation_error"), {"answer_pattrn": ["Unknown field."]})


def test_sources_that_are_not_there_are_not_found(api: ApiClient, foreign_api: ApiClient) -> None:
    theirs = source_of(foreign_api)
    opened = begun(api)
    assert refusal(create(api, "workspace://00000000-0000-4000-8000-000000000000/sums.jsonl")) == (404, "not_found")
    assert refusal(create(api, "workspace://nonsense")) == (404, "not_found")
    assert refusal(create(api, theirs)) == (404, "not_found")
    assert refusal(create(api, theirs + "x")) == (404, "not_found")
    assert refusal(create(api, "s3://bucket/key", source_sha256="0" * 64, source_bytes=1)) == (422, "invalid_source")
    assert refusal(create(api, f"workspace://{opened['id']}/sums.jsonl")) == (409, "upload_not_completed")
    assert refusal(create(foreign_api, f"workspace://{opened['id']}/sums.jsonl")) == (404, "not_found")


def test_what_is_known_of_an_upload_is_checked(api: ApiClient) -> None:
    source = source_of(api)
    assert refusal(dry_run(api, source, source_bytes=len(ROWS) + 1)) == (422, "source_mismatch")
    assert dry_run(api, source, source_bytes=len(ROWS)).status_code == 200
    assert dry_run(api, source.rpartition("/")[0]).status_code == 200


def test_a_file_too_large_for_a_benchmark_stays_a_source(api: ApiClient, settings: Settings) -> None:
    settings.BENCHMARK_MAX_BYTES = 100
    answer = create(api, source_of(api))
    assert refusal(answer) == (413, "private_benchmark_too_large")
    assert error_of(answer)["details"] == {"bytes": len(ROWS), "limit": 100}


def test_a_damaged_copy_is_never_used(api: ApiClient, workspace: Workspace) -> None:
    source = source_of(api)
    key = DataFile.objects.get().storage_key
    with default_storage.open(key, "r+b") as file:
        file.write(b"x")
    assert refusal(create(api, source)) == (409, "source_damaged")
    default_storage.delete(key)
    assert refusal(create(api, source)) == (409, "source_damaged")


def test_limits_of_benchmarks_have_their_kinds(api: ApiClient, workspace: Workspace, settings: Settings) -> None:
    source = source_of(api)
    made = [make_benchmark(workspace=workspace) for _ in range(10)]
    answer = create(api, source)
    assert (refusal(answer), error_of(answer)["details"]) == (
        (409, "private_benchmark_limit"),
        {"limit_kind": "created_per_day", "limit": 10},
    )
    assert dry_run(api, source).status_code == 200
    Benchmark.objects.update(created_at=timezone.now() - timedelta(days=2))
    settings.BENCHMARKS_ACTIVE = 10
    answer = create(api, source)
    assert error_of(answer)["details"] == {"limit_kind": "active_benchmarks", "limit": 10}
    archive_benchmark(made[0], actor=SYSTEM)
    assert create(api, source).status_code == 201


# ── Rows that hold their own answer ─────────────────────────────────────────────────────────────────────────────────

ANSWER = "a rather long answer of a row"
LEAKING = json_lines(
    {"question": "one", "answer": "one is the first of all numbers"},
    {"question": f"two: {ANSWER}", "answer": ANSWER},
    {"question": "three", "answer": "three is a number after two"},
)
EXACT = {"task": "exact_match"}


def test_rows_with_their_own_answer_are_refused_and_listed(api: ApiClient) -> None:
    answer = dry_run(api, source_of(api, LEAKING), **EXACT)
    assert refusal(answer) == (422, "byob_answer_in_input")
    assert error_of(answer)["details"]["rows"] == [
        {
            "row": 2,
            "line": 2,
            "column": "question",
            "code": "byob_answer_in_input",
            "message": "column 'question', delivered as {question}, holds the row's own answer",
        }
    ]
    assert "leave_out_leaking_rows" in error_of(answer)["message"]


def test_rows_with_their_own_answer_are_left_out_where_the_manifest_says_so_and_never_unseen(api: ApiClient) -> None:
    source = source_of(api, LEAKING)
    report = dry_run(api, source, **EXACT, leave_out_leaking_rows=True).json()
    listed = {
        "row": 2,
        "task_id": "2",
        "column": "question",
        "message": "column 'question', delivered as {question}, holds the row's own answer",
    }
    assert (report["rows"], [warned["code"] for warned in report["warnings"]]) == (2, ["byob_rows_left_out"])
    assert report["left_out"] == {"reason": "byob_answer_in_input", "count": 1, "rows": [2], "listed": [listed]}
    made = create(api, source, **EXACT, leave_out_leaking_rows=True).json()
    assert (made["rows"], made["left_out"]) == (2, {"reason": "byob_answer_in_input", "count": 1, "rows": [2]})
    version = BenchmarkVersion.objects.get()
    assert list(Task.objects.filter(version=version).values_list("task_id", "ordinal")) == [("1", 0), ("3", 1)]
    assert json.loads(version.manifest)["source"]["left_out"] == made["left_out"]
    assert json.loads(version.manifest)["source"]["rows"] == 2


def test_nothing_is_left_out_where_no_row_leaks(api: ApiClient) -> None:
    made = create(api, source_of(api), leave_out_leaking_rows=True).json()
    assert (made["left_out"], "left_out" in made["source"]) == (None, False)


def test_a_mapping_that_leaks_in_every_row_is_refused_all_the_same(api: ApiClient) -> None:
    rows = json_lines(*({"question": f"{n} {ANSWER}", "answer": f"{n} {ANSWER}"} for n in range(3)))
    answer = create(api, source_of(api, rows), **EXACT, leave_out_leaking_rows=True)
    assert refusal(answer) == (422, "byob_answer_in_input")


# ── Who may ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_viewer_and_a_key_without_the_scope_may_not(workspace: Workspace, viewer: User, session_api: Any, api: ApiClient) -> None:
    source = source_of(api)
    for client in (session_api(viewer), key_client(workspace, Scope.EVAL_WRITE, Scope.EVAL_READ)):
        assert refusal(create(client, source)) == (403, "forbidden")
        assert refusal(dry_run(client, source)) == (403, "forbidden")
        assert client.get("/v1/private-benchmarks").status_code == 200


def test_capabilities_are_those_of_the_workspace(api: ApiClient, workspace: Workspace) -> None:
    answer = api.get("/v1/benchmark-imports/capabilities")
    assert (answer["Cache-Control"], answer.json()["workspace_id"], answer.json()["github"]) == (
        "no-store",
        str(workspace.public_id),
        False,
    )
    assert answer.json()["limits"] == {"max_file_bytes": 2**28, "max_benchmark_bytes": 2**26, "max_rows": 100_000, "max_files": 8}


# ── Two at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(connection.vendor != "postgresql", reason="a race, on PostgreSQL")
@pytest.mark.django_db(transaction=True)
def test_of_two_at_the_last_place_one_is_created(api: ApiClient, workspace: Workspace, settings: Settings) -> None:
    settings.BENCHMARKS_ACTIVE = 1
    source = source_of(api)
    barrier, found = threading.Barrier(2), []

    def ask() -> None:
        barrier.wait()
        try:
            found.append(create(key, source).status_code)
        finally:
            connections.close_all()

    key = api
    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(found), Benchmark.objects.count()) == ([201, 409], 1)
