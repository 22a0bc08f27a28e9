"""Checking all rows of a draft, and making it into a benchmark: asked for on a page, done by a worker, watched while it is done."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import structlog
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from catalog.models import BenchmarkVersion
from common.errors import Conflict, Refused
from common.jobs import enqueue, enqueue_on_commit
from common.redaction import redact
from common.spreadsheets import plain_cell
from imports import drafting
from imports.actions.benchmarks import check_source, create_from_source
from imports.actions.drafts import NOT_IMPORTER
from imports.enums import CheckStatus
from imports.jobs import CHECK, HINT_LIFETIME
from imports.manifests import parse_manifest
from imports.models import ImportDraft, RowCheck
from imports.queries.drafts import latest_check, open_checks
from imports.wording import in_words
from workspaces.actors import Actor, actor_of_user
from workspaces.permissions import can_import, require

log = structlog.get_logger(__name__)

PATIENCE = timedelta(seconds=8)
"""Before a page that watches a check asks for it again."""
SILENT = timedelta(seconds=60)
"""After which a check that says nothing is taken up again: its worker is gone."""
UNTAKEN = timedelta(minutes=10)
"""After which a check that no worker took ends."""
LONGEST = timedelta(minutes=45)
HEADINGS = ("Row", "Line", "Column", "What is wrong")
MAX_LISTED_BYTES = 32 * 1024 * 1024
_ENDED = {CheckStatus.PASSED, CheckStatus.REFUSED, CheckStatus.FAILED}


class _Stopped(Exception):
    """The check was cancelled, or another worker has it."""


def start_check(draft: ImportDraft, *, actor: Actor, creates: bool = False) -> RowCheck:
    """Ask a worker to check every row, or to make the benchmark; the one under way for the same draft is given again.

    Raises `Forbidden`; `Refused` as `parse_manifest`; `Conflict` `draft_done`.
    """
    require(can_import(actor, draft.workspace), NOT_IMPORTER)
    with transaction.atomic():
        draft = ImportDraft.objects.select_for_update().select_related("workspace").get(pk=draft.pk)
        if draft.version_id is not None:
            raise Conflict("draft_done", "This draft has become a benchmark. Begin a new import to make another one.")
        parse_manifest(drafting.manifest_of(draft.state))
        sha256 = drafting.checked_sha256(draft)
        earlier = latest_check(draft, sha256, creates=creates)
        if earlier is not None and earlier.status not in _ENDED:
            return earlier
        check = RowCheck.objects.create(draft=draft, manifest_sha256=sha256, creates=creates)
        enqueue_on_commit(CHECK, str(check.public_id), expires=HINT_LIFETIME)
    return check


def cancel_check(check: RowCheck, *, actor: Actor) -> None:
    """Stop the check; one that has ended stays as it is."""
    require(can_import(actor, check.draft.workspace), NOT_IMPORTER)
    _end(check, CheckStatus.FAILED, refusal={"code": "cancelled", "message": "You stopped it. Nothing was created."})


def nudge_checks(draft: ImportDraft, *, actor: Actor) -> None:
    """As `sweep_checks`, for what this draft waits for: its page asks, so that it ends also where nothing sweeps."""
    require(can_import(actor, draft.workspace), NOT_IMPORTER)
    _sweep(open_checks().filter(draft=draft, created_at__lt=timezone.now() - PATIENCE))


def sweep_checks(*, actor: Actor) -> None:
    """Send a hint for each check that waits or whose worker is gone, and end those that nobody can be waiting for."""
    _sweep(open_checks())


def _sweep(checks: QuerySet[RowCheck]) -> None:
    now = timezone.now()
    for check in checks:
        if check.created_at < now - LONGEST or (check.status == CheckStatus.QUEUED and check.created_at < now - UNTAKEN):
            message = "No worker has finished this in its time. Try again; if it happens again, tell whoever runs this site."
            _end(check, CheckStatus.FAILED, refusal={"code": "not_finished", "message": message})
        elif check.status == CheckStatus.QUEUED or (check.heartbeat_at or check.created_at) < now - SILENT:
            enqueue(CHECK, str(check.public_id), expires=HINT_LIFETIME)


def run_check(check: RowCheck, *, actor: Actor) -> None:
    """Do the check, as the person whose draft it is. Taken up by one worker at a time; what it finds is written in the row.

    `actor` is the system that was asked; rights are those of the draft's person, who may have lost them.
    """
    now = timezone.now()
    free = RowCheck.objects.filter(pk=check.pk, status=CheckStatus.QUEUED) | RowCheck.objects.filter(
        pk=check.pk, status=CheckStatus.RUNNING, heartbeat_at__lt=now - SILENT
    )
    if not free.update(status=CheckStatus.RUNNING, heartbeat_at=now, rows_done=0):
        return
    draft = check.draft
    listed = _Problems()
    try:
        if drafting.checked_sha256(draft) != check.manifest_sha256:
            raise Refused("draft_changed", "The draft was changed after this was begun. Begin it again.")
        _work(check, draft, actor_of_user(draft.user), listed)
    except _Stopped:
        return
    except Refused as refusal:
        details = {key: value for key, value in refusal.details.items() if key in {"total", "row_count", "limit_kind"}}
        key = listed.store(draft, check)
        told = {"code": refusal.code, "message": in_words(redact(refusal.message)), "details": details, "listed": listed.count}
        if not _end(check, CheckStatus.REFUSED, refusal=told, problems_key=key) and key:
            default_storage.delete(key)
    except Exception:
        log.exception("imports.check_failed", check=str(check.public_id))
        message = "It stopped at a fault of this site, not of your file. It is noted; try again."
        _end(check, CheckStatus.FAILED, refusal={"code": "failed", "message": message})
    finally:
        listed.close()


def _work(check: RowCheck, draft: ImportDraft, person: Actor, listed: "_Problems") -> None:
    source, manifest = drafting.source_of(draft), drafting.manifest_of(draft.state)
    progress = _progress(check)
    if not check.creates:
        report = check_source(draft.workspace, actor=person, source=source, manifest=manifest, progress=progress, on_problem=listed.add)
        _end(check, CheckStatus.PASSED, report=report.document(), rows_done=report.rows, rows_total=report.rows)
        return
    if draft.version is None:
        draft.version = create_from_source(
            draft.workspace, actor=person, source=source, manifest=manifest, progress=progress, finish=_finisher(check, draft)
        )
    count = draft.version.task_count
    _end(check, CheckStatus.PASSED, rows_done=count, rows_total=count)


def _finisher(check: RowCheck, draft: ImportDraft) -> Callable[[BenchmarkVersion], None]:
    """Ties the benchmark to the draft in the transaction that makes it: a draft becomes one benchmark, however often it is worked."""

    def finish(version: BenchmarkVersion) -> None:
        if not RowCheck.objects.select_for_update().filter(pk=check.pk, status=CheckStatus.RUNNING).exists():
            raise _Stopped
        if not ImportDraft.objects.filter(pk=draft.pk, version__isnull=True).update(version=version):
            raise _Stopped

    return finish


def _progress(check: RowCheck) -> Callable[[int, int | None], None]:
    """Writes how far it is, a few times a second at most; raises `_Stopped` where the check is no longer ours to do."""

    def tell(done: int, total: int | None) -> None:
        values: dict[str, Any] = {"rows_done": done, "heartbeat_at": timezone.now()}
        if total:
            values["rows_total"] = total
        if not RowCheck.objects.filter(pk=check.pk, status=CheckStatus.RUNNING).update(**values):
            raise _Stopped

    return tell


def _end(check: RowCheck, status: CheckStatus, **values: Any) -> bool:
    """Whether this is what ended it: nothing that has ended ends again."""
    is_ended = RowCheck.objects.filter(pk=check.pk, status__in=[CheckStatus.QUEUED, CheckStatus.RUNNING]).update(
        status=status, ended_at=timezone.now(), **values
    )
    return bool(is_ended)


class _Problems:
    """All bad rows, as CSV, which no spreadsheet takes for a formula."""

    def __init__(self) -> None:
        self.count = 0
        self._file: IO[bytes] = SpooledTemporaryFile(max_size=1 << 20)  # noqa: SIM115 (closed by close)
        self._text = io.TextIOWrapper(self._file, encoding="utf-8", newline="", write_through=True)
        self._writer = csv.writer(self._text)
        self._writer.writerow(HEADINGS)

    def add(self, number: int, line: int | None, column: str, message: str) -> None:
        self.count += 1
        if self._file.tell() < MAX_LISTED_BYTES:
            self._writer.writerow([number, line or "", plain_cell(redact(column)), plain_cell(in_words(redact(message)))])

    def store(self, draft: ImportDraft, check: RowCheck) -> str:
        """Store the list and give its key; empty where there is none."""
        if not self.count:
            return ""
        self._text.flush()
        self._file.seek(0)
        key = f"private/{draft.workspace.public_id}/checks/{check.public_id}.csv"
        return default_storage.save(key, File(self._file, name=key))

    def close(self) -> None:
        self._text.close()
