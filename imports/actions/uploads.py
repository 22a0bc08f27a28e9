"""Bringing files in: begin an upload, take its bytes, verify it, archive it, and clear away what was left."""

import tempfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import structlog
from django.db import transaction
from django.utils import timezone

from billing.queries import get_wallet
from catalog.storing import Content, forget_content, keep_content, save_content
from common.errors import Conflict, PaymentRequired, Refused
from common.money import format_usd
from imports import staging, storage
from imports.enums import UploadStatus
from imports.limits import limits
from imports.models import Upload, UploadFile
from imports.queries.uploads import count_active_sources, count_open, count_since, is_open, overdue_uploads, status_of
from imports.sweeping import delete_unnamed_content, delete_unused_rows
from imports.verifying import Verified, check_name, verify
from workspaces.actors import Actor
from workspaces.audit import record
from workspaces.enums import ActorKind
from workspaces.models import Workspace
from workspaces.permissions import can_import, require

log = structlog.get_logger(__name__)


def create_upload(workspace: Workspace, *, actor: Actor, files: Sequence[Mapping[str, Any]]) -> Upload:
    """Begin an upload of these files, `[{"name", "bytes"}]`, and reserve their bytes. It is open for a day.

    Raises `Forbidden`; `Refused` `invalid_upload`, `too_many_files`, `too_large` (413), `storage_limit` (413); `PaymentRequired`
    `insufficient_credit`; `Conflict` `private_benchmark_limit`, whose details name the `limit_kind`.
    """
    require(can_import(actor, workspace))
    _check_files(files)
    _require_credit(workspace, actor)
    with transaction.atomic():
        # Uploads of a workspace are begun and completed in turns, so that two cannot both take its last place.
        workspace = Workspace.objects.select_for_update().get(pk=workspace.pk)
        _require_room(workspace, actor)
        upload = Upload.objects.create(workspace=workspace, created_by=actor.user)
        storage.reserve(workspace, _reservation(upload), sum(file["bytes"] for file in files), actor=actor)
        UploadFile.objects.bulk_create(
            UploadFile(upload=upload, name=file["name"], bytes=file["bytes"], staging_key=staging.new_key(upload)) for file in files
        )
        record(actor, "upload.created", upload.public_id, workspace=workspace, files=[[file["name"], file["bytes"]] for file in files])
    return upload


def receive(upload_file: UploadFile, *, actor: Actor, stream: IO[bytes], offset: int, total: int | None, length: int | None = None) -> int:
    """Take bytes of the file from the stream, beginning at the offset, and give how many have arrived in all.

    Memory does not grow with the file. Where the stream breaks off, what has come is kept. With `total` (the whole size, as
    Content-Range states it) the bytes go on where the last ones ended; without, they are the file from its beginning, begun anew.
    `length` is how many will come, where that is known before.

    Raises `Forbidden`; `Conflict` `upload_closed`, `upload_offset_mismatch` with `received`; `Refused` `too_large` (413) where more comes
    than was announced, `size_mismatch`, `storage_unavailable` (503), which ends the upload.
    """
    upload = upload_file.upload
    require(can_import(actor, upload.workspace))
    _require_open(upload)
    if total is not None and total != upload_file.bytes:
        message = f"{upload_file.name} was announced with {upload_file.bytes:,} bytes, not {total:,}."
        raise Refused("size_mismatch", message, details={"bytes": upload_file.bytes})
    if length is not None and offset + length > upload_file.bytes:
        raise _too_large(upload_file)
    if total is None:
        _begin_anew(upload_file)
    if offset != upload_file.received:
        raise _offset_mismatch(upload_file)
    before, parts_before = upload_file.received, list(upload_file.parts)
    try:
        for part in staging.read_parts(stream, upload_file.bytes - offset):
            _add_part(upload_file, part)
        if upload_file.received == upload_file.bytes and _has_more(stream):
            _move(upload_file, before, parts_before)
            raise _too_large(upload_file)
    except OSError as error:
        raise _failed(upload, actor, error) from error
    return upload_file.received


