"""One export asked for by several at once, on PostgreSQL: it is written once, and all of them get the same bytes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, local
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection

from runs.exports import making, storing
from runs.exports.formats import Format
from runs.exports.source import Source
from runs.exports.storing import chunks_of, kept_export
from runs.models import Export, ResultVersion, Run
from tests.races import at_once
from tests.runs.working import work

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("services"), pytest.mark.django_db(transaction=True)]
TWINS = 4


@pytest.fixture(params=[True, False], ids=["claimed", "control"])
def claimed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the row is claimed by its insert. In the control everyone writes first, and then looks who may keep it."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time: nothing can race")
    if not request.param:
        barrier, real, mine = Barrier(TWINS), storing._claim, local()

        def claim(run: Run, result: ResultVersion, format: Format) -> Export | None:
            if not hasattr(mine, "wrote"):
                mine.wrote = b"".join(making.parts_of(Source(run, result), format))
                barrier.wait(20)
            return real(run, result, format)

        monkeypatch.setattr(storing, "_claim", claim)
    return bool(request.param)


def test_two_first_requests_make_one_file(claimed: bool, start_sums: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run = work(start_sums(tasks=4, model="most-frequent-answer", routes=0))
    real, written = making._WRITERS["json"], []

    def writer(source: Source) -> Iterator[bytes]:
        written.append(1)
        return real(source)

    monkeypatch.setitem(making._WRITERS, "json", writer)

    def ask(_: int) -> Any:
        mine = Run.objects.get(pk=run.pk)
        return b"".join(chunks_of(kept_export(mine, mine.results.get(), "json")))

    found = at_once(TWINS, ask)
    folder = Path(default_storage.path(f"exports/{run.workspace.public_id}/{run.public_id}"))
    assert (len(set(found)), Export.objects.count(), len(list(folder.iterdir()))) == (1, 1, 1)
    assert (len(written) == 1) is claimed
