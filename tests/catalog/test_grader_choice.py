"""multiple_choice: three rules in a fixed order, and never a lucky letter."""

import time

import pytest

from catalog.graders import checked_reference, compile_grader, grade

CITIES = ["London", "Paris", "Rome", "Oslo"]
read = compile_grader("multiple_choice", {})


def extracted(output: str, choices: list[str] | None = CITIES) -> str | None:
    return read(output, "B", choices).extracted


@pytest.mark.parametrize("output", ["B", "b", "(B)", "(b)", "B.", "B)", "B:", "(B).", "(b):", " B \n", "Ｂ", "（Ｂ）", "Ｂ．"])
def test_an_output_that_is_one_letter_is_read_in_any_case(output: str) -> None:
    verdict = read(output, "B", CITIES)
    assert (verdict.correct, verdict.score, verdict.extracted, verdict.readable, verdict.reason) == (True, 1.0, "B", True, "matched")


@pytest.mark.parametrize(
    ("output", "letter"),
    [
        ("answer: B", "B"),
        ("ANSWER: A,", "A"),
        ("The answer is (C)", "C"),
        ("The answer is (C).\n\nThat is all.", "C"),
        ("Answer B", "B"),
        ("Answer - D", "D"),
        ("answer:B", "B"),
        ("ANSWER:\nD", "D"),
        ("the answer is: A", "A"),
        ("Ａｎｓｗｅｒ：Ｃ", "C"),
        ("The answer is A. No, the answer is B.", "B"),
        ("The answer is B. I hope this answer helps.", "B"),
        ("Answer: B, I think", "B"),
        ("Answer: B and I am sure", "B"),
        ("Answer: B\n\n- A is wrong, and C too", "B"),
        ("Answer: B\nA and C are wrong", "B"),
        ("answer is b, or rather: answer is C", "C"),
    ],
)
def test_the_last_stated_answer_is_read(output: str, letter: str) -> None:
    assert extracted(output) == letter


@pytest.mark.parametrize(
    "output",
    [
        "answer is b",  # the reference's own example of what is not read
        "**B**",
        "Antwort: C",
        "I would pick B, a safe choice",
        "A, B and C",
        "A\nB\nC\nD",
        "A. London\nB. Paris\nC. Rome\nD. Oslo",
        "not B",
        "The answer is not B",
        "Answer: Apple",
        "Answer: AB",
        "(B",
        r"\[ \boxed{B} \]",
        "BB",
        "ß",
        "1",
        "I don't know",
        "Answer:",
        "answer is",
    ],
)
def test_what_no_rule_reads_is_unreadable(output: str) -> None:
    verdict = read(output, "B", CITIES)
    assert (verdict.correct, verdict.extracted, verdict.readable, verdict.reason) == (False, None, False, "no_letter")


@pytest.mark.parametrize(
    "output",
    [
        "Answer: A, B and C",
        "Answer: B or C",
        "The answer is (B) and (C).",
        "ANSWER: B/C",
        "Answer: B & D",
        "Answer: A-B",
        "Answer: A or B could be right",
        "Answer: B; C.",
        "The answer is A. No, the answer is B or C",
    ],
)
def test_several_letters_are_no_answer_to_a_question_with_one(output: str) -> None:
    verdicts = [read(output, letter, CITIES) for letter in "ABCD"]
    assert {(verdict.correct, verdict.readable, verdict.reason) for verdict in verdicts} == {(False, False, "several_letters")}


def test_the_text_of_one_choice_is_read_normalized() -> None:
    assert [extracted(output) for output in ("Paris", " paris\n", "ＰＡＲＩＳ", "Paris.", "It is Paris")] == ["B", "B", "B", None, None]
    assert extracted("new   york", ["London", "New York"]) == "B"


def test_the_text_of_two_choices_is_ambiguous() -> None:
    verdict = read("21", "A", ["21", "22", "21"])
    assert (verdict.correct, verdict.readable, verdict.reason) == (False, False, "ambiguous_choice")


