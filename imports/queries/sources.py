"""From the name that a manifest gives its source to the stored file."""

import re
from collections.abc import Callable
from uuid import UUID

from common.errors import Conflict, Refused
from common.ids import parse_uuid
from imports.enums import SCHEMES, SourceKind, UploadStatus
from imports.models import SourceFile, Upload, UploadFile
from imports.queries.uploads import status_of
from imports.sources.stored import StoredSource
from workspaces.models import Workspace

_PINNED = re.compile(r"(?P<repository>[^/@\s]+/[^/@\s]+)@(?P<revision>[^/\s]+)/(?P<path>.+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def resolve_source(workspace: Workspace, uri: str, *, sha256: str = "", size: int | None = None) -> StoredSource:
    """The file that `workspace://<upload>/<name>`, `hf://owner/name@<commit>/<path>` or `github://…` names in this workspace.

    Where `sha256` or `size` (bytes) are given, the file must have them. Raises `Refused`: `invalid_source`, `not_found` (404, also for
    what only another workspace has), `source_mismatch`; `Conflict`: `source_archived`, `upload_not_completed`.
    """
    scheme, separator, rest = uri.partition("://")
    find = _FINDERS.get(scheme)
    if not separator or find is None:
        message = "A source is workspace://<upload>/<file>, hf://owner/name@<commit>/<path> or github://owner/name@<commit>/<path>."
        raise Refused("invalid_source", message, details={"source": uri[:300]})
    source = find(workspace, rest)
    content = source.content
    if (sha256 and sha256 != content.sha256) or (size is not None and size != content.bytes):
        message = f"{source.uri} is stored with other content than stated: SHA-256 {content.sha256}, {content.bytes:,} bytes."
        raise Refused("source_mismatch", message, details={"source": source.uri, "sha256": content.sha256, "bytes": content.bytes})
    return source


def sources_of_upload(upload: Upload) -> list[StoredSource]:
    """All files of the upload, in their order. Raises as `resolve_source`."""
    return [resolve_source(upload.workspace, file.uri) for file in upload.files.select_related("upload")]


def _not_found(uri: str) -> Refused:
    message = f"This workspace has no source {uri}. Upload the file, or import it, and name the source that the answer gives."
    return Refused("not_found", message, status=404, details={"source": uri})


def _uploaded(workspace: Workspace, rest: str) -> StoredSource:
    upload_id, _, name = rest.partition("/")
    uri = f"workspace://{rest}"[:300]
    found = parse_uuid(upload_id)
    files = _files_of_upload(workspace, found, name) if found else []
    if not files:
        raise _not_found(uri)
    if len(files) > 1:
        names = [file.name for file in files]
        message = f"The upload has several files. Name one: {', '.join(file.uri for file in files)}."
        raise Refused("invalid_source", message, details={"source": uri, "files": names})
    file = files[0]
    status = status_of(file.upload)
    if status == UploadStatus.ARCHIVED:
        raise Conflict("source_archived", f"{file.uri} was archived. Upload the file again to use it.", details={"source": file.uri})
    if status == UploadStatus.OPEN:
        message = f"The upload of {file.uri} is not completed yet. Send the rest of it and complete it."
        raise Conflict("upload_not_completed", message, details={"source": file.uri})
    if status != UploadStatus.COMPLETED or file.content is None:
        raise _not_found(uri)
    return StoredSource(uri=file.uri, kind=SourceKind.UPLOAD, name=file.name, content=file.content, rows=file.rows)


def _files_of_upload(workspace: Workspace, upload_id: UUID, name: str) -> list[UploadFile]:
    """The named file, or all files where none is named."""
    files = UploadFile.objects.filter(upload__workspace=workspace, upload__public_id=upload_id).select_related("upload", "content")
    return list(files.filter(name=name) if name else files)


def _fetcher(kind: SourceKind) -> Callable[[Workspace, str], StoredSource]:
    scheme = SCHEMES[kind]

    def fetched(workspace: Workspace, rest: str) -> StoredSource:
        uri = f"{scheme}://{rest}"[:300]
        named = _PINNED.fullmatch(rest)
        if named is None or not _COMMIT.fullmatch(named["revision"]):
            message = (
                f"Name the file at its full commit of 40 characters: {scheme}://owner/name@<commit>/<path>, as its import's receipt does."
            )
            raise Refused("invalid_source", message, details={"source": uri})
        files = SourceFile.objects.filter(
            source_import__workspace=workspace,
            source_import__kind=kind,
            source_import__repository=named["repository"],
            source_import__commit=named["revision"],
            path=named["path"],
        )
        file = files.select_related("source_import", "content").order_by("-id").first()
        if file is None:
            raise _not_found(uri)
        taken = file.source_import
        origin = {"repository": taken.repository, "commit": taken.commit, "path": file.path, "receipt_sha256": taken.sha256}
        name = file.path.rpartition("/")[2]
        return StoredSource(uri=file.uri, kind=kind, name=name, content=file.content, license=taken.license, origin=origin)

    return fetched


_FINDERS = {
    SCHEMES[SourceKind.UPLOAD]: _uploaded,
    **{SCHEMES[kind]: _fetcher(kind) for kind in (SourceKind.HUGGINGFACE, SourceKind.GITHUB)},
}
