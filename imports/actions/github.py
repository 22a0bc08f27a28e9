"""Bringing a data file of a GitHub repository into a workspace: at one commit, verified, all of it kept or nothing."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from catalog.models import DataFile
from catalog.storing import forget_content, save_content
from common.canonical import canonical_json, sha256_text
from common.errors import Refused
from imports.actions.fetching import Fetched
from imports.actions.keeping import Kept, Ready, keep_import
from imports.enums import SourceKind
from imports.models import SourceImport
from imports.queries.github import Named, Opened, find_file, opened, require_github
from imports.queries.imports import find_source_import
from imports.sources.bounded import within
from imports.sources.github import Entry, downloaded
from imports.sources.hub_names import check_path, format_of, is_commit
from imports.storage import release, reserve
from workspaces.actors import Actor
from workspaces.models import Workspace
from workspaces.permissions import can_import, require


def fetch_github(workspace: Workspace, *, actor: Actor, named: Named, revision: str, path: str) -> Fetched:
    """Find the file at the full commit, download, verify and store it; the same file at the same commit is fetched once and answers as
    before, as long as its repository can still be read. It waits for a network: call it outside of transactions.

    Raises `Forbidden`, also `github_imports_disabled`, and `Refused`: `invalid_source` unless the revision is a full commit, those of
    `queries.github.find_file` and `sources.github.downloaded`, `storage_limit` (413).
    """
    require(can_import(actor, workspace))
    require_github(workspace)
    if not is_commit(revision):
        message = "Name the full commit of 40 characters that the preview gives, so that no other content is taken."
        raise Refused("invalid_source", message, details={"revision": revision[:200]})
    check_path(path)
    format_of(path)
    with within(settings.GITHUB_IMPORT_SECONDS), opened(workspace, named) as found:
        commit, entry = find_file(found, revision, path)
        sha256 = _selection_sha256(found, commit, entry)
        known = find_source_import(workspace, sha256)
        if known is not None:
            return Fetched(known, is_new=False)
        key = f"github:{sha256}"
        reserve(workspace, key, entry.size or 0, actor=actor)
        try:
            made, is_new = _fetch(workspace, found, commit, entry, sha256, actor)
        finally:
            release(workspace, key)
    return Fetched(made, is_new)


def _selection_sha256(found: Opened, commit: str, entry: Entry) -> str:
    connection = str(found.connection.public_id) if found.connection else None
    chosen = {"kind": str(SourceKind.GITHUB), "repository": found.repository.name, "commit": commit}
    return sha256_text(canonical_json(chosen | {"path": entry.path, "github_connection_id": connection}))


def _fetch(
    workspace: Workspace, found: Opened, commit: str, entry: Entry, selection_sha256: str, actor: Actor
) -> tuple[SourceImport, bool]:
    with downloaded(found.repository, entry, found.token) as (file, sha256):
        content = save_content(workspace, file, sha256, entry.size or 0)
        try:
            kept = Kept(
                kind=SourceKind.GITHUB,
                repository=found.repository.name,
                commit=commit,
                selection_sha256=selection_sha256,
                license="",
                receipt=lambda contents: _receipt(found, commit, entry, contents),
                audited={"private": found.repository.private},
            )
            return keep_import(workspace, kept, [Ready(entry.path, content, file)], actor=actor)
        except BaseException:
            forget_content(workspace, sha256)
            raise


def _receipt(found: Opened, commit: str, entry: Entry, contents: Sequence[DataFile]) -> dict[str, Any]:
    pinned = f"github://{found.repository.name}@{commit}"
    file = contents[0]
    return {
        "source": pinned,
        "repository": found.repository.name,
        "github_repository_id": found.repository.id,
        "github_connection_id": str(found.connection.public_id) if found.connection else None,
        "private": found.repository.private,
        "commit": commit,
        "license": "",
        "files": [
            {
                "path": entry.path,
                "source": f"{pinned}/{entry.path}",
                "bytes": file.bytes,
                "sha256": file.sha256,
                "git_blob": entry.sha,
                "verified_by": "git_blob",
            }
        ],
    }
