"""What becomes of uploads that break off, of a storage that fails, and of what a crash leaves; two at once on PostgreSQL."""

import io
import os
import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from catalog.models import BenchmarkVersion, DataFile
from catalog.storing import save_content
from common.errors import Conflict, Refused
from imports import staging, storage
from imports.actions.benchmarks import check_source
from imports.actions.uploads import archive_upload, complete_upload, create_upload, expire_uploads, receive, sweep_files
from imports.models import StorageReservation, Upload, UploadFile
from imports.queries.sources import resolve_source
from imports.queries.uploads import get_upload, get_upload_file
from imports.reading import parquet as parquet_reader
from tests.factories import make_version
from tests.imports.files import SUMS, parquet
from tests.races import at_once
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

ROWS = b'{"question": "a", "answer": 1}\n' * 2
on_postgres = pytest.mark.skipif(connection.vendor != "postgresql", reason="a race, on PostgreSQL")


def begin(workspace: Workspace, content: bytes = ROWS) -> UploadFile:
    upload = create_upload(workspace, actor=SYSTEM, files=[{"name": "a.jsonl", "bytes": len(content)}])
    return get_upload_file(workspace, upload.public_id, "a.jsonl")


def again(file: UploadFile) -> UploadFile:
    """The file as another request finds it."""
    return get_upload_file(file.upload.workspace, file.upload.public_id, file.name)


def send(file: UploadFile, content: bytes, offset: int = 0) -> int:
    return receive(again(file), actor=SYSTEM, stream=io.BytesIO(content), offset=offset, total=file.bytes)


def complete(file: UploadFile) -> Upload:
    return complete_upload(get_upload(file.upload.workspace, file.upload.public_id), actor=SYSTEM)


def files_below(folder: str) -> list[str]:
    """Every stored file below the folder."""
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return []
    return [f"{folder}/{name}" for name in files] + [path for name in folders for path in files_below(f"{folder}/{name}")]


def all_of(file: UploadFile) -> list[str]:
    return files_below(staging.folder_of(file.upload)) + files_below(f"private/{file.upload.workspace.public_id}")


def make_old(key: str) -> None:
    path = default_storage.path(key)
    long_ago = time.time() - 25 * 3600
    os.utime(path, (long_ago, long_ago))


# ── Connections that break off ──────────────────────────────────────────────────────────────────────────────────────


class Breaking(io.BytesIO):
    """A connection that is gone after so many bytes."""

    def __init__(self, content: bytes, after: int) -> None:
        super().__init__(content[:after])

    def read(self, size: int | None = -1) -> bytes:
        if not (chunk := super().read(size)):
            raise ConnectionResetError("the other end is gone")
        return chunk


