"""Every row checked: answers, IDs, choices, prompts, the answer guard and warnings (INPUTS 7 to 13)."""

import json
from typing import Any

import pytest

from common.errors import Refused
from imports.checks import MAX_PROBLEMS
from tests.imports.files import CAPITALS, CHOICES, SUMS, checked, json_lines, problems, prompts

INDEX = {**CHOICES, "grader_options": {"answer_format": "index"}}
LONG = "The quick brown fox jumps over the lazy dog."


def refusal(content: bytes | str, manifest: dict[str, Any], **changes: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        checked(content, manifest, **changes)
    return caught.value


def problems_of(content: bytes | str, manifest: dict[str, Any], **changes: Any) -> list[tuple[int, str]]:
    return problems(refusal(content, manifest, **changes).details["rows"])


def questions(*answers: Any) -> bytes:
    return json_lines(*({"question": f"q{n}", "answer": answer} for n, answer in enumerate(answers)))


def choice_rows(*rows: tuple[Any, Any]) -> bytes:
    return json_lines(*({"question": f"q{n}", "choices": choices, "answer": answer} for n, (choices, answer) in enumerate(rows)))


def warned(content: bytes | str, manifest: dict[str, Any], **changes: Any) -> list[tuple[str, tuple[int, ...]]]:
    return [(warning.code, warning.rows) for warning in checked(content, manifest, **changes).warnings]


# ── Answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_missing_answers_are_reported_and_none_is_legal_text() -> None:
    content = questions("None", "", None, "  ", "N/A", "nan", "NaN", ["N/A"], "null", 0)
    meant = 'stands for a missing value; where it is meant, write it as a list: ["{}"]'
    assert problems_of(content, SUMS, task="exact_match") == [
        (2, "the answer is empty"),
        (3, "the answer is null"),
        (4, "the answer is empty"),
        (5, f'the answer "N/A" {meant.format("N/A")}'),
        (6, f'the answer "nan" {meant.format("nan")}'),
        (7, f'the answer "NaN" {meant.format("NaN")}'),
    ]


def test_missing_answers_in_csv_are_reported() -> None:
    content = "question,answer\nq1,None\nq2,\nq3,nan\n"
    assert [row for row, _ in problems_of(content, SUMS, task="exact_match", name="a.csv")] == [2, 3]


def test_answer_that_is_no_number_is_reported() -> None:
    assert problems_of(questions(1, "2,125", "about 7", 3), SUMS) == [(3, "the answer 'about 7' is not a number")]


def test_answer_pattern_takes_the_reference_out_of_a_longer_cell() -> None:
    content = questions("Work.\n#### 1,450", "#### 7", "no mark", ["#### 1"], "#### ")
    assert problems_of(content, SUMS, answer_pattern=r"####\s*(.*)") == [
        (3, "answer_pattern does not match column 'answer'"),
        (4, "column 'answer' must be text or a number, not a list"),
        (5, "the answer is empty"),
    ]


def test_json_answers_keep_their_types_as_value_and_as_text() -> None:
    manifest = {**SUMS, "task": "json_field_match", "grader_options": {"fields": ["n"]}}
    assert checked(questions({"n": 1.5}, '{"n": "1"}', {"n": 2}), manifest).rows == 3
    assert problems_of(questions({"n": 1}, {"m": 1}, "not json", 5), manifest) == [
        (2, "the answer has none of the fields n"),
        (3, "the answer is not JSON (not_json)"),
        (4, "the answer must be a JSON object or array"),
    ]


# ── IDs, groups, prompts ────────────────────────────────────────────────────────────────────────────────────────────


def test_duplicate_ids_are_listed_and_one_collides_with_its_text() -> None:
    rows = [{"id": id_, "country": f"c{n}", "capital": "x"} for n, id_ in enumerate([1, "1", 2, "a", "a", "a"])]
    refused = refusal(json_lines(*rows), CAPITALS)
    assert refused.code == "byob_duplicate_id"
    assert refused.details["duplicates"] == [{"id": "1", "rows": [1, 2]}, {"id": "a", "rows": [4, 5, 6]}]
    assert problems(refused.details["rows"]) == [
        (2, 'the ID "1" is also that of row 1'),
        (5, 'the ID "a" is also that of row 4'),
        (6, 'the ID "a" is also that of row 4'),
    ]


def test_id_of_two_columns_is_unique_together() -> None:
    content = "uid,pair,question,answer\na,1,x,1\na,2,x,1\nb,1,x,1\n"
    columns = {"id": ["uid", "pair"], "question": "question", "answer": "answer"}
    assert [row["task_id"] for row in checked(content, SUMS, name="a.csv", columns=columns).preview] == ["a/1", "a/2", "b/1"]


def test_without_an_id_the_row_number_is_the_id() -> None:
    assert [row["task_id"] for row in checked(questions(1, 2), SUMS).preview] == ["1", "2"]


def test_id_that_is_empty_long_or_no_text_is_reported() -> None:
    rows = [{"id": id_, "country": "c", "capital": "x"} for id_ in ("", None, "x" * 201, [1], {"a": 1}, True, "ok")]
    assert problems_of(json_lines(*rows), CAPITALS) == [
        (1, "column 'id' is empty, and every row needs its ID"),
        (2, "column 'id' must be text or a number, not null"),
        (3, "the ID has 201 characters; at most 200 are allowed"),
        (4, "column 'id' must be text or a number, not a list"),
        (5, "column 'id' must be text or a number, not an object"),
        (6, "column 'id' must be text or a number, not true or false"),
    ]


def test_prompt_values_that_are_no_text_or_number_are_reported() -> None:
    rows = [{"question": value, "answer": 1} for value in (["a"], {"role": "user"}, None, True, " ", "a\0b", "text", 5)]
    content = json_lines(*rows) + b'{"question": "half \\ud83d", "answer": 1}\n'
    assert problems_of(content, SUMS) == [
        (1, "column 'question' must be text or a number, not a list"),
        (2, "column 'question' must be text or a number, not an object"),
        (3, "column 'question' must be text or a number, not null"),
        (4, "column 'question' must be text or a number, not true or false"),
        (5, "every mapped prompt column is empty"),
        (6, "column 'question' holds a NUL character"),
        (9, "column 'question' holds half of a surrogate pair, which is no character"),
    ]


def test_column_missing_from_some_rows_is_reported_and_from_all_is_refused() -> None:
    assert problems_of(json_lines({"question": "a", "answer": 1}, {"question": "b"}), SUMS) == [(2, 'has no column "answer"')]
    refused = refusal(json_lines({"question": "a", "answers": 1}, {"question": "b", "other": 2}), SUMS)
    message = 'The file has no column "answer". Did you mean "answers"? Its columns are "question", "answers", "other".'
    assert (refused.code, refused.message) == ("byob_missing_column", message)


def test_rendered_prompt_over_the_limit_is_reported() -> None:
    content = json_lines({"question": "x" * 100_000, "answer": 1}, {"question": "x" * 99_999, "answer": 1})
    assert problems_of(content, SUMS, prompt_template="{question}.") == [
        (1, "the rendered prompt has 100,001 characters; at most 100,000 are allowed")
    ]


def test_row_text_is_never_a_template() -> None:
    for texts in (["{{name}}", "{% if %}", "{# x #}"], ["{answer}", "{question}", "{}"]):
        content = json_lines(*({"question": text, "answer": 1} for text in texts))
        assert prompts(checked(content, SUMS, prompt_template="Q: {question} {{x}}")) == [f"Q: {text} {{x}}" for text in texts]


def test_problems_are_counted_beyond_those_listed() -> None:
    refused = refusal(questions(*["x"] * 120, 1), SUMS)
    assert (refused.code, len(refused.details["rows"])) == ("byob_invalid_rows", MAX_PROBLEMS)
    assert (refused.details["total"], refused.details["row_count"]) == (120, 121)
    assert refused.message.startswith(
        "120 of 121 rows cannot be used. Correct them and import the file again. Row 1 (line 1): the answer 'x'"
    )


# ── Choices ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_choices_are_read_from_a_list_a_cell_of_json_and_columns() -> None:
    expected = ["q0\nA. 1.0\nB. None"]
    assert prompts(checked(b'{"question": "q0", "choices": [1.0, "None"], "answer": "A"}', CHOICES)) == expected
    assert prompts(checked('question,choices,answer\nq0,"[1.0, ""None""]",b\n', CHOICES, name="a.csv")) == expected
    columns = {"question": "question", "choices": ["a", "b"], "answer": "answer"}
    assert prompts(checked("question,a,b,answer\nq0,1.0,None,(B)\n", CHOICES, name="a.csv", columns=columns)) == expected


def test_choices_path_reads_a_list_inside_an_object() -> None:
    columns = {"question": "question", "choices": "choices.text", "answer": "answer"}
    rows = [{"question": "q0", "choices": choices, "answer": "A"} for choices in ({"text": ["x", "y"]}, {"label": ["A", "B"]}, ["x", "y"])]
    assert prompts(checked(json_lines(rows[0]), CHOICES, columns=columns)) == ["q0\nA. x\nB. y"]
    assert problems_of(json_lines(*rows), CHOICES, columns=columns) == [
        (2, "column 'choices' has no list at choices.text"),
        (3, "column 'choices' has no list at choices.text"),
    ]


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        (["a", "b", ""], "choice 3 is empty"),
        (["a", " "], "choice 2 is empty"),
        (["a"], "has 1 choices; there must be 2 to 26"),
        ([str(n) for n in range(27)], "has 27 choices; there must be 2 to 26"),
        ([], "has 0 choices; there must be 2 to 26"),
        (["a", None], "column 'choices' must be text or a number, not null"),
        (["a", {"text": "b"}], "column 'choices' must be text or a number, not an object"),
        ("a, b", 'column \'choices\' must hold a list of choices such as ["one", "two"], not text'),
        ("[a, b", 'column \'choices\' is not a list in JSON, such as ["one", "two"]'),
        ({"text": ["a"]}, 'column \'choices\' must hold a list of choices such as ["one", "two"], not an object'),
        (None, 'column \'choices\' must hold a list of choices such as ["one", "two"], not null'),
    ],
)
def test_choices_that_are_no_list_of_texts_are_reported(choices: Any, problem: str) -> None:
    assert problems_of(choice_rows((["x", "y"], "A"), (choices, "A")), CHOICES) == [(2, problem)]


