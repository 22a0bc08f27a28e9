"""Suggestions for files nobody has seen: other names, other languages, other shapes, and files that do not tell."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

import pytest

from imports.reading import open_rows
from imports.suggesting import Certainty, Suggestion, suggest
from tests.imports.files import checked

LETTERS = "ABCD"
LONG = "How many {} does it take until the shed behind the old mill is full, if {} fit in a row?"
WORDS = [
    *("amber", "birch", "cedar", "dune", "elm", "fjord", "grove", "heath", "isle", "juniper"),
    *("knoll", "larch", "meadow", "notch", "oak", "pine", "quarry", "reef", "spruce", "tarn"),
]


def suggestion_for(rows: Iterable[dict[str, Any]], name: str = "data.jsonl") -> Suggestion:
    content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return suggest(open_rows(io.BytesIO(content.encode()), name), filename=name)


def suggestion_for_csv(header: list[str] | None, rows: Iterable[list[Any]], delimiter: str = ",") -> Suggestion:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter)
    writer.writerows([*([header] if header else []), *rows])
    return suggest(open_rows(io.BytesIO(written.getvalue().encode()), "data.csv"), filename="data.csv")


def choices_of(number: int) -> list[str]:
    return [WORDS[(number + step) % len(WORDS)] + f" {number}" for step in range(4)]


def number_rows(question: str, answer: str, count: int = 40) -> list[dict[str, Any]]:
    return [{question: LONG.format(number, number + 1), answer: number * 7} for number in range(count)]


def choice_rows(count: int = 40, **fields: Any) -> list[dict[str, Any]]:
    """Rows of `question`, `options` and what each field's function gives for the row's number."""
    return [
        {"question": LONG.format(number, 3), "options": choices_of(number)} | {name: give(number) for name, give in fields.items()}
        for number in range(count)
    ]


# ── Languages ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("frage", "antwort"),
        ("Aufgabe", "Lösung"),
        ("question", "réponse"),
        ("Énoncé", "Réponse correcte"),
        ("pregunta", "respuesta"),
        ("pergunta", "resposta"),
        ("domanda", "risposta"),
        ("vraag", "antwoord"),
        ("pytanie", "odpowiedź"),
        ("вопрос", "ответ"),
        ("soru", "cevap"),
        ("fråga", "svar"),
        ("質問", "答え"),
        ("問題", "解答"),
        ("问题", "答案"),
        ("題目", "正確答案"),
        ("질문", "정답"),
        ("السؤال", "الجواب"),
        ("คำถาม", "คำตอบ"),
        ("Problem", "Expected Answer"),
        ("PROMPT", "ground-truth"),
        ("userInput", "expectedOutput"),
    ],
)
def test_question_and_answer_are_found_by_their_names_in_many_languages(question: str, answer: str) -> None:
    found = suggestion_for([{"remark": "seen twice", **row} for row in number_rows(question, answer)])
    roles = found.manifest()["columns"]
    assert roles.pop("answer") == answer
    assert list(roles.values()) == [question]
    assert found.guesses["columns.answer"].certainty == Certainty.HIGH
    assert (found.guesses["task"].value, found.problems) == ("numeric", ())


@pytest.mark.parametrize(
    ("question", "stem", "answer"),
    [
        ("Frage", "Antwort_", "Richtig"),
        ("question", "Choix ", "Bonne réponse"),
        ("pregunta", "opción", "correcta"),
        ("質問", "選択肢", "正解"),
        ("题目", "选项", "正确答案"),
        ("Stem", "Option", "Key"),
        ("query", "candidate_", "gold"),
    ],
)
def test_choices_in_columns_of_their_own_are_found_in_many_languages(question: str, stem: str, answer: str) -> None:
    header = [question, *(f"{stem}{letter}" for letter in LETTERS), answer]
    found = suggestion_for_csv(header, [[LONG.format(n, 2), *choices_of(n), LETTERS[n % 4]] for n in range(30)])
    roles = found.manifest()["columns"]
    assert (roles["choices"], roles["answer"]) == (header[1:5], answer)
    assert found.manifest()["grader_options"] == {"answer_format": "letter"}
    assert found.guesses["columns.answer"].certainty == Certainty.HIGH


# ── Shapes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_choices_within_an_object_are_named_by_their_path() -> None:
    rows = [
        {
            "id": f"q{number}",
            "question": LONG.format(number, 3),
            "choices": {"text": choices_of(number), "label": list(LETTERS)},
            "answerKey": LETTERS[number % 4],
        }
        for number in range(30)
    ]
    assert suggestion_for(rows).manifest()["columns"] == {
        "id": "id",
        "question": "question",
        "choices": "choices.text",
        "answer": "answerKey",
    }


def test_options_named_op_and_a_letter_with_a_number_from_zero() -> None:
    header = ["question", "opa", "opb", "opc", "opd", "cop", "exp", "subject_name"]
    rows = [[LONG.format(n, 2), *choices_of(n), n % 4, "It is known.", ["Anatomy", "Surgery"][n % 2]] for n in range(30)]
    manifest = suggestion_for_csv(header, rows).manifest()
    assert manifest["columns"] == {
        "question": "question",
        "choices": ["opa", "opb", "opc", "opd"],
        "answer": "cop",
        "group": "subject_name",
    }
    assert manifest["grader_options"] == {"answer_format": "index", "index_base": 0}


def test_context_and_question_with_answers_numbered_from_one() -> None:
    rows = [
        {
            "context": f"Ada met Ben on day {number} and gave him a {WORDS[number % 20]}.",
            "question": f"What will Ben do on day {number}?",
            "answerA": f"run {number}",
            "answerB": f"rest {number}",
            "answerC": f"eat {number}",
            "label": str(number % 3 + 1),
        }
        for number in range(30)
    ]
    found = suggestion_for(rows)
    assert found.manifest()["columns"] == {
        "context": "context",
        "question": "question",
        "choices": ["answerA", "answerB", "answerC"],
        "answer": "label",
    }
    assert found.guesses["grader_options"].value == {"answer_format": "index", "index_base": 1}
    assert found.guesses["grader_options"].certainty == Certainty.HIGH
    assert found.manifest()["prompt_template"].startswith("{context}\n\n{question}\n\n{choices}\n\n")


def test_the_text_of_the_right_choice_is_read_as_text() -> None:
    found = suggestion_for(choice_rows(target=lambda n: choices_of(n)[n % 4]))
    assert found.guesses["grader_options"].value == {"answer_format": "text"}
    assert found.guesses["grader_options"].certainty == Certainty.HIGH


def test_choices_as_json_text_in_a_csv() -> None:
    header = ["question", "options", "answer"]
    found = suggestion_for_csv(header, [[LONG.format(n, 2), json.dumps(choices_of(n)), LETTERS[n % 4]] for n in range(30)])
    assert found.manifest()["columns"] == {"question": "question", "choices": "options", "answer": "answer"}
    assert found.problems == ()


def test_premise_and_hypothesis_with_named_labels() -> None:
    labels = ["entailment", "neutral", "contradiction"]
    rows = [
        {"premise": f"The {WORDS[n % 20]} stands by the lake number {n}.", "hypothesis": f"It is wet at {n}.", "label": labels[n % 3]}
        for n in range(60)
    ]
    manifest = suggestion_for(rows).manifest()
    assert (manifest["columns"], manifest["task"]) == (
        {"premise": "premise", "hypothesis": "hypothesis", "answer": "label"},
        "exact_match",
    )
    assert manifest["prompt_template"].endswith("one of these alone on the last line: contradiction, entailment, neutral")


def test_true_and_false_are_asked_for() -> None:
    rows = [
        {"passage": f"Lake {n} is deep and cold and very wide.", "question": f"is lake {n} deep", "answer": n % 2 == 0} for n in range(30)
    ]
    manifest = suggestion_for(rows).manifest()
    assert (manifest["columns"], manifest["task"]) == ({"passage": "passage", "question": "question", "answer": "answer"}, "exact_match")
    content = "".join(json.dumps(row) + "\n" for row in rows)
    assert checked(content, {"name": "Lakes", "rights_attestation": True, **manifest}).rows == 30


def test_answer_in_a_box_is_taken_out_of_the_solution_that_is_the_only_answer() -> None:
    rows = [
        {
            "problem": LONG.format(n, 2),
            "level": f"Level {n % 5}",
            "solution": f"First, add.\nThen $x = \\boxed{{\\frac{{{n}}}{{7}}}}$ follows.",
        }
        for n in range(30)
    ]
    found = suggestion_for(rows)
    assert found.manifest()["columns"] == {"problem": "problem", "answer": "solution", "group": "level"}
    content = "".join(json.dumps(row) + "\n" for row in rows)
    assert checked(content, {"name": "Boxes", "rights_attestation": True, **found.manifest()}).rows == 30


def test_numbers_with_a_unit_are_taken_out_of_it() -> None:
    manifest = suggestion_for([{"question": LONG.format(n, 2), "answer": f"${n},000"} for n in range(1, 30)]).manifest()
    assert (manifest["task"], manifest["answer_pattern"]) == ("numeric", r"([-+]?\d[\d,]*(?:\.\d+)?)")


def test_numbers_with_many_decimals_get_a_tolerance_to_look_at() -> None:
    guess = suggestion_for([{"question": LONG.format(n, 2), "answer": n / 7} for n in range(1, 30)]).guesses["grader_options"]
    assert (guess.value, guess.certainty) == ({"extract": "last_number", "rel_tol": 0.001}, Certainty.LOW)


def test_lists_of_accepted_answers() -> None:
    rows = [{"question": LONG.format(n, 2), "answers": [WORDS[n % 20], WORDS[n % 20].upper()]} for n in range(30)]
    manifest = suggestion_for(rows).manifest()
    assert (manifest["columns"], manifest["task"]) == ({"question": "question", "answer": "answers"}, "exact_match")


def test_columns_with_spaces_and_signs_become_placeholders() -> None:
    rows = [{"Question (EN)": LONG.format(n, 2), "Answer!": n} for n in range(30)]
    assert suggestion_for(rows).manifest()["columns"] == {"question_en": "Question (EN)", "answer": "Answer!"}


def test_a_file_without_header_and_with_choices_is_read_by_its_letters() -> None:
    found = suggestion_for_csv(None, [[LONG.format(n, 2), *choices_of(n)[:3], "ABC"[n % 3]] for n in range(30)], delimiter=";")
    assert (found.guesses["header"].value, found.guesses["delimiter"].value) == (False, ";")
    assert found.manifest()["columns"] == {"question": "column_1", "choices": ["column_2", "column_3", "column_4"], "answer": "column_5"}


def test_a_header_of_unknown_names_is_still_a_header() -> None:
    found = suggestion_for_csv(["alpha", "beta"], [[LONG.format(n, 2), n] for n in range(30)])
    assert (found.guesses["header"].value, found.guesses["header"].certainty) == (True, Certainty.MEDIUM)
    assert found.manifest()["columns"] == {"alpha": "alpha", "answer": "beta"}
    assert found.guesses["columns.answer"].certainty == Certainty.MEDIUM


def test_a_column_chosen_as_the_answer_changes_the_grader() -> None:
    content = "".join(
        json.dumps({**row, "verdict": "yes" if row["answer"] % 2 else "no"}) + "\n" for row in number_rows("question", "answer")
    )
    found = suggest(open_rows(io.BytesIO(content.encode()), "data.jsonl"), answer="verdict")
    assert (found.manifest()["columns"]["answer"], found.manifest()["task"]) == ("verdict", "exact_match")


# ── What would leak ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    [
        "explanation",
        "Rationale",
        "solution",
        "chain_of_thought",
        "Erklärung",
        "Rechenweg",
        "解説",
        "解析",
        "worked_solution",
        "answer_explanation",
    ],
)
def test_workings_never_stand_in_the_prompt(name: str) -> None:
    rows = [
        {**row, name: f"Take {row['answer']} and be done with it, as anybody can see at once."} for row in number_rows("question", "answer")
    ]
    found = suggestion_for(rows)
    assert found.manifest()["columns"] == {"question": "question", "answer": "answer"}
    assert [each.column for each in found.withheld] == [name]


def test_workings_never_stand_in_the_prompt_even_where_nothing_else_could() -> None:
    found = suggestion_for([{"explanation": f"Because it is {n}, as anybody can see.", "answer": n} for n in range(30)])
    assert found.problems == ("No column was found that could hold the question.",)
    assert [each.column for each in found.withheld] == ["explanation"]


def test_a_numeric_solution_is_the_answer_and_nothing_of_the_prompt() -> None:
    found = suggestion_for(number_rows("problem", "solution"))
    assert (found.manifest()["columns"], found.manifest()["task"]) == ({"problem": "problem", "answer": "solution"}, "numeric")


# ── What does not tell ──────────────────────────────────────────────────────────────────────────────────────────────


def test_two_texts_without_telling_names_are_a_low_guess() -> None:
    found = suggestion_for([{"a_side": LONG.format(n, 2), "b_side": LONG.format(2, n)} for n in range(30)])
    assert found.guesses["columns.answer"].certainty == Certainty.LOW


def test_two_columns_that_could_be_the_answer_are_named() -> None:
    rows = [{"question": LONG.format(n, 2), "target": n, "reference": n * 3 % 7} for n in range(30)]
    guess = suggestion_for(rows).guesses["columns.answer"]
    assert guess.certainty == Certainty.LOW
    assert "“reference” could be the answer too" in guess.why


def test_an_index_that_is_never_first_nor_last_does_not_tell_its_base() -> None:
    guess = suggestion_for(choice_rows(answer=lambda n: 1 + n % 3)).guesses["grader_options"]
    assert (guess.value["answer_format"], guess.certainty) == ("index", Certainty.LOW)
    assert "do not tell whether they count from 0 or from 1" in guess.why


def test_an_index_from_one_that_is_documented_by_its_rows() -> None:
    guess = suggestion_for(choice_rows(answer=lambda n: 1 + n % 4)).guesses["grader_options"]
    assert (guess.value, guess.certainty) == ({"answer_format": "index", "index_base": 1}, Certainty.HIGH)


def test_a_withheld_label_beyond_the_sample_is_told() -> None:
    guess = suggestion_for(choice_rows(5000, answer=lambda n: -1 if n == 3333 else n % 4)).guesses["grader_options"]
    assert (guess.value, guess.certainty) == ({"answer_format": "index", "index_base": 0}, Certainty.LOW)
    assert "-1 stands where the label is withheld" in guess.why


def test_letters_and_numbers_in_one_column_are_told_with_their_count() -> None:
    found = suggestion_for(choice_rows(answer=lambda n: str(n % 4 + 1) if n % 10 == 0 else LETTERS[n % 4]))
    guess = found.guesses["grader_options"]
    assert (guess.value, guess.certainty) == ({"answer_format": "letter"}, Certainty.LOW)
    assert "4 of 40 that were looked at are not" in guess.why


def test_an_answer_that_could_be_an_index_or_a_text_is_a_low_guess() -> None:
    rows = [{"question": LONG.format(n, 2), "options": ["3", "2", "1", "0"], "answer": str(n % 4)} for n in range(40)]
    guess = suggestion_for(rows).guesses["grader_options"]
    assert guess.certainty == Certainty.LOW
    assert "could be read as" in guess.why


def test_class_numbers_without_names_are_a_low_guess() -> None:
    rows = [{"text": LONG.format(n, 2), "label": n % 5} for n in range(60)]
    assert suggestion_for(rows).guesses["task"].certainty == Certainty.LOW


def test_numbers_for_classes_give_way_to_their_names() -> None:
    rows = [{"text": LONG.format(n, 2), "label": n % 5, "label_name": WORDS[n % 5]} for n in range(60)]
    assert suggestion_for(rows).manifest()["columns"] == {"text": "text", "answer": "label_name"}


def test_free_texts_as_answers_are_a_low_guess_for_exact_match() -> None:
    rows = [
        {"question": LONG.format(n, 2), "answer": f"One should first think of {WORDS[n % 20]} and then of {n} other things."}
        for n in range(30)
    ]
    guess = suggestion_for(rows).guesses["task"]
    assert (guess.value, guess.certainty) == ("exact_match", Certainty.LOW)


def test_an_id_that_repeats_is_no_id() -> None:
    rows = [{"id": n % 20, **row} for n, row in enumerate(number_rows("question", "answer"))]
    guess = suggestion_for(rows).guesses["columns.id"]
    assert guess.value is None
    assert "“id” repeats" in guess.why


def test_an_id_that_repeats_only_late_is_no_id() -> None:
    rows = [{"id": n if n < 4999 else 1, **row} for n, row in enumerate(number_rows("question", "answer", 5000))]
    assert suggestion_for(rows).guesses["columns.id"].value is None


def test_one_column_alone_is_no_benchmark() -> None:
    found = suggestion_for([{"text": LONG.format(n, 2)} for n in range(30)])
    assert found.problems == ("No column was found that could hold the answers.",)


def test_answers_inside_objects_cannot_be_used() -> None:
    rows = [{"question": LONG.format(n, 2), "answers": [{"text": WORDS[n % 20], "start": n}]} for n in range(30)]
    assert suggestion_for(rows).problems == ('The answers in "answers" are neither text, numbers nor JSON objects.',)


def test_choices_that_are_objects_cannot_be_used() -> None:
    rows = [
        {"question": LONG.format(n, 2), "choices": [{"label": letter, "text": letter * 3} for letter in LETTERS], "answer": LETTERS[n % 4]}
        for n in range(30)
    ]
    assert suggestion_for(rows).problems == ('The choices in "choices" are objects. Write them as a list of texts.',)


def test_rows_that_would_be_refused_are_counted() -> None:
    rows = number_rows("question", "answer")
    rows[7]["answer"] = None
    guess = suggestion_for(rows).guesses["columns.answer"]
    assert guess.certainty == Certainty.LOW
    assert "1 of 40 rows that were looked at would be refused: the answer is null" in guess.why


def test_no_rows_are_told() -> None:
    assert suggestion_for_csv(["question", "answer"], []).problems == ("The file has no rows.",)


def test_a_large_file_is_read_in_part_and_says_so() -> None:
    rows = ({"id": n, "question": "x" * 40_000, "answer": n} for n in range(1200))
    found = suggestion_for(rows)
    assert found.is_whole is False
    assert found.guesses["columns.id"].certainty == Certainty.MEDIUM


def test_the_document_holds_no_row() -> None:
    document = json.dumps(suggestion_for([{"question": "Where is the secret well?", "answer": "behind the mill"}] * 30).document())
    assert "mill" not in document
    assert "well" not in document