def complete_upload(upload: Upload, *, actor: Actor) -> Upload:
    """Verify all files of the upload, store their content and make each a source. Completing a completed upload changes nothing.

    Raises `Forbidden`; `Conflict` `upload_closed`, `upload_incomplete` with what is missing; and with the upload ended and everything of
    it given back: `Refused` `upload_row_limit`, `byob_unreadable_file`, `storage_unavailable` (503).
    """
    require(can_import(actor, upload.workspace))
    if upload.status == UploadStatus.COMPLETED:
        return upload
    _require_open(upload)
    files = list(upload.files.all())
    missing = [{"name": file.name, "bytes": file.bytes, "received": file.received} for file in files if file.received != file.bytes]
    if missing:
        message = f"{', '.join(str(file['name']) for file in missing)} {'has' if len(missing) == 1 else 'have'} not arrived whole."
        raise Conflict("upload_incomplete", f"{message} Send the rest, then complete the upload.", details={"files": missing})
    stored: list[Content] = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            wholes = [Path(folder, str(number)) for number in range(len(files))]
            verified = [_verified(file, whole) for file, whole in zip(files, wholes, strict=True)]
            for path, found in zip(wholes, verified, strict=True):
                with path.open("rb") as whole:
                    stored.append(save_content(upload.workspace, whole, found.sha256, found.bytes))
            upload = _close_completed(upload, actor, files, verified, stored, wholes)
    except OSError as error:
        failed = _failed(upload, actor, error)
        _forget(upload.workspace, stored)
        raise failed from error
    except Refused as refused:
        if status_of(upload) == UploadStatus.OPEN and refused.code != "upload_closed":
            _end(upload, actor, UploadStatus.FAILED, reason=refused.code)
        _forget(upload.workspace, stored)
        raise
    except BaseException:
        _forget(upload.workspace, stored)
        raise
    staging.discard_folder(staging.folder_of(upload))
    return upload


def archive_upload(upload: Upload, *, actor: Actor) -> Upload:
    """Free the source slot of a completed upload, for good; its files stay stored. Archiving twice changes nothing.

    Raises `Forbidden`, `Conflict` `upload_not_completed`.
    """
    require(can_import(actor, upload.workspace))
    with transaction.atomic():
        upload = _locked(upload)
        if upload.status == UploadStatus.COMPLETED:
            upload.status, upload.archived_at = UploadStatus.ARCHIVED, timezone.now()
            upload.save(update_fields=["status", "archived_at"])
            record(actor, "upload.archived", upload.public_id, workspace=upload.workspace)
        elif upload.status != UploadStatus.ARCHIVED:
            status = status_of(upload)
            message = f"Only a completed upload takes a source slot; this one is {status}."
            raise Conflict("upload_not_completed", message, details={"status": status})
    return upload


def abandon_upload(upload: Upload, *, actor: Actor) -> Upload:
    """End an open upload before its time and give back all of it. One that ended without being completed stays as it is.

    Raises `Forbidden`, `Conflict` `upload_closed` for a completed one.
    """
    require(can_import(actor, upload.workspace))
    if upload.status in {UploadStatus.COMPLETED, UploadStatus.ARCHIVED}:
        raise Conflict("upload_closed", "The upload is completed. Archive it to free its source slot.", details={"status": upload.status})
    return _end(upload, actor, UploadStatus.EXPIRED, reason="abandoned")


def expire_uploads(*, actor: Actor) -> None:
    """End what is overdue in every workspace, and delete what is staged for uploads that are open no more. Several may do so at once."""
    for upload in overdue_uploads():
        _end(upload, actor, UploadStatus.EXPIRED, reason="overdue")
    for upload_id in staging.staged_uploads():
        if not is_open(upload_id):
            staging.discard_folder(f"{staging.ROOT}/{upload_id}")
    storage.release_expired()


def sweep_files(*, actor: Actor) -> None:
    """Delete, in every workspace, stored files that nothing has named for a day: what a crash between a file and its row has left."""
    require(actor.kind == ActorKind.SYSTEM)
    for workspace in Workspace.objects.iterator():
        delete_unused_rows(workspace)
        delete_unnamed_content(workspace)