def test_empty_choice_column_is_reported() -> None:
    columns = {"question": "question", "choices": ["a", "b", "c"], "answer": "answer"}
    assert problems_of("question,a,b,c,answer\nq0,x,y,,A\nq1,x,y,z,A\n", CHOICES, name="a.csv", columns=columns) == [
        (1, "choice 3 is empty")
    ]


def test_index_out_of_range_is_reported_in_either_base() -> None:
    content = choice_rows((["a", "b"], 0), (["a", "b"], 1), (["a", "b"], 2), (["a", "b"], -1), (["a", "b"], 1.0), (["a", "b"], 0.5))
    assert problems_of(content, INDEX) == [
        (3, "the answer index 2 is outside 0 to 1"),
        (4, "the answer index -1 is outside 0 to 1"),
        (6, "the answer '0.5' is not an index"),
    ]
    one_based = {**INDEX, "grader_options": {"answer_format": "index", "index_base": 1}}
    assert [row for row, _ in problems_of(content, one_based)] == [1, 4, 6]


def test_letter_text_and_index_in_one_file_are_reported() -> None:
    content = choice_rows((["a", "b"], "B"), (["a", "b"], 1), (["a", "b"], "right one"), (["a", "b"], "C"))
    assert problems_of(content, CHOICES) == [
        (2, "the answer '1' is not a letter"),
        (3, "the answer 'right one' is not a letter"),
        (4, "the answer C is not one of the 2 choices"),
    ]


