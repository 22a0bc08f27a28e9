"""Every shared data set is imported over HTTP with the rows of its SOURCE.md, and a run with a baseline on it ends."""

from pathlib import Path
from typing import Any

import pytest

from runs.models import Run
from tests.api.conftest import ApiClient
from tests.api.test_uploads import completed
from tests.bench.imports import BLIMP_MANIFEST
from tests.imports.test_shared_sets import CASES, Case, manifest_of
from tests.runs.working import work

RUN = {"SVAMP.json", "mgsm_all.csv", "biology_qa.jsonl", "mmlu_pro_questions.parquet"}
SAMPLE = [case for case in CASES if Path(case.path).name in RUN]
BBH = {
    "task": "exact_match",
    "columns": {"id": "id", "input": "input", "answer": "target", "group": "task"},
    "prompt_template": "{input}",
}


def created(api: ApiClient, path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    upload = completed(api, path.read_bytes(), path.name)
    written = {key: value for key, value in manifest_of(manifest).items() if value is not None}
    answer = api.post("/v1/private-benchmarks", {**written, "source": upload["source"]})
    assert answer.status_code == 201, answer.content
    return answer.json()


def run_to_its_end(api: ApiClient, profile_id: str) -> dict[str, Any]:
    body = {"model": "random-choice", "benchmark": profile_id, "coverage": {"mode": "full"}}
    started = api.post("/v1/runs", body, idempotency_key=profile_id)
    assert started.status_code == 201, started.content
    work(Run.objects.get(public_id=started.json()["id"]))
    return api.get(f"/v1/runs/{started.json()['id']}").json()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path)
def test_a_shared_set_is_imported_with_the_stated_rows(case: Case, api: ApiClient, shared: Path) -> None:
    made = created(api, shared / "data" / case.path, case.manifest)
    assert (made["rows"], made["task_count"], made["left_out"]) == (case.rows, case.rows, None)


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.path)
def test_a_run_with_a_baseline_on_a_shared_set_ends(case: Case, api: ApiClient, shared: Path) -> None:
    made = created(api, shared / "data" / case.path, case.manifest)
    run = run_to_its_end(api, made["id"])
    assert (run["status"], run["progress"]["processed"], run["coverage"]["tasks"]) == ("completed", case.rows, case.rows)


def test_bbh_is_imported_without_the_three_rows_that_hold_their_answer(api: ApiClient, shared: Path) -> None:
    made = created(api, shared / "data/bbh/bbh_six_tasks_with_outputs.jsonl", {**BBH, "leave_out_leaking_rows": True})
    assert (made["rows"], made["left_out"]) == (1497, {"reason": "byob_answer_in_input", "count": 3, "rows": [1399, 1427, 1443]})
    assert [warned["code"] for warned in made["warnings"]] == ["byob_rows_left_out"]


def test_67000_rows_are_imported(api: ApiClient, shared: Path) -> None:
    made = created(api, shared / "data/blimp/blimp_67k.csv", BLIMP_MANIFEST)
    assert made["rows"] == 67_000
