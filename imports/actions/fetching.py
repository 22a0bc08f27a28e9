"""Bringing files of the Hugging Face Hub into a workspace: all is checked before anything is kept, and all of it is kept or nothing."""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, cast

from django.conf import settings

from catalog.models import DataFile
from catalog.storing import Content, DamagedFile, forget_content, open_file, save_content
from common.canonical import canonical_json, sha256_text
from common.errors import Refused
from imports.actions.keeping import Kept, Ready, keep_import
from imports.declaring import ShortMapping, check_mapping
from imports.enums import SourceKind
from imports.limits import limits
from imports.manifests import ImportManifest
from imports.models import SourceImport
from imports.queries.hub import require_hub
from imports.queries.imports import find_source_import, stored_contents
from imports.sources.hub import Dataset, Listed, access_refused, downloaded, find_dataset, list_files, read_dataset_card
from imports.sources.hub_client import within
from imports.sources.hub_layout import select
from imports.sources.hub_names import check_selection, parse_reference
from imports.sources.licences import accepted_licenses
from imports.storage import release, reserve
from workspaces.actors import Actor
from workspaces.models import Workspace
from workspaces.permissions import can_import, require

_TOKEN = re.compile(r"[!-~]{1,500}")


@dataclass(frozen=True, slots=True)
class Fetched:
    """An import, and whether it was made now or was there before."""

    source_import: SourceImport
    is_new: bool
    declaration: dict[str, Any] | None = None
    """The manifest of a benchmark but for its name and the attestation of rights, where a mapping was given."""


@dataclass(frozen=True, slots=True)
class _Selection:
    dataset: Dataset
    config: str | None
    split: str | None
    files: list[Listed]
    licenses: tuple[str, ...]

    @property
    def sha256(self) -> str:
        selected = {"config": self.config, "split": self.split, "files": [file.path for file in self.files]}
        chosen = {"kind": str(SourceKind.HUGGINGFACE), "repository": self.dataset.repository, "commit": self.dataset.commit}
        return sha256_text(canonical_json(chosen | selected))

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


def fetch_hub(
    workspace: Workspace,
    *,
    actor: Actor,
    source: str,
    config: str | None = None,
    split: str | None = None,
    files: Sequence[str] = (),
    token: str = "",
    mapping: ShortMapping | None = None,
) -> Fetched:
    """Resolve, select, check, download, verify and store; the same selection at the same commit is fetched once and answers as before.

    The token is used for the requests of this call and is in nothing that is stored, raised or logged. With a mapping the rows of the one
    selected file are checked before anything is stored. It waits for a network: call it outside of transactions.

    Raises `Forbidden`, also `token_required`, and `Refused`: those of `sources.hub` and `sources.hub_layout`, `license_refused`,
    `import_too_many_files`, `too_large` and `storage_limit` (413), those of `check_mapping`.
    """
    require(can_import(actor, workspace))
    require_hub()
    reference = parse_reference(source)
    check_selection(config, split, files)
    manifest = mapping.manifest() if mapping is not None else None
    token = token.strip()
    if token and not _TOKEN.fullmatch(token):
        raise access_refused()  # no token looks like this; it is not repeated
    with within(settings.HF_IMPORT_SECONDS):
        dataset = find_dataset(reference, token)
        card = read_dataset_card(dataset, token)
        config, paths = select(card, dataset.paths, config=config, split=split, files=files)
        _check_count(paths, has_mapping=mapping is not None)
        licenses = accepted_licenses(card.licenses)
        selection = _Selection(dataset, config, split, list_files(dataset, paths, token), licenses)
        _check_size(selection)
        known = find_source_import(workspace, selection.sha256)
        if known is not None:
            _check_stored(known, manifest)
            return Fetched(known, is_new=False, declaration=_declaration(known, mapping))
        key = f"hub:{selection.sha256}"
        stored = stored_contents(workspace, [file.sha256 for file in selection.files if file.sha256])
        missing = sum(file.bytes for file in selection.files if file.sha256 not in stored)
        # A twin of this very import has the same reservation; whoever ends first gives it back, and the other needs it little longer.
        if missing:
            reserve(workspace, key, missing, actor=actor)
        try:
            made, is_new = _fetch(workspace, selection, actor, token, manifest, stored)
        finally:
            release(workspace, key)
    return Fetched(made, is_new, _declaration(made, mapping))


