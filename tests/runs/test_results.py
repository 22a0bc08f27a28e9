"""Results: the shape that the API serves, and figures that add up."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.canonical import canonical_json
from runs.results import LATENCY_PERCENTS, ResultInputs, Samples, SubjectInputs, Usage, build_result, number, running_headline
from runs.statistics import Metric, wilson

GRADED = Metric(key="overlap", name="Overlap", is_binary=False)

type Row = tuple[int, str, float | None, str, bool, bool, bool, int]


def right(position: int, latency: int = 100) -> Row:
    return position, "graded", 1.0, "", False, False, False, latency


def wrong(position: int, *, empty: bool = False, truncated: bool = False, unreadable: bool = False, latency: int = 100) -> Row:
    return position, "graded", 0.0, "", empty, truncated, unreadable, latency


def error(position: int, code: str = "timeout") -> Row:
    return position, "error", None, code, True, True, True, 9_999


def subject(*rows: Row, index: int = 0, **more: Any) -> SubjectInputs:
    return SubjectInputs(index=index, label=f"model-{index}", samples=Samples.of(rows), usage=more.pop("usage", Usage()), **more)


def inputs(*subjects: SubjectInputs, task_count: int, **more: Any) -> ResultInputs:
    return ResultInputs(
        run_id="5f0c1f6e-0000-4000-8000-000000000000",
        version=1,
        status=more.pop("status", "completed"),
        benchmark={"profile_id": "sums@1", "slug": "sums"},
        task_count=task_count,
        population=more.pop("population", task_count),
        subjects=subjects,
        **more,
    )


def interval_of(k: int, n: int) -> dict[str, Any]:
    interval = wilson(k, n)
    return {"low": round(interval.low, 10), "high": round(interval.high, 10), "level": 0.95, "method": "wilson"}


def test_result_of_a_finished_run_has_every_field_of_the_shape() -> None:
    usage = Usage(input_tokens=400, cached_input_tokens=40, output_tokens=90, reasoning_tokens=30, estimated_calls=1)
    one = subject(
        right(0),
        right(1),
        wrong(2, truncated=True, unreadable=True),
        right(3, latency=350),
        usage=usage,
        usage_microusd=200,
        fee_microusd=10,
    )
    headline = {"metric": "accuracy", "name": "Accuracy", "value": 0.75, "n": 4, "stderr": 0.25, "interval": interval_of(3, 4)}
    coverage = {"planned": 4, "graded": 4, "missing": 0, "excluded": 0, "full": False}
    assert build_result(inputs(one, task_count=4, population=9, notices=["built-in grader"])) == {
        "run_id": "5f0c1f6e-0000-4000-8000-000000000000",
        "version": 1,
        "status": "completed",
        "benchmark": {"profile_id": "sums@1", "slug": "sums"},
        "benchmarks": [{"profile_id": "sums@1", "slug": "sums", "output_limit": None, "coverage": coverage}],
        "attempts_per_task": 1,
        "composite": None,
        "selection": {"output_format": "default"},
        "grading": 1,
        "coverage": coverage,
        "subjects": [
            {
                "index": 0,
                "label": "model-0",
                "kind": "managed",
                "benchmark_index": 0,
                "stopped": None,
                "headline": headline,
                "metrics": [headline],
                "groups": [],
                "counts": {
                    "planned": 4,
                    "graded": 4,
                    "correct": 3,
                    "incorrect": 1,
                    "errors": 0,
                    "inconclusive": 0,
                    "missing": 0,
                    "excluded": 0,
                    "truncated": 1,
                    "unreadable": 1,
                    "empty": 0,
                },
                "bounds": None,
                "error_codes": [],
                "usage": {
                    "input_tokens": 400,
                    "cached_input_tokens": 40,
                    "output_tokens": 90,
                    "reasoning_tokens": 30,
                    "estimated_calls": 1,
                },
                "latency_ms": {
                    "p50": 100,
                    "p95": 350,
                    "quantiles": {"p5": 100, "p10": 100, "p25": 100, "p50": 100, "p75": 100, "p90": 350, "p95": 350, "p99": 350},
                },
                "charge_microusd": "210",
                "answers_charge_microusd": "210",
            }
        ],
        "billing": {"state": "settled", "usage_microusd": "200", "platform_fee_microusd": "10", "total_microusd": "210"},
        "notices": ["built-in grader", "one_attempt"],
    }


def test_result_errors_are_missing_not_wrong_and_stand_beside_as_a_second_figure() -> None:
    document = build_result(inputs(subject(right(0), wrong(1), error(2), error(3, ""), error(4)), task_count=6))["subjects"][0]
    assert document["headline"]["value"] == 0.5
    assert [(metric["metric"], metric["name"], metric["value"], metric["n"]) for metric in document["metrics"]] == [
        ("accuracy", "Accuracy", 0.5, 2),
        ("accuracy_errors_wrong", "Accuracy, errors counted as wrong", 0.2, 5),
    ]
    assert document["error_codes"] == [{"code": "timeout", "count": 2}, {"code": "unclassified", "count": 1}]
    assert document["counts"] | {"correct": 1, "incorrect": 1} == {
        "planned": 6,
        "graded": 2,
        "correct": 1,
        "incorrect": 1,
        "errors": 3,
        "inconclusive": 0,
        "missing": 1,
        "excluded": 0,
        "truncated": 0,
        "unreadable": 0,
        "empty": 0,
    }


def test_result_without_a_graded_task_has_null_and_no_zero() -> None:
    document = build_result(inputs(subject(error(0), index=0, stopped="silent_zero"), subject(index=1), task_count=2))
    for its, errors in zip(document["subjects"], (1, 0), strict=True):
        assert its["headline"] == {"metric": "accuracy", "name": "Accuracy", "value": None, "n": 0, "stderr": None, "interval": None}
        assert its["bounds"] == {"low": 0.0, "high": 1.0}
        assert its["latency_ms"] == {"p50": None, "p95": None, "quantiles": None}
        assert (its["counts"]["errors"], its["counts"]["missing"]) == (errors, 2 - errors)
    assert [its["stopped"] for its in document["subjects"]] == ["silent_zero", None]


def test_result_coverage_counts_tasks_that_every_subject_finished() -> None:
    first = subject(*map(right, range(8)), error(8), index=0)
    second = subject(*map(wrong, range(1, 9)), index=1)
    coverage = build_result(inputs(first, second, task_count=10, excluded=[9]))["coverage"]
    assert coverage == {"planned": 10, "graded": 7, "missing": 2, "excluded": 1, "full": False}
    assert build_result(inputs(subject(*map(right, range(3))), task_count=3))["coverage"]["full"] is True


def test_result_bounds_are_shown_where_wider_than_a_point_or_than_the_interval() -> None:
    def bounds(graded: int, planned: int) -> Any:
        rows = [right(position) if position % 2 else wrong(position) for position in range(graded)]
        return build_result(inputs(subject(*rows), task_count=planned))["subjects"][0]["bounds"]

    assert bounds(1000, 1000) is None
    assert bounds(990, 1000) is None
    assert bounds(988, 1000) == {"low": 0.494, "high": 0.506}
    assert bounds(50, 100) == {"low": 0.25, "high": 0.75}


def test_result_groups_split_the_score_and_keep_the_method() -> None:
    rows = [right(0), wrong(1), right(2), right(3)]
    groups = build_result(inputs(subject(*rows), task_count=6, groups=["b", "a", "b", "", "a", "c"]))["subjects"][0]["groups"]
    assert groups == [
        {"group": "", "planned": 1, "n": 1, "value": 1.0, "interval": interval_of(1, 1)},
        {"group": "a", "planned": 2, "n": 1, "value": 0.0, "interval": interval_of(0, 1)},
        {"group": "b", "planned": 2, "n": 2, "value": 1.0, "interval": interval_of(2, 2)},
        {"group": "c", "planned": 1, "n": 0, "value": None, "interval": None},
    ]


def test_result_clusters_widen_the_interval_and_too_few_of_them_are_noticed() -> None:
    rows = [right(position) if position // 3 % 3 else wrong(position) for position in range(60)]
    many = build_result(inputs(subject(*rows), task_count=60, clusters=[f"text {position // 3}" for position in range(60)]))
    few = build_result(inputs(subject(*rows), task_count=60, clusters=[f"text {position // 12}" for position in range(60)]))
    assert (many["subjects"][0]["headline"]["interval"]["method"], many["notices"]) == ("clustered_t", ["one_attempt"])
    assert (few["subjects"][0]["headline"]["interval"]["method"], few["notices"]) == ("wilson", ["few_clusters", "one_attempt"])


def test_result_of_a_graded_metric_has_no_right_and_wrong() -> None:
    rows = [(position, "graded", position / 40, "", False, False, False, 5) for position in range(40)]
    document = build_result(inputs(subject(*rows), task_count=40, metric=GRADED))["subjects"][0]
    assert (document["counts"]["correct"], document["counts"]["incorrect"], document["counts"]["graded"]) == (None, None, 40)
    assert (document["headline"]["metric"], document["headline"]["value"], document["headline"]["interval"]["method"]) == (
        "overlap",
        0.4875,
        "t",
    )


def test_result_of_several_attempts_is_the_mean_over_tasks_that_have_all() -> None:
    rows = [right(0), wrong(0), right(1), right(1), right(2), error(2)]
    document = build_result(inputs(subject(*rows), task_count=4, attempts=2))
    its = document["subjects"][0]
    assert (its["headline"]["value"], its["headline"]["n"], its["headline"]["interval"]["method"]) == (0.75, 2, "bootstrap")
    assert (its["counts"]["planned"], its["counts"]["graded"], its["counts"]["correct"], its["counts"]["missing"]) == (8, 5, 4, 2)
    assert document["coverage"]["graded"] == 2
    assert document["notices"] == []


def test_result_notices_are_listed_once() -> None:
    document = build_result(inputs(subject(right(0)), task_count=1, notices=["CC0-1.0", "one_attempt", "CC0-1.0"]))
    assert document["notices"] == ["CC0-1.0", "one_attempt"]


def test_running_headline_agrees_with_the_frozen_one() -> None:
    frozen = build_result(inputs(subject(*map(right, range(7)), *map(wrong, range(7, 12))), task_count=40))["subjects"][0]["headline"]
    assert running_headline(7, 12) == frozen
    assert running_headline(0, 0)["value"] is None
    assert running_headline(1, 1) == {**frozen, "value": 1.0, "n": 1, "stderr": None, "interval": interval_of(1, 1)}


def test_number_is_never_a_negative_zero() -> None:
    assert [str(number(value)) for value in (-0.0, -1e-12, 1 / 3)] == ["0.0", "0.0", "0.3333333333"]
    assert number(None) is None


CELL = st.sampled_from(["right", "wrong", "flagged", "error", "inconclusive", "none", "excluded"])


@given(st.lists(st.lists(CELL, min_size=12, max_size=12), min_size=1, max_size=3), st.booleans())
def test_result_any_cells_add_up_and_freeze(cells: list[list[str]], in_clusters: bool) -> None:
    made = {
        "right": right,
        "wrong": wrong,
        "flagged": lambda position: wrong(position, empty=True, truncated=True, unreadable=True),
        "error": error,
        "inconclusive": lambda position: (position, "inconclusive", None, "", False, False, False, 1),
    }
    excluded = {position for row in cells for position, cell in enumerate(row) if cell == "excluded"}
    subjects = [
        subject(*(made[cell](position) for position, cell in enumerate(row) if cell in made and position not in excluded), index=index)
        for index, row in enumerate(cells)
    ]
    document = build_result(inputs(*subjects, task_count=12, excluded=excluded, clusters=list("aabbccddeeff") if in_clusters else ()))
    coverage = document["coverage"]
    assert coverage["graded"] + coverage["missing"] + coverage["excluded"] == coverage["planned"] == 12
    for row, its in zip(cells, document["subjects"], strict=True):
        counts = its["counts"]
        assert counts["graded"] + counts["errors"] + counts["inconclusive"] + counts["missing"] + counts["excluded"] == 12
        assert counts["correct"] + counts["incorrect"] == counts["graded"] == its["headline"]["n"]
        assert counts["correct"] == sum(cell == "right" for position, cell in enumerate(row) if position not in excluded)
        assert counts["excluded"] == len(excluded)
        assert sum(each["count"] for each in its["error_codes"]) == counts["errors"]
    assert canonical_json(document)  # refuses NaN, infinities and numpy's numbers


@pytest.mark.parametrize("n", [1, 2, 19, 20, 21, 100])
def test_result_latencies_are_of_answers_that_came(n: int) -> None:
    rows = [right(position, latency=position + 1) for position in reversed(range(n))]
    document = build_result(inputs(subject(*rows, error(n)), task_count=n + 1))["subjects"][0]
    quantiles = {f"p{share}": int(np.percentile(np.arange(1, n + 1), share, method="inverted_cdf")) for share in LATENCY_PERCENTS}
    assert document["latency_ms"] == {"p50": quantiles["p50"], "p95": quantiles["p95"], "quantiles": quantiles}


def test_result_says_what_answers_cost_wherever_they_were_charged() -> None:
    its = [
        subject(right(0), index=0, usage_microusd=200, fee_microusd=10, reused_microusd=90),
        subject(right(0), index=1, kind="connection", external_charges=True),
        subject(right(0), index=2, kind="baseline"),
    ]
    document = build_result(inputs(*its, task_count=1))["subjects"]
    assert [(each["kind"], each["charge_microusd"], each["answers_charge_microusd"]) for each in document] == [
        ("managed", "210", "300"),
        ("connection", "0", None),
        ("baseline", "0", "0"),
    ]