def test_duplicate_choices_are_warned_of_and_refused_where_the_answer_is_their_text() -> None:
    content = choice_rows((["x", "y"], "A"), (["x", "x "], "B"), (["Aa", "AA"], "A"))
    assert warned(content, CHOICES) == [("byob_duplicate_choices", (2,))]
    by_text = {**CHOICES, "grader_options": {"answer_format": "text"}}
    content = choice_rows((["x", "y"], "x"), (["x", "x"], "x"), (["N/A", "x"], "N/A"))
    assert problems_of(content, by_text) == [(2, "the answer 'x' is the text of the choices A, B")]


# ── The answer guard ────────────────────────────────────────────────────────────────────────────────────────────────


def guarded(answer: Any, hint: str) -> bytes:
    return json_lines({"question": "q", "hint": "none", "answer": "short"}, {"question": "q", "hint": hint, "answer": answer})


GUARD = {
    **SUMS,
    "task": "exact_match",
    "columns": {"question": "question", "hint": "hint", "answer": "answer"},
    "prompt_template": "{question} {hint}",
}


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (LONG, f"As they say: {LONG}"),
        (LONG, "the QUICK  brown\n\nfox jumps over the lazy dog. and more"),
        ("ﬁve ﬁne ﬁsh swim ﬁrst", "FIVE FINE FISH SWIM FIRST"),
        ("Straße nach Süden führt weit", "STRASSE NACH SÜDEN FÜHRT WEIT"),
        (["no", LONG], LONG),
        ("12345678901234567890", "x12345678901234567890x"),
    ],
)
def test_answer_in_a_delivered_column_is_refused_and_the_column_named(answer: Any, hint: str) -> None:
    refused = refusal(guarded(answer, hint), GUARD)
    assert refused.code == "byob_answer_in_input"
    assert refused.details["rows"] == [
        {
            "row": 2,
            "line": 2,
            "column": "hint",
            "code": "byob_answer_in_input",
            "message": "column 'hint', delivered as {hint}, holds the row's own answer",
        }
    ]


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ("1234567890123456789", "1234567890123456789"),
        ("nineteen   character", "nineteen   character"[:19]),
        (LONG, LONG[:-1]),
        ("   short    text  ", "   short    text  "),
    ],
)
def test_short_or_different_answers_are_not_guarded(answer: str, hint: str) -> None:
    assert checked(guarded(answer, hint), GUARD).rows == 2


