"""Every shared data set that fits the manifest imports with the row count that its SOURCE.md states."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from catalog.manifests import TaskRow
from catalog.models import TaskContent
from common.errors import Refused
from imports.actions import check_benchmark, import_benchmark
from imports.manifests import parse_manifest
from imports.mapping import row_mapper
from imports.reading import open_rows
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

REPOSITORY = Path(__file__).resolve().parents[2]
GSM8K = {"task": "numeric", "columns": {"question": "question", "answer": "answer"}, "answer_pattern": r"####\s*(.+)"}
MMLU = {
    "task": "multiple_choice",
    "header": False,
    "columns": {"question": "column_1", "choices": ["column_2", "column_3", "column_4", "column_5"], "answer": "column_6"},
    "prompt_template": "{question}\n{choices}\nAnswer:",
}
MMLU_PRO: dict[str, Any] = {
    "task": "multiple_choice",
    "columns": {"id": "question_id", "question": "question", "choices": "options", "answer": "answer_index", "group": "category"},
    "prompt_template": "{question}\n{choices}",
    "grader_options": {"answer_format": "index"},
}
MMLU_PRO_LETTERS = {**MMLU_PRO, "columns": {**MMLU_PRO["columns"], "answer": "answer"}, "grader_options": {}}
MGSM = {"task": "numeric", "header": False, "columns": {"question": "column_1", "answer": "column_2"}}
AQUA = {
    "task": "multiple_choice",
    "columns": {"question": "question", "choices": "options", "answer": "correct"},
    "prompt_template": "{question}\n{choices}",
}
SNIPS = {
    "task": "json_field_match",
    "columns": {"id": "id", "text": "text", "answer": "answer"},
    "prompt_template": "{text}",
    "grader_options": {"fields": ["intent", "slots"]},
}
SNIPS_FIRST = (
    "AddToPlaylist-0",
    "",
    {"intent": "AddToPlaylist", "slots": {"music_item": "track", "playlist_owner": "my", "playlist": "Classical Relaxations"}},
)
SVAMP = {
    "task": "numeric",
    "columns": {"id": "ID", "body": "Body", "question": "Question", "answer": "Answer", "group": "Type"},
    "prompt_template": "{body} {question}",
}
BANKING = {"task": "exact_match", "columns": {"text": "text", "answer": "category"}, "prompt_template": "{text}"}


@dataclass(frozen=True)
class Case:
    path: str
    rows: int
    manifest: dict[str, Any]
    first: tuple[str, str, Any]
    """The first task's ID, group and reference."""


CASES = [
    Case("gsm8k/test.jsonl", 1319, GSM8K, ("1", "", "18")),
    Case("gsm8k/test_socratic.jsonl", 1319, GSM8K, ("1", "", "18")),
    Case("parquet/gsm8k_test.parquet", 1319, {**GSM8K, "answer_pattern": None}, ("1", "", "18")),
    Case("mmlu_csv/college_computer_science_test.csv", 100, MMLU, ("1", "", "A")),
    Case("mmlu_csv/college_mathematics_test.csv", 100, MMLU, ("1", "", "B")),
    Case("mmlu_csv/econometrics_test.csv", 114, MMLU, ("1", "", "A")),
    Case("mmlu_csv/formal_logic_test.csv", 126, MMLU, ("1", "", "D")),
    Case("mmlu_csv/high_school_computer_science_test.csv", 100, MMLU, ("1", "", "C")),
    Case("mmlu_csv/high_school_us_history_test.csv", 204, MMLU, ("1", "", "D")),
    Case("mmlu_pro/questions.jsonl", 909, MMLU_PRO, ("10356", "computer science", "B")),
    Case("mmlu_pro/questions.json", 909, MMLU_PRO_LETTERS, ("10356", "computer science", "B")),
    Case("parquet/mmlu_pro_questions.parquet", 909, MMLU_PRO, ("10356", "computer science", "B")),
    Case("banking77/test.csv", 3080, BANKING, ("1", "", ["card_arrival"])),
    Case("banking77/train.csv", 10003, BANKING, ("1", "", ["card_arrival"])),
    Case(
        "parquet/banking77_test.parquet",
        3080,
        {**BANKING, "columns": {"text": "text", "answer": "label_text"}},
        ("1", "", ["card_arrival"]),
    ),
    Case("mgsm/mgsm_de.tsv", 250, MGSM, ("1", "", "18")),
    Case("mgsm/mgsm_ja.tsv", 250, MGSM, ("1", "", "18")),
    Case("mgsm/mgsm_th.tsv", 250, MGSM, ("1", "", "18")),
    Case("mgsm/mgsm_zh.jsonl", 250, {**MGSM, "columns": {"id": "id", "question": "question", "answer": "answer"}}, ("zh-1", "", "18")),
    Case(
        "mgsm/mgsm_all.csv",
        2750,
        {"task": "numeric", "columns": {"id": "id", "question": "question", "answer": "answer", "group": "lang"}},
        ("bn-1", "bn", "18"),
    ),
    Case("aqua/test.json", 254, AQUA, ("1", "", "A")),
    Case("aqua/dev.json", 254, AQUA, ("1", "", "A")),
    Case(
        "jcommonsenseqa/valid-v1.3.json",
        1119,
        {
            "task": "multiple_choice",
            "columns": {"id": "q_id", "question": "question", "choices": [f"choice{n}" for n in range(5)], "answer": "label"},
            "prompt_template": "{question}\n{choices}",
            "grader_options": {"answer_format": "index"},
        },
        ("8939", "", "C"),
    ),
    Case("snips_nlu/snips_validate.jsonl", 700, SNIPS, SNIPS_FIRST),
    Case("snips_nlu/snips_validate.csv", 700, {**SNIPS, "columns": {"id": "id", "text": "text", "answer": "answer_json"}}, SNIPS_FIRST),
    Case("svamp/SVAMP.json", 1000, SVAMP, ("chal-1", "Subtraction", "51")),
    Case("svamp/svamp.jsonl", 1000, SVAMP, ("chal-1", "Subtraction", "51")),
    Case(
        "inspect_ai_examples/biology_qa.jsonl",
        20,
        {"task": "exact_match", "columns": {"id": "id", "question": "question", "answer": "answer"}},
        ("q1", "", ["Leprosy"]),
    ),
    Case(
        "inspect_ai_examples/popularity.jsonl",
        100,
        {"task": "exact_match", "columns": {"question": "question", "answer": "answer_matching_behavior"}},
        ("1", "", [" Yes"]),
    ),
]