def _check_files(files: Sequence[Mapping[str, Any]]) -> None:
    most, biggest = limits().max_files, limits().max_file_bytes
    if not files:
        raise Refused("invalid_upload", "Name at least one file.")
    if len(files) > most:
        raise Refused("too_many_files", f"An upload has at most {most} files.", details={"limit": most})
    names = [file["name"] for file in files]
    for file in files:
        check_name(file["name"])
        if names.count(file["name"]) > 1:
            raise Refused("invalid_upload", f"The file {file['name']} is named twice.", details={"name": file["name"]})
        if file["bytes"] < 1:
            raise Refused("invalid_upload", f"The file {file['name']} is empty.", details={"name": file["name"]})
        if file["bytes"] > biggest:
            message = f"{file['name']} has {file['bytes']:,} bytes; a file has at most {biggest:,}."
            raise Refused("too_large", message, status=413, details={"name": file["name"], "bytes": file["bytes"], "limit": biggest})


def _require_credit(workspace: Workspace, actor: Actor) -> None:
    least, available = limits().least_available_microusd, get_wallet(workspace).available_microusd
    if actor.kind != ActorKind.SYSTEM and available < least:
        message = f"An upload needs {format_usd(least)} of available credit, and {format_usd(available)} is available. Nothing is charged."
        details = {"needed_microusd": str(least), "available_microusd": str(available)}
        raise PaymentRequired("insufficient_credit", message, details=details)


def _require_room(workspace: Workspace, actor: Actor) -> None:
    """Raise `Conflict` `private_benchmark_limit` where the locked workspace may not begin another upload."""
    now, limit = timezone.now(), limits()
    opened = count_open(workspace)
    if opened >= limit.open_uploads:
        raise _limit("open_uploads", limit.open_uploads, f"{limit.open_uploads} uploads are open. Complete or abandon one first.")
    if actor.kind != ActorKind.SYSTEM and count_since(workspace, now - timedelta(days=1)) >= limit.uploads_a_day:
        words = f"The workspace has begun {limit.uploads_a_day} uploads in the last 24 hours. Try again later."
        raise _limit("uploads_per_day", limit.uploads_a_day, words)
    if count_active_sources(workspace) + opened >= limit.active_sources:
        words = f"All {limit.active_sources:,} source slots are in use. Archive an upload that you need no more."
        raise _limit("upload_sources", limit.active_sources, words)


def _limit(kind: str, limit: int, message: str) -> Conflict:
    return Conflict("private_benchmark_limit", message, details={"limit_kind": kind, "limit": limit})


def _require_open(upload: Upload) -> None:
    if (status := status_of(upload)) != UploadStatus.OPEN:
        raise Conflict("upload_closed", f"The upload is {status}. Begin a new one.", details={"status": status})


def _begin_anew(file: UploadFile) -> None:
    """Drop what has arrived of the file; whoever still sends the old bytes finds that the file is another one."""
    if not file.received and not file.parts:
        return
    dropped, key = file.parts, staging.new_key(file.upload)
    if not _still(file).update(received=0, parts=[], staging_key=key):
        raise _offset_mismatch(file)
    file.received, file.parts, file.staging_key = 0, [], key
    staging.discard([str(part[0]) for part in dropped])


def _add_part(file: UploadFile, content: bytes) -> None:
    key = staging.save_part(file.staging_key, file.received, content)
    if not _move(file, file.received + len(content), [*file.parts, [key, len(content)]]):
        staging.discard([key])
        raise _offset_mismatch(file)


def _move(file: UploadFile, received: int, parts: list[Any]) -> bool:
    """Let the file have received so much, unless somebody else moved it or the upload was closed meanwhile."""
    dropped = file.parts[len(parts) :]
    if not _still(file).update(received=received, parts=parts):
        return False
    file.received, file.parts = received, parts
    staging.discard([str(part[0]) for part in dropped])
    return True


