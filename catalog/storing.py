"""Files kept by their content. A private file lies under its workspace and is never shared or compared with another's."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction

from catalog.models import DataFile
from workspaces.models import Workspace

CHUNK = 1024 * 1024
IN_MEMORY = 8 * CHUNK


class DamagedFile(Exception):
    """What the storage gives back is not what was stored."""


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes that lie in the storage, with or without a row that names them."""

    sha256: str
    bytes: int
    storage_key: str


def save_content(workspace: Workspace | None, fileobj: IO[bytes], sha256: str, size: int) -> Content:
    """Put the seekable file, of which this is the SHA-256, into the storage, where the same content of the same owner lies once.

    Without a row nothing keeps it there: `keep_content` follows, or `forget_content` where something went wrong.
    """
    content = Content(sha256, size, storage_key(workspace, sha256))
    _save(content, fileobj)
    return content


def keep_content(workspace: Workspace | None, name: str, content: Content, fileobj: IO[bytes] | None = None) -> DataFile:
    """The row of the content, which keeps it stored. Call it in a transaction, whose lock on the workspace holds off the sweep.

    Where the sweep was faster, the bytes are saved again from the seekable `fileobj`. Raises `DamagedFile` where there is none.
    """
    if workspace is not None:
        Workspace.objects.select_for_update().get(pk=workspace.pk)
    if not _is_whole(content):
        if fileobj is None:
            raise DamagedFile(f"the stored copy of {name} is gone")
        _save(content, fileobj)
    stored, _ = DataFile.objects.get_or_create(
        workspace=workspace,
        sha256=content.sha256,
        defaults={"bytes": content.bytes, "name": name[-255:], "storage_key": content.storage_key},
    )
    return stored


def forget_content(workspace: Workspace, sha256: str) -> bool:
    """Delete the workspace's bytes of that content unless a row keeps them; whether they were deleted."""
    with transaction.atomic():
        # Under the lock, so that nobody makes a row for them meanwhile.
        Workspace.objects.select_for_update().get(pk=workspace.pk)
        if DataFile.objects.filter(workspace=workspace, sha256=sha256).exists():
            return False
        default_storage.delete(storage_key(workspace, sha256))
    return True


def put_file(workspace: Workspace | None, fileobj: IO[bytes]) -> Content:
    """Put the rest of the file into the storage, read in chunks; `keep_content` or `forget_content` follows, as after `save_content`."""
    with _copied(fileobj) as (copy, sha256, size):
        return save_content(workspace, copy, sha256, size)


def store_file(workspace: Workspace | None, name: str, fileobj: IO[bytes]) -> DataFile:
    """Store the rest of the file, read in chunks, and give its row; the same content in the same place is stored once."""
    with _copied(fileobj) as (copy, sha256, size):
        content = save_content(workspace, copy, sha256, size)
        with transaction.atomic():
            return keep_content(workspace, name, content, copy)


@contextmanager
def _copied(fileobj: IO[bytes]) -> Iterator[tuple[IO[bytes], str, int]]:
    """A copy that nobody else writes, its SHA-256 and its size in bytes."""
    digest, size = hashlib.sha256(), 0
    with SpooledTemporaryFile(max_size=IN_MEMORY) as copy:
        while chunk := fileobj.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            copy.write(chunk)
        yield copy, digest.hexdigest(), size


def storage_key(workspace: Workspace | None, sha256: str) -> str:
    """Where the content of that owner lies."""
    return f"{private_folder(workspace) if workspace else 'public'}/{sha256}"


def private_folder(workspace: Workspace) -> str:
    """Where all of the workspace's files lie, and nobody else's."""
    return f"private/{workspace.public_id}"


def _save(content: Content, copy: IO[bytes]) -> None:
    key = content.storage_key
    if _is_whole(content):
        return
    default_storage.delete(key)  # what a crash left of it
    copy.seek(0)
    try:
        saved_as = default_storage.save(key, File(copy, name=key))
    except OSError:
        default_storage.delete(key)
        raise
    if saved_as != key:  # another process stored the same content meanwhile
        default_storage.delete(saved_as)


def _is_whole(content: Content) -> bool:
    try:
        return default_storage.size(content.storage_key) == content.bytes
    except FileNotFoundError:
        return False


def open_file(stored: DataFile) -> IO[bytes]:
    """The stored file, open at its start, after its SHA-256 was checked. Raises `DamagedFile`; the caller closes it."""
    opened: IO[bytes] = default_storage.open(stored.storage_key, "rb")
    digest = hashlib.sha256()
    while chunk := opened.read(CHUNK):
        digest.update(chunk)
    if digest.hexdigest() != stored.sha256:
        opened.close()
        raise DamagedFile(f"the stored copy of {stored.name} has changed")
    opened.seek(0)
    return opened
