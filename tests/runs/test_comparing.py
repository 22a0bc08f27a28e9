"""Comparisons: the shape that the API serves, and words that claim no more than the adjusted results."""

import time
from typing import Any

import numpy as np
import pytest

from common.canonical import canonical_json
from runs.comparing import ComparedSubject, CompareInputs, compare, inputs_of
from runs.results import ResultInputs, Samples, SubjectInputs, Usage
from runs.statistics import Metric
from tests.runs.test_statistics_gsm8k import RECORDED, recorded

GRADED = Metric(key="overlap", name="Overlap", is_binary=False)
SECONDS = Metric(key="seconds", name="Seconds", is_binary=False, low=None, high=None)

type Scores = list[float | None]


def subject(index: int, scores: Scores | np.ndarray, charge: int = 0, **more: Any) -> ComparedSubject:
    return ComparedSubject(index, more.pop("label", "ABCDEFGH"[index]), scores, charge, **more)


def compared(*subjects: ComparedSubject, **more: Any) -> dict[str, Any]:
    document = compare(CompareInputs(run_id="r", profile_id="sums@1", subjects=subjects, **more))
    assert canonical_json(document)  # refuses NaN, infinities and numpy's numbers
    return document


def verdicts(both: int, a_only: int, b_only: int, neither: int) -> tuple[Scores, Scores]:
    a = [1.0] * (both + a_only) + [0.0] * (b_only + neither)
    b = [1.0] * both + [0.0] * a_only + [1.0] * b_only + [0.0] * neither
    return a, b


def test_compare_two_models_told_apart_names_the_winner() -> None:
    a, b = verdicts(150, 15, 5, 30)
    assert compared(subject(0, b, 900), subject(1, a, 1200)) == {
        "run_id": "r",
        "profile_id": "sums@1",
        "metric": "accuracy",
        "tasks_compared": 200,
        "tasks_planned": 200,
        "winner_named": True,
        "bounds": None,
        "dropped": [],
        "excluded": [],
        "ranking": [
            {
                "rank": 1,
                "rank_label": "1",
                "rank_range": [1, 1],
                "group": "a",
                "subject_index": 1,
                "label": "B",
                "score": 0.825,
                "stderr": 0.0269351538,
                "interval": {"low": 0.7663556880, "high": 0.8713948497, "level": 0.95, "method": "wilson"},
                "charge_microusd": "1200",
                "cheapest_within_one_stderr": True,
            },
            {
                "rank": 2,
                "rank_label": "2",
                "rank_range": [2, 2],
                "group": "b",
                "subject_index": 0,
                "label": "A",
                "score": 0.775,
                "stderr": 0.0296016263,
                "interval": {"low": 0.7122587671, "high": 0.8273763032, "level": 0.95, "method": "wilson"},
                "charge_microusd": "900",
                "cheapest_within_one_stderr": False,
            },
        ],
        "pairs": [
            {
                "a": 1,
                "b": 0,
                "difference": 0.05,
                "stderr": 0.0221348085,
                "interval": {"low": 0.0053217288, "high": 0.0960617290, "level": 0.95, "method": "newcombe"},
                "both": 150,
                "a_only": 15,
                "b_only": 5,
                "neither": 30,
                "p_exact": 0.04138946533,
                "p_mid": 0.02660369873,
                "p_value": 0.02660369873,
                "p_method": "mcnemar_mid",
                "p_holm": 0.02660369873,
                "separable": True,
                "tasks_needed": None,
            }
        ],
        "notices": ["one_attempt"],
        "outlook": None,
        "summary": "B is ahead of A by 5.0 points (0.5 to 9.6).",
    }


def test_compare_two_models_not_told_apart_says_what_would_show() -> None:
    document = compared(*(subject(i, scores) for i, scores in enumerate(verdicts(280, 24, 16, 80))))
    assert document["summary"] == "These 400 tasks cannot tell A and B apart; a difference of about 4 points would show."
    assert (document["winner_named"], document["pairs"][0]["separable"]) == (False, False)
    assert [(row["rank"], row["rank_label"], row["rank_range"], row["group"]) for row in document["ranking"]] == [
        (1, "1", [1, 2], "a"),
        (2, "2", [1, 2], "a"),
    ]