def manifest_of(manifest: dict[str, Any]) -> dict[str, Any]:
    return {"name": "A shared set", "prompt_template": "{question}", "rights_attestation": True, **manifest}


def tasks_of(path: Path, manifest: dict[str, Any]) -> Iterator[TaskRow]:
    """The tasks as the importer maps them."""
    wanted = parse_manifest(manifest_of(manifest))
    mapped = row_mapper(wanted)
    with path.open("rb") as file:
        stream = open_rows(file, path.name, header=wanted.header)
        for row in stream.rows(wanted.columns.chosen):
            yield mapped(row).task


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path)
def test_shared_set_has_the_stated_rows(case: Case, shared: Path) -> None:
    path = shared / "data" / case.path
    with path.open("rb") as file:
        report = check_benchmark(
            Workspace(name="unsaved"), actor=SYSTEM, file=file, filename=path.name, manifest=manifest_of(case.manifest)
        )
    assert (report.rows, report.warnings) == (case.rows, ())
    first = next(tasks_of(path, case.manifest))
    assert (first.task_id, first.group, first.reference) == case.first


def test_the_same_questions_from_lines_array_and_parquet_are_the_same_tasks(shared: Path) -> None:
    folder = shared / "data"
    expected = list(tasks_of(folder / "mmlu_pro/questions.jsonl", MMLU_PRO))
    assert list(tasks_of(folder / "mmlu_pro/questions.json", MMLU_PRO)) == expected
    assert list(tasks_of(folder / "mmlu_pro/questions.jsonl", MMLU_PRO_LETTERS)) == expected
    assert list(tasks_of(folder / "parquet/mmlu_pro_questions.parquet", MMLU_PRO)) == expected
    lines, converted = folder / "gsm8k/test.jsonl", folder / "parquet/gsm8k_test.parquet"
    assert list(tasks_of(converted, {**GSM8K, "answer_pattern": None})) == list(tasks_of(lines, GSM8K))


def test_answer_choices_that_read_like_missing_values_stay_text(shared: Path) -> None:
    choices = [
        choice
        for name in ("college_mathematics", "college_computer_science", "high_school_computer_science")
        for task in tasks_of(shared / f"data/mmlu_csv/{name}_test.csv", MMLU)
        for choice in task.values["choices"]
    ]
    assert (choices.count("None"), choices.count("FALSE")) == (5, 1)


