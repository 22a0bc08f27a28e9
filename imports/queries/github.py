"""What GitHub has: references, files and first rows of public repositories, and of those granted to a workspace's connections.

Nothing is stored but what a public repository lists at a commit, for a while. A private one is read with a token made for the one request.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet

from common.errors import Forbidden, Refused
from common.ids import named_id
from imports.enums import SourceKind
from imports.limits import limits
from imports.models import GithubInstallation
from imports.queries.capabilities import may_use_github, may_use_private_github
from imports.queries.first_rows import Preview, first_rows
from imports.queries.imports import get_import_of
from imports.sources import github, github_app
from imports.sources.bounded import within
from imports.sources.github import Entry, Ref, Repository, check_ref, parse_repository
from imports.sources.hub_names import check_path, format_of
from imports.sources.stored import StoredSource
from workspaces.models import Workspace

LOOK_SECONDS = 20.0
REMEMBERED_SECONDS = 600
_REMEMBERED_ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class Named:
    """A repository as it is asked for: public by its name or address, or one that was granted to a connection, by both IDs."""

    repository: str = ""
    connection_id: UUID | str | None = None
    repository_id: int | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A repository that can be read now; the token, empty for a public one, ends with the block that it was opened for."""

    repository: Repository
    connection: GithubInstallation | None
    token: str


