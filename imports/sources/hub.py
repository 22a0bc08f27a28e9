"""Datasets of the Hugging Face Hub: resolved to one commit, selected, checked, downloaded and verified. Nothing of one is executed.

What the Hub states is checked as far as it can be: a commit resolves to itself, and each file has the size and the hash that the Hub lists
for it at that commit. A token is handed through to the client and is in nothing that these functions return, raise or log.
"""

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

import structlog
from django.conf import settings

from common.errors import Forbidden, Refused
from common.redaction import redact
from imports.reading.rows import unreadable
from imports.sources.hub_card import MAX_CARD_BYTES, Card, UnreadableCard, read_card
from imports.sources.hub_client import HubUnavailable, headers, hub_api, seconds_left, session
from imports.sources.hub_names import Reference, is_commit

if TYPE_CHECKING:
    import httpx2

log = structlog.get_logger(__name__)

CARD = "README.md"
_SPARE = 1024 * 1024
"""What may come beyond a file's size before its download is given up: more than a chunk, in which it is noticed."""
_ROUNDS = 5
"""How often a download is taken up again where its connection broke."""
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset at one commit, as the Hub states it."""

    repository: str
    revision: str
    """As it was asked for."""
    commit: str
    gated: bool
    private: bool
    paths: tuple[str, ...]
    """Of the files at that commit, all of them or, in a very large repository, the first ones."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One file at a commit: its size in bytes and what its content is verified by."""

    path: str
    bytes: int
    sha256: str
    """Of its content, where the Hub keeps it with Git LFS; else empty."""
    blob: str
    """Its Git blob ID."""

    @property
    def verified_by(self) -> str:
        return "lfs_sha256" if self.sha256 else "git_blob"


@contextmanager
def refusals(token: str = "") -> Iterator[None]:
    """Whatever the client raises inside, as a refusal that holds nothing of the request.

    `access_refused` (404), `token_required` (403), `revision_unresolved`, `file_not_found`, `hub_unavailable` (502).
    """
    try:
        yield
    except (Refused, UnreadableCard):
        raise
    except Exception as error:
        # The client's exceptions carry the request, and with it the token: none of them leaves this place, as a cause neither.
        refusal = _refusal(error, token)
        if refusal is None:
            raise
        raise refusal from None


def _refusal(error: Exception, token: str) -> Refused | None:
    import httpx2
    from huggingface_hub import errors

    if isinstance(error, HubUnavailable):
        log.warning("hub.unavailable", reason=redact(str(error), token), retry_after=error.retry_after)
        return unavailable(error.retry_after)
    if isinstance(error, errors.GatedRepoError):
        return access_refused() if token else token_required()
    if isinstance(error, errors.RevisionNotFoundError):
        return revision_unresolved()
    if isinstance(error, errors.EntryNotFoundError):
        return Refused("file_not_found", "The repository has no such file at this commit.")
    if isinstance(error, (errors.RepositoryNotFoundError, errors.DisabledRepoError)):
        return access_refused()
    if isinstance(error, errors.HfHubHTTPError):
        status = error.response.status_code if error.response is not None else 0
        if status in (401, 403, 404, 410, 451):
            return access_refused()
        log.warning("hub.refused", status=status)
        return unavailable()
    if isinstance(error, errors.HFValidationError):
        return Refused("invalid_source", "The dataset's name or revision is malformed.")
    if isinstance(
        error, (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, KeyError, TypeError, ValueError, AttributeError, RecursionError)
    ):
        log.warning("hub.misunderstood", error=type(error).__name__)
        return unavailable()
    return None


def unavailable(retry_after: int | None = None) -> Refused:
    wait = f" It asks to be left alone for {retry_after} s." if retry_after else ""
    details = {"retry_after": retry_after} if retry_after else {}
    return Refused(
        "hub_unavailable",
        f"huggingface.co could not be reached, or did not answer as agreed.{wait} Try again later.",
        status=502,
        details=details,
    )