def test_what_came_before_a_connection_broke_off_is_kept(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PART_BYTES", 10)
    file = begin(workspace)
    assert receive(file, actor=SYSTEM, stream=Breaking(ROWS, 25), offset=0, total=None) == 25
    assert (again(file).received, len(files_below(staging.folder_of(file.upload)))) == (25, 1)  # one read gave all 25
    with pytest.raises(Conflict) as caught:
        send(file, ROWS[20:], 20)
    assert (caught.value.code, caught.value.details) == ("upload_offset_mismatch", {"received": 25, "bytes": len(ROWS)})
    assert send(file, ROWS[25:], 25) == len(ROWS)
    upload = complete(file)
    assert (upload.status, upload.files.get().rows) == ("completed", 2)


def test_bytes_are_kept_part_by_part_while_they_come(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed loses one part at most: the row knows each part as soon as it is stored."""
    monkeypatch.setattr(staging, "PART_BYTES", 10)
    seen: list[int] = []
    file = begin(workspace)

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            seen.append(again(file).received)
            return super().read(10)

    receive(again(file), actor=SYSTEM, stream=Slow(ROWS), offset=0, total=None)
    assert seen == [0, 10, 20, 30, 40, 50, 60, len(ROWS)]


def test_more_than_announced_in_a_stream_of_unknown_length_is_taken_back(workspace: Workspace) -> None:
    file = begin(workspace)
    send(file, ROWS[:20])
    with pytest.raises(Refused) as caught:
        send(file, ROWS[20:] + b"more", 20)
    assert (caught.value.code, caught.value.status, caught.value.details["received"]) == ("too_large", 413, 20)
    assert (again(file).received, len(files_below(staging.folder_of(file.upload)))) == (20, 1)


def test_of_two_that_send_the_same_bytes_one_goes_on(workspace: Workspace) -> None:
    file = begin(workspace)
    late = again(file)
    assert send(file, ROWS) == len(ROWS)
    with pytest.raises(Conflict) as caught:
        receive(late, actor=SYSTEM, stream=io.BytesIO(ROWS), offset=0, total=len(ROWS))
    assert (caught.value.code, caught.value.details["received"]) == ("upload_offset_mismatch", len(ROWS))
    assert len(files_below(staging.folder_of(file.upload))) == 1


def test_who_still_sends_to_a_file_that_was_begun_anew_is_told(workspace: Workspace) -> None:
    file = begin(workspace)
    send(file, ROWS[:20])
    late = again(file)
    receive(again(file), actor=SYSTEM, stream=io.BytesIO(ROWS[:20]), offset=0, total=None)
    with pytest.raises(Conflict):
        receive(late, actor=SYSTEM, stream=io.BytesIO(ROWS[20:]), offset=20, total=len(ROWS))
    assert again(file).received == 20


# ── A storage that fails ────────────────────────────────────────────────────────────────────────────────────────────


def fail_saving(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The disk is full for whatever is saved below this."""
    kind = type(default_storage._wrapped)  # type: ignore[attr-defined]
    real = kind.save

    def save(self: Any, name: str, content: Any, **options: Any) -> str:
        if name.startswith(where):
            raise OSError(28, "No space left on device")
        return str(real(self, name, content, **options))

    monkeypatch.setattr(kind, "save", save)


def ended(file: UploadFile) -> tuple[str, int, list[str], int]:
    """What is left of an upload: its status, what is reserved, its files, the rows of stored content."""
    upload = get_upload(file.upload.workspace, file.upload.public_id)
    return upload.status, storage.reserved_bytes(upload.workspace), all_of(file), DataFile.objects.count()


def test_a_full_disk_while_bytes_come_ends_the_upload_and_gives_everything_back(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = begin(workspace)
    send(file, ROWS[:20])
    fail_saving(monkeypatch, "staging/")
    with pytest.raises(Refused) as caught:
        send(file, ROWS[20:], 20)
    assert (caught.value.code, caught.value.status) == ("storage_unavailable", 503)
    assert ended(file) == ("failed", 0, [], 0)


def test_a_full_disk_while_content_is_stored_ends_the_upload_and_gives_everything_back(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [{"name": "a.jsonl", "bytes": len(ROWS)}, {"name": "b.csv", "bytes": 8}]
    upload = create_upload(workspace, actor=SYSTEM, files=files)
    one, two = (get_upload_file(workspace, upload.public_id, name) for name in ("a.jsonl", "b.csv"))
    send(one, ROWS)
    send(two, b"q,a\n1,2\n")
    real, calls = save_content, []

    def save(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr("imports.actions.uploads.save_content", save)
    with pytest.raises(Refused) as caught:
        complete(one)
    assert caught.value.code == "storage_unavailable"
    assert ended(one) == ("failed", 0, [], 0)


def test_a_part_that_is_gone_ends_the_upload(workspace: Workspace) -> None:
    file = begin(workspace)
    send(file, ROWS)
    default_storage.delete(files_below(staging.folder_of(file.upload))[0])
    with pytest.raises(Refused) as caught:
        complete(file)
    assert caught.value.code == "storage_unavailable"
    assert ended(file) == ("failed", 0, [], 0)


def test_a_failure_of_the_database_at_the_end_leaves_the_upload_open_and_nothing_stored(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = begin(workspace)
    send(file, ROWS)

    def fail(*_arguments: Any, **_fields: Any) -> None:
        raise RuntimeError("the database is gone")

    monkeypatch.setattr("imports.actions.uploads.record", fail)
    with pytest.raises(RuntimeError):
        complete(file)
    monkeypatch.undo()
    status, reserved, left, rows = ended(file)
    assert (status, reserved, [path.partition("/")[0] for path in left], rows) == ("open", len(ROWS), ["staging"], 0)
    assert complete(file).status == "completed"


def test_what_a_crash_wrote_of_a_content_is_not_taken_for_it(workspace: Workspace) -> None:
    file = begin(workspace)
    send(file, ROWS)
    done = complete(file)
    key = done.files.get().content.storage_key  # type: ignore[union-attr]
    with default_storage.open(key, "wb") as half:
        half.write(ROWS[:10])
    other = begin(workspace)
    send(other, ROWS)
    complete(other)
    with default_storage.open(key, "rb") as whole:
        assert whole.read() == ROWS


# ── What is cleared away ────────────────────────────────────────────────────────────────────────────────────────────


def test_an_overdue_upload_expires_with_its_bytes_and_its_reservation(workspace: Workspace) -> None:
    late, fresh = begin(workspace), begin(workspace)
    send(late, ROWS[:20])
    send(fresh, ROWS[:20])
    Upload.objects.filter(pk=late.upload_id).update(expires_at=timezone.now())
    expire_uploads(actor=SYSTEM)
    expire_uploads(actor=SYSTEM)
    assert (get_upload(workspace, late.upload.public_id).status, files_below(staging.folder_of(late.upload))) == ("expired", [])
    assert (len(files_below(staging.folder_of(fresh.upload))), storage.reserved_bytes(workspace)) == (1, len(ROWS))
    with pytest.raises(Conflict) as caught:
        send(late, ROWS[20:], 20)
    assert (caught.value.code, caught.value.details) == ("upload_closed", {"status": "expired"})


def test_parts_that_a_crash_left_are_cleared_away_once_their_upload_is_open_no_more(workspace: Workspace) -> None:
    file = begin(workspace)
    staging.save_part(file.staging_key, 0, b"stored, and its row never written")
    expire_uploads(actor=SYSTEM)
    assert len(files_below(staging.folder_of(file.upload))) == 1
    send(file, ROWS)
    complete(file)
    staging.save_part(file.staging_key, 0, b"came after the end")
    default_storage.save("staging/nobody/0", io.BytesIO(b"x"))  # type: ignore[arg-type]
    expire_uploads(actor=SYSTEM)
    assert files_below("staging") == []


def test_a_reservation_that_nobody_gave_back_ends_with_its_day(workspace: Workspace) -> None:
    storage.reserve(workspace, "import:gone", 100, actor=SYSTEM)
    storage.reserve(workspace, "import:live", 10, actor=SYSTEM)
    StorageReservation.objects.filter(key="import:gone").update(expires_at=timezone.now())
    assert storage.reserved_bytes(workspace) == 10
    expire_uploads(actor=SYSTEM)
    assert [row.key for row in StorageReservation.objects.all()] == ["import:live"]


def test_a_reservation_of_the_same_key_is_one(workspace: Workspace, settings: Settings) -> None:
    settings.WORKSPACE_STORAGE_BYTES = 100
    storage.reserve(workspace, "import:a", 80, actor=SYSTEM)
    storage.reserve(workspace, "import:a", 90, actor=SYSTEM)
    assert storage.reserved_bytes(workspace) == 90
    with pytest.raises(Refused) as caught:
        storage.reserve(workspace, "import:b", 11, actor=SYSTEM)
    assert (caught.value.code, caught.value.details["reserved_bytes"]) == ("storage_limit", 90)
    storage.release(workspace, "import:a")
    storage.release(workspace, "import:a")
    assert storage.reserved_bytes(workspace) == 0


def test_bytes_and_rows_that_nothing_names_go_after_a_day_and_what_is_named_stays(workspace: Workspace, other_workspace: Workspace) -> None:
    file = begin(workspace)
    send(file, ROWS)
    kept = complete(file).files.get().content
    archive_upload(file.upload, actor=SYSTEM)
    assert kept is not None
    bare = save_content(workspace, io.BytesIO(b"bytes without a row"), "b" * 64, 19)
    young = save_content(workspace, io.BytesIO(b"young"), "c" * 64, 5)
    lies = save_content(workspace, io.BytesIO(b"unused"), "d" * 64, 6)
    unused = DataFile.objects.create(workspace=workspace, sha256=lies.sha256, bytes=6, name="x", storage_key=lies.storage_key)
    of_benchmark = DataFile.objects.create(workspace=other_workspace, sha256="e" * 64, bytes=1, name="x", storage_key="nowhere")
    make_version(workspace=other_workspace)
    BenchmarkVersion.objects.update(source_file=of_benchmark)
    DataFile.objects.update(created_at=timezone.now() - timedelta(days=2))
    for key in (kept.storage_key, bare.storage_key, unused.storage_key):
        make_old(key)
    sweep_files(actor=SYSTEM)
    sweep_files(actor=SYSTEM)
    assert sorted(files_below(f"private/{workspace.public_id}")) == sorted([kept.storage_key, young.storage_key])
    assert set(DataFile.objects.all()) == {kept, of_benchmark}


def test_only_the_system_sweeps(actor: Actor) -> None:
    with pytest.raises(Refused):
        sweep_files(actor=actor)


# ── Two at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


@on_postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_at_the_last_slot_one_is_begun(workspace: Workspace, settings: Settings) -> None:
    settings.UPLOADS_ACTIVE = 1
    found = at_once(4, lambda _: begin(workspace).name)
    assert sorted(map(str, found)) == ["a.jsonl", *["private_benchmark_limit"] * 3]
    assert Upload.objects.count() == 1


@on_postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_that_need_the_last_bytes_one_is_promised_them(workspace: Workspace, settings: Settings) -> None:
    settings.WORKSPACE_STORAGE_BYTES = 100
    found = at_once(2, lambda number: storage.reserve(workspace, "ab"[number], 60, actor=SYSTEM).bytes)
    assert sorted(map(str, found)) == ["60", "storage_limit"]


@on_postgres
@pytest.mark.django_db(transaction=True)
def test_two_that_complete_the_same_upload_make_one_source(workspace: Workspace) -> None:
    file = begin(workspace)
    send(file, ROWS)
    found = at_once(3, lambda _: complete(file).status)
    assert found == ["completed"] * 3
    assert (DataFile.objects.count(), storage.reserved_bytes(workspace), len(all_of(file))) == (1, 0, 1)


@on_postgres
@pytest.mark.django_db(transaction=True)
def test_two_that_clear_away_do_not_meet(workspace: Workspace) -> None:
    for _ in range(2):
        send(begin(workspace), ROWS[:20])
    Upload.objects.update(expires_at=timezone.now())
    assert at_once(3, lambda _: expire_uploads(actor=SYSTEM)) == [None] * 3
    assert (files_below("staging"), StorageReservation.objects.count()) == ([], 0)
    assert set(Upload.objects.values_list("status", flat=True)) == {"expired"}


def test_large_column_that_nobody_maps_does_not_refuse_a_parquet_upload(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_reader, "MAX_PAGE_BYTES", 1_000_000)
    columns = {"question": ["1?", "2?"], "answer": [1, 2], "trace": ["x" * 2_000_000, "y"]}
    content = parquet(columns, compression="zstd", use_dictionary=False)
    upload = create_upload(workspace, actor=SYSTEM, files=[{"name": "a.parquet", "bytes": len(content)}])
    send(get_upload_file(workspace, upload.public_id, "a.parquet"), content)
    file = complete_upload(get_upload(workspace, upload.public_id), actor=SYSTEM).files.get()
    assert (file.rows, [warned["code"] for warned in file.reading["warnings"]]) == (2, ["private_benchmark_too_large"])
    source = resolve_source(workspace, file.uri)
    assert check_source(workspace, actor=SYSTEM, source=source, manifest=SUMS).rows == 2
