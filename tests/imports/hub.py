"""What the tests of the Hub share: a stand-in that the settings point to, and a data set on it."""

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import Refused
from imports.actions.fetching import import_hub
from imports.models import SourceImport
from tests.standins.hub import HubServer, Repo, card
from workspaces.actors import Actor
from workspaces.models import Workspace

TOKEN = "hf_" + "tOkEn" * 6
NAME = "acme/sums"


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
    return import_hub(workspace, actor=actor, source=source, **(selected or {"split": "test"}))


def refusal(workspace: Workspace, actor: Actor, source: str = f"hf://{NAME}@main", **selected: Any) -> tuple[str, int]:
    """The code and the status that the import is refused with."""
    with pytest.raises(Refused) as caught:
        taken(workspace, actor, source, **selected)
    return caught.value.code, caught.value.status


def paths_of(made: SourceImport) -> Sequence[str]:
    return [file.path for file in made.files.all()]
