"""Real data: the four recorded models of GSM8K, each in a run of its own, are ranked and told apart as when they ran together."""

import json
from pathlib import Path
from typing import Any

import pytest

from catalog.models import BenchmarkVersion
from gateway.models import RecordedAnswer, RecordedModel
from runs.documents import compare_document
from runs.groups.documents import saved_document
from runs.groups.policy import Policy
from runs.models import Run
from tests.runs.groups.making import group_of
from tests.runs.gsm8k import RIGHT, TASKS, import_gsm8k, outputs
from tests.runs.working import start, work
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db
OF_THE_GROUP = {"member", "run_id", "version", "best"}


def recorded_models(workspace: Workspace, version: BenchmarkVersion, shared: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in outputs(shared).read_text().splitlines()]
    tasks = list(version.tasks.order_by("ordinal"))
    subjects = []
    for name in RIGHT:
        model = RecordedModel.objects.create(workspace=workspace, version=version, name=name, source={}, answer_count=TASKS)
        RecordedAnswer.objects.bulk_create(
            RecordedAnswer(model=model, task=task, text=line[name]["solution"], finish_reason="stop")
            for task, line in zip(tasks, lines, strict=True)
        )
        subjects.append({"kind": "recorded", "recorded_model_id": str(model.public_id)})
    return subjects


def test_four_models_of_separate_runs_compare_as_those_of_one_run(workspace: Workspace, actor: Actor, shared: Path) -> None:
    version = import_gsm8k(workspace, actor=actor, shared=shared)
    subjects = recorded_models(workspace, version, shared)

    def ended(*wanted: dict[str, Any]) -> Run:
        selection = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
        return work(start(workspace, actor, subjects=list(wanted), **selection))

    together, alone = compare_document(ended(*subjects)), [ended(subject) for subject in subjects]
    group = group_of(workspace, actor, alone, baseline=1, policy=Policy(min_score=0.3, max_drop=0.01, min_coverage=1.0))
    document = saved_document(group)
    assert [member["counts"]["correct"] for member in document["members"]] == list(RIGHT.values())
    assert [{key: value for key, value in row.items() if key not in OF_THE_GROUP} for row in document["ranking"]] == together["ranking"]
    assert document["pairs"] == together["pairs"]
    assert document["summary"] == together["summary"]
    assert [row["member"] for row in document["ranking"]] == [3, 1, 2, 0]

    against = {row["member"]: row for row in document["against_baseline"]}
    assert round(100 * against[2]["difference"], 1) == -4.3
    outcomes = {(check["member"], check["check"]): check["outcome"] for check in document["checks"]}
    assert outcomes == {
        (0, "min_score"): "fail",
        (0, "max_drop"): "fail",
        (0, "min_coverage"): "pass",
        (2, "min_score"): "pass",
        (2, "max_drop"): "fail",
        (2, "min_coverage"): "pass",
        (3, "min_score"): "pass",
        (3, "max_drop"): "pass",
        (3, "min_coverage"): "pass",
    }
    assert document["decision"] == "fail"
