"""What holds for all five graders: options, words, written answers, robustness against any text, speed."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.graders import Verdict, checked_options, checked_reference, compile_grader, describe, grade, written_answer
from common.errors import Refused

CHOICES = ["London", "Paris", "Rome", "Oslo"]
NORMALIZE = {"nfkc": True, "casefold": True, "collapse_whitespace": True, "strip_punctuation": False}
SETUPS: list[tuple[str, dict[str, Any], Any]] = [
    ("multiple_choice", {}, "B"),
    *[("exact_match", {"extract": extract}, ["Paris", "7"]) for extract in ("full", "last_line", "answer_prefix")],
    ("exact_match", {"normalize": {"strip_punctuation": True}}, ["Paris"]),
    ("regex_match", {"pattern": r"answer is (.*?)\.?$", "anchored": False}, ["Paris"]),
    ("regex_match", {"pattern": r"(?P<answer>\w+)|(\W+)", "dot_all": True, "ignore_case": True}, ["Paris"]),
    *[("numeric", {"extract": extract}, "7.5") for extract in ("last_number", "first_number", "full", "answer_prefix")],
    ("numeric", {"abs_tol": 0.5, "rel_tol": 1e-9}, "7.5"),
    ("json_field_match", {"fields": ["a", "b.0"]}, {"a": 1, "b": ["x"]}),
    ("json_field_match", {"fields": ["a"], "extract": "first_object", "normalize_strings": True}, {"a": "Paris"}),
]
COMPILED = [(compile_grader(grader, options), reference) for grader, options, reference in SETUPS]

REAL = [
    r"\[ \boxed{42} \]",
    r"\boxed{\frac{1}{2}}",
    r"\boxed{1} \boxed{2}",
    r"\boxed{inf}",
    "**B**",
    "ANSWER: A,",
    "Ｂ",
    "A, B and C",
    "1 234",
    "1_000",
    "−5",
    "<think>The answer is 42</think>",
    "</think>7",
    "<think>ANSWER: 42",
    '```json\n{"a": 1, }\n```',
    '{"a": 1, "a": 2}',
    "\ud800",
    "a\x00b",
    "\u202e\ufeff",
    "1e999999999999",
    r'{"a": "\ud800", "b": ["\u0000"]}',
]
TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=st.characters()),  # with lone surrogates
    st.lists(
        st.sampled_from(
            [*REAL, "answer is ", "ANSWER:", "Paris", "7.5", "\n", "\r", "\u2028", " ", "[", "{", '"', ":", ",", "-", ".", "e", "9"]
        )
    ).map("".join),
)


def check_verdict(verdict: Verdict) -> None:
    assert verdict.score == (1.0 if verdict.correct else 0.0)
    assert verdict.readable or not verdict.correct
    assert (verdict.extracted is not None) == verdict.readable
    assert verdict.reason
    assert len(verdict.reason) <= 40
    shown = [verdict.extracted or "", *(text for step in verdict.steps for text in (step.name, step.detail))]
    for text in shown:
        assert len(text) <= 500
        assert "\x00" not in text  # PostgreSQL stores no NUL
        text.encode()  # nor lone surrogates


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_any_text_gets_a_verdict_that_can_be_stored(output: str) -> None:
    for compiled, reference in COMPILED:
        check_verdict(compiled(output, reference, CHOICES))


@pytest.mark.parametrize("output", REAL)
def test_inputs_that_break_others_get_a_verdict(output: str) -> None:
    for compiled, reference in COMPILED:
        verdict = compiled(output, reference, CHOICES)
        check_verdict(verdict)
        assert verdict == compiled(output, reference, CHOICES)


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1), st.booleans())
def test_a_text_matches_itself_and_its_other_cases(text: str, upper: bool) -> None:
    try:
        accepted = checked_reference("exact_match", {}, text)
    except ValueError:
        return
    output = text.upper() if upper and text.upper().casefold() == text.casefold() else text
    assert len(accepted) > 1 or grade("exact_match", {}, output, accepted).correct


@settings(max_examples=200, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=6), st.sampled_from(["{}", "so {}.", "= ${}", "{}%", "x: {}!"]))
def test_a_decimal_in_a_sentence_is_read_exactly(number: Any, sentence: str) -> None:
    reference = checked_reference("numeric", {}, number)
    assert grade("numeric", {}, sentence.format(number), reference).correct
    assert not grade("numeric", {}, sentence.format(number), checked_reference("numeric", {}, number + 1)).correct


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet="abc.", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(JSON, JSON)
def test_json_equals_itself_and_differs_from_others(value: Any, other: Any) -> None:
    reference = checked_reference("json_field_match", {"fields": ["a"]}, {"a": value})
    assert grade("json_field_match", {"fields": ["a"]}, json.dumps({"a": value}), reference).correct
    if value != other:
        assert not grade("json_field_match", {"fields": ["a"]}, json.dumps({"a": other}), reference).correct


# ── Options ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_option_has_its_stated_default() -> None:
    assert checked_options("multiple_choice", {}) == {"answer_format": "letter", "index_base": 0}
    assert checked_options("exact_match", None) == {"extract": "full", "prefix": "ANSWER:", "normalize": NORMALIZE}
    assert checked_options("regex_match", {"pattern": "a"}) == {
        "pattern": "a",
        "anchored": True,
        "ignore_case": False,
        "dot_all": False,
        "normalize": NORMALIZE,
    }
    assert checked_options("numeric", {}) == {"extract": "last_number", "prefix": "ANSWER:", "abs_tol": 0, "rel_tol": 0}
    assert checked_options("json_field_match", {"fields": ["a"]}) == {"fields": ["a"], "extract": "strict", "normalize_strings": False}


def test_checked_options_are_their_own_checked_form() -> None:
    for grader, options, _ in SETUPS:
        checked = checked_options(grader, options)
        assert checked_options(grader, json.loads(json.dumps(checked))) == checked


def test_part_of_a_normalization_keeps_the_other_defaults() -> None:
    assert checked_options("exact_match", {"normalize": {"strip_punctuation": True}})["normalize"] == {
        **NORMALIZE,
        "strip_punctuation": True,
    }
    assert checked_options("exact_match", {"normalize": False})["normalize"] == dict.fromkeys(NORMALIZE, False)


@pytest.mark.parametrize(
    ("grader", "options", "code"),
    [
        ("rubric", {}, "invalid_grader"),
        ("exact_match", {"extrct": "full"}, "invalid_grader_options"),
        ("exact_match", {"extract": "first_line"}, "invalid_grader_options"),
        ("exact_match", {"extract": None}, "invalid_grader_options"),
        ("exact_match", {"extract": ["full"]}, "invalid_grader_options"),
        ("exact_match", {"prefix": ""}, "invalid_grader_options"),
        ("exact_match", {"prefix": "a\nb"}, "invalid_grader_options"),
        ("exact_match", {"prefix": "x" * 101}, "invalid_grader_options"),
        ("exact_match", {"prefix": 1}, "invalid_grader_options"),
        ("exact_match", {"normalize": {"lower": True}}, "invalid_grader_options"),
        ("exact_match", {"normalize": {"casefold": "no"}}, "invalid_grader_options"),
        ("exact_match", {"normalize": "NFKC"}, "invalid_grader_options"),
        ("exact_match", ["full"], "invalid_grader_options"),
        ("multiple_choice", {"answer_format": "number"}, "invalid_grader_options"),
        ("multiple_choice", {"index_base": 2}, "invalid_grader_options"),
        ("multiple_choice", {"index_base": True}, "invalid_grader_options"),
        ("numeric", {"extract": "last_line"}, "invalid_grader_options"),
        ("numeric", {"abs_tol": -1}, "invalid_grader_options"),
        ("numeric", {"abs_tol": True}, "invalid_grader_options"),
        ("numeric", {"rel_tol": float("inf")}, "invalid_grader_options"),
        ("numeric", {"rel_tol": "0.1"}, "invalid_grader_options"),
        ("json_field_match", {}, "invalid_grader_options"),
        ("json_field_match", {"fields": []}, "invalid_grader_options"),
        ("json_field_match", {"fields": "a"}, "invalid_grader_options"),
        ("json_field_match", {"fields": ["a..b"]}, "invalid_grader_options"),
        ("json_field_match", {"fields": ["a", "a"]}, "invalid_grader_options"),
        ("json_field_match", {"fields": [1]}, "invalid_grader_options"),
        ("json_field_match", {"fields": ["a"], "normalize_strings": 1}, "invalid_grader_options"),
        ("regex_match", {}, "invalid_grader_options"),
        ("regex_match", {"pattern": "a", "anchored": "yes"}, "invalid_grader_options"),
        ("regex_match", {"pattern": ""}, "invalid_pattern"),
        ("regex_match", {"pattern": None}, "invalid_pattern"),
        ("regex_match", {"pattern": "a" * 513}, "invalid_pattern"),
        ("regex_match", {"pattern": "("}, "invalid_pattern"),
        ("regex_match", {"pattern": r"(a)\1"}, "invalid_pattern"),
        ("regex_match", {"pattern": "a(?=b)"}, "invalid_pattern"),
        ("regex_match", {"pattern": "(?P<answer>a)(?P<answer>b)"}, "invalid_pattern"),
        ("regex_match", {"pattern": "((a{999}){999}){999}"}, "invalid_pattern"),
        ("regex_match", {"pattern": "\ud800"}, "invalid_pattern"),
    ],
)
def test_wrong_options_are_refused_with_their_code(grader: str, options: Any, code: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refused) as refused:
        checked_options(grader, options)
    assert (refused.value.code, refused.value.status, capfd.readouterr()) == (code, 422, ("", ""))
    json.dumps(refused.value.details).encode()


def test_a_pattern_of_512_characters_is_taken() -> None:
    assert grade("regex_match", {"pattern": "a" * 512}, "a" * 512, ["a" * 512]).correct


# ── Words and written answers ───────────────────────────────────────────────────────────────────────────────────────


def test_the_match_rule_in_a_sentence() -> None:
    nfkc = "compared after Unicode NFKC, case folding, collapsed white space"
    assert [describe(grader, options) for grader, options, _ in SETUPS] == [
        'The letter is read from an output that is one letter, else from the last "answer" followed by an upper-case letter, '
        "else from an output that equals the text of one choice; it must be the reference letter.",
        f"The whole output must equal a reference answer, {nfkc}.",
        f"The last line must equal a reference answer, {nfkc}.",
        f"The text after the last ANSWER: must equal a reference answer, {nfkc}.",
        "The whole output must equal a reference answer, compared after Unicode NFKC, case folding, punctuation turned into spaces, "
        "collapsed white space.",
        r"Somewhere in the output must be a match of the pattern answer is (.*?)\.?$; "
        f"its only group must equal a reference answer, {nfkc}.",
        r"The whole output must match the pattern (?P<answer>\w+)|(\W+) (any case, a dot also matches line ends); "
        f"the group named answer must equal a reference answer, {nfkc}.",
        "The last number in the output must equal the reference as a decimal.",
        "The first number in the output must equal the reference as a decimal.",
        "The whole output, without trailing periods and one trailing %, must be a single number and must equal the reference as a decimal.",
        "The text after the last ANSWER:, without trailing periods and one trailing %, must be a single number "
        "and must equal the reference as a decimal.",
        "The last number in the output must equal the reference within 0.5 (absolute) or 1e-09 (relative).",
        "The whole output is parsed as JSON; the fields a, b.0 must equal the reference's, texts compared exactly.",
        "The first fenced json block, else the first JSON object or array, is parsed as JSON; "
        f"the fields a must equal the reference's, texts {nfkc}.",
    ]
    assert "compared character by character" in describe("exact_match", {"normalize": False})


@pytest.mark.parametrize(("grader", "options", "reference"), SETUPS)
def test_a_written_answer_is_read_as_its_reference(grader: str, options: dict[str, Any], reference: Any) -> None:
    output = written_answer(grader, options, reference, CHOICES)
    assert grade(grader, options, output, reference, choices=CHOICES).correct


@pytest.mark.parametrize(
    ("pattern", "anchored", "reference", "written"),
    [
        (r"answer is (.*?)\.?$", False, "42", "answer is 42"),
        (r"(?i)^\s*ANSWER:\s*(?P<answer>\S+)\s*$", True, "0x1f", "ANSWER:0x1f"),
        (r"Output:\s+(?P<answer>\d+)", True, "7", "Output: 7"),
        (r"\[(a|b)\]", True, "b", "[b]"),
        (r"0x([0-9a-f]+)", True, "1f", "0x1f"),
        (r"\d+", True, "42", "42"),
        (r"^x(?:y|z){3}(a)$", True, "a", "a"),  # too much for a plain writer: the reference alone
        (r"(a)\)(", True, "a", None),
    ],
)
def test_answers_are_written_in_a_patterns_own_words(pattern: str, anchored: bool, reference: str, written: str | None) -> None:
    options = {"pattern": pattern, "anchored": anchored}
    if written is None:
        with pytest.raises(Refused):
            written_answer("regex_match", options, [reference])
    else:
        assert written_answer("regex_match", options, [reference]) == written


# ── Speed ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_compiled_graders_are_fast(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the time of a verdict on an answer of about 450 characters; the limit here only catches a change of order."""
    thinking = "First we compute 12 * 4 = 48 apples. Then we subtract 5 to get 43.\n" * 6
    endings = {"exact_match": "ANSWER: Paris", "numeric": "ANSWER: 7.5", "json_field_match": '{"a": 1, "b": ["x"]}'}
    slowest = 0.0
    with capsys.disabled():
        print()
        for (grader, options, reference), (compiled, _) in zip(SETUPS, COMPILED, strict=True):
            output = thinking + endings.get(grader, "The answer is (B).")
            started = time.perf_counter()
            for _ in range(1_000):
                compiled(output, reference, CHOICES)
            micros = (time.perf_counter() - started) * 1_000
            slowest = max(slowest, micros)
            print(f"  {grader:17} {json.dumps(options)[:70]:72} {micros:6.1f} µs")
    assert slowest < 500