def test_compare_equal_scores_share_a_rank_and_are_ordered_by_cost() -> None:
    a, b = verdicts(10, 3, 3, 4)
    document = compared(subject(0, a, 500), subject(1, b, 400), subject(2, [0.0] * 20, 1), subject(3, b, 0, external_charges=True))
    assert [(row["rank"], row["rank_label"], row["subject_index"]) for row in document["ranking"]] == [
        (1, "1=", 1),
        (1, "1=", 0),
        (1, "1=", 3),
        (4, "4", 2),
    ]
    assert document["pairs"][0]["p_value"] == 1.0


def test_compare_sums_in_another_order_are_equal_scores() -> None:
    values: Scores = [0.1, 0.2, 0.3, 0.7, 0.6]
    document = compared(subject(0, values), subject(1, values[::-1]), metric=GRADED)
    assert [row["rank_label"] for row in document["ranking"]] == ["1=", "1="]


def test_compare_letters_and_rank_ranges_follow_the_adjusted_pairs() -> None:
    n = 100
    scores = [[1.0] * right + [0.0] * (n - right) for right in (80, 75, 71)]
    document = compared(*(subject(i, its) for i, its in enumerate(scores)))
    assert [(pair["a"], pair["b"], round(pair["p_mid"], 4), round(pair["p_holm"], 4), pair["separable"]) for pair in document["pairs"]] == [
        (0, 1, 0.0312, 0.0625, False),
        (0, 2, 0.002, 0.0059, True),
        (1, 2, 0.0625, 0.0625, False),
    ]
    assert [(row["group"], row["rank_range"]) for row in document["ranking"]] == [("a", [1, 2]), ("ab", [1, 3]), ("b", [2, 3])]
    assert document["winner_named"] is False
    assert document["summary"] == "These 100 tasks cannot tell A and B apart; a difference of about 6 points would show. A is ahead of C."


def test_compare_more_than_two_names_the_next() -> None:
    scores = [[1.0] * right + [0.0] * (300 - right) for right in (100, 200, 150)]
    document = compared(*(subject(i, its) for i, its in enumerate(scores)))
    assert document["winner_named"] is True
    assert document["summary"].startswith("B is ahead of every other model; the next is C, behind by 16.7 points (")


def test_compare_the_best_is_set_apart_from_two_that_do_differ_from_each_other() -> None:
    # B never beats C where C is right, A disagrees with both in both directions.
    a: Scores = [1.0] * 50 + [0.0] * 50
    b: Scores = [0.0] * 26 + [1.0] * 49 + [0.0] * 25
    c: Scores = [0.0] * 26 + [1.0] * 39 + [0.0] * 35
    document = compared(subject(0, a), subject(1, b), subject(2, c))
    told = {(pair["a"], pair["b"]): pair["separable"] for pair in document["pairs"]}
    assert told == {(0, 1): False, (0, 2): False, (1, 2): True}
    assert document["summary"] == "These 100 tasks cannot tell A apart from B and C; a difference of about 20 points would show."
    assert [row["group"] for row in document["ranking"]] == ["ab", "a", "b"]


def test_compare_many_models_are_counted_rather_than_listed() -> None:
    document = compared(*(subject(i, [1.0] * right + [0.0] * (100 - right)) for i, right in enumerate((80, 79, 78, 77, 76, 76))))
    assert document["summary"] == "These 100 tasks cannot tell A apart from 5 other models; a difference of about 6 points would show."
    document = compared(*(subject(i, [1.0] * right + [0.0] * (100 - right)) for i, right in enumerate((80, 79, 30, 20, 10, 9, 8))))
    assert document["summary"] == (
        "These 100 tasks cannot tell A and B apart; a difference of about 6 points would show. A is ahead of 5 other models."
    )


