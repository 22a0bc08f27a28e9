"""Every shared data set that fits the manifest imports with the row count that its SOURCE.md states."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from catalog.models import Task
from imports.actions import Report, check_benchmark, import_benchmark
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

GSM8K = {"task": "numeric", "columns": {"question": "question", "answer": "answer"}, "answer_pattern": r"####\s*(.+)"}
MMLU = {
    "task": "multiple_choice",
    "header": False,
    "columns": {"question": "column_1", "choices": ["column_2", "column_3", "column_4", "column_5"], "answer": "column_6"},
    "prompt_template": "{question}\n{choices}\nAnswer:",
}
MMLU_PRO = {
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
    first: tuple[str, str, Any] = ("1", "", None)
    """The first task's ID, group and reference."""
    warnings: list[str] = field(default_factory=list)


CASES = [
    Case("gsm8k/test.jsonl", 1319, GSM8K, ("1", "", "18")),
    Case("gsm8k/test_socratic.jsonl", 1319, GSM8K, ("1", "", "18")),
    Case("parquet/gsm8k_test.parquet", 1319, {**GSM8K, "answer_pattern": None}, ("1", "", "18")),
    Case("mmlu_csv/college_computer_science_test.csv", 100, MMLU, ("1", "", "B")),
    Case("mmlu_csv/college_mathematics_test.csv", 100, MMLU, ("1", "", "B")),
    Case("mmlu_csv/econometrics_test.csv", 114, MMLU, ("1", "", "C")),
    Case("mmlu_csv/formal_logic_test.csv", 126, MMLU, ("1", "", "A")),
    Case("mmlu_csv/high_school_computer_science_test.csv", 100, MMLU, ("1", "", "A")),
    Case("mmlu_csv/high_school_us_history_test.csv", 204, MMLU, ("1", "", "A")),
    Case("mmlu_pro/questions.jsonl", 909, MMLU_PRO, ("10356", "computer science", "F")),
    Case("mmlu_pro/questions.json", 909, MMLU_PRO_LETTERS, ("10356", "computer science", "F")),
    Case("parquet/mmlu_pro_questions.parquet", 909, MMLU_PRO, ("10356", "computer science", "F")),
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
    Case("aqua/dev.json", 254, AQUA, ("1", "", "E")),
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
    Case("snips_nlu/snips_validate.jsonl", 700, SNIPS),
    Case("snips_nlu/snips_validate.csv", 700, {**SNIPS, "columns": {"id": "id", "text": "text", "answer": "answer_json"}}),
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


def checked(workspace: Workspace, path: Path, manifest: dict[str, Any]) -> Report:
    with path.open("rb") as file:
        return check_benchmark(workspace, actor=SYSTEM, file=file, filename=path.name, manifest=manifest_of(manifest))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path)
def test_shared_set_has_the_stated_rows(case: Case, workspace: Workspace, shared: Path) -> None:
    report = checked(workspace, shared / "data" / case.path, case.manifest)
    print(report.preview[0], [w.message for w in report.warnings])
    assert (report.rows, [warned.code for warned in report.warnings]) == (case.rows, case.warnings)
