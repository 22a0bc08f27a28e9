"""What a workspace has fetched from elsewhere."""

from collections.abc import Sequence

from catalog.models import DataFile
from imports.models import SourceImport
from imports.sources.stored import StoredSource
from workspaces.models import Workspace


def find_source_import(workspace: Workspace, selection_sha256: str) -> SourceImport | None:
    """The workspace's import of that very selection, with its files; None where it has not been fetched."""
    found = SourceImport.objects.filter(workspace=workspace, selection_sha256=selection_sha256)
    return found.prefetch_related("files__content", "files__source_import").first()


def stored_contents(workspace: Workspace, sha256s: Sequence[str]) -> dict[str, DataFile]:
    """Those of the contents that the workspace has stored, by their SHA-256."""
    return {stored.sha256: stored for stored in DataFile.objects.filter(workspace=workspace, sha256__in=sha256s)}


def get_import_of(workspace: Workspace, source: StoredSource) -> SourceImport:
    """The import that a fetched source was stored by. Raises DoesNotExist."""
    of_source = {"repository": source.origin["repository"], "commit": source.origin["commit"], "sha256": source.origin["receipt_sha256"]}
    return SourceImport.objects.filter(workspace=workspace, kind=source.kind, **of_source).latest("id")