def test_compare_only_tasks_that_all_finished_are_paired_and_the_dropped_are_counted() -> None:
    a: Scores = [1.0] * 60 + [0.0] * 38 + [None, None]
    b: Scores = [0.0, None, None] + [1.0] * 40 + [0.0] * 57
    document = compared(subject(0, a, reasons={98: "error"}), subject(1, b, reasons={1: "inconclusive", 2: "excluded"}))
    assert (document["tasks_compared"], document["tasks_planned"]) == (96, 100)
    assert document["dropped"] == [
        {"reason": "error", "count": 1},
        {"reason": "inconclusive", "count": 1},
        {"reason": "excluded", "count": 1},
        {"reason": "missing", "count": 1},
    ]
    assert [row["score"] for row in document["ranking"]] == [round(58 / 96, 10), round(40 / 96, 10)]
    assert (document["winner_named"], document["bounds"]) == (True, None)


def test_compare_a_task_dropped_for_two_reasons_is_counted_once() -> None:
    a: Scores = [None, 1.0, 1.0]
    document = compared(subject(0, a), subject(1, a, reasons={0: "error"}))
    assert document["dropped"] == [{"reason": "error", "count": 1}]


@pytest.mark.parametrize(("missing", "is_named"), [(5, True), (6, False)])
def test_compare_over_five_percent_dropped_shows_bounds_and_names_no_winner(missing: int, is_named: bool) -> None:
    a: Scores = [None] * missing + [1.0] * (100 - missing)
    b: Scores = [0.0] * 70 + [1.0] * 30
    document = compared(subject(0, a), subject(1, b))
    assert document["pairs"][0]["separable"] is True
    assert document["winner_named"] is is_named
    if is_named:
        assert document["bounds"] is None
        assert document["summary"].startswith("A is ahead of B by 68.4 points (")
    else:
        assert document["bounds"] == [{"subject_index": 0, "low": 0.94, "high": 1.0}, {"subject_index": 1, "low": 0.3, "high": 0.3}]
        assert document["summary"] == (
            "No winner is named: 6 of 100 tasks were not finished by every model, and their answers could change the order."
        )


def test_compare_stopped_and_ungraded_subjects_are_left_out_with_their_reason() -> None:
    a, b = verdicts(10, 8, 0, 2)
    stopped, empty = subject(2, [1.0, *[None] * 19], stopped="silent_zero"), subject(3, [None] * 20)
    document = compared(subject(0, a), subject(1, b), stopped, empty)
    assert document["excluded"] == [{"subject_index": 2, "reason": "silent_zero"}, {"subject_index": 3, "reason": "nothing_graded"}]
    assert (document["tasks_compared"], document["dropped"]) == (20, [])
    assert [row["subject_index"] for row in document["ranking"]] == [0, 1]


def test_compare_one_left_says_so() -> None:
    document = compared(subject(0, [1.0, 0.0]), subject(1, [None, None], stopped="provider_unavailable"))
    assert document["summary"] == "Only A can be ranked: the other models did not get far enough."
    assert ([row["rank_range"] for row in document["ranking"]], document["pairs"], document["winner_named"]) == ([[1, 1]], [], False)
    assert compared(subject(0, [1.0]))["summary"] == "Only one model ran, so there is nothing to compare."


def test_compare_without_a_common_task_has_no_ranking() -> None:
    document = compared(subject(0, [1.0, None]), subject(1, [None, 1.0]))
    assert (document["ranking"], document["pairs"], document["winner_named"]) == ([], [], False)
    assert document["dropped"] == [{"reason": "missing", "count": 2}]
    assert document["bounds"] == [{"subject_index": 0, "low": 0.5, "high": 1.0}, {"subject_index": 1, "low": 0.5, "high": 1.0}]
    assert document["summary"] == "No task was finished by every model, so there is nothing to compare."


