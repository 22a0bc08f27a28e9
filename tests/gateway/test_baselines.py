"""The two baselines: deterministic, independent of order, and readable by the benchmark's own grader."""

from collections import Counter
from typing import Any

import pytest

from catalog.enums import Grader
from catalog.graders import checked_options, grade
from catalog.models import BenchmarkVersion
from catalog.queries import manifest_of
from gateway.baselines import NAMES, make_baseline
from tests.factories import make_version

pytestmark = pytest.mark.django_db


def version_of(
    grader: Grader, references: list[Any], *, choices: list[str] | None = None, options: dict[str, Any] | None = None
) -> BenchmarkVersion:
    values = {"question": "?"} if choices is None else {"question": "?", "choices": choices}
    rows = [{"values": values, "reference": reference} for reference in references]
    return make_version(grader=grader, grader_options=checked_options(grader, options), rows=rows)


def test_most_frequent_answer_is_the_commonest_and_the_smallest_of_equals() -> None:
    version = version_of(Grader.NUMERIC, ["7", "3", "7", "3", "5"])
    answer = make_baseline("most-frequent-answer", seed=0, version=version)

    assert answer("t0", {"question": "?"}, "5") == "3"


def test_random_choice_without_options_draws_from_the_distinct_answers() -> None:
    version = version_of(Grader.NUMERIC, ["1", "1", "1", "1", "2", "3"])
    answer = make_baseline("random-choice", seed=1, version=version)
    drawn = Counter(answer(f"t{n}", {"question": "?"}, "1") for n in range(900))

    assert set(drawn) == {"1", "2", "3"}
    assert all(240 <= count <= 360 for count in drawn.values())


def test_random_choice_draws_all_options_of_the_row_alike() -> None:
    version = version_of(Grader.MULTIPLE_CHOICE, ["A"] * 4, choices=["a", "b", "c", "d"])
    answer = make_baseline("random-choice", seed=1, version=version)
    drawn = Counter(answer(f"t{n}", {"choices": ["w", "x", "y", "z"]}, "A") for n in range(800))

    assert set(drawn) == {"A", "B", "C", "D"}
    assert all(150 <= count <= 250 for count in drawn.values())


def test_random_choice_depends_on_the_seed_and_the_task_alone() -> None:
    version = version_of(Grader.NUMERIC, [str(n) for n in range(50)])
    first = make_baseline("random-choice", seed=1, version=version)
    again = make_baseline("random-choice", seed=1, version=version)
    other = make_baseline("random-choice", seed=2, version=version)
    tasks = [f"t{n}" for n in range(40)]
    drawn = [first(task, {}, "0") for task in tasks]

    assert drawn == [again(task, {}, "49") for task in reversed(tasks)][::-1]
    assert drawn != [other(task, {}, "0") for task in tasks]


@pytest.mark.parametrize(
    ("grader", "references", "choices", "options"),
    [
        (Grader.NUMERIC, ["42", "-1.5"], None, None),
        (Grader.MULTIPLE_CHOICE, ["B", "A"], ["yes", "no"], None),
        (Grader.EXACT_MATCH, [["Paris"], ["Rome", "Roma"]], None, None),
        (Grader.JSON_FIELD_MATCH, [{"a": 1}, {"a": [2]}], None, {"fields": ["a"]}),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_answers_are_readable_by_the_grader(
    name: str, grader: Grader, references: list[Any], choices: list[str] | None, options: dict[str, Any] | None
) -> None:
    version = version_of(grader, references, choices=choices, options=options)
    grader_options = manifest_of(version)["grader_options"]
    answer = make_baseline(name, seed=3, version=version)
    for n in range(10):
        text = answer(f"t{n}", {} if choices is None else {"choices": choices}, references[0])
        verdicts = [grade(grader, grader_options, text, reference, choices=choices) for reference in references]

        assert all(verdict.readable for verdict in verdicts)
        assert sum(verdict.correct for verdict in verdicts) == 1


def test_most_frequent_answer_hits_as_often_as_it_occurs() -> None:
    references = ["B"] * 5 + ["A"] * 3 + ["C"] * 2
    version = version_of(Grader.MULTIPLE_CHOICE, references, choices=["x", "y", "z"])
    answer = make_baseline("most-frequent-answer", seed=0, version=version)
    options = manifest_of(version)["grader_options"]
    hits = [
        grade(version.grader, options, answer("t", {"choices": ["x", "y", "z"]}, reference), reference, choices=["x", "y", "z"]).correct
        for reference in references
    ]

    assert sum(hits) == 5


def test_answers_are_read_in_one_query(django_assert_num_queries: Any) -> None:
    version = version_of(Grader.NUMERIC, ["1", "2"])
    with django_assert_num_queries(1):
        answer = make_baseline("random-choice", seed=0, version=version)
        for n in range(20):
            answer(f"t{n}", {}, "1")


def test_unknown_name_is_an_error() -> None:
    with pytest.raises(ValueError, match="no baseline 'always-right'"):
        make_baseline("always-right", seed=0, version=version_of(Grader.NUMERIC, ["1"]))
