"""The recorded outputs of the shared sets, imported as recorded models: runs of them give the accuracies that each SOURCE.md states."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.models import BenchmarkVersion
from gateway.models import Call, RecordedAnswer, RecordedModel
from gateway.queries import agreement_counts
from imports.actions import import_benchmark
from imports.actions.recorded import RecordedRequest, import_recorded
from imports.queries.recorded import agreement_of_model
from runs.models import Run, Sample
from tests import factories
from tests.imports.recorded import stored
from tests.imports.test_shared_sets import MMLU_PRO, manifest_of
from tests.runs.gsm8k import RIGHT, TASKS, import_gsm8k
from tests.runs.working import start, work
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db
ANSWER_IS = re.compile(r"answer is \(?([A-J])\)?")


def add(workspace: Workspace, actor: Actor, path: Path, version: BenchmarkVersion, **options: Any) -> list[RecordedModel]:
    request = RecordedRequest(format="predictions", options=options, version=version, rights_attestation=True)
    return import_recorded(workspace, actor=actor, sources=[stored(workspace, path)], request=request)[1]


def run_of(workspace: Workspace, actor: Actor, models: list[RecordedModel], version: BenchmarkVersion) -> tuple[Run, list[dict[str, Any]]]:
    subjects = [{"kind": "recorded", "recorded_model_id": str(model.public_id)} for model in models]
    run = work(start(workspace, actor, subjects=subjects, benchmark=version.profile_id, coverage={"mode": "full"}))
    return run, orjson.loads(run.results.get().document)["subjects"]


def test_four_models_on_gsm8k(workspace: Workspace, actor: Actor, shared: Path) -> None:
    version = import_gsm8k(workspace, actor=actor, shared=shared)
    path = shared / "data/gsm8k/example_model_solutions.jsonl"
    models = [
        model
        for name in RIGHT
        for model in add(
            workspace, actor, path, version, model=name, columns={"answer": f"{name}.solution", "correct": f"{name}.is_correct"}
        )
    ]
    assert [(model.name, model.answer_count) for model in models] == [(name, TASKS) for name in RIGHT]
    run, subjects = run_of(workspace, actor, models, version)
    assert (run.status, run.spend_microusd, run.processed) == ("completed", 0, 4 * TASKS)
    assert [subject["counts"]["correct"] for subject in subjects] == [286, 515, 458, 742]
    assert [subject["label"] for subject in subjects] == list(RIGHT)
    counted = {(agreement, was) for model in models for agreement, was in agreement_counts(model)}
    assert counted == {("both_right", True), ("both_wrong", False)}
    assert set(Call.objects.values_list("usage_microusd", "input_tokens", "latency_ms")) == {(0, 0, 0)}


def test_three_models_on_mmlu_pro(workspace: Workspace, actor: Actor, shared: Path) -> None:
    folder = shared / "data/mmlu_pro"
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    version = factories.make_version(
        workspace=workspace,
        grader="regex_match",
        grader_options={"pattern": r"answer is \(?([A-J])\)?", "anchored": False},
        rows=[{"values": {"question": row["question"]}, "reference": [row["answer"]], "task_id": str(row["question_id"])} for row in rows],
    )
    models = add(workspace, SYSTEM, folder / "outputs.jsonl", version, columns={"id": "question_id", "answer": "output"} | LONG)
    outputs = [json.loads(line) for line in (folder / "outputs.jsonl").read_text(encoding="utf-8").splitlines()]
    read = {True: Counter[str](), False: Counter[str]()}
    for output in outputs:
        found = ANSWER_IS.search(output["output"])
        read[found is not None][output["model"]] += 1 if found is None else found[1] == output["answer"]
    names = [model.name for model in models]
    _, subjects = run_of(workspace, actor, models, version)
    assert len(outputs) == sum(subject["counts"]["graded"] for subject in subjects) == 2727
    assert [subject["counts"]["correct"] for subject in subjects] == [read[True][name] for name in names]
    assert [subject["counts"]["unreadable"] for subject in subjects] == [read[False][name] for name in names]
    # Where a letter is to be read the old verdict is met; where SOURCE.md says that none is, the answer is unreadable.
    assert sorted(subject["counts"]["unreadable"] for subject in subjects) == [18, 58, 89]
    disputed = RecordedAnswer.objects.filter(model__in=models, agreement__in=["only_ours", "only_theirs"])
    assert disputed.count() == 0
    kinds = Counter(RecordedAnswer.objects.filter(model__in=models).values_list("agreement", flat=True))
    assert kinds["ours_unreadable"] == 18 + 58 + 89


def test_multiple_choice_reads_what_the_publishers_read_but_for_guesses(workspace: Workspace, shared: Path) -> None:
    """With the grader that SOURCE.md names: what it cannot read is unreadable, and of what it reads two answers differ."""
    folder = shared / "data/mmlu_pro"
    with (folder / "questions.jsonl").open("rb") as file:
        version = import_benchmark(workspace, actor=SYSTEM, file=file, filename="questions.jsonl", manifest=manifest_of(MMLU_PRO))
    models = add(workspace, SYSTEM, folder / "outputs.jsonl", version, columns={"id": "question_id", "answer": "output"} | LONG)
    found = {model.name: agreement_of_model(model) for model in models}
    assert {name: (each.theirs_right, each.ours_right, each.counts["ours_unreadable"]) for name, each in found.items()} == {
        "Meta-Llama-3_1-70B-Instruct": (580, 577, 18),
        "Meta-Llama-3_1-8B-Instruct": (419, 413, 59),
        "Phi-3-mini-4k-instruct": (380, 379, 90),
    }
    assert [each.counts["only_theirs"] for each in found.values()] == [0, 1, 1]
    assert [each.counts["only_ours"] for each in found.values()] == [0, 0, 0]


LONG = {"model": "model", "correct": "is_correct", "extracted": "pred"}
RULES = {
    "direct": ("exact_match", {"normalize": False}),
    "cot": ("regex_match", {"pattern": r"(?s)^.*?answer is (?P<answer>.*?)\.?$", "anchored": False, "normalize": False}),
}


def test_two_ways_of_prompting_on_bbh(workspace: Workspace, actor: Actor, shared: Path) -> None:
    path = shared / "data/bbh/bbh_six_tasks_with_outputs.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    published = json.loads((shared / "data/bbh/published_accuracy.json").read_text(encoding="utf-8"))
    found: dict[str, float] = {}
    for way, (grader, options) in RULES.items():
        version = factories.make_version(
            workspace=workspace,
            grader=grader,
            grader_options=options,
            rows=[
                {"values": {"question": row["input"]}, "reference": [row["target"]], "task_id": row["id"], "group": row["task"]}
                for row in rows
            ],
        )
        models = add(workspace, actor, path, version, model=way, columns={"id": "id", "answer": f"code-davinci-002-{way}"})
        _, subjects = run_of(workspace, actor, models, version)
        found |= {f"{group['group']}/{way}": round(100 * group["value"], 4) for group in subjects[0]["groups"]}
    wanted = {name: value if not isinstance(value, dict) else value["accuracy"] for name, value in published.items()}
    assert found == {name: round(value, 4) for name, value in wanted.items()}
    assert len(found) == 12
    assert Sample.objects.filter(status="error").count() == 0