def test_compare_every_subject_stopped_has_nothing_to_compare() -> None:
    document = compared(subject(0, [None], stopped="model_not_found"))
    assert (document["ranking"], document["excluded"]) == ([], [{"subject_index": 0, "reason": "model_not_found"}])
    assert document["summary"] == "No task was finished by every model, so there is nothing to compare."


def cheapest(*subjects: ComparedSubject) -> list[int]:
    return [row["subject_index"] for row in compared(*subjects)["ranking"] if row["cheapest_within_one_stderr"]]


def test_compare_the_cheapest_within_one_standard_error_of_the_best_is_marked_and_not_moved() -> None:
    best, close, far = ([1.0] * right + [0.0] * (100 - right) for right in (80, 77, 70))  # one standard error is 4.02 points
    assert cheapest(subject(0, best, 900), subject(1, close, 300), subject(2, far, 10)) == [1]
    assert cheapest(subject(0, best, 200), subject(1, close, 300), subject(2, far, 10)) == [0]
    assert cheapest(subject(0, best, 900), subject(1, close, 0, external_charges=True)) == [0]
    assert cheapest(subject(0, best, 0, external_charges=True), subject(1, far, 0)) == []


def test_compare_graded_values_have_no_counts_and_take_t_or_bootstrap() -> None:
    random = np.random.default_rng(1)
    a = random.beta(8, 2, 60)
    b = np.clip(a - random.normal(0.1, 0.05, 60), 0, 1)
    many, few = (compared(subject(0, a[:n]), subject(1, b[:n]), metric=GRADED) for n in (60, 20))
    for document, method in ((many, "t"), (few, "bootstrap")):
        pair = document["pairs"][0]
        assert (pair["both"], pair["a_only"], pair["b_only"], pair["neither"], pair["p_exact"], pair["p_mid"]) == (None,) * 6
        assert (pair["p_method"], pair["interval"]["method"], pair["separable"]) == (method, method, True)
        assert document["summary"].startswith("A is ahead of B by ")
        assert " points (" in document["summary"]


def test_compare_unbounded_values_are_told_in_their_own_unit() -> None:
    random = np.random.default_rng(2)
    a, noise = random.normal(12, 3, 50), random.normal(0.02, 1, 50)
    close, far = (
        compared(subject(0, a), subject(1, a + noise), metric=SECONDS),
        compared(subject(0, a), subject(1, a - 2 - noise), metric=SECONDS),
    )
    assert close["summary"] == "These 50 tasks cannot tell A and B apart; a difference of about 0.37 would show."
    assert far["summary"] == "A is ahead of B by 1.98 (1.72 to 2.25)."
    holey = compared(subject(0, [1.0, None]), subject(1, [1.0, 2.0]), metric=SECONDS)
    assert holey["bounds"] is None


def test_compare_clusters_are_used_from_ten_and_noticed_below() -> None:
    a, b = verdicts(40, 25, 5, 30)
    many, few = (compared(subject(0, a), subject(1, b), clusters=[str(i % count) for i in range(100)]) for count in (20, 5))
    assert (many["pairs"][0]["p_method"], many["notices"]) == ("clustered_t", ["one_attempt"])
    assert (few["pairs"][0]["p_method"], few["notices"]) == ("mcnemar_mid", ["few_clusters", "one_attempt"])
    assert (many["pairs"][0]["a_only"], many["pairs"][0]["b_only"]) == (25, 5)
    assert many["ranking"][0]["interval"]["method"] == "clustered_t"


def test_compare_few_tasks_promise_nothing() -> None:
    a, b = verdicts(2, 1, 0, 1)
    assert compared(subject(0, a), subject(1, b))["summary"] == (
        "These 4 tasks cannot tell A and B apart: there are too few to show any difference."
    )
    assert compared(subject(0, [1.0]), subject(1, [0.0]))["summary"].startswith("This one task cannot tell A and B apart")


