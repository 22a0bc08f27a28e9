"""The five built-in graders. Pure and deterministic: one output and one reference in, one verdict out, and nothing raises on any output.

Each grader is a module with the same five names: `OPTIONS` (checks and defaults), `compile`, `reference`, `describe`, `write`.
"""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from catalog.enums import Grader
from catalog.graders import exact_match, json_field_match, multiple_choice, numeric, regex_match
from catalog.graders import options as checks
from catalog.graders.texts import clean
from catalog.graders.verdicts import Step, Verdict
from common.errors import Refused

__all__ = ["Step", "Verdict", "checked_options", "checked_reference", "compile_grader", "describe", "grade", "written_answer"]

_GRADERS: dict[str, ModuleType] = {
    Grader.MULTIPLE_CHOICE: multiple_choice,
    Grader.EXACT_MATCH: exact_match,
    Grader.REGEX_MATCH: regex_match,
    Grader.NUMERIC: numeric,
    Grader.JSON_FIELD_MATCH: json_field_match,
}

Compiled = Callable[[str, Any, Sequence[str] | None], Verdict]


def _module(grader: str) -> ModuleType:
    if grader not in _GRADERS:
        raise Refused("invalid_grader", f"There is no grader {grader!r}; there are {', '.join(sorted(_GRADERS))}.")
    return _GRADERS[grader]


def checked_options(grader: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """All options of the grader with the defaults filled in.

    Raises `Refused`: `invalid_grader`, `invalid_grader_options` or `invalid_pattern`.
    """
    return checks.check(_module(grader).OPTIONS, options or {})


def compile_grader(grader: str, options: Mapping[str, Any] | None) -> Compiled:
    """A function (output, reference, choices) → Verdict with everything that does not depend on the row done once."""
    compiled: Compiled = _module(grader).compile(checked_options(grader, options))

    def graded(output: str, reference: Any, choices: Sequence[str] | None = None) -> Verdict:
        return compiled(clean(output), reference, choices)

    return graded


def grade(grader: str, options: Mapping[str, Any] | None, output: str, reference: Any, *, choices: Sequence[str] | None = None) -> Verdict:
    """The verdict on one output, as `compile_grader` gives it."""
    return compile_grader(grader, options)(output, reference, choices)


def checked_reference(grader: str, options: Mapping[str, Any], raw: Any, *, choices: Sequence[str] | None = None) -> Any:
    """The reference to store for a row's raw answer, as JSON can hold it. Raises ValueError in words for the row's report.

    A letter "A" to "Z" for multiple choice, a list of accepted texts for exact and pattern, the decimal as text for numbers, the parsed
    value for JSON. The text "None" is an answer like any other; null, blank text and NaN are none.
    """
    if raw is None or (isinstance(raw, str) and not raw.strip()) or (isinstance(raw, float) and raw != raw):
        raise ValueError("the answer is empty")
    return _module(grader).reference(checked_options(grader, options), raw, choices)


def describe(grader: str, options: Mapping[str, Any] | None) -> str:
    """The match rule in a sentence, for quotes and pages."""
    return str(_module(grader).describe(checked_options(grader, options)))


def written_answer(grader: str, options: Mapping[str, Any] | None, reference: Any, choices: Sequence[str] | None = None) -> str:
    """A text that this grader reads as the reference, where one can be built, else the reference alone."""
    return str(_module(grader).write(checked_options(grader, options), reference, choices))
