"""Making a private benchmark from a file: check everything, then write everything."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePath
from typing import Any, BinaryIO, cast

from django.db import transaction
from django.utils import timezone

from catalog.actions import create_benchmark, publish_version
from catalog.manifests import TaskRow, build_manifest, delivery_of
from catalog.models import BenchmarkVersion, DataFile
from catalog.storing import DamagedFile, forget_content, keep_content, open_file, put_file
from catalog.writing import PreparedRows
from common.errors import Conflict, Refused
from imports.checks import ANSWER_IN_INPUT, Checked, OnProblem, check_rows
from imports.enums import SourceKind
from imports.limits import limits
from imports.manifests import ImportManifest, parse_manifest
from imports.mapping import row_mapper
from imports.progress import Progress, paced
from imports.queries.benchmarks import count_active, count_created_since
from imports.queries.github import require_source_access
from imports.reading import RowStream, Warned, open_rows
from imports.recording import record_health
from imports.sources.stored import StoredSource
from workspaces.actors import Actor
from workspaces.audit import record
from workspaces.enums import ActorKind
from workspaces.models import Workspace
from workspaces.permissions import can_import, require

RIGHTS_STATEMENT = (
    "This workspace may use the data for evaluation and may send its rows to the providers of the models it runs."
    " EvalRouter keeps the data private to the workspace; it is not published, shared or used for anything else."
)

type Manifest = Mapping[str, Any] | ImportManifest
type Finish = Callable[[BenchmarkVersion], None]
"""Called in the transaction that makes the version, so that what it writes is there exactly when the version is."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a dry run found: the benchmark as it would be created. Answers are in none of it."""

    rows: int
    delivery: dict[str, Any]
    preview: list[dict[str, Any]]
    """The first three rows as the model receives them: {"row", "task_id", "messages"}, credentials redacted."""
    warnings: tuple[Warned, ...]
    source: dict[str, Any]
    """How the file was read: format, encoding, delimiter, columns, size, SHA-256."""
    left_out: dict[str, Any] | None = None
    """Rows that hold their own answer and that the manifest leaves out: {"reason", "count", "rows": [their numbers], "listed": [some]}."""

    def document(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "delivery": self.delivery,
            "preview": self.preview,
            "warnings": [warned.document() for warned in self.warnings],
            "source": self.source,
            "left_out": self.left_out,
        }


@dataclass(frozen=True, slots=True)
class _Given:
    """The file to read, and what a version's manifest records of where it is from."""

    file: BinaryIO
    name: str
    origin: dict[str, Any]
    rows: int | None = None


def check_source(
    workspace: Workspace,
    *,
    actor: Actor,
    source: StoredSource,
    manifest: Manifest,
    progress: Progress | None = None,
    on_problem: OnProblem | None = None,
) -> Report:
    """Check the manifest and every row of the stored file without creating anything.

    `progress` is called a few times a second at most, `on_problem` with every row that cannot be used. Raises `Forbidden` and `Refused` as
    `parse_manifest`, `open_rows`, `check_rows` and `require_source_access` do, and `Conflict` `source_damaged`.
    """
    require(can_import(actor, workspace))
    wanted = _wanted(manifest, source)
    require_source_access(workspace, source)
    with closing(_opened(source)) as file:
        return _report(_check(_given(file, source), wanted, actor, progress, on_problem))


def create_from_source(
    workspace: Workspace,
    *,
    actor: Actor,
    source: StoredSource,
    manifest: Manifest,
    progress: Progress | None = None,
    finish: Finish | None = None,
) -> BenchmarkVersion:
    """Create a private benchmark and its one frozen version from the stored file.

    All rows are checked before the first one is written, and everything is written in one transaction, in which `finish` is called with
    the version. Raises `Forbidden`, `Conflict` `private_benchmark_limit`, and as `check_source`.
    """
    require(can_import(actor, workspace))
    _require_room(workspace, actor)
    wanted = _wanted(manifest, source)
    require_source_access(workspace, source)
    with closing(_opened(source)) as file:
        found = _check(_given(file, source), wanted, actor, progress)
        if found.stream.sha256 != source.content.sha256:
            raise _damaged(source)
        version = _publish(workspace, actor, found, lambda locked: source.content, finish, progress)
    record_health(version)
    return version