def test_a_letter_outside_the_choices_scores_zero_and_says_so() -> None:
    verdict = read("E", "B", CITIES)
    assert (verdict.score, verdict.extracted, verdict.readable, verdict.reason) == (0.0, "E", True, "not_a_listed_choice")
    assert read("X", "A", ["X", "Y"]).reason == "not_a_listed_choice"  # the letter rule comes before the choices' texts


def test_without_choices_a_letter_is_compared_alone() -> None:
    assert (read("E", "E", None).correct, read("Paris", "B", None).reason) == (True, "no_letter")


def test_an_empty_output_is_unreadable() -> None:
    assert [read(output, "A", CITIES).reason for output in ("", " \n\t")] == ["empty_answer"] * 2


def test_the_steps_say_which_rule_read_the_letter() -> None:
    steps = [read(output, "B", CITIES).steps[0] for output in ("(b)", "So the answer is (C).", "Paris")]
    assert [(step.name, step.detail) for step in steps] == [
        ("whole output is one letter", "(b)"),
        ("last stated answer", "answer is (C"),
        ("whole output is the text of a choice", "Paris"),
    ]


def test_runs_of_spaces_cost_no_time() -> None:
    started = time.perf_counter()
    for output in ("answer" + " " * 200_000, "answer " * 50_000, "answer: A" + " " * 200_000 + "x", "answer: A," * 30_000):
        read(output, "A", CITIES)
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    ("options", "raw", "letter"),
    [
        ({}, "b", "B"),
        ({}, "(B)", "B"),
        ({}, " D. ", "D"),
        ({"answer_format": "index"}, 0, "A"),
        ({"answer_format": "index"}, "3", "D"),
        ({"answer_format": "index"}, 2.0, "C"),
        ({"answer_format": "index", "index_base": 1}, 4, "D"),
        ({"answer_format": "text"}, "Rome", "C"),
        ({"answer_format": "text"}, " rome ", "C"),
    ],
)
def test_references_become_letters(options: dict[str, object], raw: object, letter: str) -> None:
    assert checked_reference("multiple_choice", options, raw, choices=CITIES) == letter


@pytest.mark.parametrize(
    ("options", "raw", "words"),
    [
        ({}, "E", "the answer E is not one of the 4 choices"),
        ({}, "Paris", "the answer 'Paris' is not a letter"),
        ({}, 1, "the answer '1' is not a letter"),
        ({}, "", "the answer is empty"),
        ({}, None, "the answer is empty"),
        ({}, float("nan"), "the answer is empty"),
        ({"answer_format": "index"}, -1, "the answer index -1 is outside 0 to 3"),
        ({"answer_format": "index"}, 4, "the answer index 4 is outside 0 to 3"),
        ({"answer_format": "index", "index_base": 1}, 0, "the answer index 0 is outside 1 to 4"),
        ({"answer_format": "index"}, True, "the answer 'True' is not an index"),
        ({"answer_format": "index"}, "B", "the answer 'B' is not an index"),
        ({"answer_format": "index"}, 1.5, "the answer '1.5' is not an index"),
        ({"answer_format": "text"}, "Berlin", "the answer 'Berlin' is not the text of a choice"),
    ],
)
def test_references_that_name_no_choice_are_refused_in_words(options: dict[str, object], raw: object, words: str) -> None:
    with pytest.raises(ValueError, match=words.partition(" ")[0]) as error:
        checked_reference("multiple_choice", options, raw, choices=CITIES)
    assert str(error.value) == words


def test_a_reference_text_that_two_choices_share_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^the answer '21' is the text of the choices A, C$"):
        checked_reference("multiple_choice", {"answer_format": "text"}, "21", choices=["21", "22", "21"])


def test_the_text_none_is_a_choice_like_any_other() -> None:
    assert checked_reference("multiple_choice", {"answer_format": "text"}, "None", choices=["FALSE", "None"]) == "B"
    assert grade("multiple_choice", {}, "none", "B", choices=["FALSE", "None"]).correct


def test_choices_are_needed_and_at_most_26() -> None:
    for choices, words in (
        (None, "the row has no choices"),
        ([], "the row has no choices"),
        (["x"] * 27, "27 choices; at most 26 are allowed"),
    ):
        with pytest.raises(ValueError, match=f"^{words}$"):
            checked_reference("multiple_choice", {}, "A", choices=choices)
