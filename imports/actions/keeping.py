"""Storing what was fetched from elsewhere: its contents and its receipt, all of it or nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from django.db import transaction
from django.utils import timezone

from catalog.models import DataFile
from catalog.storing import Content, keep_content
from common.canonical import freeze
from imports.enums import SCHEMES, SourceKind
from imports.models import SourceFile, SourceImport
from imports.queries.imports import find_source_import
from workspaces.actors import Actor
from workspaces.audit import record
from workspaces.models import Workspace

RECEIPT_SCHEMA = "evalrouter.source_import.v1"


@dataclass(frozen=True, slots=True)
class Ready:
    """One verified file that lies in the storage: its path in the repository, its content, and the file itself."""

    path: str
    content: Content
    opened: IO[bytes]


@dataclass(frozen=True, slots=True)
class Kept:
    """What an import is of, as its row, its receipt and the record of changes name it."""

    kind: SourceKind
    repository: str
    commit: str
    selection_sha256: str
    license: str
    receipt: Callable[[Sequence[DataFile]], dict[str, Any]]
    """The receipt of the stored contents, but for its schema, its kind and its time."""
    audited: dict[str, Any] = field(default_factory=dict)


def keep_import(workspace: Workspace, kept: Kept, ready: Sequence[Ready], *, actor: Actor) -> tuple[SourceImport, bool]:
    """The import with its receipt and rows of its files, and whether it was made now; one selection has one."""
    with transaction.atomic():
        # Under the workspace's lock, so that two imports of one selection make one receipt.
        workspace = Workspace.objects.select_for_update().get(pk=workspace.pk)
        known = find_source_import(workspace, kept.selection_sha256)
        if known is not None:
            return known, False
        contents = [keep_content(workspace, each.path.rpartition("/")[2], each.content, each.opened) for each in ready]
        made_at = timezone.now()
        fetched_at = made_at.isoformat(timespec="seconds").replace("+00:00", "Z")
        head = {"schema": RECEIPT_SCHEMA, "kind": str(kept.kind), "fetched_at": fetched_at}
        text, sha256 = freeze(head | kept.receipt(contents))
        made = SourceImport.objects.create(
            workspace=workspace,
            kind=kept.kind,
            repository=kept.repository,
            commit=kept.commit,
            selection_sha256=kept.selection_sha256,
            license=kept.license,
            receipt=text,
            sha256=sha256,
            created_by=actor.user,
            created_at=made_at,
        )
        for each, content in zip(ready, contents, strict=True):
            SourceFile.objects.create(source_import=made, path=each.path, content=content)
        record(
            actor,
            "source.imported",
            f"{SCHEMES[kept.kind]}://{made.repository}@{made.commit}",
            workspace=workspace,
            import_id=str(made.public_id),
            files=len(contents),
            bytes=sum(content.bytes for content in contents),
            license=made.license,
            **kept.audited,
        )
    return made, True
