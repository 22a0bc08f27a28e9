"""Uploads over HTTP: begun, sent in one piece or several, completed, listed, archived; and every way to be refused."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.http import HttpResponse
from django.utils import timezone
from pytest_django.fixtures import Settings

from billing.models import Wallet
from imports.enums import UploadStatus
from imports.models import StorageReservation, Upload, UploadFile
from imports.storage import reserve, reserved_bytes, used_bytes
from tests.api.conftest import ApiClient, assert_stored, error_of, key_client
from workspaces.actors import SYSTEM
from workspaces.enums import Scope
from workspaces.models import AuditEntry, User, Workspace

ROWS = b'{"question": "a", "answer": 1}\n{"question": "b", "answer": 2}\n'


def begun(api: ApiClient, content: bytes = ROWS, name: str = "sums.jsonl") -> dict[str, Any]:
    return api.post("/v1/benchmark-uploads", {"files": [{"name": name, "bytes": len(content)}]}).json()


def path_of(upload: dict[str, Any], number: int = 0) -> str:
    return upload["files"][number]["upload_url"].removeprefix("http://testserver")


def put(api: ApiClient, upload: dict[str, Any], content: bytes = ROWS, number: int = 0, **headers: str) -> HttpResponse:
    return api.ask("PUT", path_of(upload, number), raw=content, content_type="application/octet-stream", **headers)


def completed(api: ApiClient, content: bytes = ROWS, name: str = "sums.jsonl") -> dict[str, Any]:
    upload = begun(api, content, name)
    assert put(api, upload, content).status_code == 200
    answer = api.post(f"/v1/benchmark-uploads/{upload['id']}/complete")
    assert answer.status_code == 200, answer.content
    return answer.json()


def staged(upload: dict[str, Any]) -> list[str]:
    """What lies in the storage for an upload that is not completed."""
    try:
        folders, _ = default_storage.listdir(f"staging/{upload['id']}")
    except FileNotFoundError:
        return []
    return [name for folder in folders for name in default_storage.listdir(f"staging/{upload['id']}/{folder}")[1]]


def stored(workspace: Workspace) -> list[str]:
    try:
        return default_storage.listdir(f"private/{workspace.public_id}")[1]
    except FileNotFoundError:
        return []


# ── The way it goes ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_begun_sent_and_completed(api: ApiClient, workspace: Workspace) -> None:
    answer = api.post("/v1/benchmark-uploads", {"files": [{"name": "sums.jsonl", "bytes": len(ROWS)}]})
    upload = answer.json()
    assert answer.status_code == 201
    assert_stored("upload_begun", upload)
    assert reserved_bytes(workspace) == len(ROWS)
    sent = put(api, upload)
    assert (sent.status_code, sent.json()) == (200, {"name": "sums.jsonl", "bytes": len(ROWS), "received": len(ROWS)})
    answer = api.post(f"/v1/benchmark-uploads/{upload['id']}/complete")
    assert answer.status_code == 200
    assert_stored("upload_completed", answer.json())
    assert (reserved_bytes(workspace), used_bytes(workspace)) == (0, len(ROWS))
    assert (staged(upload), stored(workspace)) == ([], [answer.json()["sha256"]])
    assert api.get(f"/v1/benchmark-uploads/{upload['id']}").json() == answer.json()


def test_completing_again_answers_the_same(api: ApiClient) -> None:
    upload = completed(api)
    again = api.post(f"/v1/benchmark-uploads/{upload['id']}/complete")
    assert (again.status_code, again.json()) == (200, upload)
    assert AuditEntry.objects.filter(action="upload.completed").count() == 1


def test_several_files_are_one_upload(api: ApiClient, workspace: Workspace) -> None:
    files = [{"name": "a.jsonl", "bytes": len(ROWS)}, {"name": "b ü.csv", "bytes": 8}]
    upload = api.post("/v1/benchmark-uploads", {"files": files}).json()
    put(api, upload, ROWS)
    assert error_of(api.post(f"/v1/benchmark-uploads/{upload['id']}/complete"))["code"] == "upload_incomplete"
    put(api, upload, b"q,a\n1,2\n", number=1)
    done = api.post(f"/v1/benchmark-uploads/{upload['id']}/complete").json()
    assert [(file["source"], file["rows"], file["format"]) for file in done["files"]] == [
        (f"workspace://{upload['id']}/a.jsonl", 2, "jsonl"),
        (f"workspace://{upload['id']}/b ü.csv", 1, "csv"),
    ]
    assert (done["source"], done["rows"], done["bytes"]) == (None, None, len(ROWS) + 8)


def test_a_file_is_sent_in_pieces(api: ApiClient) -> None:
    upload, size = begun(api), len(ROWS)
    first = put(api, upload, ROWS[:20], content_range=f"bytes 0-19/{size}")
    assert first.json()["received"] == 20
    assert api.get(f"/v1/benchmark-uploads/{upload['id']}").json()["files"][0]["received"] == 20
    again = put(api, upload, ROWS[:20], content_range=f"bytes 0-19/{size}")
    assert (again.status_code, error_of(again)["code"]) == (409, "upload_offset_mismatch")
    assert error_of(again)["details"] == {"received": 20, "bytes": size}
    missing = api.post(f"/v1/benchmark-uploads/{upload['id']}/complete")
    assert (missing.status_code, error_of(missing)["code"]) == (409, "upload_incomplete")
    assert error_of(missing)["details"] == {"files": [{"name": "sums.jsonl", "bytes": size, "received": 20}]}
    assert put(api, upload, ROWS[20:], content_range=f"bytes 20-{size - 1}/{size}").json()["received"] == size
    assert api.post(f"/v1/benchmark-uploads/{upload['id']}/complete").json()["rows"] == 2


def test_a_file_that_is_sent_whole_again_begins_anew(api: ApiClient) -> None:
    upload = begun(api)
    put(api, upload, ROWS[:20], content_range=f"bytes 0-19/{len(ROWS)}")
    assert put(api, upload).json()["received"] == len(ROWS)
    assert put(api, upload).json()["received"] == len(ROWS)
    assert len(staged(upload)) == 1
    assert api.post(f"/v1/benchmark-uploads/{upload['id']}/complete").json()["rows"] == 2


def test_the_same_content_is_stored_once(api: ApiClient, workspace: Workspace) -> None:
    one, two = completed(api), completed(api, name="again.jsonl")
    assert (one["sha256"], one["source"] != two["source"]) == (two["sha256"], True)
    assert used_bytes(workspace) == len(ROWS)


def test_uploads_are_listed_by_status_with_their_slots(api: ApiClient, workspace: Workspace, settings: Settings) -> None:
    settings.UPLOADS_OPEN = 10
    done, archived, opened, late = completed(api), completed(api), begun(api), begun(api)
    api.post(f"/v1/benchmark-uploads/{archived['id']}/archive")
    Upload.objects.filter(public_id=late["id"]).update(expires_at=timezone.now())
    listed = api.get("/v1/benchmark-uploads").json()
    assert [(upload["id"], upload["status"]) for upload in listed["data"]] == [
        (late["id"], "expired"),
        (opened["id"], "open"),
        (archived["id"], "archived"),
        (done["id"], "completed"),
    ]
    assert (listed["active_sources"], listed["active_source_limit"]) == (1, 1000)
    for status, upload in {"open": opened, "expired": late, "completed": done, "archived": archived}.items():
        assert [each["id"] for each in api.get(f"/v1/benchmark-uploads?status={status}").json()["data"]] == [upload["id"]]
    page = api.get("/v1/benchmark-uploads?limit=3").json()
    rest = api.get(f"/v1/benchmark-uploads?limit=3&cursor={page['next_cursor']}").json()
    assert [len(page["data"]), [each["id"] for each in rest["data"]], rest["next_cursor"]] == [3, [done["id"]], None]
    assert_stored("uploads", listed)


def test_an_archived_upload_frees_its_slot_and_keeps_its_bytes(api: ApiClient, workspace: Workspace) -> None:
    upload = completed(api)
    once = api.post(f"/v1/benchmark-uploads/{upload['id']}/archive").json()
    assert (once["status"], api.post(f"/v1/benchmark-uploads/{upload['id']}/archive").json()) == ("archived", once)
    assert (used_bytes(workspace), len(stored(workspace))) == (len(ROWS), 1)
    assert api.get("/v1/benchmark-uploads").json()["active_sources"] == 0


def test_an_open_upload_is_no_source_to_archive(api: ApiClient) -> None:
    answer = api.post(f"/v1/benchmark-uploads/{begun(api)['id']}/archive")
    assert (answer.status_code, error_of(answer)["code"]) == (409, "upload_not_completed")


def test_an_open_upload_can_be_abandoned(api: ApiClient, workspace: Workspace) -> None:
    upload = begun(api)
    put(api, upload, ROWS[:20], content_range=f"bytes 0-19/{len(ROWS)}")
    assert api.delete(f"/v1/benchmark-uploads/{upload['id']}").status_code == 204
    assert (reserved_bytes(workspace), staged(upload)) == (0, [])
    assert api.get(f"/v1/benchmark-uploads/{upload['id']}").json()["status"] == "expired"
    sent = put(api, upload)
    assert (sent.status_code, error_of(sent)["code"]) == (409, "upload_closed")
    refused = api.delete(f"/v1/benchmark-uploads/{completed(api)['id']}")
    assert (refused.status_code, error_of(refused)["code"]) == (409, "upload_closed")


# ── Refusals ────────────────────────────────────────────────────────────────────────────────────────────────────────


def refusal(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, error_of(answer)["code"]


@pytest.mark.parametrize("name", ["a/b.csv", "..", "../x.csv", "a\\b.csv", " a.csv", "a\tb.csv", "a\u202eb.csv"])
def test_what_cannot_be_a_files_name_is_refused(name: str, api: ApiClient) -> None:
    answer = api.post("/v1/benchmark-uploads", {"files": [{"name": name, "bytes": 5}]})
    assert refusal(answer) == (422, "invalid_upload")


@pytest.mark.parametrize(
    "body",
    [{}, {"files": []}, {"files": [{"name": "a.csv"}]}, {"files": [{"name": "a.csv", "bytes": 0}]}, {"files": [], "more": 1}],
)
def test_a_body_that_names_no_file_is_refused(body: dict[str, Any], api: ApiClient) -> None:
    assert refusal(api.post("/v1/benchmark-uploads", body)) == (422, "validation_error")


def test_files_of_one_name_are_refused(api: ApiClient) -> None:
    answer = api.post("/v1/benchmark-uploads", {"files": [{"name": "a.csv", "bytes": 5}, {"name": "a.csv", "bytes": 6}]})
    assert refusal(answer) == (422, "invalid_upload")


def test_sizes_and_numbers_past_the_limits_are_refused(api: ApiClient, settings: Settings, workspace: Workspace) -> None:
    settings.UPLOAD_MAX_BYTES, settings.UPLOAD_MAX_FILES = 100, 2
    big = api.post("/v1/benchmark-uploads", {"files": [{"name": "a.csv", "bytes": 101}]})
    assert refusal(big) == (413, "too_large")
    assert error_of(big)["details"] == {"name": "a.csv", "bytes": 101, "limit": 100}
    many = api.post("/v1/benchmark-uploads", {"files": [{"name": f"{n}.csv", "bytes": 1} for n in range(3)]})
    assert (refusal(many), error_of(many)["details"]) == ((422, "too_many_files"), {"limit": 2})
    assert (Upload.objects.count(), StorageReservation.objects.count()) == (0, 0)


def test_least_balance_is_asked_for(api: ApiClient, workspace: Workspace, settings: Settings) -> None:
    Wallet.objects.filter(workspace=workspace).update(balance_microusd=6_000_000, held_microusd=1_000_001)
    answer = api.post("/v1/benchmark-uploads", {"files": [{"name": "a.csv", "bytes": 1}]})
    assert refusal(answer) == (402, "insufficient_credit")
    assert error_of(answer)["details"] == {"needed_microusd": "5000000", "available_microusd": "4999999"}
    Wallet.objects.filter(workspace=workspace).update(held_microusd=1_000_000)
    assert begun(api)["status"] == "open"
    Wallet.objects.filter(workspace=workspace).update(balance_microusd=0, held_microusd=0)
    settings.UPLOAD_LEAST_AVAILABLE_MICROUSD = 0
    assert begun(api)["status"] == "open"


def limit_of(answer: HttpResponse) -> tuple[int, str, dict[str, Any]]:
    return (*refusal(answer), error_of(answer)["details"])


def test_two_uploads_are_open_at_a_time(api: ApiClient, foreign_api: ApiClient) -> None:
    first, _ = begun(api), begun(api)
    answer = api.post("/v1/benchmark-uploads", {"files": [{"name": "a.csv", "bytes": 1}]})
    assert limit_of(answer) == (409, "private_benchmark_limit", {"limit_kind": "open_uploads", "limit": 2})
    assert begun(foreign_api)["status"] == "open"
    Upload.objects.filter(public_id=first["id"]).update(expires_at=timezone.now())
    assert begun(api)["status"] == "open"


def test_ten_uploads_are_begun_a_day(api: ApiClient, settings: Settings) -> None:
    settings.UPLOADS_A_DAY = 2
    ended = [begun(api), completed(api)]
    api.delete(f"/v1/benchmark-uploads/{ended[0]['id']}")
    answer = api.post("/v1/benchmark-uploads", {"files": [{"name": "a.csv", "bytes": 1}]})
    assert limit_of(answer) == (409, "private_benchmark_limit", {"limit_kind": "uploads_per_day", "limit": 2})
    Upload.objects.filter(public_id=ended[0]["id"]).update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    assert begun(api)["status"] == "open"


def test_source_slots_are_refused_when_all_are_in_use_and_freed_by_archiving(api: ApiClient, settings: Settings) -> None:
    settings.UPLOADS_ACTIVE = 2
    done, opened = completed(api), begun(api)
    answer = api.post("/v1/benchmark-uploads", {"files": [{"name": "a.csv", "bytes": 1}]})
    assert limit_of(answer) == (409, "private_benchmark_limit", {"limit_kind": "upload_sources", "limit": 2})
    put(api, opened)
    assert api.post(f"/v1/benchmark-uploads/{opened['id']}/complete").status_code == 200
    api.post(f"/v1/benchmark-uploads/{done['id']}/archive")
    assert begun(api)["status"] == "open"


def test_storage_counts_what_is_used_and_what_is_promised(api: ApiClient, workspace: Workspace, settings: Settings) -> None:
    settings.WORKSPACE_STORAGE_BYTES, settings.UPLOADS_OPEN = 1000, 10
    completed(api)
    reserve(workspace, "import:x", 500, actor=SYSTEM)
    answer = api.post("/v1/benchmark-uploads", {"files": [{"name": "a.csv", "bytes": 500 - len(ROWS) + 1}]})
    assert refusal(answer) == (413, "storage_limit")
    assert error_of(answer)["details"] == {
        "needed_bytes": 500 - len(ROWS) + 1,
        "used_bytes": len(ROWS),
        "reserved_bytes": 500,
        "allowance_bytes": 1000,
    }
    assert Upload.objects.filter(status=UploadStatus.OPEN).count() == 0
    fits = api.post("/v1/benchmark-uploads", {"files": [{"name": "a.csv", "bytes": 500 - len(ROWS)}]})
    assert fits.status_code == 201


def test_more_bytes_than_announced_are_refused_and_nothing_of_them_is_kept(api: ApiClient) -> None:
    upload = begun(api)
    answer = put(api, upload, ROWS + b"x")
    assert refusal(answer) == (413, "too_large")
    assert error_of(answer)["details"] == {"bytes": len(ROWS), "received": 0}
    assert staged(upload) == []
    ranged = put(api, upload, ROWS[:20], content_range="bytes 0-19/1000")
    assert (refusal(ranged), error_of(ranged)["details"]) == ((422, "size_mismatch"), {"bytes": len(ROWS)})


@pytest.mark.parametrize("header", ["bytes 0-5/*", "bytes 5-0/63", "bytes 0-63/63", "0-5/63", "bytes 0-9/63"])
def test_a_range_that_does_not_fit_its_body_is_refused(header: str, api: ApiClient) -> None:
    answer = put(api, begun(api), ROWS[:6], content_range=header)
    assert (refusal(answer), list(error_of(answer)["details"])) == ((422, "validation_error"), ["Content-Range"])


BROKEN = {
    "pointer": ("a.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", 422, "byob_unreadable_file"),
    "archive": ("a.csv", b"PK\x03\x04" + b"\0" * 50, 422, "byob_unreadable_file"),
    "page": ("a.jsonl", b"<!DOCTYPE html><html>", 422, "byob_unreadable_file"),
    "no parquet": ("a.parquet", b"PAR1 and then nothing PAR1", 422, "byob_unreadable_file"),
    "array cut off": ("a.json", b'[{"a": 1}, {"a": ', 422, "byob_unreadable_file"),
    "empty array": ("a.json", b"[]", 422, "byob_no_rows"),
    "blank": ("a.jsonl", b"\n\n\n", 422, "byob_unreadable_file"),
    "rows": ("a.csv", b"a\n" + b"1\n" * 11, 413, "upload_row_limit"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_is_no_data_fails_its_upload_and_leaves_nothing(
    case: str, api: ApiClient, workspace: Workspace, settings: Settings
) -> None:
    settings.BENCHMARK_MAX_ROWS = 10
    name, content, status, code = BROKEN[case]
    upload = begun(api, content, name)
    put(api, upload, content)
    answer = api.post(f"/v1/benchmark-uploads/{upload['id']}/complete")
    assert refusal(answer) == (status, code)
    assert api.get(f"/v1/benchmark-uploads/{upload['id']}").json()["status"] == "failed"
    assert (staged(upload), stored(workspace), reserved_bytes(workspace), used_bytes(workspace)) == ([], [], 0, 0)
    again = api.post(f"/v1/benchmark-uploads/{upload['id']}/complete")
    assert refusal(again) == (409, "upload_closed")


def test_one_bad_file_of_two_leaves_nothing_of_either(api: ApiClient, workspace: Workspace) -> None:
    files = [{"name": "a.jsonl", "bytes": len(ROWS)}, {"name": "b.json", "bytes": 2}]
    upload = api.post("/v1/benchmark-uploads", {"files": files}).json()
    put(api, upload, ROWS)
    put(api, upload, b"[]", number=1)
    assert refusal(api.post(f"/v1/benchmark-uploads/{upload['id']}/complete")) == (422, "byob_no_rows")
    assert (staged(upload), stored(workspace)) == ([], [])


def test_a_failed_upload_keeps_content_that_the_workspace_has_from_another(api: ApiClient, workspace: Workspace) -> None:
    kept = completed(api)
    files = [{"name": "a.jsonl", "bytes": len(ROWS)}, {"name": "b.json", "bytes": 2}]
    upload = api.post("/v1/benchmark-uploads", {"files": files}).json()
    put(api, upload, ROWS)
    put(api, upload, b"[]", number=1)
    assert refusal(api.post(f"/v1/benchmark-uploads/{upload['id']}/complete")) == (422, "byob_no_rows")
    assert stored(workspace) == [kept["sha256"]]


def test_what_a_manifest_can_make_readable_is_a_source(api: ApiClient) -> None:
    shift_jis = completed(api, "質問,答え\n首都は,東京\n".encode("shift_jis") * 3, "a.csv")
    assert (shift_jis["rows"], shift_jis["format"]) == (None, "csv")
    assert shift_jis["files"][0]["reading"]["warnings"][0]["code"] == "byob_unreadable_file"
    nameless = completed(api, ROWS, "rows.data")
    assert (nameless["rows"], nameless["format"]) == (2, "jsonl")
    bad_rows = completed(api, ROWS + b"{", "bad.jsonl")
    assert (bad_rows["rows"], bad_rows["files"][0]["reading"]["warnings"][0]["code"]) == (3, "byob_unreadable_rows")


# ── Who may ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_another_workspace_finds_nothing(api: ApiClient, foreign_api: ApiClient) -> None:
    upload = completed(api)
    opened = begun(api)
    missing = "00000000-0000-4000-8000-000000000000"
    for ours, theirs in ((upload["id"], missing), (opened["id"], missing)):
        asked = [
            ("GET", f"/v1/benchmark-uploads/{ours}", f"/v1/benchmark-uploads/{theirs}"),
            ("DELETE", f"/v1/benchmark-uploads/{ours}", f"/v1/benchmark-uploads/{theirs}"),
            ("POST", f"/v1/benchmark-uploads/{ours}/complete", f"/v1/benchmark-uploads/{theirs}/complete"),
            ("POST", f"/v1/benchmark-uploads/{ours}/archive", f"/v1/benchmark-uploads/{theirs}/archive"),
            ("PUT", f"/v1/benchmark-uploads/{ours}/files/sums.jsonl", f"/v1/benchmark-uploads/{theirs}/files/sums.jsonl"),
        ]
        for method, real, made_up in asked:
            answers = [foreign_api.ask(method, path) for path in (real, made_up)]
            assert [refusal(answer) for answer in answers] == [(404, "not_found")] * 2
            texts = [json.dumps({**answer.json()["error"], "request_id": "", "feedback": ""}) for answer in answers]
            assert texts[0] == texts[1]
    assert foreign_api.get("/v1/benchmark-uploads").json()["data"] == []
    assert refusal(api.ask("PUT", f"/v1/benchmark-uploads/{opened['id']}/files/other.jsonl")) == (404, "not_found")


def test_the_same_file_in_two_workspaces_shares_nothing(
    api: ApiClient, foreign_api: ApiClient, workspace: Workspace, other_workspace: Workspace
) -> None:
    ours, theirs = completed(api), completed(foreign_api)
    assert ours["sha256"] == theirs["sha256"]
    keys = [file.content.storage_key for file in UploadFile.objects.select_related("content") if file.content]
    assert sorted(keys) == sorted(f"private/{each.public_id}/{ours['sha256']}" for each in (workspace, other_workspace))
    answer = foreign_api.post("/v1/benchmark-uploads", {"files": [{"name": "sums.jsonl", "bytes": len(ROWS)}]})
    assert answer.json()["files"][0]["received"] == 0


def test_a_viewer_and_a_key_without_the_scope_may_not(
    workspace: Workspace, viewer: User, member: User, session_api: Callable[[User], ApiClient]
) -> None:
    body = {"files": [{"name": "a.csv", "bytes": 1}]}
    for client in (session_api(viewer), key_client(workspace, Scope.EVAL_WRITE, Scope.EVAL_READ)):
        assert refusal(client.post("/v1/benchmark-uploads", body)) == (403, "forbidden")
        assert refusal(client.get("/v1/benchmark-uploads")) == (403, "forbidden")
    upload = session_api(member).post("/v1/benchmark-uploads", body).json()
    assert upload["created_by"] == str(member.public_id)
    assert key_client(workspace, Scope.BENCHMARKS_SUBMIT).get(f"/v1/benchmark-uploads/{upload['id']}").status_code == 200


def test_an_idempotency_key_begins_one_upload(api: ApiClient, workspace: Workspace) -> None:
    body = {"files": [{"name": "a.csv", "bytes": 1}]}
    answers = [api.post("/v1/benchmark-uploads", body, idempotency_key="a") for _ in range(2)]
    assert (answers[0].content, Upload.objects.count(), reserved_bytes(workspace)) == (answers[1].content, 1, 1)