def access_refused() -> Refused:
    """The one answer for a dataset that does not exist, is private, is disabled, or that the token cannot read."""
    message = (
        "There is no such dataset that can be read: it does not exist, is private or disabled, or the token given cannot read it."
        " For a gated dataset, accept its terms on huggingface.co with the account of the token."
    )
    return Refused("access_refused", message, status=404)


def token_required() -> Refused:
    message = "The dataset is gated. Accept its terms on huggingface.co, and give a token that can read it. It is used once and not kept."
    return Forbidden(message, code="token_required")


def revision_unresolved() -> Refused:
    return Refused("revision_unresolved", "The dataset has no such branch, tag or commit, or it does not lead to one commit.")


def hash_mismatch(path: str) -> Refused:
    message = f"{path[:200]} did not come with the size and hash that the Hub lists for it. Nothing of it was kept. Try again later."
    return Refused("hash_mismatch", message, status=502, details={"path": path[:300]})


def find_dataset(reference: Reference, token: str = "", *, allow_gated: bool = False) -> Dataset:
    """The dataset at the commit that its revision leads to now. One that was renamed keeps the name it was asked for by.

    Raises `Refused`: `access_refused` (404), `token_required` (403) for a gated one without a token unless allowed, `revision_unresolved`,
    `hub_unavailable` (502).
    """
    with refusals(token):
        info = hub_api(token).dataset_info(reference.repository, revision=reference.revision, timeout=seconds_left())
        commit, is_private, is_gated = info.sha, info.private, info.gated
        paths = tuple(str(file.rfilename) for file in info.siblings or ())
        if info.disabled or (is_private and not token):  # what a mirror can see, nobody here was given
            raise access_refused()
        if not isinstance(commit, str) or not is_commit(commit) or (reference.is_pinned and commit != reference.revision):
            raise revision_unresolved()
        if is_gated and not token and not allow_gated:
            raise token_required()
    return Dataset(reference.repository, reference.revision, commit, bool(is_gated), bool(is_private), paths)


def list_files(dataset: Dataset, paths: Sequence[str], token: str = "") -> list[Listed]:
    """The files in the order asked for, each with its size and hash. Raises `Refused` `file_not_found` and `file_refused`."""
    from huggingface_hub.hf_api import RepoFile

    with refusals(token):
        try:
            found = hub_api(token).get_paths_info(dataset.repository, list(paths), revision=dataset.commit, repo_type="dataset")
        except (KeyError, TypeError):
            raise _file_refused("a selected file") from None
    files = {file.path: file for file in found if isinstance(file, RepoFile)}
    return [_listed(path, files.get(path)) for path in paths]


def _listed(path: str, file: Any) -> Listed:
    if file is None:
        raise Refused("file_not_found", f"The repository has no file {path[:300]} at this commit.", details={"path": path[:300]})
    size, blob, lfs = file.size, file.blob_id, file.lfs
    sha256 = lfs.sha256 if lfs is not None else ""
    is_size = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    is_hash = _is_hex(sha256, 64) if lfs is not None else _is_hex(blob, 40) or _is_hex(blob, 64)
    if not is_size or not is_hash or (lfs is not None and lfs.size != size):
        raise _file_refused(path[:300])
    return Listed(path, size, sha256, blob if isinstance(blob, str) else "")


def _is_hex(value: Any, digits: int) -> bool:
    return isinstance(value, str) and len(value) == digits and set(value) <= set("0123456789abcdef")


def _file_refused(name: str) -> Refused:
    return Refused("file_refused", f"The Hub lists no size or hash for {name}, so that it cannot be verified.", details={"path": name})


def read_dataset_card(dataset: Dataset, token: str = "") -> Card:
    """What the card states at the dataset's commit; empty where there is none. Raises `Refused` `license_refused` for an unreadable one."""
    try:
        listed = list_files(dataset, [CARD], token)[0]
    except Refused as refused:
        if refused.code != "file_not_found":
            raise
        return Card()
    if listed.bytes > MAX_CARD_BYTES:
        raise _unreadable_card(f"it has more than {MAX_CARD_BYTES:,} bytes")
    with downloaded(dataset, listed, token) as (file, _):
        content = file.read()
    try:
        return read_card(content)
    except UnreadableCard as problem:
        raise _unreadable_card(str(problem)) from None


