"""What makes results unlike, by name."""

from dataclasses import replace

import pytest

from runs.groups.likeness import Protocol, differences, sets_of

SUMS = Protocol(profile_id="sums@1", tasks_sha256="a" * 64, task_count=100, output_limit=64, grader="numeric", prompt="p1")


def test_the_same_protocol_is_alike() -> None:
    assert differences(SUMS, replace(SUMS)) == []


@pytest.mark.parametrize(
    ("changed", "codes"),
    [
        ({"profile_id": "products@1", "tasks_sha256": "b" * 64, "output_limit": 1}, ["benchmark_differs"]),
        ({"profile_id": "sums@2", "tasks_sha256": "b" * 64}, ["version_differs"]),
        (
            {"profile_id": "sums@2", "prompt": "p2", "grader": "choice", "output_limit": 65},
            ["version_differs", "prompt_differs", "grader_differs", "output_limit_differs"],
        ),
        ({"tasks_sha256": "b" * 64}, ["task_selection_differs"]),
        ({"metric": "similarity"}, ["metric_differs"]),
        ({"grading": 2}, ["grading_differs"]),
        ({"output_format": "json_schema"}, ["output_format_differs"]),
        ({"output_limit": 128}, ["output_limit_differs"]),
        ({"attempts": 4}, ["attempts_differ"]),
    ],
)
def test_each_difference_has_its_code(changed: dict[str, object], codes: list[str]) -> None:
    assert [each.code for each in differences(SUMS, replace(SUMS, **changed))] == codes  # type: ignore[arg-type]


def test_a_difference_says_both_sides() -> None:
    (found,) = differences(SUMS, replace(SUMS, output_limit=1024))
    assert found.message == "Answers were cut at different lengths: 1,024 tokens, and 64 tokens for the baseline."


def test_sets_hold_what_is_alike() -> None:
    other, third = replace(SUMS, output_limit=1), replace(SUMS, attempts=2)
    assert sets_of([SUMS, other, SUMS, third, other]) == [[0, 2], [1, 4], [3]]