def _still(file: UploadFile) -> Any:
    """The row of the file, as long as it is as we know it: a claim without a lock that would last as long as a slow connection."""
    known = {"staging_key": file.staging_key, "received": file.received}
    return UploadFile.objects.filter(pk=file.pk, upload__status=UploadStatus.OPEN, **known)


def _offset_mismatch(file: UploadFile) -> Conflict:
    file.refresh_from_db(fields=["received"])
    message = f"{file.received:,} of {file.bytes:,} bytes have arrived. Go on from there."
    return Conflict("upload_offset_mismatch", message, details={"received": file.received, "bytes": file.bytes})


def _too_large(file: UploadFile) -> Refused:
    message = f"{file.name} was announced with {file.bytes:,} bytes, and more came. None of this request was kept."
    return Refused("too_large", message, status=413, details={"bytes": file.bytes, "received": file.received})


def _has_more(stream: IO[bytes]) -> bool:
    try:
        return bool(stream.read(1))
    except OSError:
        return False


def _verified(file: UploadFile, path: Path) -> Verified:
    with path.open("w+b") as whole:
        sha256 = staging.assemble(file.parts, whole)
        return verify(whole, file.name, sha256=sha256, size=file.bytes)


def _close_completed(
    upload: Upload, actor: Actor, files: list[UploadFile], verified: list[Verified], stored: list[Content], wholes: list[Path]
) -> Upload:
    """Write what was verified, unless another request was faster."""
    with transaction.atomic():
        upload = _locked(upload)
        if upload.status == UploadStatus.COMPLETED:
            return upload
        _require_open(upload)
        for file, found, content, path in zip(files, verified, stored, wholes, strict=True):
            with path.open("rb") as whole:
                file.content = keep_content(upload.workspace, file.name, content, whole)
            file.rows, file.reading, file.parts = found.rows, found.reading, []
            file.save(update_fields=["content", "rows", "reading", "parts"])
        upload.status, upload.completed_at = UploadStatus.COMPLETED, timezone.now()
        upload.save(update_fields=["status", "completed_at"])
        storage.release(upload.workspace, _reservation(upload))
        hashes = {file.name: found.sha256 for file, found in zip(files, verified, strict=True)}
        record(actor, "upload.completed", upload.public_id, workspace=upload.workspace, sha256=hashes)
    return upload


def _end(upload: Upload, actor: Actor, status: UploadStatus, *, reason: str) -> Upload:
    """Close an open upload that becomes no source: its reservation is given back and nothing that has arrived is kept."""
    with transaction.atomic():
        upload = _locked(upload)
        if upload.status != UploadStatus.OPEN:
            return upload
        upload.status = status
        upload.save(update_fields=["status"])
        upload.files.update(parts=[], received=0)
        storage.release(upload.workspace, _reservation(upload))
        record(actor, f"upload.{status}", upload.public_id, workspace=upload.workspace, reason=reason)
    staging.discard_folder(staging.folder_of(upload))
    return upload


def _failed(upload: Upload, actor: Actor, error: OSError) -> Refused:
    """End the upload, since the storage does not take it, and give the refusal."""
    log.error("uploads.storage_failed", upload=str(upload.public_id), error=str(error))
    _end(upload, actor, UploadStatus.FAILED, reason="storage_unavailable")
    message = "The file could not be stored just now. Nothing of the upload was kept and its place is free again. Try again later."
    return Refused("storage_unavailable", message, status=503)


def _forget(workspace: Workspace, stored: list[Content]) -> None:
    """Delete content that was stored for an upload that came to nothing, but what the workspace has from elsewhere."""
    for content in stored:
        forget_content(workspace, content.sha256)


def _locked(upload: Upload) -> Upload:
    """The upload under the lock of its workspace and its own, in that order."""
    Workspace.objects.select_for_update().get(pk=upload.workspace_id)
    return Upload.objects.select_for_update(of=("self",)).select_related("workspace", "created_by").get(pk=upload.pk)


def _reservation(upload: Upload) -> str:
    return f"upload:{upload.public_id}"
