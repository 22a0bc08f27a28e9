"""Files named by their content, private ones for each workspace alone."""

import io
from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from catalog.models import DataFile
from catalog.storing import DamagedFile, open_file, store_file
from common.canonical import sha256_text
from workspaces.models import Workspace


def test_the_same_content_is_stored_once_in_a_place(workspace: Workspace) -> None:
    first = store_file(workspace, "rows.jsonl", io.BytesIO(b"{}\n"))
    again = store_file(workspace, "other.jsonl", io.BytesIO(b"{}\n"))
    assert (first, first.name, first.bytes, first.sha256) == (again, "rows.jsonl", 3, sha256_text("{}\n"))
    assert first.storage_key == f"private/{workspace.public_id}/{first.sha256}"
    assert default_storage.listdir(f"private/{workspace.public_id}") == ([], [first.sha256])


def test_identical_files_of_two_workspaces_are_two_files(workspace: Workspace, other_workspace: Workspace) -> None:
    files = [store_file(place, "rows.csv", io.BytesIO(b"a,b\n")) for place in (workspace, other_workspace, None)]
    assert (len({stored.storage_key for stored in files}), DataFile.objects.count()) == (3, 3)
    assert files[2].storage_key == f"public/{files[2].sha256}"


def test_a_stored_file_is_read_back_whole(workspace: Workspace) -> None:
    content = bytes(range(256)) * 40_000  # more than is kept in memory
    with open_file(store_file(workspace, "big", io.BytesIO(content))) as opened:
        assert opened.read() == content


def test_a_changed_file_is_not_opened(workspace: Workspace) -> None:
    stored = store_file(workspace, "rows.csv", io.BytesIO(b"a,b\n1,2\n"))
    Path(default_storage.path(stored.storage_key)).write_bytes(b"a,b\n1,3\n")
    with pytest.raises(DamagedFile):
        open_file(stored)
