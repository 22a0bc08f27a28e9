"""Repositories of GitHub: named, resolved to one commit, listed, and one file of them downloaded and verified. Nothing of one is executed.

A file is what its repository's tree lists at the commit: links, submodules and Git LFS pointers, which only name their data, are refused by
what they are. A token is handed through to the client and is in nothing that these functions return, raise or log.
"""

import hashlib
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import quote, urlsplit

from django.conf import settings

from common.errors import Refused
from common.redaction import redact
from imports.sources.bounded import TRIES, Unavailable, seconds_left
from imports.sources.github_client import SHA, ask, check, refusals, stream
from imports.sources.hub_names import FORMATS, check_revision, is_commit

MOST_REFS = 100
MOST_COMMITS = 20
MOST_LISTED = 5_000
"""Files of one listing; of a larger repository the folders are listed one by one."""
_SPARE = 1024 * 1024
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_OWNER = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})"
_REPOSITORY = re.compile(rf"{_OWNER}(?:_[A-Za-z0-9]{{1,8}})?/(?!\.{{1,2}}$)[A-Za-z0-9._-]{{1,100}}")
_PROPOSAL = re.compile(r"pull/[0-9]+(/.*)?")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as GitHub names it now."""

    id: int
    name: str
    """`owner/name`, as GitHub spells it."""
    default_branch: str
    private: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """What a tree lists: `kind` is file, folder, link or submodule; `sha` is its Git ID, `size` is in bytes for a file."""

    path: str
    kind: str
    size: int | None
    sha: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Listing:
    """Data files, links and submodules of a whole repository, or where it is not whole, whatever the answer held of them."""

    entries: tuple[Entry, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Ref:
    """A branch or a tag; for a commit, `name` is the first line of its message."""

    name: str
    commit: str


def parse_repository(text: str) -> str:
    """`owner/name` of a repository's page or name. Raises `Refused` `invalid_source`."""
    text = text.strip()
    if "://" in text:
        try:
            url, site = urlsplit(text), urlsplit(settings.GITHUB_URL)
            is_site = url.scheme == "https" and url.netloc.lower() == site.netloc.lower()
        except ValueError:
            is_site = False
        if not is_site or url.query or url.fragment:
            raise _invalid(f"Name the repository as owner/name, or by the address of its page on {settings.GITHUB_URL}.")
        text = url.path.strip("/").removesuffix(".git")
        if text.count("/") > 1:
            raise _invalid("That is a page within a repository. Give the repository's own page, and the revision and the file beside it.")
    if not _REPOSITORY.fullmatch(text):
        raise _invalid(f"{text[:120]!r} is not owner/name, as a repository is named on GitHub.")
    return text


def check_ref(revision: str) -> str:
    """A branch, a tag or a commit. Raises `Refused` `invalid_source`; a proposal (`pull/…`), which anyone may open, is none."""
    if _PROPOSAL.fullmatch(revision):
        raise _invalid("Name a branch, a tag or a commit; others' proposals (pull/…) are not imported.")
    return check_revision(revision)


def _invalid(words: str) -> Refused:
    return Refused("invalid_source", redact(words))


def access_refused() -> Refused:
    """The one answer for a repository that does not exist, is private and not granted, or is gone."""
    message = (
        "There is no such repository that can be read: it does not exist, or it is private and not granted to this workspace's GitHub App"
        " connection. Check its name, or ask an admin of the workspace to grant it under Settings → Integrations."
    )
    return Refused("access_refused", message, status=404)


def revision_unresolved() -> Refused:
    return Refused("revision_unresolved", "The repository has no such branch, tag or commit, or it does not lead to one commit.")


def file_not_found(path: str) -> Refused:
    return Refused("file_not_found", f"The repository has no file {path[:300]} at this commit.", details={"path": path[:300]})


def _file_refused(path: str, reason: str, words: str) -> Refused:
    message = f"{path[:300]} {words} Upload the data file itself instead."
    return Refused("file_refused", message, details={"path": path[:300], "reason": reason})


def hash_mismatch(path: str) -> Refused:
    message = f"{path[:200]} did not come with the size and hash that GitHub lists for it. Nothing of it was kept. Try again later."
    return Refused("hash_mismatch", message, status=502, details={"path": path[:300]})


