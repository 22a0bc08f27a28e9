"""json_field_match: the named fields equal the reference's."""

import time

import pytest

from catalog.graders import Verdict, checked_reference, grade


def graded(output: str, reference: object, *fields: str, **options: object) -> Verdict:
    return grade("json_field_match", {"fields": list(fields) or ["a"], **options}, output, reference)


def first(output: str) -> Verdict:
    return graded(output, {"a": 1}, extract="first_object")


@pytest.mark.parametrize(
    ("value", "reference", "is_equal"),
    [
        ("1", 1, True),
        ("1.0", 1, True),
        ("1e0", 1, True),
        ("1", 1.0, True),
        ('"1"', 1, False),
        ("true", 1, False),
        ("1", True, False),
        ("true", True, True),
        ("false", 0, False),
        ("null", None, True),
        ("0", None, False),
        ("0.1", 0.1, True),
        ("0.10000000000000001", 0.1, False),  # the same float, not the same number
        ("1e400", 1e308, False),
        ("9007199254740993", 9007199254740993, True),
        ("9007199254740993.0", 9007199254740992, False),
        ('"Paris"', "Paris", True),
        ('"paris"', "Paris", False),
        ("[1, 2]", [1, 2], True),
        ("[2, 1]", [1, 2], False),
        ("[1]", [1, 2], False),
        ("[true]", [1], False),
        ('{"x": 1, "y": [{"z": 2.0}]}', {"y": [{"z": 2}], "x": 1}, True),
        ('{"x": 1, "y": 2}', {"x": 1}, False),
        ('{"0": 1}', [1], False),
    ],
)
def test_values_are_compared_by_type_and_exactly(value: str, reference: object, is_equal: bool) -> None:
    assert graded(f'{{"a": {value}}}', {"a": reference}).correct is is_equal


def test_strings_are_normalized_at_any_depth_where_asked_for() -> None:
    output, reference = '{"a": {"city": ["NEW  york"]}}', {"a": {"city": ["New York"]}}
    assert (graded(output, reference).correct, graded(output, reference, normalize_strings=True).correct) == (False, True)
    assert not graded('{"a": 1}', {"a": "1"}, normalize_strings=True).correct


def test_dotted_paths_reach_into_objects_and_arrays() -> None:
    output = '{"a": {"b": [{"c": 1}, {"c": 2}]}, "x": 3}'
    reference = {"a": {"b": [{"c": 9}, {"c": 2}]}, "x": 3}
    results = [graded(output, reference, path).reason for path in ("a.b.1.c", "x", "a.b.0.c", "a.b")]
    assert results == ["matched", "matched", "different", "different"]


def test_every_named_field_must_be_right() -> None:
    verdict = graded('{"a": 1, "b": 3}', {"a": 1, "b": 2}, "a", "b")
    assert (verdict.correct, verdict.reason) == (False, "different")
    assert [(step.name, step.detail) for step in verdict.steps] == [
        ("JSON", '{"a": 1, "b": 3}'),
        ("field a", "1, as the reference"),
        ("field b", "3, not as the reference"),
    ]


def test_a_missing_field_is_wrong_and_said_so() -> None:
    assert [graded(output, {"a": 1}).reason for output in ('{"b": 1}', "[1]", "1", '"a"', "null")] == ["missing_field"] * 5


def test_a_field_that_the_reference_lacks_must_be_absent() -> None:
    reference = {"a": 1}
    assert [graded(output, reference, "a", "b").correct for output in ('{"a": 1}', '{"a": 1, "b": null}', '{"a": 1, "b": 2}')] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("", "empty_answer"),
        ("Here: {}", "not_json"),
        ('```json\n{"a": 1}\n```', "not_json"),
        ('{"a": 1,}', "not_json"),
        ("{'a': 1}", "not_json"),
        ('{"a": 1} {"a": 1}', "not_json"),
        ('{"a": NaN}', "not_json"),
        ('{"a": -Infinity}', "not_json"),
        ('{"a": ' + "9" * 5_000 + "}", "not_json"),
        ("[" * 100_000, "not_json"),
        ('{"a": 1', "truncated_json"),
        ('{"a": "x', "truncated_json"),
        ('{"a": [1, 2', "truncated_json"),
        ('{"a":', "truncated_json"),
    ],
)
def test_strict_parses_the_whole_output_or_nothing(output: str, reason: str) -> None:
    verdict = graded(output, {"a": 1})
    assert (verdict.correct, verdict.readable, verdict.reason) == (False, False, reason)


