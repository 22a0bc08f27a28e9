"""What is suggested for every shared set is the mapping of its SOURCE.md, and passes the check of all rows as it stands."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from common.errors import Refused
from imports.actions import check_benchmark
from imports.reading import open_rows
from imports.suggesting import Certainty, Suggestion, suggest
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

LETTERS = {"answer_format": "letter"}
FROM_ZERO = {"answer_format": "index", "index_base": 0}
NUMBER = {"extract": "last_number"}
MMLU = {"question": "column_1", "choices": ["column_2", "column_3", "column_4", "column_5"], "answer": "column_6"}
MMLU_PRO = {"id": "question_id", "question": "question", "choices": "options", "answer": "answer", "group": "category"}
AQUA = {"question": "question", "choices": "options", "answer": "correct"}
BANKING = {"text": "text", "answer": "category"}
QUESTION = {"question": "question", "answer": "answer"}
SVAMP = {"id": "ID", "body": "Body", "question": "Question", "answer": "Answer", "group": "Type"}
SNIPS = {"fields": ["intent", "slots"], "extract": "first_object"}


@dataclass(frozen=True)
class Case:
    path: str
    rows: int
    task: str
    columns: dict[str, Any]
    options: dict[str, Any] | None = None
    keys: dict[str, Any] = field(default_factory=dict)
    """Other keys of the manifest that must be as stated."""
    withheld: tuple[str, ...] = ()


CASES = [
    Case("aqua/dev.json", 254, "multiple_choice", AQUA, LETTERS, withheld=("rationale",)),
    Case("aqua/test.json", 254, "multiple_choice", AQUA, LETTERS, withheld=("rationale",)),
    Case("banking77/test.csv", 3080, "exact_match", BANKING),
    Case("banking77/train.csv", 10003, "exact_match", BANKING),
    Case(
        "blimp/blimp_67k.csv",
        67000,
        "multiple_choice",
        {"id": ["uid", "pair_id"], "choices": ["choice_a", "choice_b"], "answer": "answer", "group": "uid"},
        LETTERS,
    ),
    Case("gsm8k/test.jsonl", 1319, "numeric", QUESTION, NUMBER, {"answer_pattern": r"####\s*(.+)"}),
    Case("gsm8k/test_socratic.jsonl", 1319, "numeric", QUESTION, NUMBER, {"answer_pattern": r"####\s*(.+)"}),
    Case(
        "gsm8k/example_model_solutions.jsonl",
        1319,
        "numeric",
        {"question": "question", "answer": "ground_truth"},
        NUMBER,
        {"answer_pattern": r"(?m)^A:\s*(.+)$"},
    ),
    Case("inspect_ai_examples/biology_qa.jsonl", 20, "exact_match", {"id": "id", **QUESTION}),
    Case(
        "inspect_ai_examples/popularity.jsonl",
        100,
        "exact_match",
        {"question": "question", "answer": "answer_matching_behavior"},
        withheld=("label_confidence", "answer_not_matching_behavior"),
    ),
    Case(
        "jcommonsenseqa/valid-v1.3.json",
        1119,
        "multiple_choice",
        {"id": "q_id", "question": "question", "choices": [f"choice{number}" for number in range(5)], "answer": "label"},
        FROM_ZERO,
    ),
    Case("mgsm/mgsm_all.csv", 2750, "numeric", {"id": "id", **QUESTION, "group": "lang"}, NUMBER, {"header": True, "delimiter": ","}),
    *(
        Case(
            f"mgsm/mgsm_{language}.tsv",
            250,
            "numeric",
            {"question": "column_1", "answer": "column_2"},
            NUMBER,
            {"header": False, "delimiter": "\t"},
        )
        for language in ("de", "ja", "th")
    ),
    Case("mgsm/mgsm_zh.jsonl", 250, "numeric", {"id": "id", **QUESTION}, NUMBER),
    *(
        Case(f"mmlu_csv/{name}_test.csv", rows, "multiple_choice", MMLU, LETTERS, {"header": False, "delimiter": ","})
        for name, rows in (
            ("college_computer_science", 100),
            ("college_mathematics", 100),
            ("econometrics", 114),
            ("formal_logic", 126),
            ("high_school_computer_science", 100),
            ("high_school_us_history", 204),
        )
    ),
    Case("mmlu_pro/questions.json", 909, "multiple_choice", MMLU_PRO, LETTERS, withheld=("answer_index",)),
    Case("mmlu_pro/questions.jsonl", 909, "multiple_choice", MMLU_PRO, LETTERS, withheld=("answer_index",)),
    Case("parquet/mmlu_pro_questions.parquet", 909, "multiple_choice", MMLU_PRO, LETTERS, withheld=("answer_index",)),
    Case("parquet/gsm8k_test.parquet", 1319, "numeric", QUESTION, NUMBER, withheld=("solution",)),
    Case("parquet/banking77_test.parquet", 3080, "exact_match", {"text": "text", "answer": "label_text"}, withheld=("label",)),
    Case("snips_nlu/snips_validate.csv", 700, "json_field_match", {"id": "id", "text": "text", "answer": "answer_json"}, SNIPS),
    Case(
        "snips_nlu/snips_validate.jsonl",
        700,
        "json_field_match",
        {"id": "id", "text": "text", "answer": "answer"},
        SNIPS,
        withheld=("intent",),
    ),
    Case("svamp/SVAMP.json", 1000, "numeric", SVAMP, NUMBER, withheld=("Equation",)),
    Case("svamp/svamp.jsonl", 1000, "numeric", SVAMP, NUMBER, withheld=("Equation",)),
    Case(
        "svamp/dev.csv",
        1000,
        "numeric",
        {"question": "Question", "numbers": "Numbers", "answer": "Answer", "group": "Type"},
        NUMBER,
        withheld=("Equation",),
    ),
]
UNUSABLE = {
    "bbh/published_accuracy.json": "No row of the file can be read.",
    "bbh/word_sorting.json": 'its rows stand in the list "examples"',
    "snips_nlu/validate_BookRestaurant.json": "No row of the file can be read.",
    "inspect_ai_examples/bias_detection.jsonl": '"input" holds lists of chat messages',
    "inspect_ai_examples/theory_of_mind.jsonl": '"input" holds lists of chat messages',
    "inspect_ai_examples/security_guide.jsonl": '"input" holds lists of chat messages',
    "mmlu_pro/outputs.jsonl": "It seems to hold answers of models",
}
BBH = "bbh/bbh_six_tasks_with_outputs.jsonl"


def suggested(path: Path) -> Suggestion:
    with path.open("rb") as file:
        return suggest(open_rows(file, path.name), filename=path.name)


def checked(path: Path, suggestion: Suggestion) -> int:
    manifest = {"name": path.stem, "rights_attestation": True, **suggestion.manifest()}
    with path.open("rb") as file:
        return check_benchmark(Workspace(name="unsaved"), actor=SYSTEM, file=file, filename=path.name, manifest=manifest).rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path)
def test_suggestion_for_a_shared_set_is_its_mapping_and_passes_the_check(case: Case, shared: Path) -> None:
    path = shared / "data" / case.path
    found = suggested(path)
    manifest = found.manifest()
    assert found.problems == ()
    assert manifest["columns"] == case.columns
    assert manifest["task"] == case.task
    assert case.options in (None, manifest["grader_options"])
    assert {key: manifest.get(key) for key in case.keys} == case.keys
    assert manifest.get("answer_pattern") == case.keys.get("answer_pattern")
    assert tuple(each.column for each in found.withheld) == case.withheld
    assert checked(path, found) == case.rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path)
def test_what_decides_about_the_answer_is_said_with_certainty_for_a_shared_set(case: Case, shared: Path) -> None:
    guesses = suggested(shared / "data" / case.path).guesses
    decisive = [guesses[key] for key in ("columns.answer", "task", "grader_options")]
    assert [guess for guess in decisive if guess.certainty == Certainty.LOW] == []
    assert all(guess.why.endswith(".") for guess in guesses.values())


@pytest.mark.parametrize("path", UNUSABLE)
def test_shared_set_that_cannot_be_used_says_why(path: str, shared: Path) -> None:
    problems = suggested(shared / "data" / path).problems
    assert len(problems) == 1
    assert UNUSABLE[path] in problems[0]


def test_every_shared_file_is_looked_at(shared: Path) -> None:
    files = {str(path.relative_to(shared / "data")) for path in (shared / "data").glob("*/*") if path.suffix != ".md"}
    assert files == {case.path for case in CASES} | set(UNUSABLE) | {BBH}


def test_hard_tasks_are_mapped_and_three_of_their_rows_hold_their_answers(shared: Path) -> None:
    path = shared / "data" / BBH
    found = suggested(path)
    assert found.manifest()["columns"] == {"id": "id", "input": "input", "answer": "target", "group": "task"}
    assert [each.column for each in found.withheld] == ["code-davinci-002-cot"]
    with pytest.raises(Refused) as caught:
        checked(path, found)
    assert (caught.value.code, caught.value.details["total"]) == ("byob_answer_in_input", 3)


def test_67000_rows_are_looked_at_in_little_time(shared: Path) -> None:
    path = shared / "data/blimp/blimp_67k.csv"
    with path.open("rb") as file:
        stream = open_rows(file, path.name)
        began = time.process_time()
        found = suggest(stream, filename=path.name)
        taken = time.process_time() - began
    assert (found.rows, found.is_whole) == (67_000, True)
    assert taken < 1.5
