"""Making a private benchmark from a file: check everything, then write everything."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePath
from typing import Any, BinaryIO

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from catalog.actions import create_benchmark, publish_version
from catalog.manifests import TaskRow, build_manifest
from catalog.models import BenchmarkVersion
from catalog.storing import store_file
from common.errors import Conflict
from imports.checks import Checked, check_rows
from imports.manifests import ImportManifest, parse_manifest
from imports.mapping import row_mapper
from imports.queries.benchmarks import count_active, count_created_since, has_file
from imports.reading import RowStream, Warned, open_rows
from workspaces.actors import Actor
from workspaces.audit import record
from workspaces.enums import ActorKind
from workspaces.models import Workspace
from workspaces.permissions import can_import, require

MAX_CREATED_A_DAY = 10
MAX_ACTIVE = 1_000
RIGHTS_STATEMENT = (
    "This workspace may use the data for evaluation and may send its rows to the providers of the models it runs."
    " EvalRouter keeps the data private to the workspace; it is not published, shared or used for anything else."
)


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

    def document(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "delivery": self.delivery,
            "preview": self.preview,
            "warnings": [warned.document() for warned in self.warnings],
            "source": self.source,
        }


def check_benchmark(
    workspace: Workspace, *, actor: Actor, file: BinaryIO, filename: str, manifest: Mapping[str, Any] | ImportManifest
) -> Report:
    """Check the manifest and every row of the seekable file without creating anything.

    Raises `Forbidden` and `Refused` as `parse_manifest`, `open_rows` and `check_rows` do.
    """
    require(can_import(actor, workspace))
    wanted = _parsed(manifest)
    _, checked, document = _check(file, filename, wanted, actor)
    return Report(checked.rows, document["delivery"], checked.preview, tuple(checked.warnings), document["source"])


def import_benchmark(
    workspace: Workspace, *, actor: Actor, file: BinaryIO, filename: str, manifest: Mapping[str, Any] | ImportManifest
) -> BenchmarkVersion:
    """Create a private benchmark and its one frozen version from the seekable file, which is stored for the workspace alone.

    The file is read twice: all rows are checked before the first one is written, and everything is written in one transaction.
    Raises `Forbidden`, `Conflict` `private_benchmark_limit`, and `Refused` as `check_benchmark`.
    """
    require(can_import(actor, workspace))
    _require_room(workspace, actor)
    wanted = _parsed(manifest)
    stream, checked, document = _check(file, filename, wanted, actor)
    with transaction.atomic():
        # Imports of a workspace take turns from here on, so that two cannot both take its last free place.
        workspace = Workspace.objects.select_for_update().get(pk=workspace.pk)
        _require_room(workspace, actor)
        is_new_file = not has_file(workspace, stream.sha256)
        benchmark = create_benchmark(workspace, actor=actor, name=wanted.name, description=wanted.description)
        file.seek(0)
        stored = store_file(workspace, document["source"]["name"], file)
        try:
            if stored.sha256 != stream.sha256:
                raise Conflict("byob_file_changed", "The file changed while it was read. Import it again.")
            version = publish_version(benchmark, actor=actor, manifest=document, rows=_task_rows(stream, wanted), source_file=stored)
            record(
                actor,
                "benchmark.imported",
                version.profile_id,
                workspace=workspace,
                file_sha256=stored.sha256,
                rows=checked.rows,
                license=wanted.license,
                rights_attested=True,
            )
        except BaseException:
            if is_new_file:  # its row goes with the transaction; the lock keeps another import from counting on the bytes
                default_storage.delete(stored.storage_key)
            raise
    return version


def _parsed(manifest: Mapping[str, Any] | ImportManifest) -> ImportManifest:
    return manifest if isinstance(manifest, ImportManifest) else parse_manifest(manifest)


def _require_room(workspace: Workspace, actor: Actor) -> None:
    """Raise `Conflict` `private_benchmark_limit` where the workspace has as many as it may; details name the `limit_kind`.

    The limit of a day holds for people and keys: an operator who fills a workspace is no flood.
    """
    if count_active(workspace) >= MAX_ACTIVE:
        message = f"The workspace has {MAX_ACTIVE:,} active private benchmarks. Archive one to make room."
        raise Conflict("private_benchmark_limit", message, details={"limit_kind": "active_benchmarks", "limit": MAX_ACTIVE})
    if actor.kind != ActorKind.SYSTEM and count_created_since(workspace, timezone.now() - timedelta(days=1)) >= MAX_CREATED_A_DAY:
        message = f"The workspace has created {MAX_CREATED_A_DAY} private benchmarks in the last 24 hours. Try again later."
        raise Conflict("private_benchmark_limit", message, details={"limit_kind": "created_per_day", "limit": MAX_CREATED_A_DAY})


def _check(file: BinaryIO, filename: str, wanted: ImportManifest, actor: Actor) -> tuple[RowStream, Checked, dict[str, Any]]:
    """The file, what its check found, and the version's manifest but for its tasks."""
    name = PurePath(filename.encode("utf-8", "replace").decode().replace("\0", "?")).name  # a file's name may be any bytes
    stream = open_rows(file, name, format=wanted.format, header=wanted.header, delimiter=wanted.delimiter, encoding=wanted.encoding)
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
        source=_source(stream, name, wanted),
        rights={
            "statement": RIGHTS_STATEMENT,
            "license": wanted.license,
            "attested_by": actor.public_id or str(actor.kind),
            "attested_at": timezone.now().isoformat(timespec="seconds"),
        },
    )
    document["delivery"]["never_receives"].append(_undelivered_columns(wanted))
    checked = check_rows(stream, wanted, document)
    document["source"] |= {"rows": checked.rows, "warnings": [warned.document() for warned in checked.warnings]}
    return stream, checked, document


def _source(stream: RowStream, name: str, wanted: ImportManifest) -> dict[str, Any]:
    read_as = {"encoding": stream.encoding, "delimiter": stream.delimiter, "header": stream.header, "answer_pattern": wanted.answer_pattern}
    return {
        "kind": "file",
        "name": name,
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


def _task_rows(stream: RowStream, wanted: ImportManifest) -> Iterator[TaskRow]:
    mapped = row_mapper(wanted)
    for row in stream.rows(wanted.columns.chosen):
        yield mapped(row).task