@pytest.mark.parametrize(
    "output",
    [
        '{"a": 1}',
        'Here you are: {"a": 1} Bye.',
        '```json\n{"a": 1}\n```',
        'First {"a": 2}, then:\n```JSON\n{"a": 1}\n```\n```json\n{"a": 3}\n```',
        '```\n{"a": 1}\n```',
        'The set {x, y} and $\\frac{1}{2}$ [see below]: {"a": 1} {"a": 2}',
        '{"a": 2, "a": 1}',
    ],
)
def test_first_object_finds_the_answer_in_text(output: str) -> None:
    assert first(output).correct


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ('{"x": {"a": 1}, "y":', "truncated_json"),  # a part of a broken object is no answer
        ('{"x": {"a": 1},}', "not_json"),
        ('```json\n{"a": 1,}\n```\n{"a": 1}', "not_json"),
        ('```json\n{"a": 1', "truncated_json"),
        ('{"b": "text {\\"a\\": 1}', "truncated_json"),
        ("no braces", "no_json"),
        ("{x} [y]", "no_json"),
        ("", "empty_answer"),
    ],
)
def test_first_object_takes_nothing_out_of_broken_json(output: str, reason: str) -> None:
    verdict = first(output)
    assert (verdict.correct, verdict.readable, verdict.reason) == (False, False, reason)


def test_an_array_may_come_first() -> None:
    assert graded('Result: [{"a": 1}]', [{"a": 1}], "0.a", extract="first_object").correct
    assert first('[1] {"a": 1}').reason == "missing_field"


def test_outputs_full_of_brackets_cost_no_time() -> None:
    started = time.perf_counter()
    for output in ("{" * 100_000, '{"' * 50_000, '["' * 50_000, "[1 " * 50_000, '{"a":x ' * 20_000, "[" * 100_000, "```json\n" * 20_000):
        first(output)
    assert time.perf_counter() - started < 3


def test_deeply_nested_values_are_graded_or_refused_and_never_raise() -> None:
    for depth in (10, 500, 900, 1_000, 5_000):
        graded('{"a": ' + "[" * depth + "]" * depth + "}", {"a": []})


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ({"a": 1, "b": [True, None, "x", 0.5]}, {"a": 1, "b": [True, None, "x", 0.5]}),
        ('{"a": 1.50}', {"a": 1.5}),
        ('[{"a": 1}]', [{"a": 1}]),
    ],
)
def test_references_are_objects_or_arrays(raw: object, stored: object) -> None:
    assert checked_reference("json_field_match", {"fields": ["a", "0.a"]}, raw) == stored


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("{broken", "not JSON"),
        ("None", "not JSON"),
        ('{"a": NaN}', "not JSON"),
        ("1", "must be a JSON object or array"),
        (7, "must be a JSON object or array"),
        ({"b": 1}, "has none of the fields a"),
        ({"a": float("nan")}, "NaN"),
        ({"a": {1, 2}}, "holds a set"),
        ('{"a": 0.1000000000000000000001}', "too many digits"),
        ('{"a": ' + "[" * 60 + "]" * 60 + "}", "nested more than"),
        ('{"a": 1e999}', "too many digits"),
    ],
)
def test_references_that_cannot_be_compared_are_refused(raw: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        checked_reference("json_field_match", {"fields": ["a"]}, raw)
