"""What has arrived of an upload, in parts: any storage can keep parts, and a connection or process that breaks off loses one at most."""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from typing import IO

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from common.ids import new_id
from imports.models import Upload

PART_BYTES = 4 * 1024 * 1024
ROOT = "staging"
_READ = 64 * 1024


def folder_of(upload: Upload) -> str:
    """The folder of everything that arrives for the upload."""
    return f"{ROOT}/{upload.public_id}"


def new_key(upload: Upload) -> str:
    """A folder for one file, begun anew."""
    return f"{folder_of(upload)}/{new_id().hex}"


def read_parts(stream: IO[bytes], limit: int) -> Iterator[bytes]:
    """The stream in parts, `limit` bytes at most; ends where it ends or breaks off, with whatever has come by then."""
    part, left = bytearray(), limit
    while left:
        try:
            chunk = stream.read(min(_READ, left))
        except OSError:  # the connection is gone
            chunk = b""
        if not chunk:
            break
        part += chunk
        left -= len(chunk)
        if len(part) >= PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


def save_part(key: str, offset: int, content: bytes) -> str:
    """Store a part and give its key, which nothing else has. Raises OSError, and then nothing is left of it."""
    name = f"{key}/{offset:015d}-{new_id().hex}"
    try:
        return default_storage.save(name, ContentFile(content))
    except OSError:
        discard([name])
        raise


def assemble(parts: Sequence[Sequence[object]], into: IO[bytes]) -> str:
    """Write the parts one after the other and give the SHA-256 of all. Raises OSError where one is missing or cannot be written."""
    digest = hashlib.sha256()
    for key, size in parts:
        with default_storage.open(str(key), "rb") as part:
            content = part.read()
        if len(content) != size:
            raise OSError(f"a part has {len(content)} bytes and should have {size}")
        digest.update(content)
        into.write(content)
    into.flush()
    return digest.hexdigest()


def discard(keys: Sequence[str]) -> None:
    """Delete the parts; one that is gone already is no failure."""
    for key in keys:
        default_storage.delete(key)


def discard_folder(folder: str) -> None:
    """Delete all below the folder, as far as it is there. Others may do so at the same time."""
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    discard([f"{folder}/{name}" for name in files])
    for name in folders:
        discard_folder(f"{folder}/{name}")
    with contextlib.suppress(OSError):  # something came meanwhile; the next sweep sees it
        default_storage.delete(folder)


def staged_uploads() -> list[str]:
    """The IDs of uploads that have something staged."""
    try:
        return default_storage.listdir(ROOT)[0]
    except FileNotFoundError:
        return []
