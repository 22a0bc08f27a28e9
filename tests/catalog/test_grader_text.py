"""exact_match and regex_match: which text counts, and when two texts are the same."""

import time

import pytest

from catalog.graders import checked_reference, compile_grader, grade

EXACT = "exact_match"
CASED = {"normalize": {"casefold": False}}


def correct(output: str, *accepted: str, **options: object) -> bool:
    return grade(EXACT, options, output, list(accepted)).correct


def test_texts_are_compared_normalized_by_default() -> None:
    assert correct(" Paris\n", "paris")
    assert correct("STRASSE", "straße")
    assert correct("ﬁne", "fine")
    assert correct("New\n  York", "new york")
    assert correct("é", "e\u0301")
    assert not correct("Paris.", "Paris")
    assert not correct("Parisian", "Paris")


def test_each_part_of_the_normalization_can_be_set() -> None:
    assert not correct("paris", "Paris", normalize={"casefold": False})
    assert not correct("new  york", "new york", normalize={"collapse_whitespace": False})
    assert correct(" new york ", "new york", normalize={"collapse_whitespace": False})
    assert not correct("ｐａｒｉｓ", "paris", normalize={"nfkc": False})
    assert correct("«Paris», they say!", "paris they say", normalize={"strip_punctuation": True})
    assert not correct("c+", "c", normalize={"strip_punctuation": True})  # a sign, no punctuation
    assert not correct("twenty-one", "twentyone", normalize={"strip_punctuation": True})
    assert (correct("A ", "a", normalize=False), correct("A ", "A", normalize=False)) == (False, True)


def test_any_accepted_answer_is_right() -> None:
    assert [correct(output, "Paris", "Lutetia") for output in ("lutetia", "PARIS", "Rome")] == [True, True, False]


def test_the_last_line_is_the_last_one_that_is_not_blank() -> None:
    outputs = ["thinking\nParis", "thinking\r\nParis\r\n \n", "Paris", "thinking\u2028Paris", "Paris\nor not", "", "\n \n"]
    verdicts = [grade(EXACT, {"extract": "last_line"}, output, ["paris"]) for output in outputs]
    assert [verdict.correct for verdict in verdicts] == [True, True, True, True, False, False, False]
    assert [verdict.reason for verdict in verdicts[-3:]] == ["different", "empty_answer", "empty_answer"]


def test_the_text_after_the_last_prefix_up_to_the_end_of_its_line() -> None:
    read = compile_grader(EXACT, {"extract": "answer_prefix"})
    outputs = [
        "ANSWER: Rome\nanswer: Paris \nThat is all.",
        "the Answer:Paris",
        "İİİ answer: Paris",
        "Answer: Paris.",
        "Paris",
        "ANSWER:",
        "ANSWER:\nParis",
    ]
    verdicts = [read(output, ["Paris"]) for output in outputs]
    assert [verdict.reason for verdict in verdicts] == [*["matched"] * 3, "different", "no_prefix", *["empty_answer"] * 2]
    assert [verdict.readable for verdict in verdicts] == [*[True] * 4, *[False] * 3]


def test_a_prefix_is_literal_text() -> None:
    read = compile_grader(EXACT, {"extract": "answer_prefix", "prefix": "(x.*)"})
    assert [read(output, ["1"]).correct for output in ("é (X.*) 1", "(x.*) 1", "xx 1")] == [True, True, False]


def test_an_answer_of_punctuation_alone_is_empty_where_that_is_stripped() -> None:
    verdict = grade(EXACT, {"normalize": {"strip_punctuation": True}}, "...", ["x"])
    assert (verdict.readable, verdict.reason) == (False, "empty_answer")


def test_steps_show_the_text_and_its_normalized_form() -> None:
    verdict = grade(EXACT, {"extract": "last_line"}, "hm\nNew  York", ["x"])
    assert [(step.name, step.detail) for step in verdict.steps] == [("last line", "New  York"), ("normalized", "new york")]


def test_a_long_answer_is_compared_whole_and_kept_short() -> None:
    long = "x" * 5_000
    verdict = grade(EXACT, {}, long, [long])
    assert (verdict.correct, len(verdict.extracted or ""), max(len(step.detail) for step in verdict.steps)) == (True, 500, 200)
    assert not grade(EXACT, {}, long, [long + "y"]).correct


