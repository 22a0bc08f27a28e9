"""Importing from the Hub: what is stored, and what its receipt says."""

import hashlib
import json
from typing import Any

import pytest
from django.core.files.storage import default_storage

from catalog.models import DataFile
from imports.models import SourceImport, StorageReservation
from imports.storage import used_bytes
from tests.imports.hub import MMLU_CONFIGS, MMLU_FILES, NAME, jsonl, paths_of, refusal, taken
from tests.standins.http import Reply
from tests.standins.hub import HubServer, Repo, card
from workspaces.actors import Actor, actor_of_user
from workspaces.models import AuditEntry, User, Workspace

pytestmark = pytest.mark.django_db


def test_branch_is_stored_and_receipted_by_its_commit(workspace: Workspace, actor: Actor, hub_repo: Repo) -> None:
    made = taken(workspace, actor)
    content = jsonl(10)
    sha256 = hashlib.sha256(content).hexdigest()
    pinned = f"hf://{NAME}@{hub_repo.head}"

    assert (made.repository, made.commit, made.license, paths_of(made)) == (NAME, hub_repo.head, "MIT", ["data/test.jsonl"])
    receipt = json.loads(made.receipt)
    assert receipt.pop("fetched_at").endswith("Z")
    assert receipt == {
        "schema": "evalrouter.source_import.v1",
        "kind": "huggingface",
        "source": pinned,
        "repository": NAME,
        "revision": "main",
        "commit": hub_repo.head,
        "config": "default",
        "split": "test",
        "license": "MIT",
        "gated": False,
        "private": False,
        "files": [
            {
                "path": "data/test.jsonl",
                "source": f"{pinned}/data/test.jsonl",
                "bytes": len(content),
                "sha256": sha256,
                "verified_by": "git_blob",
            }
        ],
    }
    assert hashlib.sha256(made.receipt.encode()).hexdigest() == made.sha256
    stored = DataFile.objects.get(workspace=workspace)
    with default_storage.open(stored.storage_key) as file:
        assert file.read() == content
    assert used_bytes(workspace) == len(content)
    assert not StorageReservation.objects.exists()
    entry = AuditEntry.objects.get(action="source.imported")
    assert (entry.target, entry.data["files"], entry.data["bytes"]) == (pinned, 1, len(content))


def test_large_files_come_from_the_cdn_which_is_told_no_token(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    hub.add(NAME, {"README.md": card("apache-2.0"), **MMLU_FILES}, gated="auto", readers={"hf_reader"})
    made = taken(workspace, actor, config=None, split=None, files=["algebra/test-00000-of-00001.parquet"], token="hf_reader")

    assert json.loads(made.receipt)["files"][0]["verified_by"] == "lfs_sha256"
    assert [asked.authorization for asked in hub.asked if asked.server == "cdn"] == [None]
    assert {asked.authorization for asked in hub.asked if asked.server == "hub"} == {"Bearer hf_reader"}


def test_same_selection_downloads_nothing_and_answers_the_same_receipt(
    workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo
) -> None:
    first = taken(workspace, actor)
    hub.asked.clear()
    again = taken(workspace, actor, f"hf://{NAME}@{hub_repo.head}")

    assert (again.pk, again.receipt) == (first.pk, first.receipt)
    assert hub.downloads() == ["README.md"]
    assert SourceImport.objects.count() == 1


def test_moved_branch_makes_a_new_source_and_leaves_the_old_one(workspace: Workspace, actor: Actor, hub_repo: Repo) -> None:
    first = taken(workspace, actor)
    receipt, old = first.receipt, hub_repo.head
    new = hub_repo.commit({"data/test.jsonl": jsonl(12)})
    second = taken(workspace, actor)

    first.refresh_from_db()
    assert (first.commit, first.receipt) == (old, receipt)
    assert (second.commit, second.pk != first.pk) == (new, True)


def test_content_that_the_workspace_has_is_not_downloaded_again(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    repo = hub.add(NAME, {"README.md": card("mit"), **MMLU_FILES})
    path = "algebra/test-00000-of-00001.parquet"
    taken(workspace, actor, files=[path])
    repo.commit({"notes.txt": b"moved"})
    hub.asked.clear()
    made = taken(workspace, actor, files=[path])

    assert (made.commit, hub.downloads()) == (repo.head, ["README.md"])
    assert DataFile.objects.filter(workspace=workspace).count() == 1


def test_content_that_is_stored_needs_no_further_room(workspace: Workspace, actor: Actor, hub: HubServer, settings: Any) -> None:
    repo = hub.add(NAME, {"README.md": card("mit"), **MMLU_FILES})
    path = "algebra/test-00000-of-00001.parquet"
    settings.WORKSPACE_STORAGE_BYTES = len(MMLU_FILES[path])
    taken(workspace, actor, files=[path])
    repo.commit({"notes.txt": b"moved"})

    assert taken(workspace, actor, files=[path]).commit == repo.head


def test_named_file_is_found_also_where_the_hub_did_not_list_it(workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo) -> None:
    info = {"id": NAME, "sha": hub_repo.head, "private": False, "gated": False, "disabled": False, "siblings": [{"rfilename": "a.txt"}]}
    hub.fault = lambda asked, _: Reply(body=info) if asked.path.endswith("/revision/main") else None

    assert paths_of(taken(workspace, actor, files=["data/test.jsonl"])) == ["data/test.jsonl"]


def test_another_workspace_fetches_and_stores_its_own(
    workspace: Workspace, other_workspace: Workspace, stranger: User, actor: Actor, hub_repo: Repo
) -> None:
    first = taken(workspace, actor)
    second = taken(other_workspace, actor_of_user(stranger))

    assert first.pk != second.pk
    assert DataFile.objects.values_list("workspace", "sha256").distinct().count() == 2


def test_config_and_split_of_the_card_choose_the_files(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    hub.add(NAME, {"README.md": card("mit", configs=MMLU_CONFIGS), **MMLU_FILES})

    assert paths_of(taken(workspace, actor, config="algebra", split="test")) == ["algebra/test-00000-of-00001.parquet"]
    assert refusal(workspace, actor) == ("config_required", 422)
    assert refusal(workspace, actor, config="biology", split="test") == ("unknown_config", 422)
    assert refusal(workspace, actor, config="anatomy", split="dev") == ("unknown_split", 422)
    assert refusal(workspace, actor, config="anatomy") == ("split_required", 422)