def check_benchmark(workspace: Workspace, *, actor: Actor, file: BinaryIO, filename: str, manifest: Manifest) -> Report:
    """As `check_source`, for a seekable file that is not stored yet."""
    require(can_import(actor, workspace))
    return _report(_check(_named(file, filename), _parsed(manifest), actor))


def import_benchmark(
    workspace: Workspace, *, actor: Actor, file: BinaryIO, filename: str, manifest: Manifest, finish: Finish | None = None
) -> BenchmarkVersion:
    """As `create_from_source`, for a seekable file, which is stored for the workspace alone. Nothing is left of a refused one."""
    require(can_import(actor, workspace))
    _require_room(workspace, actor)
    found = _check(_named(file, filename), _parsed(manifest), actor)
    file.seek(0)
    content = put_file(workspace, file)
    try:
        if content.sha256 != found.stream.sha256:
            raise Conflict("byob_file_changed", "The file changed while it was read. Import it again.")
        version = _publish(workspace, actor, found, lambda locked: keep_content(locked, found.given.name, content, file), finish)
    except BaseException:
        forget_content(workspace, content.sha256)
        raise
    record_health(version)
    return version


@dataclass(frozen=True, slots=True)
class _Found:
    """A file whose rows are all good, and the version's manifest but for its tasks."""

    given: _Given
    wanted: ImportManifest
    stream: RowStream
    checked: Checked
    document: dict[str, Any]


def _report(found: _Found) -> Report:
    checked, document = found.checked, found.document
    left_out = {**document["source"]["left_out"], "listed": checked.left_out_listed} if checked.left_out else None
    return Report(checked.rows, delivery_of(document), checked.preview, tuple(checked.warnings), document["source"], left_out)


def _publish(
    workspace: Workspace,
    actor: Actor,
    found: _Found,
    keep: Callable[[Workspace], DataFile],
    finish: Finish | None,
    progress: Progress | None = None,
) -> BenchmarkVersion:
    # Rows are prepared before the transaction, which on SQLite holds off every other writer.
    with PreparedRows(found.document, _task_rows(found, progress)) as rows, transaction.atomic():
        # Imports of a workspace take turns from here on, so that two cannot both take its last free place.
        workspace = Workspace.objects.select_for_update().get(pk=workspace.pk)
        _require_room(workspace, actor)
        stored, wanted = keep(workspace), found.wanted
        benchmark = create_benchmark(workspace, actor=actor, name=wanted.name, description=wanted.description)
        version = publish_version(benchmark, actor=actor, manifest=found.document, rows=rows, source_file=stored)
        record(
            actor,
            "benchmark.imported",
            version.profile_id,
            workspace=workspace,
            file_sha256=stored.sha256,
            rows=found.checked.rows,
            license=wanted.license,
            rights_attested=True,
        )
        if finish is not None:
            finish(version)
    return version


def _parsed(manifest: Manifest) -> ImportManifest:
    return manifest if isinstance(manifest, ImportManifest) else parse_manifest(manifest)


def _wanted(manifest: Manifest, source: StoredSource) -> ImportManifest:
    """The manifest, with the licence that was verified where the file comes from: that one is not the importer's to change."""
    wanted = _parsed(manifest)
    return replace(wanted, license=source.license) if source.kind == SourceKind.HUGGINGFACE and source.license else wanted


def _opened(source: StoredSource) -> BinaryIO:
    most, size = limits().max_benchmark_bytes, source.content.bytes
    if size > most:
        message = f"{source.name} has {size:,} bytes; a private benchmark is made from at most {most:,}. Take a part of it."
        raise Refused("private_benchmark_too_large", message, status=413, details={"bytes": size, "limit": most})
    try:
        return cast(BinaryIO, open_file(source.content))
    except (DamagedFile, FileNotFoundError):
        raise _damaged(source) from None


def _damaged(source: StoredSource) -> Conflict:
    message = f"The stored copy of {source.name} is damaged and cannot be used. Upload or import the file again."
    return Conflict("source_damaged", message, details={"source": source.uri})


def _given(file: BinaryIO, source: StoredSource) -> _Given:
    return _Given(file, source.name, {"kind": str(source.kind), "uri": source.uri, **source.origin}, source.rows)


