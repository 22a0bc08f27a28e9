"""Whole files in one go, as a plain form sends them: begun, taken and verified, or nothing of them kept."""

from collections.abc import Sequence
from typing import IO

from common.errors import Refused
from imports.actions.uploads import abandon_upload, complete_upload, create_upload, receive
from imports.models import Upload, UploadFile
from workspaces.actors import Actor
from workspaces.models import Workspace


def upload_whole(workspace: Workspace, *, actor: Actor, name: str, size: int, stream: IO[bytes]) -> UploadFile:
    """The one stored file. Raises as `upload_several`."""
    return upload_several(workspace, actor=actor, files=[(name, size, stream)]).files.get()


def upload_several(workspace: Workspace, *, actor: Actor, files: Sequence[tuple[str, int, IO[bytes]]]) -> Upload:
    """The completed upload of several files that belong together, given as name, size and stream.

    Raises `Forbidden`, `Refused` as `create_upload`, `receive` and `complete_upload`; then its place is free again.
    """
    upload = create_upload(workspace, actor=actor, files=[{"name": name, "bytes": size} for name, size, _ in files])
    streams = {name: stream for name, _, stream in files}
    try:
        for file in upload.files.all():
            file.upload = upload
            receive(file, actor=actor, stream=streams[file.name], offset=0, total=None)
    except Refused:
        abandon_upload(upload, actor=actor)
        raise
    return complete_upload(upload, actor=actor)
