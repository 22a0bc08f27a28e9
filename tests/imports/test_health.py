"""The health of rows: each finding on rows that have it, none on rows that do not, and figures that are worked out by hand."""

import csv
import json
import random
import time
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from catalog.models import BenchmarkVersion
from imports.actions import import_benchmark
from imports.health import HealthRow, compute_health, health_of_rows
from tests.imports.files import CHOICES, json_lines
from workspaces.actors import SYSTEM
from workspaces.models import Workspace

WORDS = [
    "river",
    "stone",
    "lamp",
    "candle",
    "window",
    "garden",
    "basket",
    "ladder",
    "bridge",
    "market",
    "orchard",
    "tunnel",
    "harbour",
    "meadow",
    "castle",
    "pepper",
    "violin",
    "mirror",
]


def health(rows: Iterable[HealthRow], grader: str = "multiple_choice", **source: Any) -> dict[str, Any]:
    listed = list(rows)
    return health_of_rows(listed, grader=grader, count=len(listed), source=source)


def codes(document: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in document["findings"]]


def finding(document: dict[str, Any], code: str) -> dict[str, Any]:
    return next(each for each in document["findings"] if each["code"] == code)


def sentence(seed: int, words: int = 30) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def choice_row(number: int, right: str, choices: list[str] | None = None, question: str = "") -> HealthRow:
    return HealthRow(f"t{number}", {"question": question or sentence(number)}, choices or ["aa", "bb", "cc", "dd"], right, 200)


def open_row(number: int, reference: Any, question: str = "") -> HealthRow:
    return HealthRow(f"t{number}", {"question": question or sentence(number)}, None, reference, 200)


def test_even_rows_have_nothing_to_tell() -> None:
    document = health(choice_row(number, "ABCD"[number % 4]) for number in range(200))
    assert document["findings"] == []
    assert document["floor"] == {"random_choice": 0.25, "most_frequent_answer": 0.25}
    assert document["answers"]["letters"] == {"A": 50, "B": 50, "C": 50, "D": 50}
    assert document["prompts"] == {"least_bytes": 200, "median_bytes": 200, "p95_bytes": 200, "most_bytes": 200}


def test_the_floor_of_rows_with_different_numbers_of_choices_is_the_mean_of_their_chances() -> None:
    rows = [choice_row(number, "A", ["a", "b"] if number % 2 else ["a", "b", "c", "d"]) for number in range(100)]
    assert health(rows)["floor"] == {"random_choice": pytest.approx((1 / 2 + 1 / 4) / 2), "most_frequent_answer": 1.0}


def test_the_floor_without_choices_is_one_of_the_different_answers() -> None:
    document = health(
        (open_row(number, ["yes" if number % 10 < 7 else "no" if number % 10 < 9 else "maybe"]) for number in range(100)), "exact_match"
    )
    assert document["floor"] == {"random_choice": pytest.approx(1 / 3), "most_frequent_answer": pytest.approx(0.7)}
    assert (finding(document, "uneven_answers")["severity"], finding(document, "uneven_answers")["count"]) == ("medium", 70)


def test_one_answer_for_all_is_grave() -> None:
    document = health((open_row(number, ["yes"]) for number in range(100)), "exact_match")
    assert (finding(document, "constant_answer")["severity"], document["findings"][0]["code"]) == ("high", "constant_answer")


def test_the_longest_choice_gives_the_answer_away() -> None:
    def row(number: int, is_longest: bool) -> HealthRow:
        right = "ABCD"[number % 4]
        longest = right if is_longest else "ABCD"[(number + 1) % 4]
        return choice_row(number, right, [f"word {letter}" + " and more of it" * (letter == longest) for letter in "ABCD"])

    told = finding(health(row(number, number % 2 == 0) for number in range(200)), "longest_choice")
    assert (told["severity"], told["count"]) == ("high", 100)
    assert "right in 50% of 200 tasks; by chance it would be 25% (exact binomial test, p < 0.0001)" in told["text"]
    assert "longest_choice" not in codes(health(row(number, number % 4 == 0) for number in range(200)))