@pytest.mark.parametrize(
    ("raw", "accepted"),
    [
        ("Paris", ["Paris"]),
        ("None", ["None"]),
        ("N/A", ["N/A"]),
        (["Paris", "Lutetia"], ["Paris", "Lutetia"]),
        ('["Paris", "Lutetia"]', ["Paris", "Lutetia"]),
        ("[1, 2]", ["[1, 2]"]),
        ("] ) >", ["] ) >"]),
        ("[]", ["[]"]),
        ("[broken", ["[broken"]),
        (7, ["7"]),
        (True, ["true"]),
    ],
)
def test_references_are_lists_of_accepted_texts(raw: object, accepted: list[str]) -> None:
    assert checked_reference(EXACT, {}, raw) == accepted


@pytest.mark.parametrize("raw", [None, "", " ", [], ["a", ""], ["a", None], {"a": 1}, float("nan"), float("inf"), [["a"]]])
def test_references_without_a_text_are_refused(raw: object) -> None:
    with pytest.raises(ValueError, match="answer"):
        checked_reference(EXACT, {}, raw)


def test_a_reference_that_normalization_empties_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^nothing is left of the answer '!' after normalization$"):
        checked_reference(EXACT, {"normalize": {"strip_punctuation": True}}, "!")


# ── regex_match ─────────────────────────────────────────────────────────────────────────────────────────────────────


def taken(output: str, pattern: str, **options: object) -> str | None:
    return grade("regex_match", {"pattern": pattern, **options}, output, ["x"]).extracted


def test_an_anchored_pattern_matches_the_whole_stripped_output() -> None:
    assert [taken(output, r"answer: (\d+)") for output in (" answer: 42\n", "the answer: 42", "answer: 42 ")] == ["42", None, "42"]
    assert taken("answer: 42\nbye", r"answer: (\d+)") is None
    assert taken("cat", "a|cat|ca") == "cat"  # another alternative than the first one that matches a part


def test_an_unanchored_pattern_takes_the_leftmost_match() -> None:
    assert taken("so answer: 42 and answer: 43", r"answer: (\d+)", anchored=False) == "42"
    assert taken("\n 42", r"^\d+$", anchored=False) == "42"


def test_the_group_named_answer_else_the_only_one_else_the_whole_match() -> None:
    assert taken("a1b2", r"(a\d)(?P<answer>b\d)") == "b2"
    assert taken("a1b2", r"(a\d)(?<answer>b\d)") == "b2"
    assert taken("a1b2", r"a\d(b\d)") == "b2"
    assert taken("a1b2", r"(?P<other>a\d)b\d") == "a1"
    assert taken("a1b2", r"(a\d)(b\d)") == "a1b2"
    assert taken("a1b2", r"a\db\d") == "a1b2"


def test_a_group_that_took_no_part_is_no_answer() -> None:
    verdict = grade("regex_match", {"pattern": "(a)?b"}, "b", ["a"])
    assert (verdict.readable, verdict.reason, verdict.steps[0].detail) == (False, "no_match", "matched without the answer's group")


def test_case_and_line_ends_are_options() -> None:
    assert [taken("A\nB", r"a.b", ignore_case=case, dot_all=dot) for case in (False, True) for dot in (False, True)] == [None] * 3 + [
        "A\nB"
    ]


def test_what_is_taken_is_compared_normalized() -> None:
    options = {"pattern": r"is (.*)", "anchored": False}
    assert grade("regex_match", options, "It is New  YORK", ["new york"]).correct
    assert not grade("regex_match", {**options, **CASED}, "It is New  YORK", ["new york"]).correct


def test_patterns_on_other_scripts_take_whole_characters() -> None:
    assert taken("答えは「東京」です", "「(.+)」", anchored=False) == "東京"
    assert taken("é", r"\C", anchored=False) == "\ufffd"  # half of a character is no error


def test_patterns_that_backtrack_elsewhere_take_linear_time() -> None:
    started = time.perf_counter()
    for pattern in (r"(a+)+$", r"(a|aa)+$", r"(.*a){12}$", r"^(([a-z])+.)+[A-Z]([a-z])+$"):
        taken("a" * 20_000 + "!", pattern, anchored=False)
    assert time.perf_counter() - started < 5
