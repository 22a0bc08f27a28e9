"""Small files and manifests for the tests of imports."""

import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from imports.actions import Report, check_benchmark
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

CAPITALS = {
    "name": "Capitals",
    "task": "exact_match",
    "columns": {"id": "id", "question": "country", "answer": "capital"},
    "prompt_template": "What is the capital of {question}?",
    "rights_attestation": True,
}
SUMS = {
    "name": "Sums",
    "task": "numeric",
    "columns": {"question": "question", "answer": "answer"},
    "prompt_template": "{question}",
    "rights_attestation": True,
}
CHOICES = {
    "name": "Choices",
    "task": "multiple_choice",
    "columns": {"question": "question", "choices": "choices", "answer": "answer"},
    "prompt_template": "{question}\n{choices}",
    "rights_attestation": True,
}


def json_lines(*rows: Mapping[str, Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def peak_kib() -> int:
    """The most memory this process has held, in KiB. (What `getrusage` says of a child includes its parent's.)"""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


def parquet(columns: Mapping[str, Any], **options: Any) -> bytes:
    """A Parquet file of arrays or lists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), written, **options)
    return written.getvalue()


def checked(
    content: bytes | str, manifest: Mapping[str, Any], *, name: str = "data.jsonl", workspace: Workspace | None = None, **changes: Any
) -> Report:
    """The dry run on these bytes, with keys of the manifest changed. Without a workspace no database is touched."""
    data = content.encode() if isinstance(content, str) else content
    owner = workspace or Workspace(name="unsaved")
    return check_benchmark(owner, actor=SYSTEM, file=io.BytesIO(data), filename=name, manifest={**manifest, **changes})


def prompts(report: Report) -> list[str]:
    """The user messages of the preview."""
    return [row["messages"][-1]["content"] for row in report.preview]


def problems(rows: Iterable[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """The listed problems as (row, message)."""
    return [(row["row"], row["message"]) for row in rows]