def test_the_p_value_of_the_longest_choice_is_the_exact_binomial_tail() -> None:
    rows = [choice_row(number, "A" if number < 3 else "B", ["longer", "b", "c", "d"]) for number in range(30)]
    told = health(rows)["answers"]["longest_choice"]
    expected = 1 - sum(_choose(30, k) * 0.25**k * 0.75 ** (30 - k) for k in range(3))
    assert (told["tasks"], told["right"], told["p_value"]) == (30, 3, pytest.approx(expected))


def _choose(n: int, k: int) -> int:
    result = 1
    for step in range(k):
        result = result * (n - step) // (step + 1)
    return result


def test_all_of_the_above_is_right_too_often() -> None:
    rows = [
        choice_row(number, "D" if number % 10 else "A", ["one", "two", "six", "All of the above"] if number < 40 else None)
        for number in range(120)
    ]
    told = finding(health(rows), "all_of_the_above")
    assert (told["count"], told["severity"]) == (36, "medium")
    assert "right in 90% of 40 tasks" in told["text"]


def test_the_right_choice_favours_a_position() -> None:
    document = health(choice_row(number, "B" if number % 2 else "ABCD"[number // 2 % 4]) for number in range(400))
    told = finding(document, "position_bias")
    assert "Choice B is right in 62% of the tasks; evenly spread it would be 25%" in told["text"]
    assert told["severity"] == "medium"


def test_the_same_choice_twice_is_told_and_more_so_where_it_is_right() -> None:
    rows = [choice_row(number, "ABCD"[number % 4]) for number in range(100)]
    rows[3] = choice_row(3, "D", ["x", "y", "Z", "z "])
    rows[4] = choice_row(4, "A", ["w", "same", "same", "z"])
    told = finding(health(rows), "duplicate_choices")
    assert (told["severity"], told["count"], told["tasks"]) == ("medium", 2, ["t3", "t4"])


def test_answers_that_stand_in_their_question() -> None:
    rows = [open_row(number, [f"item{number}"], f"Which is it: item{number}, or box{number}?") for number in range(100)]
    told = finding(health(rows, "exact_match"), "answer_in_question")
    assert (told["severity"], told["count"]) == ("medium", 100)
    assert "answer_in_question" not in codes(
        health((open_row(n, ["it"], f"Whose kitten sits there, number {n}?") for n in range(100)), "exact_match")
    )


def test_numbers_stand_in_a_question_as_numbers_alone() -> None:
    rows = [open_row(number, str(number), f"Take {number}00 and {number},001 away from it.") for number in range(2, 102)]
    assert health(rows, "numeric")["answers"]["in_question_share"] == 0.0
    rows = [open_row(number, str(number * 1000), f"Take {number},000 and add nothing.") for number in range(2, 102)]
    assert health(rows, "numeric")["answers"]["in_question_share"] == 1.0


def test_the_same_question_with_another_answer_is_grave() -> None:
    rows = [open_row(number, [f"answer {number}"]) for number in range(100)]
    rows[50] = HealthRow("twin", {"question": "  " + rows[7].values["question"].upper()}, None, ["other"], 200)
    rows[51] = HealthRow("copy", dict(rows[8].values), None, ["answer 8"], 200)
    document = health(rows, "exact_match")
    assert finding(document, "same_question_different_answers")["tasks"] == ["t7", "twin"]
    assert finding(document, "same_question_different_answers")["severity"] == "high"
    assert (finding(document, "duplicates")["count"], document["duplicates"]["contradicting"]) == (2, 2)


def test_the_same_question_with_its_choices_in_another_order_asks_the_same() -> None:
    rows = [choice_row(number, "ABCD"[number % 4], [f"{letter}{number}" for letter in "abcd"]) for number in range(100)]
    question = rows[0].values["question"]
    rows[10] = HealthRow("t10", {"question": question}, list(rows[0].choices or ()), "A", 200)
    rows[11] = HealthRow("t11", {"question": question}, list(rows[0].choices or ()), "B", 200)
    document = health(rows)
    assert finding(document, "same_question_different_answers")["count"] == 3


def test_near_duplicates_are_those_that_brute_force_finds() -> None:
    rows = [open_row(number, [str(number)]) for number in range(300)]
    for number in range(0, 60, 3):  # one word of thirty exchanged
        words = rows[number].values["question"].split()
        words[number % 30] = "elephant"
        rows.append(open_row(1000 + number, [str(number)], " ".join(words)))
    document = health(rows, "exact_match")

    def shingles(row: HealthRow) -> set[str]:
        text = row.values["question"]
        return {text[start : start + 5] for start in range(len(text) - 4)}

    sets = [shingles(row) for row in rows]
    close = {
        (one, other)
        for one, other in combinations(range(len(rows)), 2)
        if len(sets[one] & sets[other]) / len(sets[one] | sets[other]) >= 0.85
    }
    assert len(close) > 10
    assert document["duplicates"]["near"] == len({index for pair in close for index in pair})
    assert document["duplicates"]["near_clusters"] == len(close)


def test_tasks_made_from_a_template_are_told_as_such() -> None:
    rows = [
        open_row(n, str(n), f"On day {n} the old miller of the lower valley ground {n + 3} sacks; how many were it?") for n in range(10, 90)
    ]
    told = finding(health(rows, "numeric"), "near_duplicates")
    assert "differ in their numbers alone" in told["text"]
    assert told["count"] > 60


def test_questions_about_one_passage_are_no_duplicates() -> None:
    rows = [
        HealthRow(
            f"t{number}", {"passage": sentence(number // 10, 400), "question": sentence(1000 + number, 12)}, None, [f"a{number}"], 900
        )
        for number in range(100)
    ]
    assert codes(health(rows, "exact_match")) == []


def test_few_tasks_say_what_they_cannot_show() -> None:
    told = finding(health(choice_row(number, "ABCD"[number % 4]) for number in range(24)), "few_tasks")
    assert (told["severity"], "±20 percentage points" in told["text"]) == ("medium", True)


def test_rows_left_out_and_long_prompts_are_told() -> None:
    rows = [
        HealthRow(f"t{n}", {"question": sentence(n)}, ["a", "b", "c", "d"], "ABCD"[n % 4], 60_000 if n < 2 else 300) for n in range(120)
    ]
    document = health(rows, left_out={"reason": "byob_answer_in_input", "count": 3, "rows": [4, 5, 6]})
    assert codes(document) == ["long_prompts", "rows_left_out"]
    assert document["left_out"] == {"count": 3}


def test_no_text_of_a_row_is_in_the_document() -> None:
    rows = [open_row(number, ["zanzibar"], f"Which quokka is number {number % 30}?") for number in range(100)]
    written = json.dumps(health(rows, "exact_match"))
    assert ("zanzibar" in written, "quokka" in written) == (False, False)


@pytest.mark.parametrize("text", ["", "x", "\u2028", "Ａ" * 30, "\U0001f600" * 30, "a" * 100_000, " \t "])
def test_odd_texts_are_taken(text: str) -> None:
    document = health((open_row(number, [text or "x"], text) for number in range(5)), "exact_match")
    assert document["tasks"] == 5
    assert json.dumps(document)


def test_no_rows_have_a_document() -> None:
    assert health([])["tasks"] == 0


def test_67000_rows_take_seconds(shared: Path) -> None:
    with (shared / "data/blimp/blimp_67k.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            HealthRow(f"{row['uid']}/{row['pair_id']}", {}, [row["choice_a"], row["choice_b"]], row["answer"], 100)
            for row in csv.DictReader(file)
        ]
    began = time.process_time()
    document = health(rows)
    assert time.process_time() - began < 15
    assert [(each["code"], each["count"]) for each in document["findings"]] == [("duplicate_choices", 7), ("duplicates", 1)]


def test_a_versions_health_is_that_of_its_stored_rows(workspace: Workspace) -> None:
    rows = [{"question": sentence(number), "choices": ["aa", "bb", "cc"], "answer": "ABC"[number % 3]} for number in range(120)]
    content = json_lines(*rows, {"question": rows[5]["question"], "choices": ["aa", "bb", "cc"], "answer": "A"})
    version = _imported(workspace, content)
    document = compute_health(version)
    assert (document["tasks"], document["floor"]["random_choice"]) == (121, pytest.approx(1 / 3))
    assert finding(document, "same_question_different_answers")["tasks"] == ["6", "121"]
    assert document["prompts"]["most_bytes"] == version.longest_prompt_bytes


def _imported(workspace: Workspace, content: bytes) -> BenchmarkVersion:
    import io

    return import_benchmark(workspace, actor=SYSTEM, file=io.BytesIO(content), filename="data.jsonl", manifest=CHOICES)