def test_answer_of_another_row_is_no_leak() -> None:
    content = json_lines({"question": LONG, "hint": "x", "answer": "a"}, {"question": "q", "hint": "x", "answer": LONG})
    assert checked(content, GUARD).rows == 2


def test_multiple_choice_is_never_guarded() -> None:
    by_text = {**CHOICES, "grader_options": {"answer_format": "text"}}
    assert checked(choice_rows(([LONG, "no"], LONG)), by_text).rows == 1


def test_answer_in_the_template_or_split_over_columns_names_the_template() -> None:
    content = json_lines({"question": LONG[:20], "hint": LONG[20:], "answer": LONG})
    refused = refusal(content, GUARD, prompt_template="{question}{hint}")
    assert problems(refused.details["rows"]) == [(1, "the messages that prompt_template makes hold the row's own answer")]
    refused = refusal(questions(LONG), {**SUMS, "task": "exact_match"}, system_prompt=LONG)
    assert problems(refused.details["rows"]) == [(1, "the messages that system_prompt makes hold the row's own answer")]


def test_cell_that_answer_pattern_reads_is_guarded_whole() -> None:
    content = json_lines({"question": "q", "hint": "It is so because.\n#### 18", "answer": "It is so because.\n#### 18"})
    assert refusal(content, GUARD, task="numeric", answer_pattern=r"####\s*(.+)").code == "byob_answer_in_input"


