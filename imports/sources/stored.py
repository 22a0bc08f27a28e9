"""The file that a manifest's `source` names, whatever it came from: stored for this workspace, and known by its SHA-256."""

from dataclasses import dataclass, field
from typing import Any

from catalog.models import DataFile
from imports.enums import SourceKind


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A file that is ready to be read."""

    uri: str
    kind: SourceKind
    name: str
    """The file's own name, without folders."""
    content: DataFile
    license: str = ""
    """What the source itself states, verified when it was fetched; empty for an upload."""
    origin: dict[str, Any] = field(default_factory=dict)
    """What a version's manifest records of where it is from: {"repository", "commit", "path", "receipt_sha256"}."""
    rows: int | None = None
    """How many rows it has, where they were counted before."""