def find_repository(name: str, token: str = "") -> Repository:
    """The repository of that name. Raises `Refused`: `access_refused` (404), `github_unavailable` (502)."""
    with refusals():
        return read_repository(check(ask("GET", f"/repos/{name}", token=token), access_refused).json())


def read_repository(stated: dict[str, Any]) -> Repository:
    """What GitHub states of a repository; inside `refusals`."""
    name, number = stated["full_name"], stated["id"]
    if not isinstance(name, str) or not _REPOSITORY.fullmatch(name) or not isinstance(number, int) or isinstance(number, bool):
        raise Unavailable("a repository without a name")
    return Repository(number, name, str(stated.get("default_branch") or "main")[:255], bool(stated["private"]))


def resolve_commit(repository: Repository, revision: str, token: str = "") -> str:
    """The full commit that the revision leads to now. Raises `Refused` `revision_unresolved` and as `find_repository`."""
    check_ref(revision)
    with refusals():
        answer = ask("GET", f"/repos/{repository.name}/commits/{quote(revision, safe='/')}", token=token, accept=SHA)
        commit = check(answer, revision_unresolved, gone=(403, 404, 409, 410, 422, 451)).text.strip()
    if not is_commit(commit) or (is_commit(revision) and commit != revision):
        raise revision_unresolved()
    return commit


def list_refs(repository: Repository, kind: str, token: str = "") -> tuple[list[Ref], bool]:
    """The first hundred `branches` or `tags`, and whether there are more. Raises as `find_repository`."""
    with refusals():
        params = {"per_page": str(MOST_REFS)}
        answer = check(ask("GET", f"/repos/{repository.name}/{kind}", token=token, params=params), access_refused)
        found = [Ref(str(each["name"])[:255], str(each["commit"]["sha"])) for each in answer.json()[:MOST_REFS]]
        return [ref for ref in found if is_commit(ref.commit)], "next" in answer.links


def list_commits(repository: Repository, token: str = "") -> list[Ref]:
    """The latest twenty commits of the default branch, each with the first line of its message. Raises as `find_repository`."""
    with refusals():
        params = {"per_page": str(MOST_COMMITS), "sha": repository.default_branch}
        answer = ask("GET", f"/repos/{repository.name}/commits", token=token, params=params)
        if answer.status_code == 409:  # there is none yet
            return []
        stated = check(answer, access_refused).json()[:MOST_COMMITS]
        found = [Ref(redact(str(each["commit"]["message"]).partition("\n")[0])[:100], str(each["sha"])) for each in stated]
        return [ref for ref in found if is_commit(ref.commit)]


def list_files(repository: Repository, commit: str, token: str = "") -> Listing:
    """What can be chosen in the repository at the commit, and what only looks so. Raises as `find_repository`."""
    entries, is_whole = _tree(repository, commit, token, recursive=True)
    chosen = [each for each in entries if each.kind in ("link", "submodule") or (each.kind == "file" and is_data(each.path))]
    return Listing(tuple(chosen[:MOST_LISTED]), is_whole and len(chosen) <= MOST_LISTED)


def list_folder(repository: Repository, commit: str, path: str, token: str = "") -> list[Entry]:
    """What one folder holds. Raises `Refused` `file_not_found` where it is none, and as `find_repository`."""
    sha, at = commit, ""
    for part in path.split("/") if path else []:
        at = f"{at}/{part}" if at else part
        found = _named(_tree(repository, sha, token)[0], part)
        if found is None or found.kind == "file":
            raise file_not_found(path)
        if found.kind != "folder":
            raise _not_a_file(Entry(at, found.kind, None, found.sha))
        sha = found.sha
    entries, _ = _tree(repository, sha, token)
    return [Entry(f"{path}/{each.path}" if path else each.path, each.kind, each.size, each.sha) for each in entries]