def test_compare_twins_are_not_told_apart_and_the_interval_has_width() -> None:
    document = compared(subject(0, [1.0] * 20), subject(1, [1.0] * 20))
    assert document["pairs"][0]["interval"] == {"low": -0.1611251602, "high": 0.1611251602, "level": 0.95, "method": "newcombe"}
    assert document["summary"] == "These 20 tasks cannot tell A and B apart; a difference of about 31 points would show."


def test_compare_two_of_one_name_are_numbered() -> None:
    a, b = verdicts(150, 15, 5, 30)
    document = compared(subject(0, a, label="m"), subject(1, b, label="m"))
    assert document["summary"] == "m (model 1) is ahead of m (model 2) by 5.0 points (0.5 to 9.6)."


def test_inputs_of_a_result_keep_reasons_charges_and_attempts() -> None:
    rows = [(0, "graded", 1.0), (0, "graded", 0.0), (1, "graded", 1.0), (1, "error", None), (2, "inconclusive", None)]
    samples = Samples.of([(*row, "", False, False, False, 1) for row in rows])
    its = SubjectInputs(4, "m", samples, Usage(), usage_microusd=70, fee_microusd=4, stopped="silent_zero", external_charges=True)
    inputs = inputs_of(
        ResultInputs(
            run_id="r",
            version=1,
            status="partial",
            benchmark={"profile_id": "sums@1"},
            task_count=5,
            population=5,
            subjects=[its],
            attempts=2,
            excluded=[3],
            clusters=["x"] * 5,
            seed=9,
        )
    )
    assert (inputs.run_id, inputs.profile_id, inputs.attempts, inputs.seed, list(inputs.clusters)) == ("r", "sums@1", 2, 9, ["x"] * 5)
    assert inputs.metric.is_binary is False
    one = inputs.subjects[0]
    assert (one.index, one.label, one.charge_microusd, one.stopped, one.external_charges) == (4, "m", 74, "silent_zero", True)
    assert np.isnan(np.array(one.scores[1:], dtype=float)).all()
    assert one.scores[0] == 0.5
    assert one.reasons == {1: "error", 2: "inconclusive", 3: "excluded"}


@pytest.mark.skipif(not RECORDED.is_file(), reason="The recorded outputs of GSM8K are not beside this repository.")
def test_compare_gsm8k_ranks_the_four_recorded_models() -> None:
    document = compared(*(subject(i, values, label=name) for i, (name, values) in enumerate(recorded().items())))
    assert [(row["label"], row["rank_label"], row["group"], row["score"]) for row in document["ranking"]] == [
        ("175b_verification", "1", "a", round(742 / 1319, 10)),
        ("6b_verification", "2", "b", round(515 / 1319, 10)),
        ("175b_finetuning", "3", "c", round(458 / 1319, 10)),
        ("6b_finetuning", "4", "d", round(286 / 1319, 10)),
    ]
    first = document["pairs"][0]
    assert (first["a"], first["b"], first["a_only"], first["b_only"], round(first["stderr"], 4)) == (3, 1, 306, 79, 0.0141)
    closest = next(pair for pair in document["pairs"] if (pair["a"], pair["b"]) == (1, 2))
    assert (closest["a_only"], closest["b_only"], round(100 * closest["difference"], 1)) == (209, 152, 4.3)
    assert (round(100 * closest["stderr"], 4), round(closest["p_exact"], 6), closest["separable"]) == (1.4361, 0.003151, True)
    assert document["winner_named"] is True
    assert document["summary"].startswith(
        "175b_verification is ahead of every other model; the next is 6b_verification, behind by 17.2 points ("
    )


def test_compare_eight_models_on_many_tasks_takes_no_time() -> None:
    random = np.random.default_rng(0)
    hard = random.random(20_000)
    subjects = [subject(i, (random.random(20_000) > hard * (0.8 + i / 20)).astype(float)) for i in range(8)]
    started = time.process_time()
    compared(*subjects)
    assert time.process_time() - started < 1  # about 0.05 s; the room is for slow machines
