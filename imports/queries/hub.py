"""What the Hub has: searching, browsing and looking into public datasets. No token is ever used here, and nothing is stored."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from django.conf import settings

from common.errors import Forbidden, Refused
from imports.limits import limits
from imports.queries.first_rows import Preview, first_rows
from imports.sources import hub
from imports.sources.hub_client import headers, hub_api, session, within
from imports.sources.hub_names import FORMATS, Reference, check_path, format_of, is_commit, parse_reference
from imports.sources.licences import ACCEPTED, accepted_licenses

LOOK_SECONDS = 15.0
MAX_HITS = 50
FOLDER_PAGE = 100
PREVIEW_BYTES = 256 * 1024
_MAX_CURSOR = 2000


@dataclass(frozen=True, slots=True)
class DatasetHit:
    """A public dataset that a search found."""

    repository: str
    downloads: int
    likes: int
    is_gated: bool
    updated_at: Any
    """A datetime, or None where the Hub names none."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A public dataset at the commit that its revision leads to now."""

    repository: str
    revision: str
    commit: str
    license: str
    """As the card states it at that commit; several are separated by commas. Empty where it states none."""
    is_license_accepted: bool
    gated: bool
    private: bool

    @property
    def pinned(self) -> str:
        """`hf://owner/name@<commit>`."""
        return f"hf://{self.repository}@{self.commit}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder of a repository."""

    path: str
    kind: str
    """`file` or `folder`."""
    size: int | None
    """In bytes; None for a folder."""
    is_usable: bool
    """Whether it may be chosen: a folder, or a file of a format and size that can be imported."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Folder:
    """One page of a folder. `cursor` is that of the next page, empty on the last one."""

    path: str
    entries: tuple[Entry, ...]
    cursor: str


def require_hub() -> None:
    """Raise `Forbidden` `huggingface_imports_disabled` where the operator has turned these imports off."""
    if not settings.HUGGINGFACE_IMPORTS:
        message = "Imports from Hugging Face are turned off here. Upload the file instead."
        raise Forbidden(message, code="huggingface_imports_disabled")


def search_datasets(query: str, *, limit: int = 20) -> list[DatasetHit]:
    """Public datasets whose name or publisher holds the words, those downloaded most first. Raises `Refused` `hub_unavailable`."""
    require_hub()
    words = " ".join(query.split())[:200]
    if not words:
        return []
    most = max(1, min(limit, MAX_HITS))
    with within(LOOK_SECONDS), hub.refusals():
        found = list(hub_api().list_datasets(search=words, sort="downloads", limit=most))
        return [
            DatasetHit(str(info.id), int(info.downloads or 0), int(info.likes or 0), bool(info.gated), info.last_modified)
            for info in found
            if not info.private and not info.disabled and _is_named(str(info.id))
        ]


def _is_named(name: str) -> bool:
    try:
        parse_reference(name)
    except Refused:
        return False
    return True


def resolve(reference: str) -> Resolved:
    """The public dataset that a URL, an ID or `hf://…` names, at its commit now.

    For a gated one, whose card and files need a token, the license is empty. Raises `Refused`: `invalid_source`, `access_refused` (404),
    `revision_unresolved`, `license_refused` for a card that cannot be read, `hub_unavailable` (502).
    """
    require_hub()
    named = parse_reference(reference)
    with within(LOOK_SECONDS):
        found = hub.find_dataset(named, allow_gated=True)
        stated = () if found.gated else hub.read_dataset_card(found).licenses
    try:
        accepted_licenses(stated)
        is_accepted = True
    except Refused:
        is_accepted = False
    return Resolved(found.repository, found.revision, found.commit, ", ".join(stated), is_accepted, found.gated, found.private)


def list_folder(repository: str, commit: str, path: str = "", *, cursor: str = "") -> Folder:
    """One page of a folder of a public dataset at a commit, folders first as the Hub lists them.

    Raises `Refused`: `invalid_source`, `invalid_selection`, `file_not_found`, `access_refused` (404), `hub_unavailable` (502).
    """
    require_hub()
    _pinned(repository, commit)
    path = path.strip("/")
    if path:
        check_path(path, is_folder=True)
    if len(cursor) > _MAX_CURSOR or not cursor.isprintable():
        raise Refused("invalid_selection", "That page of the folder is not there. Begin at its first page.")
    url = f"{settings.HF_ENDPOINT}/api/datasets/{repository}/tree/{commit}{f'/{quote(path)}' if path else ''}"
    params = {"limit": str(FOLDER_PAGE), "recursive": "false", "expand": "false"} | ({"cursor": cursor} if cursor else {})
    with within(LOOK_SECONDS), hub.refusals():
        from huggingface_hub.utils import hf_raise_for_status

        response = session().get(url, params=params, headers=headers())
        hf_raise_for_status(response)
        entries = tuple(_entry(one) for one in response.json()[: FOLDER_PAGE * 10])
        following = response.links.get("next", {}).get("url", "")
        # The Hub's link is read for its cursor alone, never followed.
        next_cursor = parse_qs(urlsplit(following).query).get("cursor", [""])[0][:_MAX_CURSOR]
    return Folder(path, entries, next_cursor)


def _entry(listed: dict[str, Any]) -> Entry:
    path = str(listed["path"])
    if listed["type"] != "file":
        return Entry(path, "folder", None, is_usable=listed["type"] == "directory")
    size = int(listed["size"])
    return Entry(path, "file", size, is_usable=path.lower().endswith(tuple(FORMATS)) and 0 < size <= limits().max_file_bytes)


def preview_file(repository: str, commit: str, path: str) -> Preview:
    """The first rows of a CSV or JSON Lines file of a public dataset at a commit, from its first 256 KiB. They were not verified; the
    import is.

    Raises `Refused`: those of `list_folder`, `unsupported_format` (Parquet keeps its columns at its end, so that it has no preview), and
    what reading the rows may raise.
    """
    require_hub()
    _pinned(repository, commit)
    check_path(path)
    if format_of(path) == "parquet":
        raise Refused("unsupported_format", "Parquet has no preview. Name its columns; the check of its rows shows a sample.")
    with within(LOOK_SECONDS), hub.refusals():
        content = bytearray()
        with hub.stream(repository, commit, path, last=PREVIEW_BYTES - 1, limit=2 * PREVIEW_BYTES) as response:
            total = _total(response.headers.get("content-range", ""))
            for chunk in response.iter_raw(65_536):
                content += chunk
                if len(content) >= PREVIEW_BYTES:
                    break
    is_whole = len(content) < PREVIEW_BYTES and total in (None, len(content))
    return first_rows(bytes(content), path, is_whole)


def _total(content_range: str) -> int | None:
    total = content_range.rpartition("/")[2]
    return int(total) if total.isdecimal() else None


def _pinned(repository: str, commit: str) -> Reference:
    """The reference; raises `Refused` `invalid_source` unless it is a dataset at a full commit."""
    if not is_commit(commit):
        raise Refused("invalid_source", "Browsing needs a full commit of 40 characters.")
    return parse_reference(f"hf://{repository}@{commit}", pinned=True)


def accepted() -> tuple[str, ...]:
    """The licences under which a dataset is imported, by their SPDX names."""
    return ACCEPTED