def find_file(repository: Repository, commit: str, path: str, listing: Listing, token: str = "") -> Entry:
    """The file of that path as the commit lists it. Raises `Refused`: `file_not_found`, `file_refused` for a link or a submodule."""
    for each in listing.entries:
        if each.path == path or (each.kind in ("link", "submodule") and path.startswith(f"{each.path}/")):
            return each if each.kind == "file" else _raise(_not_a_file(each))
    if listing.is_whole:
        raise file_not_found(path)
    folder, _, name = path.rpartition("/")
    found = _named(list_folder(repository, commit, folder, token), name)
    if found is None or found.kind == "folder":
        raise file_not_found(path)
    return found if found.kind == "file" else _raise(_not_a_file(found))


def _named(entries: list[Entry], name: str) -> Entry | None:
    return next((each for each in entries if each.name == name), None)


def _raise(refusal: Refused) -> Any:
    raise refusal


def _not_a_file(entry: Entry) -> Refused:
    words = "is a symbolic link, which is not followed." if entry.kind == "link" else "is a submodule: its files lie in another repository."
    return _file_refused(entry.path, "symlink" if entry.kind == "link" else "submodule", words)


def is_data(path: str) -> bool:
    """Whether the file's ending is that of a format that is imported."""
    return path.lower().endswith(tuple(FORMATS))


def _tree(repository: Repository, sha: str, token: str, *, recursive: bool = False) -> tuple[list[Entry], bool]:
    """The entries of a tree, and whether these are all."""
    with refusals():
        params = {"recursive": "1"} if recursive else None
        answer = ask("GET", f"/repos/{repository.name}/git/trees/{sha}", token=token, params=params)
        stated = check(answer, access_refused, gone=(403, 404, 409, 410, 422, 451)).json()
        return [_entry(each) for each in stated["tree"]], not stated["truncated"]


def _entry(stated: dict[str, Any]) -> Entry:
    path, mode, kind, sha = str(stated["path"]), str(stated["mode"]), stated["type"], str(stated["sha"])
    if kind == "tree":
        return Entry(path, "folder", None, sha)
    if mode == "160000" or kind == "commit":
        return Entry(path, "submodule", None, sha)
    if mode == "120000":
        return Entry(path, "link", None, sha)
    size = stated.get("size")
    if kind != "blob" or not isinstance(size, int) or isinstance(size, bool) or size < 0 or not is_commit(sha):
        raise Unavailable("a tree lists a file without its size or ID")
    return Entry(path, "file", size, sha)


@contextmanager
def downloaded(repository: Repository, entry: Entry, token: str = "") -> Iterator[tuple[IO[bytes], str]]:
    """The file's verified content, in a temporary file that is gone afterwards, open at its start; and its SHA-256.

    Raises `Refused`: `file_refused` for a Git LFS pointer or an empty file, `hash_mismatch` (502), and those of access.
    """
    if not entry.size:
        raise _file_refused(entry.path, "empty", "is empty.")
    with tempfile.SpooledTemporaryFile(max_size=4 * 1024 * 1024) as file:
        with refusals():
            sha256 = _download(repository, entry, token, file)
        file.seek(0)
        if file.read(len(_LFS_POINTER)) == _LFS_POINTER:
            words = "is a Git LFS pointer: it names its data, and the repository does not hold it."
            raise _file_refused(entry.path, "lfs_pointer", words)
        file.seek(0)
        yield file, sha256


def _download(repository: Repository, entry: Entry, token: str, file: IO[bytes]) -> str:
    for number in range(1, TRIES + 1):
        file.seek(0)
        file.truncate()
        blob, sha256, size = hashlib.sha1(b"blob %d\0" % (entry.size or 0), usedforsecurity=False), hashlib.sha256(), 0
        try:
            with stream(f"/repos/{repository.name}/git/blobs/{entry.sha}", token, limit=(entry.size or 0) + _SPARE) as response:
                check(response, access_refused, gone=(403, 404, 409, 410, 422, 451))
                for chunk in response.iter_raw():
                    size += len(chunk)
                    if size > (entry.size or 0):
                        raise hash_mismatch(entry.path)
                    blob.update(chunk)
                    sha256.update(chunk)
                    file.write(chunk)
        except Unavailable:  # GitHub gives a blob whole or not at all: from its beginning again
            seconds_left()
            if number == TRIES or size == 0:
                raise
            continue
        break
    if size != entry.size or blob.hexdigest() != entry.sha:
        raise hash_mismatch(entry.path)
    return sha256.hexdigest()