def _named(file: BinaryIO, filename: str) -> _Given:
    name = PurePath(filename.encode("utf-8", "replace").decode().replace("\0", "?")).name  # a file's name may be any bytes
    return _Given(file, name, {"kind": "file"})


def _require_room(workspace: Workspace, actor: Actor) -> None:
    """Raise `Conflict` `private_benchmark_limit` where the workspace has as many as it may; details name the `limit_kind`.

    The limit of a day holds for people and keys: an operator who fills a workspace is no flood.
    """
    active, a_day = limits().active_benchmarks, limits().created_a_day
    if count_active(workspace) >= active:
        message = f"The workspace has {active:,} active private benchmarks. Archive one to make room."
        raise Conflict("private_benchmark_limit", message, details={"limit_kind": "active_benchmarks", "limit": active})
    if actor.kind != ActorKind.SYSTEM and count_created_since(workspace, timezone.now() - timedelta(days=1)) >= a_day:
        message = f"The workspace has created {a_day} private benchmarks in the last 24 hours. Try again later."
        raise Conflict("private_benchmark_limit", message, details={"limit_kind": "created_per_day", "limit": a_day})


def _check(
    given: _Given, wanted: ImportManifest, actor: Actor, progress: Progress | None = None, on_problem: OnProblem | None = None
) -> _Found:
    """Read the file and check every row."""
    stream = open_rows(
        given.file, given.name, format=wanted.format, header=wanted.header, delimiter=wanted.delimiter, encoding=wanted.encoding
    )
    document = build_manifest(
        name=wanted.name,
        description=wanted.description,
        grader=wanted.grader,
        grader_options=wanted.grader_options,
        prompt_template=wanted.prompt_template,
        system_prompt=wanted.system_prompt,
        roles=list(wanted.columns.prompt),
        max_output_tokens=wanted.max_output_tokens,
        split=wanted.split,
        license=wanted.license,
        columns=wanted.columns.prompt,
        source=_source(stream, given, wanted),
        rights={
            "statement": RIGHTS_STATEMENT,
            "license": wanted.license,
            "attested_by": actor.public_id or str(actor.kind),
            "attested_at": timezone.now().isoformat(timespec="seconds"),
        },
    )
    document["delivery"]["never_receives"].append(_undelivered_columns(wanted))
    total = stream.count if stream.count is not None else given.rows
    checked = check_rows(stream, wanted, document, tell=paced(progress, total), on_problem=on_problem)
    document["source"] |= {"rows": checked.rows, "warnings": [warned.document() for warned in checked.warnings]}
    if checked.left_out:
        document["source"]["left_out"] = {"reason": ANSWER_IN_INPUT, "count": len(checked.left_out), "rows": checked.left_out}
    return _Found(given, wanted, stream, checked, document)


def _source(stream: RowStream, given: _Given, wanted: ImportManifest) -> dict[str, Any]:
    read_as = {"encoding": stream.encoding, "delimiter": stream.delimiter, "header": stream.header, "answer_pattern": wanted.answer_pattern}
    return {
        **given.origin,
        "name": given.name,
        "sha256": stream.sha256,
        "bytes": stream.bytes,
        "format": stream.format,
        "columns": wanted.columns.document(),
        **{key: value for key, value in read_as.items() if value is not None},
    }


def _undelivered_columns(wanted: ImportManifest) -> str:
    """The columns that are read and not sent, by name."""
    columns = wanted.columns
    names = [f"{columns.answer!r} (answer)", *(f"{column!r} (id)" for column in columns.ids)]
    names += [f"{column!r} ({role})" for role, column in (("group", columns.group), ("cluster", columns.cluster)) if column]
    return f"Read from the file and not sent: {', '.join(names)}."


def _task_rows(found: _Found, progress: Progress | None) -> Iterator[TaskRow]:
    """The tasks of all good rows. `progress` is told that all rows are checked and the work goes on."""
    mapped, rows = row_mapper(found.wanted), found.checked.rows
    tell = paced(None if progress is None else lambda _done, _total: progress(rows, rows), rows)
    left_out = frozenset(found.checked.left_out)
    for row in found.stream.rows(found.wanted.columns.chosen):
        tell(row.number)
        if row.number not in left_out:
            yield mapped(row).task