def test_sorted_words_that_stand_sorted_in_the_question_are_answers_in_the_input(shared: Path) -> None:
    path = shared / "data/bbh/bbh_six_tasks_with_outputs.jsonl"
    columns = {"id": "id", "input": "input", "answer": "target", "group": "task"}
    manifest = manifest_of({"task": "exact_match", "columns": columns, "prompt_template": "{input}"})
    with path.open("rb") as file, pytest.raises(Refused) as caught:
        check_benchmark(Workspace(name="unsaved"), actor=SYSTEM, file=file, filename=path.name, manifest=manifest)
    assert caught.value.code == "byob_answer_in_input"
    assert [row["row"] for row in caught.value.details["rows"]] == [1399, 1427, 1443]
    assert caught.value.details["row_count"] == 1500


@pytest.mark.parametrize("name", ["theory_of_mind", "bias_detection"])
def test_chat_messages_as_the_prompt_are_refused(name: str, shared: Path) -> None:
    path = shared / f"data/inspect_ai_examples/{name}.jsonl"
    manifest = manifest_of({"task": "exact_match", "columns": {"question": "input", "answer": "target"}})
    with path.open("rb") as file, pytest.raises(Refused) as caught:
        check_benchmark(Workspace(name="unsaved"), actor=SYSTEM, file=file, filename=path.name, manifest=manifest)
    assert (caught.value.code, caught.value.details["total"]) == ("byob_invalid_rows", 100)
    assert caught.value.details["rows"][0]["message"] == "column 'input' must be text or a number, not a list"


def test_object_that_holds_the_rows_names_its_columns(shared: Path) -> None:
    path = shared / "data/bbh/word_sorting.json"
    manifest = manifest_of({"task": "exact_match", "columns": {"question": "input", "answer": "target"}})
    with path.open("rb") as file, pytest.raises(Refused) as caught:
        check_benchmark(Workspace(name="unsaved"), actor=SYSTEM, file=file, filename=path.name, manifest=manifest)
    assert (caught.value.code, caught.value.details["columns"]) == ("byob_missing_column", ["canary", "examples"])


def test_gsm8k_is_imported_with_every_answer(workspace: Workspace, shared: Path) -> None:
    path = shared / "data/gsm8k/test.jsonl"
    with path.open("rb") as file:
        version = import_benchmark(workspace, actor=SYSTEM, file=file, filename=path.name, manifest=manifest_of(GSM8K))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    stored = TaskContent.objects.filter(task__version=version).order_by("task__ordinal").values_list("values", "reference")
    expected = [({"question": row["question"]}, row["answer"].rpartition("####")[2].strip().replace(",", "")) for row in rows]
    assert list(stored) == expected
    assert version.task_count == 1319


IMPORT_BLIMP = """
import io, itertools, json, sys
import django
from django.conf import settings
from django.core.management import call_command

django.setup()
settings.MIGRATION_MODULES = {config.label: None for config in django.apps.apps.get_app_configs()}
call_command("migrate", run_syncdb=True, verbosity=0)
from imports.actions import check_benchmark, import_benchmark
from tests.imports.files import peak_kib
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

path, manifest = sys.argv[1], json.loads(sys.argv[2])
with open(path, "rb") as file:
    head = io.BytesIO(b"".join(itertools.islice(file, 10_001)))
workspace, before = Workspace.objects.create(name="Ours"), peak_kib()
with open(path, "rb") as file:
    report = check_benchmark(workspace, actor=SYSTEM, file=file, filename="blimp_67k.csv", manifest=manifest)
version = import_benchmark(workspace, actor=SYSTEM, file=head, filename="blimp_10k.csv", manifest=manifest)
print(json.dumps({
    "checked": report.rows,
    "duplicates": [warning.rows for warning in report.warnings if warning.code == "byob_duplicate_choices"],
    "imported": [version.tasks.count(), version.tasks.values("group").distinct().count()],
    "grown_mib": (peak_kib() - before) // 1024,
}))
"""


def test_67000_rows_are_checked_and_10000_written_in_bounded_memory(shared: Path, tmp_path: Path) -> None:
    manifest = manifest_of(
        {
            "task": "multiple_choice",
            "columns": {"id": ["uid", "pair_id"], "choices": ["choice_a", "choice_b"], "answer": "answer", "group": "uid"},
            "prompt_template": "Which sentence is acceptable English?\n{choices}",
        }
    )
    command = [sys.executable, "-c", IMPORT_BLIMP, str(shared / "data/blimp/blimp_67k.csv"), json.dumps(manifest)]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "evalrouter_site.settings", "DATA_DIR": str(tmp_path), "DATABASE_URL": ""}
    ended = subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert (found["checked"], found["imported"]) == (67_000, [10_000, 10])
    assert found["duplicates"] == [[40325, 40811, 44106, 44288, 44373, 44817, 44968]]
    assert found["grown_mib"] < 40
