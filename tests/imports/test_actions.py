"""Creating a private benchmark: who may, what is written, and that nothing is where it is refused."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone
from pytest_django.fixtures import Settings

from catalog.actions import archive_benchmark
from catalog.models import Benchmark, BenchmarkVersion, DataFile, Task, TaskContent
from catalog.queries import get_version, visible_benchmarks
from common.canonical import sha256_text
from common.errors import Conflict, Forbidden, Refused
from imports.actions import benchmarks as actions
from imports.actions import check_benchmark, import_benchmark
from tests.factories import make_benchmark
from tests.imports.files import CAPITALS, CHOICES, SUMS, json_lines
from workspaces.actors import SYSTEM, Actor, actor_of_key, actor_of_user
from workspaces.enums import Scope
from workspaces.models import ApiKey, AuditEntry, User, Workspace

ROWS = json_lines(
    {"id": 7, "country": "Peru", "capital": "Lima", "unmapped": "u"},
    {"id": "k", "country": "日本", "capital": ["東京", "Tokyo"]},
)


def imported(workspace: Workspace, actor: Actor = SYSTEM, content: bytes = ROWS, **changes: Any) -> BenchmarkVersion:
    return import_benchmark(
        workspace, actor=actor, file=io.BytesIO(content), filename="C:/secret/../capitals.jsonl", manifest={**CAPITALS, **changes}
    )


def counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Benchmark, BenchmarkVersion, Task, TaskContent, DataFile, AuditEntry))


def files_of(workspace: Workspace) -> list[str]:
    folder = f"private/{workspace.public_id}"
    return sorted(default_storage.listdir(folder)[1]) if default_storage.exists(folder) else []


# ── What is written ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_import_writes_a_frozen_private_version(workspace: Workspace, owner: User) -> None:
    version = imported(workspace, actor_of_user(owner), system_prompt="Be brief.", data_license="CC0-1.0", max_output_tokens=16)
    benchmark = version.benchmark
    assert (benchmark.workspace, benchmark.name, benchmark.created_by) == (workspace, "Capitals", owner)
    assert (version.profile_id, version.state, version.number) == (f"{benchmark.slug}@1", "active", 1)
    assert benchmark.slug.startswith("byob-") and len(benchmark.slug) == len("byob-") + 12
    assert (version.grader, version.max_output_tokens, version.license, version.task_count) == ("exact_match", 16, "CC0-1.0", 2)
    tasks = Task.objects.filter(version=version).select_related("content")
    assert [(task.task_id, task.message_count, task.content.values, task.content.reference) for task in tasks] == [
        ("7", 2, {"question": "Peru"}, ["Lima"]),
        ("k", 2, {"question": "日本"}, ["東京", "Tokyo"]),
    ]
    assert version.sha256 == sha256_text(version.manifest)


def test_manifest_records_file_rights_and_delivery(workspace: Workspace, owner: User) -> None:
    version = imported(workspace, actor_of_user(owner))
    manifest = json.loads(version.manifest)
    stored = version.source_file
    assert stored is not None
    assert manifest["source"] == {
        "kind": "file",
        "name": "capitals.jsonl",
        "sha256": stored.sha256,
        "bytes": len(ROWS),
        "format": "jsonl",
        "encoding": "utf-8",
        "columns": {"id": "id", "question": "country", "answer": "capital"},
        "rows": 2,
        "warnings": [],
    }
    rights = manifest["rights"]
    assert (rights["statement"], rights["license"]) == (actions.RIGHTS_STATEMENT, "LicenseRef-Workspace-Private")
    assert (rights["attested_by"], rights["attested_at"][:4]) == (str(owner.public_id), str(timezone.now().year))
    assert "{question} from the column 'country'" in manifest["delivery"]["receives"][0]
    assert manifest["delivery"]["never_receives"][-1] == "Read from the file and not sent: 'capital' (answer), 'id' (id)."
    assert manifest["tasks"]["count"] == 2


def test_import_is_in_the_audit_with_its_attestation(workspace: Workspace, owner: User) -> None:
    version = imported(workspace, actor_of_user(owner))
    entry = AuditEntry.objects.get(action="benchmark.imported")
    assert (entry.workspace, entry.actor_label, entry.target) == (workspace, owner.email, version.profile_id)
    assert version.source_file is not None
    assert entry.data == {
        "file_sha256": version.source_file.sha256,
        "rows": 2,
        "license": "LicenseRef-Workspace-Private",
        "rights_attested": True,
    }


def test_groups_and_clusters_are_stored(workspace: Workspace) -> None:
    rows = json_lines(*({"id": n, "country": "c", "capital": "x", "lang": f" l{n % 2}", "problem": n // 2} for n in range(4)))
    columns = {**CAPITALS["columns"], "group": "lang", "cluster": "problem"}  # type: ignore[dict-item]
    version = imported(workspace, content=rows, columns=columns)
    assert (version.has_groups, version.has_clusters) == (True, True)
    assert list(version.tasks.values_list("group", "cluster")) == [("l0", "0"), ("l1", "0"), ("l0", "1"), ("l1", "1")]


def test_choices_are_stored_with_the_letter(workspace: Workspace) -> None:
    rows = json_lines({"question": "q", "choices": ["x", 1.50], "answer": 1})
    file = io.BytesIO(rows)
    manifest = {**CHOICES, "grader_options": {"answer_format": "index"}}
    version = import_benchmark(workspace, actor=SYSTEM, file=file, filename="a.jsonl", manifest=manifest)
    content = TaskContent.objects.get(task__version=version)
    assert (content.values, content.reference) == ({"question": "q", "choices": ["x", "1.5"]}, "B")
    assert not file.closed


def test_same_file_is_stored_once_in_a_workspace_and_shared_with_no_other(workspace: Workspace, other_workspace: Workspace) -> None:
    ours = [imported(workspace).source_file, imported(workspace).source_file]
    theirs = imported(other_workspace).source_file
    assert ours[0] == ours[1] != theirs
    assert (len(files_of(workspace)), files_of(workspace)) == (1, files_of(other_workspace))


def test_uploaded_file_of_django_is_read(workspace: Workspace) -> None:
    report = check_benchmark(workspace, actor=SYSTEM, file=ContentFile(ROWS), filename="a.jsonl", manifest=CAPITALS)  # type: ignore[arg-type]
    version = import_benchmark(workspace, actor=SYSTEM, file=ContentFile(ROWS), filename="a.jsonl", manifest=CAPITALS)  # type: ignore[arg-type]
    assert (report.rows, version.task_count) == (2, 2)


def test_file_name_that_is_no_text_is_stored_as_text(workspace: Workspace) -> None:
    version = import_benchmark(workspace, actor=SYSTEM, file=io.BytesIO(ROWS), filename="caf\udce9\0.jsonl", manifest=CAPITALS)
    assert version.source_file is not None
    assert version.source_file.name == "caf??.jsonl"


def test_dry_run_reports_and_creates_nothing(workspace: Workspace) -> None:
    before = counts()
    report = check_benchmark(workspace, actor=SYSTEM, file=io.BytesIO(ROWS), filename="a.jsonl", manifest=CAPITALS)
    assert (counts(), files_of(workspace)) == (before, [])
    document = report.document()
    assert sorted(document) == ["delivery", "left_out", "preview", "rows", "source", "warnings"]
    assert (document["rows"], document["warnings"]) == (2, [])
    assert document["preview"][0] == {
        "row": 1,
        "task_id": "7",
        "messages": [{"role": "user", "content": "What is the capital of Peru?"}],
    }
    assert "Lima" not in json.dumps(document)


# ── Who may, and how many ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("action", [check_benchmark, import_benchmark])
def test_viewer_stranger_and_key_without_scope_are_refused(
    action: Callable[..., Any], workspace: Workspace, viewer: User, stranger: User, other_workspace: Workspace
) -> None:
    keys = [
        ApiKey(workspace=workspace, label="a", prefix="a", scopes=[Scope.EVAL_WRITE]),
        ApiKey(workspace=other_workspace, label="b", prefix="b", scopes=[Scope.BENCHMARKS_SUBMIT]),
    ]
    for actor in (actor_of_user(viewer), actor_of_user(stranger), *map(actor_of_key, keys)):
        with pytest.raises(Forbidden):
            action(workspace, actor=actor, file=io.BytesIO(ROWS), filename="a.jsonl", manifest=CAPITALS)
    assert counts() == (0,) * 6


def test_member_and_key_with_scope_may_import(workspace: Workspace, member: User) -> None:
    key = ApiKey.objects.create(workspace=workspace, label="ci", prefix="ci", secret_sha256="x", scopes=[Scope.BENCHMARKS_SUBMIT])
    assert imported(workspace, actor_of_user(member)).benchmark.created_by == member
    assert imported(workspace, actor_of_key(key)).benchmark.created_by is None


def test_private_benchmark_is_not_there_for_another_workspace(workspace: Workspace, other_workspace: Workspace) -> None:
    version = imported(workspace)
    assert get_version(workspace, version.profile_id) == version
    with pytest.raises(BenchmarkVersion.DoesNotExist):
        get_version(other_workspace, version.profile_id)
    assert list(visible_benchmarks(other_workspace)) == []


def test_daily_limit_is_refused_and_counts_archived_ones(workspace: Workspace, other_workspace: Workspace, owner: User) -> None:
    person = actor_of_user(owner)
    made = [make_benchmark(workspace=workspace) for _ in range(10)]
    archive_benchmark(made[0], actor=SYSTEM)
    before = counts()
    with pytest.raises(Conflict) as caught:
        imported(workspace, person)
    assert (caught.value.code, caught.value.details) == ("private_benchmark_limit", {"limit_kind": "created_per_day", "limit": 10})
    assert counts() == before
    assert imported(other_workspace).number == 1
    Benchmark.objects.filter(pk=made[1].pk).update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    assert imported(workspace, person).number == 1


def test_daily_limit_does_not_bind_an_operator(workspace: Workspace) -> None:
    for _ in range(10):
        make_benchmark(workspace=workspace)
    assert imported(workspace, SYSTEM).number == 1


def test_limit_of_active_benchmarks_is_refused_until_one_is_archived(workspace: Workspace, settings: Settings) -> None:
    settings.BENCHMARKS_ACTIVE = 2
    made = [make_benchmark(workspace=workspace) for _ in range(2)]
    with pytest.raises(Conflict) as caught:
        imported(workspace)
    assert (caught.value.code, caught.value.details["limit_kind"]) == ("private_benchmark_limit", "active_benchmarks")
    archive_benchmark(made[0], actor=SYSTEM)
    assert imported(workspace).number == 1


# ── Nothing half-made ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "changes", "code"),
    [
        (ROWS, {"rights_attestation": False}, "byob_rights_not_attested"),
        (ROWS, {"task": "numeric"}, "byob_invalid_rows"),
        (ROWS, {"columns": {"question": "country", "answer": "city"}}, "byob_missing_column"),
        (ROWS + ROWS, {}, "byob_duplicate_id"),
        (b"\x00\x01\x02", {}, "byob_unreadable_file"),
        (ROWS, {"task": "regex_match", "grader_options": {"pattern": "(?=x)"}}, "invalid_pattern"),
    ],
)
def test_refused_import_leaves_nothing(content: bytes, changes: dict[str, Any], code: str, workspace: Workspace) -> None:
    with pytest.raises(Refused) as caught:
        imported(workspace, content=content, **changes)
    assert caught.value.code == code
    assert (counts(), files_of(workspace)) == ((0,) * 6, [])


def test_failure_while_writing_leaves_nothing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_fields: Any) -> None:
        raise RuntimeError("the database is gone")

    monkeypatch.setattr(actions, "record", fail)
    with pytest.raises(RuntimeError):
        imported(workspace)
    assert (counts(), files_of(workspace)) == ((0,) * 6, [])


def test_failure_while_writing_keeps_a_file_stored_before(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    imported(workspace)
    before = counts(), files_of(workspace)

    def fail(*_args: Any, **_fields: Any) -> None:
        raise RuntimeError("the database is gone")

    monkeypatch.setattr(actions, "record", fail)
    with pytest.raises(RuntimeError):
        imported(workspace)
    assert (counts(), files_of(workspace)) == before


def test_file_that_changes_between_check_and_write_is_refused(workspace: Workspace) -> None:
    class Changing(io.BytesIO):
        reads_from_start = 0

        def seek(self, offset: int, whence: int = 0) -> int:
            self.reads_from_start += (offset, whence) == (0, 0)
            return super().seek(offset, whence)

        def read(self, size: int | None = -1) -> bytes:
            return super().read(size).replace(b"Lima", b"Roma" if self.reads_from_start > 5 else b"Lima")

    file = Changing(json_lines({"question": "q", "answer": 1, "note": "Lima"}))
    with pytest.raises(Conflict) as caught:
        import_benchmark(workspace, actor=SYSTEM, file=file, filename="a.jsonl", manifest=SUMS)
    assert caught.value.code == "byob_file_changed"
    assert (counts(), files_of(workspace)) == ((0,) * 6, [])
