"""Files of old evaluations in the workspace's storage, as an upload would leave them."""

import io
from pathlib import Path

from catalog.storing import store_file
from imports.enums import SourceKind
from imports.sources.stored import StoredSource
from workspaces.models import Workspace

FIXTURES = Path(__file__).parent / "old_evaluations"


def stored(workspace: Workspace, path: Path, content: bytes | None = None) -> StoredSource:
    """The file as a source of the workspace; with `content`, one of that name and content."""
    with io.BytesIO(path.read_bytes() if content is None else content) as file:
        kept = store_file(workspace, path.name, file)
    return StoredSource(uri=f"workspace://upload/{path.name}", kind=SourceKind.UPLOAD, name=path.name, content=kept)


def fixture(workspace: Workspace, name: str) -> StoredSource:
    """One of the files in `old_evaluations/`, all written for these tests (CC0)."""
    return stored(workspace, FIXTURES / name)
