"""numeric: one number, compared as an exact decimal."""

import time
from decimal import Decimal

import pytest

from catalog.graders import checked_reference, compile_grader, grade


def extracted(output: str, extract: str = "last_number") -> str | None:
    return grade("numeric", {"extract": extract}, output, "0").extracted


@pytest.mark.parametrize(
    ("output", "last"),
    [
        ("42", "42"),
        ("The answer is 42.", "42"),
        ("(42).", "42"),
        ("42!", "42"),
        ("1,234", "1,234"),
        ("$1,234.00", "1,234.00"),
        ("1,234,567.5 euros", "1,234,567.5"),
        ("1 234", "234"),  # the stated separators are commas
        ("1,2,3", "3"),
        ("1,2345", "2345"),
        ("60%", "60"),
        ("-5", "-5"),
        ("−5", "-5"),
        ("－５", "-5"),
        ("+7", "+7"),
        ("x=-5", "-5"),
        ("-$5", "-5"),
        ("−€5", "-5"),
        ("5-3", "3"),  # an operator
        ("n-3", "3"),
        ("(2)-3", "3"),
        ("5 -3", "-3"),
        ("１２", "12"),
        ("１，２３４．５", "1,234.5"),
        ("٣٤", "٣٤"),
        ("1e3", "1e3"),
        ("2.5E-4", "2.5E-4"),
        ("1e", "1"),
        (".5", ".5"),
        ("-.5", "-.5"),
        ("3.10.2", "2"),
        ("5.", "5"),
        ("5kg", "5"),
        (r"\[ \boxed{42} \]", "42"),
        (r"\boxed{\frac{1}{2}}", "2"),
        (r"\boxed{3} or \boxed{4}", "4"),
        ("10 m²", "10"),
        ("first 1\nthen 2\nno more", "2"),
    ],
)
def test_the_last_number_of_an_output(output: str, last: str) -> None:
    assert extracted(output) == last


@pytest.mark.parametrize("output", ["", "none", r"\boxed{inf}", "inf", "nan", "-", ".", "1_000", "½", "two", "Infinity"])
def test_an_output_without_a_number_is_unreadable(output: str) -> None:
    verdict = grade("numeric", {}, output, "0")
    assert (verdict.correct, verdict.readable, verdict.reason) == (False, False, "no_number")


def test_the_first_number_of_an_output() -> None:
    assert [extracted(output, "first_number") for output in ("a 1,000 b 2", "−3 or 4", "none", "1_000 then 7")] == [
        "1,000",
        "-3",
        None,
        "7",
    ]


@pytest.mark.parametrize(
    ("output", "number", "reason"),
    [
        ("42", "42", None),
        (" 42. ", "42", None),
        ("42...", "42", None),
        ("60%", "60", None),
        ("60 %.", "60", None),
        ("1,234.5", "1,234.5", None),
        ("−1e3", "-1e3", None),
        (".5", ".5", None),
        ("60%%", None, "not_a_number"),
        ("$5", None, "not_a_number"),
        ("42!", None, "not_a_number"),
        ("4 2", None, "not_a_number"),
        ("1,23", None, "not_a_number"),
        ("1234,567", None, "not_a_number"),
        ("1,2345", None, "not_a_number"),
        ("1_000", None, "not_a_number"),
        ("e5", None, "not_a_number"),
        ("-", None, "not_a_number"),
        (",", None, "not_a_number"),
        ("inf", None, "not_a_number"),
        ("NaN", None, "not_a_number"),
        ("", None, "empty_answer"),
        (" . % ", None, "empty_answer"),
    ],
)
def test_full_takes_a_single_number_and_nothing_else(output: str, number: str | None, reason: str | None) -> None:
    verdict = grade("numeric", {"extract": "full"}, output, "0")
    assert (verdict.extracted, None if verdict.readable else verdict.reason) == (number, reason)


def test_answer_prefix_takes_the_text_after_the_last_prefix_of_any_case() -> None:
    read = compile_grader("numeric", {"extract": "answer_prefix", "prefix": "Result:"})
    outputs = ["Result: 1\nRESULT: 42.\nso 7", "result:60%", "Result: about 5", "5", "Result:\n5", "é RÉSULT result: 3"]
    verdicts = [read(output, "42") for output in outputs]
    assert [verdict.extracted or verdict.reason for verdict in verdicts] == ["42", "60", "not_a_number", "no_prefix", "empty_answer", "3"]


