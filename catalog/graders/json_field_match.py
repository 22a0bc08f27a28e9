"""`json_field_match`: named fields of a JSON answer equal the reference's.

Numbers are compared as exact decimals (1 equals 1.0, never "1", never true), texts exactly unless `normalize_strings`, arrays and
objects whole. A field that the reference does not have must be absent from the answer too. Of a key given twice the last counts.
NaN and Infinity are no JSON.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from catalog.graders import options as checks
from catalog.graders.texts import NORMALIZE, clean, describe_normalization, normalizer
from catalog.graders.verdicts import Step, Verdict, clipped, read, unreadable

OPTIONS: checks.Spec = {
    "fields": (checks.REQUIRED, checks.field_paths),
    "extract": ("strict", checks.one_of("strict", "first_object")),
    "normalize_strings": (False, checks.flag),
}
MAX_DEPTH = 50
MAX_TRIES = 500
"""Places in one output where decoding is tried: each failure costs time linear in the output."""
_ABSENT = object()
_FENCE = re.compile(r"```[ \t]*json\b[^\n]*\n(.*?)(?:```|\Z)", re.IGNORECASE | re.DOTALL)
# Only where JSON may go on so: prose and TeX are full of braces.
_OPENING = re.compile(r"\{\s*+(?:[\"}]|\Z)|\[\s*+(?:[\]\[{\"\-0-9tfn]|\Z)")


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=_constant)


def compile(options: Mapping[str, Any]) -> Callable[[str, Any, Sequence[str] | None], Verdict]:
    paths = [(path, path.split(".")) for path in options["fields"]]
    find = _first_object if options["extract"] == "first_object" else _strict
    same = normalizer() if options["normalize_strings"] else None

    def grade(output: str, reference: Any, choices: Sequence[str] | None = None) -> Verdict:
        found, text = find(output)
        if found is _ABSENT:
            return unreadable(text)
        steps, reason = [Step("JSON", clipped(text))], ""
        for path, keys in paths:
            value, expected = _at(found, keys), _at(reference, keys)
            is_equal = _equal(value, expected, same)
            if not is_equal:
                reason = reason or ("missing_field" if value is _ABSENT else "different")
            steps.append(Step(f"field {path}", f"{_shown(value)}, {'as' if is_equal else 'not as'} the reference"))
        return read(not reason, text, *steps, reason=reason or None)

    return grade


def _strict(output: str) -> tuple[Any, str]:
    """The whole output as JSON and its text, or nothing and the reason."""
    text = output.strip()
    if not text:
        return _ABSENT, "empty_answer"
    try:
        return _decoder.decode(text), text
    except (ValueError, RecursionError) as error:
        return _ABSENT, _problem(error, text)


def _first_object(output: str) -> tuple[Any, str]:
    """The first fenced json block, else the first object or array that can be decoded.

    Parts of a broken object are not tried: after a failure the search goes on where decoding stopped, and ends where the text was cut off.
    """
    if fence := _FENCE.search(output):
        return _strict(fence[1])
    if not output.strip():
        return _ABSENT, "empty_answer"
    reason, start = "no_json", 0
    for _ in range(MAX_TRIES):
        opening = _OPENING.search(output, start)
        if opening is None:
            break
        begin = opening.start()
        try:
            value, end = _decoder.raw_decode(output, begin)
        except json.JSONDecodeError as error:
            reason = _problem(error, output)
            if reason == "truncated_json":
                break
            start = max(error.pos, begin + 1)
        except (ValueError, RecursionError) as error:
            return _ABSENT, _problem(error, output)
        else:
            return value, output[begin:end]
    return _ABSENT, reason


def _problem(error: Exception, text: str) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "not_json"
    is_cut_off = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    return "truncated_json" if is_cut_off else "not_json"


def _at(value: Any, keys: Sequence[str]) -> Any:
    """The value at a path; a whole number picks from an array."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key, _ABSENT)
        elif isinstance(value, list) and key.isascii() and key.isdigit() and len(key) < 7 and int(key) < len(value):
            value = value[int(key)]
        else:
            return _ABSENT
    return value


def _equal(value: Any, expected: Any, same: Callable[[str], str] | None) -> bool:
    if isinstance(expected, bool) or expected is None or expected is _ABSENT:
        return value is expected
    if isinstance(expected, str):
        # An escape can bring back what `clean` took out of the output.
        return isinstance(value, str) and (clean(value) == expected or (same is not None and same(clean(value)) == same(expected)))
    if isinstance(expected, float):
        expected = Decimal(repr(expected))
    if isinstance(expected, int | Decimal):
        return isinstance(value, int | Decimal) and not isinstance(value, bool) and value == expected
    if isinstance(expected, list):
        return (
            isinstance(value, list)
            and len(value) == len(expected)
            and all(_equal(one, other, same) for one, other in zip(value, expected, strict=True))
        )
    return isinstance(value, dict) and value.keys() == expected.keys() and all(_equal(value[key], expected[key], same) for key in expected)


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    if isinstance(value, Decimal):
        return clipped(str(value))
    try:
        return clipped(clean(json.dumps(value, ensure_ascii=False, default=str)))
    except RecursionError:  # nested just deep enough to be read and not to be written
        return type(value).__name__


def reference(options: Mapping[str, Any], raw: Any, choices: Sequence[str] | None = None) -> Any:
    """The reference object or array, given as such or as JSON text. At least one of the named fields must be in it."""
    if isinstance(raw, str):
        value, reason = _strict(raw)
        if value is _ABSENT:
            raise ValueError(f"the answer is not JSON ({reason})")
    else:
        value = raw
    if not isinstance(value, dict | list):
        raise ValueError("the answer must be a JSON object or array")
    value = _storable(value, 0)
    if all(_at(value, path.split(".")) is _ABSENT for path in options["fields"]):
        raise ValueError(f"the answer has none of the fields {', '.join(options['fields'])}")
    return value


def _storable(value: Any, depth: int) -> Any:
    """The value with decimals as floats that keep every digit. Raises ValueError for what JSON or a float cannot hold."""
    if depth > MAX_DEPTH:
        raise ValueError(f"the answer is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {clean(str(key)): _storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item, depth + 1) for item in value]
    if isinstance(value, Decimal):
        number = float(value)
        if Decimal(repr(number)) != value:
            raise ValueError(f"the number {clipped(str(value), 60)} has too many digits")
        return number
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise ValueError("the answer holds NaN or Infinity")
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, int | float):
        return value
    raise ValueError(f"the answer holds a {type(value).__name__}, which is no JSON")


def describe(options: Mapping[str, Any]) -> str:
    where = "The whole output" if options["extract"] == "strict" else "The first fenced json block, else the first JSON object or array,"
    how = describe_normalization(NORMALIZE) if options["normalize_strings"] else "compared exactly"
    return f"{where} is parsed as JSON; the fields {', '.join(options['fields'])} must equal the reference's, texts {how}."


def write(options: Mapping[str, Any], reference: Any, choices: Sequence[str] | None = None) -> str:
    return json.dumps(reference, ensure_ascii=False)
