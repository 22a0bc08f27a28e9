"""What people call a dataset of the Hub, and a file in it. Nothing is fetched here: what is malformed is refused by its text alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from common.errors import Refused
from common.redaction import redact

MAX_NAMED = 100
"""The most files that one import may name or select, whatever its workspace may."""
DEFAULT_REVISION = "main"
FORMATS = {".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}

_REPOSITORY = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?/[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REVISION = re.compile(r"(?!-)[^\x00-\x20\x7f~^:?*\[\\@]{1,200}")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")
_HOST = "huggingface.co"
_FORMS = "hf://owner/name@revision, where the revision is a branch, a tag or a commit of 40 characters"
_BROWSER_FORMS = f"https://{_HOST}/datasets/owner/name, owner/name, or {_FORMS}"


@dataclass(frozen=True, slots=True)
class Reference:
    """A dataset, and the revision of it that was asked for."""

    repository: str
    revision: str

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a full commit."""
        return is_commit(self.revision)


def is_commit(revision: str) -> bool:
    """Whether it is a full commit of 40 hexadecimal digits."""
    return _COMMIT.fullmatch(revision) is not None


def parse_reference(text: str, *, pinned: bool = False) -> Reference:
    """The dataset that a page's URL, an ID or `hf://owner/name@revision` names; with `pinned`, only the last is taken.

    Raises `Refused` `invalid_source`.
    """
    text = text.strip()
    scheme, separator, rest = text.partition("://")
    if not separator:
        if pinned:
            raise _invalid(f"Name the dataset as {_FORMS}.")
        return Reference(_repository(text), DEFAULT_REVISION)
    if scheme.lower() == "hf":
        repository, at, revision = rest.partition("@")
        if not at or not revision:
            raise _invalid(f"The revision is missing. Name the dataset as {_FORMS}.")
        return Reference(_repository(repository), check_revision(revision))
    if pinned:
        raise _invalid(f"Name the dataset as {_FORMS}.")
    return Reference(_of_url(text), DEFAULT_REVISION)


def _of_url(text: str) -> str:
    try:
        url = urlsplit(text)
        is_hub = url.scheme == "https" and url.netloc.lower() == _HOST
    except ValueError:
        is_hub = False
    if not is_hub:
        raise _invalid(f"Only pages of https://{_HOST} are read. Name the dataset as {_BROWSER_FORMS}.")
    if url.query or url.fragment or "?" in text or "#" in text:
        raise _invalid("The address has a query or a fragment. Give the dataset's own page, without them.")
    parts = url.path.removesuffix("/").split("/")[1:]
    if not parts or parts[0] != "datasets":
        raise _invalid(f"That is not the page of a dataset, whose address is https://{_HOST}/datasets/owner/name.")
    if len(parts) > 3:
        raise _invalid("That is a page within the dataset. Give the dataset's own page, and name the file beside it.")
    return _repository("/".join(parts[1:]))


def _repository(name: str) -> str:
    if not _REPOSITORY.fullmatch(name) or "--" in name or ".." in name or name.endswith(".git") or name.split("/")[0] in _NO_OWNERS:
        raise _invalid(f"{name[:120]!r} is not owner/name. Name the dataset as {_BROWSER_FORMS}.")
    return name


_NO_OWNERS = frozenset(("datasets", "models", "spaces", "api"))


def check_revision(revision: str) -> str:
    """The name of a branch or tag, or a commit, as it is. Raises `Refused` `invalid_source`."""
    parts = revision.split("/")
    odd = ".." in revision or revision.endswith((".", ".lock")) or any(not part or part.startswith(".") for part in parts)
    if not _REVISION.fullmatch(revision) or odd or not _is_storable(revision):
        raise _invalid("The revision is not the name of a branch or tag, nor a commit of 40 characters.")
    if parts[0] == "refs":
        raise _invalid("Name a branch, a tag or a commit of 40 characters; others' proposals (refs/…) are not imported.")
    return revision


def check_selection(config: str | None, split: str | None, files: Sequence[str]) -> None:
    """Raise `Refused` `invalid_selection`, `unsupported_format` or `too_many_files` where the text alone shows that it cannot be meant."""
    for kind, name in (("config", config), ("split", split)):
        if name is not None and (not name.strip() or len(name) > 200 or _UNSAFE.search(name) or not _is_storable(name)):
            raise _invalid_selection(f"The {kind} is not a name.", {kind: (name or "")[:200]})
    if len(files) > MAX_NAMED:
        raise too_many(len(files), MAX_NAMED)
    for path in files:
        check_path(path, is_pattern=True)
        if "*" not in path:
            format_of(path)


def check_path(path: str, *, is_pattern: bool = False, is_folder: bool = False) -> str:
    """The path, where it is one of a file within the repository. Raises `Refused` `invalid_selection`."""
    segments = path.split("/")
    is_bad = (
        not path
        or len(path) > 800
        or _UNSAFE.search(path)
        or not _is_storable(path)
        or any(segment in ("", ".", "..") for segment in segments)
    )
    if is_bad:
        kind = "folder" if is_folder else "file"
        raise _invalid_selection(
            f"{path[:200]!r} is not the path of a {kind} in the repository, such as data/test.jsonl.", {"path": path[:200]}
        )
    if is_pattern and "**" in path:
        raise _invalid_selection(f"{path[:200]!r}: a * matches within one folder; ** is not taken.", {"path": path[:200]})
    if not is_pattern and not is_folder and "*" in path:
        raise _invalid_selection(f"{path[:200]!r}: name one file, without *.", {"path": path[:200]})
    return path


def format_of(path: str) -> str:
    """`parquet`, `jsonl` or `csv`, by the ending. Raises `Refused` `unsupported_format`."""
    name = path.rpartition("/")[2].lower()
    found = next((format for ending, format in FORMATS.items() if name.endswith(ending)), None)
    if found is None:
        message = f"{path[:200]} is not Parquet, JSON Lines or CSV by its ending (.parquet, .jsonl, .csv); nothing else is imported."
        raise Refused("unsupported_format", message, details={"path": path[:200]})
    return found


def too_many(count: int, limit: int) -> Refused:
    """The refusal of more files than one import may have."""
    message = f"The selection has {count:,} files; one import has at most {limit:,}. Name fewer."
    return Refused("too_many_files", message, details={"files": count, "limit": limit})


def _is_storable(text: str) -> bool:
    return "\0" not in text and text.encode("utf-8", "ignore").decode() == text


def _invalid(words: str) -> Refused:
    return Refused("invalid_source", redact(words))  # the text itself is not repeated: people paste addresses with credentials in them


def _invalid_selection(words: str, details: dict[str, str]) -> Refused:
    return Refused("invalid_selection", words, details={name: value.encode("utf-8", "replace").decode() for name, value in details.items()})