@pytest.mark.parametrize(
    ("output", "reference", "is_equal"),
    [
        ("25", "5", False),
        ("5", "25", False),
        ("1.0", "1", True),
        ("1e3", "1000", True),
        ("1,000.00", "1000", True),
        ("123457", "123456", False),
        ("0.1", "0.10000000000000000000000001", False),
        ("12345678901234567890123456789012345", "12345678901234567890123456789012346", False),
        ("-0", "0", True),
        ("0" * 50_000 + "7", "7", True),
        ("3" * 50_000, "3", False),
        ("1e-400000000", "0", False),
        ("1e400000000", "5", False),
    ],
)
def test_numbers_are_equal_as_decimals_and_never_rounded(output: str, reference: str, is_equal: bool) -> None:
    assert grade("numeric", {}, output, reference).correct is is_equal


@pytest.mark.parametrize(
    ("options", "output", "reference", "reason"),
    [
        ({"abs_tol": 0.01}, "3.14", "3.15", "within_tolerance"),
        ({"abs_tol": 0.01}, "3.139999999999999999999999999999999999", "3.15", "different"),
        ({"abs_tol": 0.1}, "0.3", "0.2", "within_tolerance"),  # as floats the difference is above 0.1
        ({"rel_tol": 0.1}, "-110", "-100", "within_tolerance"),
        ({"rel_tol": 0.1}, "-110.1", "-100", "different"),
        ({"rel_tol": 0.1}, "0.0001", "0", "different"),
        ({"abs_tol": 1, "rel_tol": 0.1}, "111", "100", "different"),
        ({"abs_tol": 20, "rel_tol": 0.1}, "111", "100", "within_tolerance"),
        ({"abs_tol": 1}, "5", "5", "matched"),
        ({"abs_tol": 1}, "1e-999999999", "0", "within_tolerance"),
        ({"abs_tol": 1}, "1e999999999", "0", "different"),
        ({"abs_tol": 1e-300, "rel_tol": 1e-300}, "1e999999999", "1", "different"),
        ({"abs_tol": 1}, "1." + "0" * 20_000 + "1", "0", "different"),
        ({"abs_tol": 1}, "0." + "9" * 20_000, "0", "within_tolerance"),
    ],
)
def test_tolerances_are_exact_at_any_size(options: dict[str, object], output: str, reference: str, reason: str) -> None:
    verdict = grade("numeric", options, output, reference)
    assert (verdict.reason, verdict.correct) == (reason, reason != "different")


def test_an_exponent_beyond_all_decimals_is_no_number() -> None:
    assert grade("numeric", {}, "1e99999999999999999999", "1").reason == "not_a_number"


def test_long_outputs_cost_linear_time() -> None:
    started = time.perf_counter()
    for output in ("1" * 200_000 + "_", "1,111" * 40_000, "1_" * 100_000, "-" * 200_000, "1e" * 100_000, "." * 200_000, "9" * 200_000):
        for extract in ("last_number", "first_number", "full"):
            grade("numeric", {"extract": extract, "abs_tol": 1}, output, "1")
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("2,125", "2125"),
        ("18", "18"),
        (18, "18"),
        (51.0, "51"),
        (0.1, "0.1"),
        ("−5", "-5"),
        ("60%", "60"),
        ("1e3", "1000"),
        ("1.50", "1.5"),
        ("-0.0", "0"),
        (".5", "0.5"),
        (Decimal("1.20"), "1.2"),
        (10**20, "1" + "0" * 20),
    ],
)
def test_references_become_plain_decimals(raw: object, stored: str) -> None:
    assert checked_reference("numeric", {}, raw) == stored


@pytest.mark.parametrize("raw", ["five", "$5", "5 apples", "1,23", True, [1], {"a": 1}, "None", float("inf"), "1e5000", "9" * 2_000])
def test_references_that_are_no_number_are_refused(raw: object) -> None:
    with pytest.raises(ValueError, match=r"number$"):
        checked_reference("numeric", {}, raw)


def test_missing_references_are_empty_and_not_the_text_nan() -> None:
    for raw in (None, "", "  ", float("nan")):
        with pytest.raises(ValueError, match=r"^the answer is empty$"):
            checked_reference("numeric", {}, raw)


def test_the_step_names_what_was_read() -> None:
    verdict = grade("numeric", {}, "12 − 4 = 8", "8")
    assert [(step.name, step.detail) for step in verdict.steps] == [("last number", "8")]