def test_object_answers_are_guarded_in_either_spacing() -> None:
    manifest = {**GUARD, "task": "json_field_match", "grader_options": {"fields": ["city"]}}
    for hint in (json.dumps({"city": "Lima", "n": 12345}), '{"city":"Lima","n":12345}'):
        assert refusal(json_lines({"question": "q", "hint": hint, "answer": {"city": "Lima", "n": 12345}}), manifest).code == (
            "byob_answer_in_input"
        )


def test_leak_is_told_before_other_problems() -> None:
    content = json_lines({"question": "q", "hint": "x", "answer": ""}, {"question": "q", "hint": LONG, "answer": LONG})
    refused = refusal(content, GUARD)
    assert (refused.code, refused.details["total"]) == ("byob_answer_in_input", 2)
    assert refused.message.startswith("1 of 2 rows would send the model their own answer.")


# ── Warnings, preview ───────────────────────────────────────────────────────────────────────────────────────────────


def test_credentials_are_hidden_in_the_preview_and_warned_of() -> None:
    secret = "sk-" + "a1B2" * 8
    report = checked(json_lines({"question": f"Use {secret} now", "answer": 1}), SUMS)
    assert prompts(report) == ["Use [redacted] now"]
    assert [(warning.code, warning.rows) for warning in report.warnings] == [("byob_credential_shaped", (1,))]
    refused = refusal(json_lines({"question": "q", "answer": f"{secret}"}), SUMS)
    assert problems(refused.details["rows"]) == [(1, "the answer '[redacted]' is not a number")]


def test_credential_taken_for_a_column_is_hidden_in_the_refusal() -> None:
    refused = refusal("sk-" + "a1B2" * 8 + ",2\nq,3\n", SUMS, name="a.csv")
    assert (refused.code, refused.details["columns"]) == ("byob_missing_column", ["[redacted]", "2"])


def test_preview_is_the_first_three_rows_as_the_model_receives_them() -> None:
    report = checked(questions(1, 2, 3, 4), SUMS, system_prompt="Count {well}.", prompt_template="{question} = ?")
    assert report.preview[2] == {
        "row": 3,
        "task_id": "3",
        "messages": [{"role": "system", "content": "Count {well}."}, {"role": "user", "content": "q2 = ?"}],
    }
    assert (report.rows, len(report.preview)) == (4, 3)


def test_prompt_that_names_fewer_letters_than_choices_is_warned_of() -> None:
    content = choice_rows((["a", "b", "c", "d", "e"], "A"), (["a", "b"], "B"))
    for words in ("Answer A, B, C or D.", "Reply with a letter (A-D)", "A to D"):
        assert warned(content, CHOICES, prompt_template="{question}\n{choices}\n" + words) == [("byob_letters_stated", ())]
    assert warned(content, CHOICES, prompt_template="{question}\n{choices}\nAnswer A, B, C, D, or E. A vitamin.") == []


def test_index_that_never_names_the_first_choice_and_constant_answers_are_warned_of() -> None:
    assert warned(choice_rows(*[(["a", "b", "c"], 1 + n % 2) for n in range(20)]), INDEX) == [("byob_index_base", ())]
    assert warned(choice_rows(*[(["a", "b"], "A")] * 20), CHOICES) == [("byob_constant_answer", ())]
    assert warned(choice_rows(*[(["a", "b"], 1)] * 19), INDEX) == []


def test_damaged_text_empty_values_and_missing_groups_are_warned_of() -> None:
    rows = [{"question": "q", "hint": hint, "answer": "a", "kind": kind} for hint, kind in (("caf\ufffd", "x"), ("", None), ("ok", "x"))]
    columns = {**GUARD["columns"], "group": "kind"}  # type: ignore[dict-item]
    assert warned(json_lines(*rows), GUARD, columns=columns) == [
        ("byob_replaced_characters", (1,)),
        ("byob_empty_prompt_value", (2,)),
        ("byob_empty_group", (2,)),
    ]