def _unreadable_card(words: str) -> Refused:
    return Refused("license_refused", f"The dataset card cannot be read, so that its license is unknown: {words}.")


@contextmanager
def downloaded(dataset: Dataset, listed: Listed, token: str = "") -> Iterator[tuple[IO[bytes], str]]:
    """The file's verified content, in a temporary file that is gone afterwards, open at its start; and its SHA-256.

    Raises `Refused`: `hash_mismatch` (502), `file_refused` for a Git LFS pointer that stands in for its data, and those of access.
    """
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=4 * 1024 * 1024))
        with refusals(token):
            sha256 = _download(dataset, listed, token, file)
        file.seek(0)
        if not listed.sha256 and file.read(len(_LFS_POINTER)) == _LFS_POINTER:
            message = f"{listed.path[:300]} is a Git LFS pointer: it names its data, and the repository does not hold it."
            raise Refused("file_refused", message, details={"path": listed.path[:300]})
        file.seek(0)
        yield file, sha256


def _download(dataset: Dataset, listed: Listed, token: str, file: IO[bytes]) -> str:
    """Write the content to the file, verified, and give its SHA-256; taken up where it broke."""
    digest = _Digest(listed)
    for number in range(1, _ROUNDS + 1):
        try:
            with stream(dataset.repository, dataset.commit, listed.path, token, first=digest.size, limit=listed.bytes + _SPARE) as response:
                if digest.size and not _continues(response, digest.size):
                    digest = _Digest(listed)
                    file.seek(0)
                    file.truncate()
                for chunk in response.iter_raw():  # as they come: what has come before a break is not lost
                    digest.add(chunk)
                    if digest.size > listed.bytes:
                        raise hash_mismatch(listed.path)
                    file.write(chunk)
        except HubUnavailable:
            seconds_left()  # raises when the time is over
            if number == _ROUNDS or digest.size == 0:
                raise
            continue
        if digest.size == listed.bytes:
            break
    if not digest.is_right():
        raise hash_mismatch(listed.path)
    return digest.sha256


def _continues(response: "httpx2.Response", first: int) -> bool:
    return response.status_code == 206 and response.headers.get("content-range", "").startswith(f"bytes {first}-")


@contextmanager
def stream(
    repository: str, commit: str, path: str, token: str = "", *, first: int = 0, last: int | None = None, limit: int
) -> Iterator["httpx2.Response"]:
    """The Hub's answer with a file's content from byte `first` on, of at most `limit` bytes, to be read. Inside `refusals`."""
    from huggingface_hub.utils import hf_raise_for_status

    url = f"{settings.HF_ENDPOINT}/datasets/{repository}/resolve/{commit}/{quote(path)}"
    sent = headers(token)
    if first or last is not None:
        sent["Range"] = f"bytes={first}-{'' if last is None else last}"
    with session().stream("GET", url, headers=sent, extensions={"max_bytes": limit}) as response:
        if response.status_code == 416 and not first:  # not even the first byte is there
            raise unreadable("The file is empty.")
        hf_raise_for_status(response)
        if response.status_code not in (200, 206):
            raise HubUnavailable(f"a download answered {response.status_code}")
        yield response


class _Digest:
    """The hashes of a content as it comes: its SHA-256, and that by which the Hub lists it."""

    def __init__(self, listed: Listed) -> None:
        self.size = 0
        self._listed = listed
        self._sha256 = hashlib.sha256()
        # A repository's blob IDs are SHA-1, or SHA-256 where it was made so.
        self._blob = hashlib.sha1(usedforsecurity=False) if len(listed.blob) == 40 else hashlib.sha256()
        self._blob.update(b"blob %d\0" % listed.bytes)

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._sha256.update(chunk)
        self._blob.update(chunk)

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def is_right(self) -> bool:
        found, wanted = (self.sha256, self._listed.sha256) if self._listed.sha256 else (self._blob.hexdigest(), self._listed.blob)
        return self.size == self._listed.bytes and found == wanted
