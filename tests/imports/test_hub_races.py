"""Imports at once, on PostgreSQL, with a control that shows the race without the lock; and what a dead process leaves."""

import subprocess
import sys
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from catalog.models import DataFile
from imports.models import SourceImport, StorageReservation
from imports.storage import reserve, used_bytes
from tests.imports.hub import NAME, jsonl, taken
from tests.races import at_once
from tests.standins.http import Asked, Reply
from tests.standins.hub import HubServer, Repo, card
from workspaces.actors import Actor
from workspaces.models import Workspace

THREADS = 4


def together(hub: HubServer) -> None:
    """Every import waits at its last file until all are there, so that none finds the others' receipt."""
    arrived = 0

    def fault(asked: Asked, _: int) -> Reply | None:
        nonlocal arrived
        if not asked.path.endswith("/data/test.jsonl"):
            return None
        arrived += 1
        return Reply(body=jsonl(10), delay=1.5 if arrived < THREADS else 0.5)

    hub.fault = fault


@pytest.mark.services
@pytest.mark.xdist_group("services")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("locked", [True, False], ids=["locked", "control"])
def test_one_selection_that_is_imported_at_once_has_one_receipt(
    workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo, monkeypatch: pytest.MonkeyPatch, locked: bool
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time: nothing can race")
    taken(workspace, actor, files=["data/test.jsonl"])  # the content is there: inserting it would put the imports in a row
    if not locked:
        monkeypatch.setattr(QuerySet, "select_for_update", lambda self, *_, **__: self)
        barrier = Barrier(THREADS)
        real = SourceImport.objects.create

        def create(**fields: object) -> SourceImport:
            barrier.wait(20)
            return real(**fields)

        monkeypatch.setattr(SourceImport.objects, "create", create)
    together(hub)
    results = at_once(THREADS, lambda _: taken(workspace, actor).receipt)

    made = SourceImport.objects.order_by("pk")[1:].get()
    assert DataFile.objects.filter(workspace=workspace).count() == 1
    assert used_bytes(workspace) == len(jsonl(10))
    assert not StorageReservation.objects.exists()
    assert (set(results) == {made.receipt}) is locked
    assert results.count("IntegrityError") == (0 if locked else THREADS - 1)


@pytest.mark.django_db
def test_retry_after_a_process_died_takes_its_reservation_over(workspace: Workspace, actor: Actor, hub: HubServer, settings: Any) -> None:
    hub.add(NAME, {"README.md": card("mit"), "test.jsonl": jsonl(10)})
    made = taken(workspace, actor)
    key = f"hub:{made.selection_sha256}"
    made.delete()
    reserve(workspace, key, len(jsonl(10)), actor=actor)  # what a killed process leaves
    settings.WORKSPACE_STORAGE_BYTES = used_bytes(workspace) + len(jsonl(10))

    assert taken(workspace, actor).selection_sha256 == made.selection_sha256
    assert not StorageReservation.objects.exists()


def test_slow_libraries_are_imported_only_where_they_are_asked_for() -> None:
    """Each process of the product starts with all URLs; these would double its time."""
    script = """
import os, sys, django
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()
import evalrouter_site.urls
print(sorted({"huggingface_hub", "httpx2", "pyarrow", "scipy", "stripe"} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.strip().splitlines()[-1] == "[]"