def _check_count(paths: Sequence[str], *, has_mapping: bool) -> None:
    most = limits().max_files
    if has_mapping and len(paths) > 1:
        message = f"The selection has {len(paths):,} files, and a grader reads one. Name it beside the mapping: {', '.join(paths[:5])}."
        raise Refused("invalid_mapping", message, details={"files": list(paths)[:50]})
    if len(paths) > most:
        message = f"The selection has {len(paths):,} files; this workspace takes {most:,} in one import. Name fewer."
        raise Refused("import_too_many_files", message, details={"files": len(paths), "limit": most})


def _check_size(selection: _Selection) -> None:
    most = limits().max_file_bytes
    if selection.bytes > most:
        message = f"The selection has {selection.bytes:,} bytes; this workspace takes {most:,} in one import. Nothing was downloaded."
        raise Refused("too_large", message, status=413, details={"bytes": selection.bytes, "limit": most})


def _fetch(
    workspace: Workspace,
    selection: _Selection,
    actor: Actor,
    token: str,
    manifest: ImportManifest | None,
    stored: Mapping[str, DataFile],
) -> tuple[SourceImport, bool]:
    """Download what is not stored yet, and store it with its receipt; the import, and whether this call made it."""
    saved: list[Content] = []
    with ExitStack() as stack:
        try:
            ready: list[tuple[Listed, Content, IO[bytes]]] = []
            for listed in selection.files:
                known = _opened(stored.get(listed.sha256))
                if known is not None:
                    content, opened = known
                    stack.callback(opened.close)
                    _check_rows(manifest, opened, listed.path)
                else:
                    opened, sha256 = stack.enter_context(downloaded(selection.dataset, listed, token))
                    _check_rows(manifest, opened, listed.path)
                    content = save_content(workspace, opened, sha256, listed.bytes)
                    saved.append(content)
                ready.append((listed, content, opened))
            return _keep(workspace, selection, actor, ready)
        except BaseException:
            for content in saved:
                forget_content(workspace, content.sha256)
            raise


def _opened(stored: DataFile | None) -> tuple[Content, IO[bytes]] | None:
    """The stored content, open; None where there is none that is whole, so that it is downloaded."""
    if stored is None:
        return None
    try:
        return Content(stored.sha256, stored.bytes, stored.storage_key), open_file(stored)
    except (DamagedFile, FileNotFoundError):
        return None


def _keep(
    workspace: Workspace, selection: _Selection, actor: Actor, ready: list[tuple[Listed, Content, IO[bytes]]]
) -> tuple[SourceImport, bool]:
    dataset = selection.dataset
    kept = Kept(
        kind=SourceKind.HUGGINGFACE,
        repository=dataset.repository,
        commit=dataset.commit,
        selection_sha256=selection.sha256,
        license=", ".join(selection.licenses),
        receipt=lambda contents: _receipt(selection, contents),
        audited={"gated": dataset.gated, "private": dataset.private},
    )
    return keep_import(workspace, kept, [Ready(listed.path, content, opened) for listed, content, opened in ready], actor=actor)


def _receipt(selection: _Selection, contents: Sequence[DataFile]) -> dict[str, Any]:
    dataset = selection.dataset
    pinned = f"hf://{dataset.repository}@{dataset.commit}"
    return {
        "source": pinned,
        "repository": dataset.repository,
        "revision": dataset.revision,
        "commit": dataset.commit,
        "config": selection.config,
        "split": selection.split,
        "license": ", ".join(selection.licenses),
        "gated": dataset.gated,
        "private": dataset.private,
        "files": [
            {
                "path": listed.path,
                "source": f"{pinned}/{listed.path}",
                "bytes": content.bytes,
                "sha256": content.sha256,
                "verified_by": listed.verified_by,
            }
            for listed, content in zip(selection.files, contents, strict=True)
        ],
    }


def _check_rows(manifest: ImportManifest | None, opened: IO[bytes], path: str) -> None:
    if manifest is not None:
        check_mapping(manifest, cast(BinaryIO, opened), path.rpartition("/")[2])


def _check_stored(known: SourceImport, manifest: ImportManifest | None) -> None:
    if manifest is not None:
        file = known.files.all()[0]
        with closing(open_file(file.content)) as opened:
            _check_rows(manifest, opened, file.path)


def _declaration(made: SourceImport, mapping: ShortMapping | None) -> dict[str, Any] | None:
    if mapping is None:
        return None
    file = made.files.all()[0]
    stated = {"source": file.uri, "source_sha256": file.content.sha256, "source_bytes": file.content.bytes, "data_license": made.license}
    return stated | mapping.declaration()
