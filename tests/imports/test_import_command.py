"""`manage.py import_benchmark`: one JSON object on standard output, or the refusal with its rows."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from catalog.models import Benchmark, BenchmarkVersion
from tests.imports.files import SUMS, json_lines
from workspaces.models import Workspace

ROWS = json_lines({"question": "1 + 1?", "answer": 2}, {"question": "2 + 2?", "answer": "4"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.jsonl").write_bytes(ROWS)
    (tmp_path / "manifest.json").write_text(json.dumps(SUMS))
    return tmp_path


def run(folder: Path, workspace: object, *options: str) -> dict[str, Any]:
    out = StringIO()
    arguments = [str(folder / "rows.jsonl"), "--workspace", str(workspace), "--manifest", str(folder / "manifest.json"), *options]
    call_command("import_benchmark", *arguments, stdout=out)
    return json.loads(out.getvalue())  # type: ignore[no-any-return]


def test_import_prints_the_id(folder: Path, workspace: Workspace) -> None:
    printed = run(folder, workspace.public_id)
    version = BenchmarkVersion.objects.get()
    assert printed == {"id": version.profile_id, "rows": 2, "sha256": version.sha256, "warnings": []}
    assert version.benchmark.workspace == workspace


def test_dry_run_prints_the_report_and_creates_nothing(folder: Path, workspace: Workspace) -> None:
    printed = run(folder, workspace.public_id, "--dry-run")
    assert (printed["rows"], [row["messages"][0]["content"] for row in printed["preview"]]) == (2, ["1 + 1?", "2 + 2?"])
    assert Benchmark.objects.count() == 0


def test_refusal_is_told_with_its_code_and_rows(folder: Path, workspace: Workspace) -> None:
    (folder / "rows.jsonl").write_bytes(ROWS + json_lines({"question": "x", "answer": "many"}))
    with pytest.raises(CommandError) as caught:
        run(folder, workspace.public_id)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("byob_invalid_rows: 1 of 3 rows cannot be used.")
    assert lines[1:] == ["  row 3 (line 3): the answer 'many' is not a number"]


@pytest.mark.parametrize("name", ["", "no-uuid", "5df07300-7140-46e9-b01e-c8a8c3f0c58c"])
def test_unknown_workspace_is_refused(name: str, folder: Path, db: None) -> None:
    with pytest.raises(CommandError) as caught:
        run(folder, name)
    assert str(caught.value) == f"not_found: there is no workspace {name}"


@pytest.mark.parametrize("missing", ["rows.jsonl", "manifest.json"])
def test_missing_file_is_named(missing: str, folder: Path, workspace: Workspace) -> None:
    (folder / missing).unlink()
    with pytest.raises(CommandError) as caught:
        run(folder, workspace.public_id)
    assert str(caught.value) == f"{folder / missing}: No such file or directory"
