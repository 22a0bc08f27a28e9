"""`numeric`: one number, compared as an exact decimal.

A number may have a sign, comma thousands separators, decimals and an exponent. U+2212 and full-width signs and digits are mapped to
their plain forms, digits of other scripts are read as such, and a currency sign may stand between sign and digits. A minus after a
letter, a digit or a closing bracket is an operator or a dash and no sign. Digits joined by `_` are no number. Nothing is rounded, and
no exponent, however large, costs memory: decimals are compared without being written out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal, InvalidOperation
from math import isfinite
from typing import Any

from catalog.graders import options as checks
from catalog.graders.texts import after_prefix
from catalog.graders.verdicts import Step, Verdict, clipped, read, unreadable

MAX_REFERENCE_DIGITS = 1000
_PRECISION = 4 * MAX_REFERENCE_DIGITS
_PLAIN = str.maketrans("−－﹣＋．，％０１２３４５６７８９", "---+.,%0123456789")
_NUMBER = re.compile(
    r"\d++(?:_\d++)+"  # not a number: taken whole, so that its parts are not read as numbers
    r"|(?P<sign>(?<![\w)\]}.%])[-+])?+[$€£¥]?+"
    r"(?P<number>(?:\d{1,3}(?:,\d{3})++(?!\d)|\d++)(?:\.\d++)?+(?:[eE][-+]?+\d++)?+|(?<![\d.])\.\d++(?:[eE][-+]?+\d++)?+)"
)
_SINGLE = re.compile(r"[-+]?+(?:\d{1,3}(?:,\d{3})++|\d++)?+(?:(?<=\d)\.\d*+|\.\d++)?+(?<=[\d.])(?:[eE][-+]?+\d++)?+")
_TOLERANT = Context(prec=_PRECISION, rounding=ROUND_UP, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def _tolerance(name: str, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise checks.refuse(name, "must be a number of at least 0")
    return value


OPTIONS: checks.Spec = {
    "extract": ("last_number", checks.one_of("last_number", "first_number", "full", "answer_prefix")),
    "prefix": ("ANSWER:", checks.prefix),
    "abs_tol": (0, _tolerance),
    "rel_tol": (0, _tolerance),
}


def compile(options: Mapping[str, Any]) -> Callable[[str, Any, Sequence[str] | None], Verdict]:
    extract, name = _extractor(options)
    abs_tol, rel_tol = Decimal(str(options["abs_tol"])), Decimal(str(options["rel_tol"]))
    is_exact = not abs_tol and not rel_tol

    def grade(output: str, reference: Any, choices: Sequence[str] | None = None) -> Verdict:
        text, missing = extract(output if output.isascii() else output.translate(_PLAIN))
        if text is None:
            return unreadable(missing)
        step = Step(name, clipped(text))
        number = parse(text)
        if number is None:
            return unreadable("not_a_number", step)
        expected = Decimal(reference)
        if number == expected:
            return read(True, text, step)
        if is_exact or not _within(number, expected, abs_tol, rel_tol):
            return read(False, text, step)
        return read(True, text, step, reason="within_tolerance")

    return grade


def _within(number: Decimal, expected: Decimal, abs_tol: Decimal, rel_tol: Decimal) -> bool:
    """|number − expected| ≤ max(abs_tol, rel_tol·|expected|).

    Rounding up keeps this exact at any size: the tolerance has fewer digits than the precision, so a difference above it
    stays above it and one up to it is never rounded past it.
    """
    allowed = max(abs_tol, _TOLERANT.multiply(rel_tol, _TOLERANT.abs(expected)))
    return _TOLERANT.abs(_TOLERANT.subtract(number, expected)) <= allowed


def parse(text: str) -> Decimal | None:
    """The decimal that the text of one number stands for, or None."""
    try:
        number = Decimal(text.replace(",", ""))
    except InvalidOperation:  # an exponent of more digits than a decimal has room for
        return None
    return number if number.is_finite() else None


def _extractor(options: Mapping[str, Any]) -> tuple[Callable[[str], tuple[str | None, str]], str]:
    if options["extract"] == "last_number":
        return _last_number, "last number"
    if options["extract"] == "first_number":
        return _first_number, "first number"
    if options["extract"] == "full":
        return single_number, "whole output"
    find = after_prefix(options["prefix"])

    def after(output: str) -> tuple[str | None, str]:
        text = find(output)
        return (None, "no_prefix") if text is None else single_number(text)

    return after, f"text after the last {options['prefix']}"


def _first_number(output: str) -> tuple[str | None, str]:
    for match in _NUMBER.finditer(output):
        if match["number"]:
            return (match["sign"] or "") + match["number"], ""
    return None, "no_number"


def _last_number(output: str) -> tuple[str | None, str]:
    """The last number. No number spans lines, so the last line with a number holds it."""
    for line in reversed(output.splitlines()):
        last = None
        for match in _NUMBER.finditer(line):
            if match["number"]:
                last = match
        if last is not None:
            return (last["sign"] or "") + last["number"], ""
    return None, "no_number"


def single_number(text: str) -> tuple[str | None, str]:
    """The text without trailing periods and one trailing %, where that is one number and nothing else."""
    text = text.strip().rstrip(".").rstrip().removesuffix("%").rstrip().rstrip(".")
    if not text:
        return None, "empty_answer"
    return (text, "") if _SINGLE.fullmatch(text) else (None, "not_a_number")


def reference(options: Mapping[str, Any], raw: Any, choices: Sequence[str] | None = None) -> str:
    """The decimal as text without separators: 51.0 → "51", "2,125" → "2125"."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float | Decimal):
        raise ValueError(f"the answer {clipped(str(raw), 60)!r} is not a number")
    written = raw.translate(_PLAIN) if isinstance(raw, str) else str(raw)
    text, _ = single_number(written)
    number = parse(text) if text else None
    if number is None:
        raise ValueError(f"the answer {clipped(written, 60)!r} is not a number")
    if len(number.as_tuple().digits) > MAX_REFERENCE_DIGITS or abs(number.adjusted()) > MAX_REFERENCE_DIGITS:
        raise ValueError(f"the answer {clipped(written, 60)!r} is too long a number")
    plain = format(number, "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain == "-0" else plain


def describe(options: Mapping[str, Any]) -> str:
    single = "without trailing periods and one trailing %, must be a single number and"
    what = {
        "last_number": "The last number in the output",
        "first_number": "The first number in the output",
        "full": f"The whole output, {single}",
        "answer_prefix": f"The text after the last {options['prefix']}, {single}",
    }[options["extract"]]
    allowed = [f"{options[name]} {words}" for name, words in (("abs_tol", "(absolute)"), ("rel_tol", "(relative)")) if options[name]]
    return f"{what} must equal the reference {f'within {" or ".join(allowed)}' if allowed else 'as a decimal'}."


def write(options: Mapping[str, Any], reference: Any, choices: Sequence[str] | None = None) -> str:
    return f"{options['prefix']} {reference}" if options["extract"] == "answer_prefix" else reference
