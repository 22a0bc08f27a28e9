"""Files kept by their content. A private file lies under its workspace and is never shared or compared with another's."""

import hashlib
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


def store_file(workspace: Workspace | None, name: str, fileobj: IO[bytes]) -> DataFile:
    """Store the rest of the file, read in chunks, and give its row; the same content in the same place is stored once."""
    digest, size = hashlib.sha256(), 0
    with SpooledTemporaryFile(max_size=IN_MEMORY) as copy:
        while chunk := fileobj.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            copy.write(chunk)
        sha256 = digest.hexdigest()
        owner = f"private/{workspace.public_id}" if workspace else "public"
        key = f"{owner}/{sha256}"
        if not default_storage.exists(key):
            copy.seek(0)
            saved_as = default_storage.save(key, File(copy, name=key))
            if saved_as != key:  # another process stored the same content meanwhile
                default_storage.delete(saved_as)
    with transaction.atomic():
        stored, _ = DataFile.objects.get_or_create(
            workspace=workspace, sha256=sha256, defaults={"bytes": size, "name": name[-255:], "storage_key": key}
        )
    return stored


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
