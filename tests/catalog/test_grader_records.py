"""The graders on recorded outputs of real models, whose right and wrong answers others counted."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from catalog.graders import checked_reference, compile_grader
from tests.conftest import SHARED


def recorded(name: str) -> str:
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"the recorded outputs are not here: {path}")
    return path.read_text(encoding="utf-8")


def records(name: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in recorded(name).split("\n") if line)


def test_gsm8k_verdicts_equal_the_recorded_ones_on_all_5276_outputs() -> None:
    read = compile_grader("numeric", {})
    right: Counter[str] = Counter()
    for row in records("gsm8k/example_model_solutions.jsonl"):
        reference = checked_reference("numeric", {}, row["ground_truth"].rpartition("A: ")[2])
        for model in ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"):
            verdict = read(row[model]["solution"], reference)
            assert verdict.correct == row[model]["is_correct"], row[model]["solution"]
            right[model] += verdict.correct
    assert right == {"6b_finetuning": 286, "6b_verification": 515, "175b_finetuning": 458, "175b_verification": 742}


def test_mmlu_pro_letters_are_the_recorded_ones_where_one_was_stated() -> None:
    """2,717 of 2,727 verdicts are the recorded ones.

    The other ten: seven outputs state no letter (the record then takes the last lone capital, or a letter that occurs nowhere), one
    states two ("(B) or (I)"), and two change their letter, where the record took the first.
    """
    options = {"answer_format": "index"}
    read = compile_grader("multiple_choice", options)
    questions = {row["question_id"]: row for row in records("mmlu_pro/questions.jsonl")}
    right: Counter[str] = Counter()
    differences: Counter[str] = Counter()
    for row in records("mmlu_pro/outputs.jsonl"):
        question = questions[row["question_id"]]
        reference = checked_reference("multiple_choice", options, question["answer_index"], choices=question["options"])
        assert reference == question["answer"]
        verdict = read(row["output"], reference, question["options"])
        right[row["model"]] += verdict.correct
        if verdict.correct != row["is_correct"]:
            differences[verdict.reason] += 1
    assert differences == {"no_letter": 7, "several_letters": 1, "different": 1, "not_a_listed_choice": 1}
    assert right == {"Meta-Llama-3_1-70B-Instruct": 577, "Meta-Llama-3_1-8B-Instruct": 413, "Phi-3-mini-4k-instruct": 379}


def test_big_bench_hard_accuracies_are_the_published_ones() -> None:
    published = json.loads(recorded("bbh/published_accuracy.json"))
    plain = {"normalize": False}
    graders = {
        "direct": compile_grader("exact_match", plain),
        "cot": compile_grader("regex_match", {"pattern": r"answer is ((?s:.*?))\.?\z", "anchored": False, **plain}),
    }
    right: Counter[str] = Counter()
    tasks: Counter[str] = Counter()
    for row in records("bbh/bbh_six_tasks_with_outputs.jsonl"):
        reference = checked_reference("exact_match", plain, row["target"])
        tasks[row["task"]] += 1
        for way, read in graders.items():
            right[f"{row['task']}/{way}"] += read(row[f"code-davinci-002-{way}"], reference).correct
    assert {name: round(100 * count / tasks[name.partition("/")[0]], 4) for name, count in right.items()} == {
        name: round(figures["accuracy"], 4) for name, figures in published.items()
    }


@pytest.mark.parametrize(("name", "rows"), [("mgsm/mgsm_zh.jsonl", 250), ("svamp/svamp.jsonl", 1000)])
def test_every_numeric_reference_of_other_sets_is_read(name: str, rows: int) -> None:
    answers = [row.get("answer", row.get("Answer")) for row in records(name)]
    assert len([checked_reference("numeric", {}, answer) for answer in answers]) == rows


def test_snips_references_are_objects_that_equal_themselves() -> None:
    options = {"fields": ["intent", "slots"]}
    read = compile_grader("json_field_match", options)
    verdicts = [
        read(json.dumps(row["answer"]), checked_reference("json_field_match", options, row["answer"]))
        for row in records("snips_nlu/snips_validate.jsonl")
    ]
    assert (len(verdicts), all(verdict.correct for verdict in verdicts)) == (700, True)
