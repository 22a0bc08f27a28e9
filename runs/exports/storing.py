"""Making an export once and keeping it, so that a result version in one format has the same bytes whenever it is asked for.

Whoever asks first claims the export's row, writes the file and puts it into the storage; who asks meanwhile waits for that. A claim is
renewed while the file is written and runs out where its holder dies, so that the next one takes over. A copy of what models said never
outlives the run's retention: neither is it served past it, nor does one come to be that was begun before it.

Nothing here is a person's doing: no permission is asked and no audit entry written.
"""

import hashlib
import time
from collections.abc import Iterator
from datetime import timedelta
from tempfile import TemporaryFile
from typing import IO, Any

import structlog
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.utils import timezone

from common.errors import Conflict
from common.ids import new_id
from runs.exports.formats import FORMATS, Format
from runs.exports.making import parts_of
from runs.exports.source import Source, are_answers_over, holds_answers
from runs.models import Export, ResultVersion, Run

log = structlog.get_logger(__name__)

CLAIM = timedelta(seconds=30)
RENEW_SECONDS = 5.0
CHUNK = 256 * 1024
LOOK_SECONDS = 0.1
WAIT_SECONDS = 300.0
"""How long a request waits for another that makes the export."""


class _Lost(Exception):
    """The claim is no longer ours, or what it is for has no right to be any more."""


def kept_export(run: Run, result: ResultVersion, wanted: str) -> Export:
    """The export of a result version in one of FORMATS, made now where it is not there yet.

    Raises Refused where the export policy does not let it leave, and Conflict `export_in_progress` where another request has been making
    it for minutes.
    """
    format, deadline = FORMATS[wanted], time.monotonic() + WAIT_SECONDS
    while True:
        # The retention may end between two rounds, and by it is decided what may be kept.
        run.refresh_from_db(fields=["content_expires_at", "content_expired_at"])
        export = Export.objects.filter(result=result, format=wanted).first()
        if export is not None and export.has_answers and are_answers_over(run):
            delete_export(export)
        elif export is not None and export.made_at is not None:
            if _is_there(export):
                return export
        elif (claimed := _claim(run, result, format)) is not None:
            _make(run, claimed, format)
        elif time.monotonic() > deadline:
            raise Conflict("export_in_progress", "The file is still being made. Ask again in some minutes.")
        else:
            time.sleep(LOOK_SECONDS)


def delete_export(export: Export) -> None:
    """Delete the row, and on commit the file. Where it is gone already nothing happens."""
    Export.objects.filter(pk=export.pk).delete()


def delete_answers(run: Run) -> None:
    """Delete what was exported of the run and holds what models said. Call it where their retention is noted, in one transaction."""
    Export.objects.filter(result__run=run, has_answers=True).delete()


def delete_file(export: Export) -> None:
    """Delete the file of a row that is gone."""
    default_storage.delete(export.storage_key)


def _claim(run: Run, result: ResultVersion, format: Format) -> Export | None:
    """The row, ours to make; None where somebody else makes it or has made it."""
    token = new_id()
    claim: dict[str, Any] = {
        "claim": token,
        "claimed_until": timezone.now() + CLAIM,
        "has_answers": holds_answers(run, format),
        "storage_key": f"exports/{run.workspace.public_id}/{run.public_id}/{token}",
    }
    try:
        with transaction.atomic():
            return Export.objects.create(result=result, format=format.name, **claim)
    except IntegrityError:
        pass
    left = Export.objects.filter(result=result, format=format.name, made_at__isnull=True, claimed_until__lt=timezone.now()).first()
    if left is None or not Export.objects.filter(pk=left.pk, claim=left.claim, made_at__isnull=True).update(**claim):
        return None
    delete_file(left)
    return Export.objects.get(claim=token)


def _make(run: Run, export: Export, format: Format) -> None:
    """Write the file and note it on the row, unless the claim is lost on the way. Without either, the row is given up."""
    try:
        with TemporaryFile() as file:
            export.sha256, export.bytes = _write(
                Source(run, export.result, has_answers=not _lacks_answers(run, export)), export, format, file
            )
            _store(export, file)
        _note(run, export)
    except _Lost:
        delete_file(export)
    except BaseException:
        Export.objects.filter(pk=export.pk, claim=export.claim, made_at__isnull=True).delete()
        raise


def _lacks_answers(run: Run, export: Export) -> bool:
    return not export.has_answers and are_answers_over(run)


def _write(source: Source, export: Export, format: Format, file: IO[bytes]) -> tuple[str, int]:
    """Write the parts as they come; the SHA-256 and the size in bytes."""
    digest, size, renewed = hashlib.sha256(), 0, time.monotonic()
    for part in parts_of(source, format):
        digest.update(part)
        size += len(part)
        file.write(part)
        if time.monotonic() - renewed > RENEW_SECONDS:
            _renew(export)
            renewed = time.monotonic()
    return digest.hexdigest(), size


def _renew(export: Export) -> None:
    mine = Export.objects.filter(pk=export.pk, claim=export.claim, made_at__isnull=True)
    if not mine.update(claimed_until=timezone.now() + CLAIM):
        raise _Lost


def _store(export: Export, file: IO[bytes]) -> None:
    _renew(export)
    file.seek(0)
    saved_as = default_storage.save(export.storage_key, File(file, name=export.storage_key))
    if saved_as != export.storage_key:  # a storage that writes names in its own way
        Export.objects.filter(pk=export.pk, claim=export.claim).update(storage_key=saved_as)
        export.storage_key = saved_as


def _note(run: Run, export: Export) -> None:
    with transaction.atomic():
        # Under the run's lock, where the end of its retention is noted too: what was begun before it does not come to be after it.
        locked = Run.objects.select_for_update().get(pk=run.pk)
        is_late = export.has_answers and are_answers_over(locked)
        mine = Export.objects.filter(pk=export.pk, claim=export.claim, made_at__isnull=True)
        if is_late or not mine.update(made_at=timezone.now(), sha256=export.sha256, bytes=export.bytes):
            mine.delete()
            raise _Lost
    log.info("exports.made", run=str(run.public_id), format=export.format, bytes=export.bytes)


def _is_there(export: Export) -> bool:
    """Whether the storage has the file; where it has lost it the row is deleted, so that it is made again."""
    try:
        if default_storage.size(export.storage_key) == export.bytes:
            return True
    except FileNotFoundError:
        pass
    log.error("exports.lost", export=str(export.public_id), format=export.format)
    delete_export(export)
    return False


def chunks_of(export: Export) -> Iterator[bytes]:
    """The file in parts; it is open only while they are taken."""
    with default_storage.open(export.storage_key, "rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk
