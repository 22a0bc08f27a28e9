"""What the tests of the Hub share: a stand-in that the settings point to, and a data set on it."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings as site

from catalog.models import DataFile
from common.errors import Refused
from imports.actions.fetching import fetch_hub
from imports.models import SourceImport, StorageReservation
from tests.standins.http import Asked, Reply
from tests.standins.hub import HubServer, Repo, card
from workspaces.actors import Actor
from workspaces.models import Workspace

TOKEN = "hf_" + "tOkEn" * 6
NAME = "acme/sums"
LARGE = "algebra/test-00000-of-00001.parquet"


def jsonl(count: int, **constant: Any) -> bytes:
    """So many questions with their answers."""
    rows = ({"question": f"What is {n} + {n}?", "answer": str(2 * n), **constant} for n in range(count))
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def parquet(count: int) -> bytes:
    sink = io.BytesIO()
    questions = [f"What is {n} + {n}?" for n in range(count)]
    pq.write_table(pa.table({"question": questions, "choices": [["1", "2"]] * count, "answer": [n % 2 for n in range(count)]}), sink)
    return sink.getvalue()


MMLU_FILES = {
    f"{config}/{split}-00000-of-00001.parquet": parquet(size)
    for config, split, size in (("algebra", "test", 10), ("algebra", "dev", 5), ("anatomy", "test", 7))
}
MMLU_CONFIGS = [
    {"config_name": config, "data_files": [{"split": split, "path": f"{config}/{split}-*"} for split in splits]}
    for config, splits in (("algebra", ("test", "dev")), ("anatomy", ("test",)))
]


@pytest.fixture
def hub(settings: Any) -> Iterator[HubServer]:
    """A Hub without datasets, to which the settings point."""
    with HubServer() as server:
        settings.HF_ENDPOINT, settings.HF_FILE_HOSTS = server.url, [server.cdn_host]
        yield server


@pytest.fixture
def hub_repo(hub: HubServer) -> Repo:
    """A small public dataset under the MIT licence."""
    return hub.add(NAME, {"README.md": card("mit"), "data/test.jsonl": jsonl(10), "data/train.jsonl": jsonl(3)})


def taken(workspace: Workspace, actor: Actor, source: str = f"hf://{NAME}@main", **selected: Any) -> SourceImport:
    """The import; the split `test` where nothing is selected."""
    return fetch_hub(workspace, actor=actor, source=source, **(selected or {"split": "test"})).source_import


def refusal(workspace: Workspace, actor: Actor, source: str = f"hf://{NAME}@main", **selected: Any) -> tuple[str, int]:
    """The code and the status that the import is refused with."""
    with pytest.raises(Refused) as caught:
        taken(workspace, actor, source, **selected)
    return caught.value.code, caught.value.status


def paths_of(made: SourceImport) -> Sequence[str]:
    return [file.path for file in made.files.all()]


def on(path: str, *replies: Reply | None, server: str = "hub", always: bool = False) -> Callable[[Asked, int], Reply | None]:
    """Sends the replies to the first requests whose address ends so, None being the usual answer; `always` repeats the last."""

    def fault(asked: Asked, number: int) -> Reply | None:
        if asked.server != server or not asked.path.partition("?")[0].endswith(path):
            return None
        index = min(number, len(replies)) if always else number
        return replies[index - 1] if index <= len(replies) else None

    return fault


@pytest.fixture
def large_repo(hub: HubServer) -> Repo:
    """A dataset whose files are kept with Git LFS."""
    return hub.add(NAME, {"README.md": card("mit"), **MMLU_FILES})


@pytest.fixture
def nothing_is_left(db: None) -> Iterator[None]:
    """After each test: no reservation, and no file without an import that has it."""
    yield
    assert not StorageReservation.objects.exclude(key="other").exists()
    kept = {f"private/{file.workspace.public_id}/{file.sha256}" for file in DataFile.objects.filter(workspace__isnull=False)}
    if not SourceImport.objects.exists():
        assert not kept
    folder = Path(site.STORAGES["default"]["OPTIONS"]["location"])
    for workspace in Workspace.objects.all():
        found = {str(path.relative_to(folder)) for path in (folder / "private" / str(workspace.public_id)).rglob("*") if path.is_file()}
        assert found == {key for key in kept if str(workspace.public_id) in key}