@dataclass(frozen=True, slots=True)
class Refs:
    """What leads to a commit. `commits` are the latest of the default branch."""

    repository: Repository
    branches: tuple[Ref, ...]
    tags: tuple[Ref, ...]
    commits: tuple[Ref, ...]
    branches_limited: bool
    tags_limited: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """A file, folder, link or submodule of a tree."""

    entry: Entry
    is_usable: bool
    """Whether it may be chosen: a file of a format and size that can be imported."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The data files of a repository at a commit, or of one folder where the repository is too large to be listed whole."""

    repository: Repository
    revision: str
    commit: str
    path: str
    """The folder, where only one is listed."""
    entries: tuple[Listed, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Previewed:
    """A file at the commit that its revision leads to now, verified, with its first rows."""

    repository: Repository
    revision: str
    commit: str
    entry: Entry
    format: str
    rows: Preview

    @property
    def source(self) -> str:
        """What a manifest names it by, once it is imported."""
        return f"github://{self.repository.name}@{self.commit}/{self.entry.path}"


def require_github(workspace: Workspace) -> None:
    """Raise `Forbidden` `github_imports_disabled` where these imports are not available to the workspace."""
    if not may_use_github(workspace):
        message = "Imports from GitHub are not available here. Upload the file, or import it from Hugging Face."
        raise Forbidden(message, code="github_imports_disabled")


def connections_of(workspace: Workspace) -> QuerySet[GithubInstallation]:
    """The accounts that are connected now."""
    return GithubInstallation.objects.filter(workspace=workspace, removed_at__isnull=True).order_by("account", "id")


def get_connection(workspace: Workspace, connection_id: UUID | str) -> GithubInstallation:
    """The workspace's connection. Raises DoesNotExist, also for one that was disconnected."""
    return connections_of(workspace).get(public_id=named_id(connection_id))


def _connection(workspace: Workspace, connection_id: UUID | str) -> GithubInstallation:
    """The connection, or the one by which its account is connected again since."""
    found = GithubInstallation.objects.filter(workspace=workspace, public_id=named_id(connection_id)).first()
    living = found and connections_of(workspace).filter(installation_id=found.installation_id).first()
    if not living or not may_use_private_github(workspace):
        raise github.access_refused()
    return living


@contextmanager
def opened(workspace: Workspace, named: Named) -> Iterator[Opened]:
    """The repository, readable within the block.

    Raises `Forbidden` `github_imports_disabled`, and `Refused`: `invalid_source`, `access_refused` (404), `github_unavailable` (502).
    """
    name = parse_repository(named.repository) if named.repository else ""
    if (named.connection_id is None) != (named.repository_id is None) or not (name or named.connection_id):
        message = "Name a public repository, or a private one by both github_connection_id and github_repository_id."
        raise Refused("invalid_source", message)
    require_github(workspace)
    if named.connection_id is None or named.repository_id is None:
        yield Opened(_public(github.find_repository(name)), None, "")
        return
    connection = _connection(workspace, named.connection_id)
    with github_app.opened_repository(connection.installation_id, named.repository_id) as (repository, token):
        if name and name.lower() != repository.name.lower():
            raise github.access_refused()
        yield Opened(repository, connection, token)


def _public(repository: Repository) -> Repository:
    if repository.private:  # nobody may see it who asks as nobody
        raise github.access_refused()
    return repository


def granted_repositories(workspace: Workspace, connection_id: UUID | str) -> tuple[list[Repository], bool]:
    """The repositories granted to the connection, by name, and whether there are more. Raises as `opened`."""
    require_github(workspace)
    connection = _connection(workspace, connection_id)
    with within(LOOK_SECONDS):
        found, is_limited = github_app.granted_repositories(connection.installation_id)
    return sorted(found, key=lambda each: each.name.lower()), is_limited


def list_refs(workspace: Workspace, named: Named) -> Refs:
    """Up to 100 branches and tags, and the latest 20 commits. Raises as `opened`."""
    with within(LOOK_SECONDS), opened(workspace, named) as found:
        key = f"github-refs:{found.repository.id}"
        refs: Refs | None = None if found.token else cache.get(key)
        if refs is not None:
            return refs
        branches, more_branches = github.list_refs(found.repository, "branches", found.token)
        tags, more_tags = github.list_refs(found.repository, "tags", found.token)
        commits = github.list_commits(found.repository, found.token)
        refs = Refs(found.repository, tuple(branches), tuple(tags), tuple(commits), more_branches, more_tags)
        if not found.token:
            cache.set(key, refs, 60)
        return refs


def list_tree(workspace: Workspace, named: Named, *, revision: str = "", path: str = "") -> Tree:
    """The data files at the revision, of the default branch where none is named. A repository that is too large to be listed whole is
    listed folder by folder; `path` is the folder. Raises as `opened`, `revision_unresolved`, `file_not_found` for no folder.
    """
    path = path.strip("/")
    if path:
        check_path(path, is_folder=True)
    if revision:
        check_ref(revision)
    with within(LOOK_SECONDS), opened(workspace, named) as found:
        wanted = revision or found.repository.default_branch
        commit, listing = _resolved(found, wanted)
        if listing.is_whole:
            return Tree(found.repository, wanted, commit, "", _usable(listing.entries), is_whole=True)
        entries = github.list_folder(found.repository, commit, path, found.token)
    shown = [each for each in entries if each.kind != "file" or github.is_data(each.path)]
    return Tree(found.repository, wanted, commit, path, _usable(shown[: github.MOST_LISTED]), is_whole=False)


def _usable(entries: tuple[Entry, ...] | list[Entry]) -> tuple[Listed, ...]:
    most = limits().github_max_bytes
    return tuple(Listed(each, each.kind == "file" and 0 < (each.size or 0) <= most) for each in entries)


def _resolved(found: Opened, revision: str) -> tuple[str, github.Listing]:
    """The commit, and what is listed at it; of a public repository both are remembered for a while, since a commit does not change."""
    key = f"github-tree:{found.repository.id}:{revision}"
    if not found.token and (known := cache.get(key)) is not None:
        return revision, known
    commit = github.resolve_commit(found.repository, revision, found.token)
    key = f"github-tree:{found.repository.id}:{commit}"
    known = None if found.token else cache.get(key)
    listing: github.Listing = known or github.list_files(found.repository, commit, found.token)
    if not found.token and len(listing.entries) <= _REMEMBERED_ENTRIES:
        cache.set(key, listing, REMEMBERED_SECONDS)
    return commit, listing


def find_file(found: Opened, revision: str, path: str) -> tuple[str, Entry]:
    """The commit, and the file of that path at it. Inside `opened`.

    Raises `Refused`: `revision_unresolved`, `file_not_found`, `file_refused`, `unsupported_format`, `too_large` (413).
    """
    check_path(path)
    format_of(path)
    commit, listing = _resolved(found, revision)
    entry = github.find_file(found.repository, commit, path, listing, found.token)
    most = limits().github_max_bytes
    if (entry.size or 0) > most:
        message = f"{path[:300]} has {entry.size:,} bytes; a file from GitHub may have {most:,}. Nothing was downloaded. Upload it instead."
        raise Refused("too_large", message, status=413, details={"bytes": entry.size, "limit": most})
    return commit, entry


def preview(workspace: Workspace, named: Named, *, revision: str = "", path: str) -> Previewed:
    """The file's first rows at the commit that the revision leads to now. Raises as `opened` and `find_file`, and as reading rows does."""
    check_path(path)
    kind = format_of(path)
    if revision:
        check_ref(revision)
    with within(settings.GITHUB_IMPORT_SECONDS), opened(workspace, named) as found:
        wanted = revision or found.repository.default_branch
        commit, entry = find_file(found, wanted, path)
        with github.downloaded(found.repository, entry, found.token) as (file, _):
            content = file.read()
    return Previewed(found.repository, wanted, commit, entry, kind, first_rows(content, path, is_whole=True))


def require_source_access(workspace: Workspace, source: StoredSource) -> None:
    """Make sure that a source from GitHub may be used now: these imports are available, and its repository can still be read.

    Another kind of source needs nothing. It waits for a network: call it outside of transactions. Raises `Forbidden`
    `github_imports_disabled`, and `Refused`: `access_refused` (404), `github_unavailable` (502).
    """
    if source.kind != SourceKind.GITHUB:
        return
    require_github(workspace)
    taken = get_import_of(workspace, source)
    receipt = json.loads(taken.receipt)
    connection_id = receipt.get("github_connection_id")
    named = Named("", connection_id, receipt["github_repository_id"]) if connection_id else Named(taken.repository)
    with within(settings.GITHUB_IMPORT_SECONDS), opened(workspace, named):
        pass
