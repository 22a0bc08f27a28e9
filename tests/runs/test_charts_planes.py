"""Score against cost and time: what is joined, what is put aside, and that no name covers another."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.charts import Plane, cost_chart, speed_chart
from runs.charts.labels import NARROWEST, WIDEST, Box, Spot, mark_box, place_labels
from runs.charts.planes import HEIGHT, TOP, nothing_beats
from tests.runs.drawing import HOSTILE, SVG, drawing, drawn, interval, share_of, subject, subjects, table_of, texts


def result(*found: dict[str, Any]) -> dict[str, Any]:
    return {"subjects": list(found)}


def compared(*scores: tuple[int, float], excluded: tuple[int, ...] = (), planned: int = 100, tasks: int = 100) -> dict[str, Any]:
    return {
        "ranking": [{"subject_index": index, "score": score, "interval": interval(score - 0.1, score + 0.1)} for index, score in scores],
        "excluded": [{"subject_index": index, "reason": "silent_zero"} for index in excluded],
        "tasks_planned": planned,
        "tasks_compared": tasks,
    }


def made(chart: Plane | None) -> Plane:
    assert chart is not None
    return chart


def joined(chart: Plane | None) -> list[str]:
    return sorted(dot.model.label for dot in made(chart).dots if dot.model.is_joined)


@pytest.mark.parametrize(
    ("points", "floors", "expected"),
    [
        ([(1, 0.5), (2, 0.6), (3, 0.55), (4, 0.6)], [], [True, True, False, False]),
        ([(1, 0.5), (1, 0.5)], [], [True, True]),
        ([(1, 0.5), (1, 0.6)], [], [False, True]),
        ([(0, 0.2), (1, 0.2)], [], [True, False]),
        ([(1, 0.2), (2, 0.5)], [0.2], [False, True]),
        ([(0, 0.2), (2, 0.5)], [0.2, 0.6], [False, False]),
        ([], [0.2], []),
    ],
)
def test_nothing_beats_what_scores_higher_or_costs_less(points: list[Any], floors: list[float], expected: list[bool]) -> None:
    assert nothing_beats(points, floors) == expected


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_the_joined_ones_rise_and_every_other_is_beaten_by_one_of_them(points: list[tuple[int, int]]) -> None:
    best = nothing_beats(points)
    front = sorted({point for point, is_best in zip(points, best, strict=True) if is_best})
    assert front
    assert [score for _, score in front] == sorted({score for _, score in front})
    for (amount, score), is_best in zip(points, best, strict=True):
        beaten = any(its <= amount and other >= score and (its, other) != (amount, score) for its, other in front)
        assert beaten is not is_best


def test_cost_is_for_a_thousand_answers_and_the_unbeaten_are_joined() -> None:
    chart = made(
        cost_chart(
            result(subject(0, "small", correct=5), subject(1, "slow", correct=4, cost=2000), subject(2, "large", correct=8, cost=9000))
        )
    )
    assert chart.table == (
        ("small", "50.0%", "$0.10", "Nothing beats it"),
        ("slow", "40.0%", "$0.20", "small scores as high for less, or higher for as much"),
        ("large", "80.0%", "$0.90", "Nothing beats it"),
    )
    assert [tick.label for tick in chart.x_ticks] == ["$0", "$0.20", "$0.40", "$0.60", "$0.80", "$1"]
    # To the right at the small one's score, then up to the large one's.
    assert chart.frontier.count("H") == chart.frontier.count("V") == 1
    assert chart.frontier.startswith("M10.00 ")
    assert "H90.00V" in chart.frontier
    assert chart.description.startswith("small: 50.0% (23.7 to 76.3), $0.10 for 1,000 answers. Nothing beats it. slow: ")


def test_scores_are_those_over_the_compared_tasks() -> None:
    chart = made(cost_chart(result(subject(0), subject(1, cost=2000)), compared((0, 0.3), (1, 0.4))))
    assert [row[1] for row in chart.table] == ["30.0%", "40.0%"]


def test_a_cost_that_is_not_known_is_put_aside_and_never_joined() -> None:
    chart = made(cost_chart(result(subject(0, "known"), subject(1, "mine", kind="connection", cost=None, correct=9))))
    dots = {dot.model.label: dot for dot in chart.dots}
    assert (dots["mine"].is_unknown, dots["mine"].model.is_joined, share_of(dots["mine"].x)) == (True, False, 0.93)
    assert share_of(dots["known"].x) < share_of(chart.unknown_x or "") == 0.86
    assert chart.table[1] == ("mine", "90.0%", "not known here", "Not compared: what it costs is not known here")
    assert "A connection is billed by its own provider" in chart.caption
    assert joined(chart) == ["known"]
    assert "not known here" in texts(drawn("plane", chart), "chart-tick")


def test_a_connection_has_its_place_among_times() -> None:
    assert joined(speed_chart(result(subject(0, "known"), subject(1, "mine", kind="connection", cost=None, correct=9)))) == ["mine"]


def test_a_baseline_is_a_line_that_a_model_must_beat() -> None:
    chart = made(
        cost_chart(
            result(
                subject(0, "worse", correct=2),
                subject(1, "better", correct=6, cost=5000),
                subject(2, "guess", kind="baseline", correct=3, cost=0),
            )
        )
    )
    assert joined(chart) == ["better"]
    assert [(line.floor.label, line.text) for line in chart.floors] == [("guess", "guess 30.0%")]
    assert chart.table == (
        ("worse", "20.0%", "$0.10", "Not better than the baseline guess"),
        ("better", "60.0%", "$0.50", "Nothing beats it"),
        ("guess", "30.0%", "—", "A baseline: it calls no model"),
    )
    assert chart.frontier == ""


def test_names_of_baselines_that_are_close_stand_over_each_other() -> None:
    guesses = [subject(index, kind="baseline", correct=index, n=400, cost=0) for index in (1, 2, 3, 4)]
    chart = made(cost_chart(result(subject(0, correct=9), *guesses)))
    heights = [float(line.label_y or "nan") for line in chart.floors]
    assert [round(lower - higher, 1) for lower, higher in pairwise(heights)] == [14.0, 14.0, 14.0]
    assert chart.is_labelled is True


def test_a_wide_spread_has_a_log_axis_and_free_models_stand_beside_it() -> None:
    chart = made(cost_chart(result(subject(0, "free", cost=0), subject(1, cost=1000, correct=6), subject(2, cost=90_000, correct=7))))
    assert [tick.label for tick in chart.x_ticks] == ["$0", "$0.10", "$0.30", "$1", "$3", "$10"]
    assert chart.free_x == "14.00%"
    assert [share_of(dot.x) for dot in chart.dots if dot.model.label == "free"] == [0.07]
    assert joined(chart) == ["free", "model-1", "model-2"]


def test_a_stopped_model_is_left_out_with_its_reason() -> None:
    chart = made(cost_chart(result(subject(0), subject(1), subject(2, correct=None)), compared((0, 0.5), excluded=(1,))))
    assert chart.table[1:] == (
        ("model-1", "50.0%", "—", "Left out of the comparison"),
        ("model-2", "—", "—", "No answer graded"),
    )
    assert len(chart.dots) == 1


def test_nothing_is_joined_when_too_many_answers_are_missing() -> None:
    chart = made(cost_chart(result(subject(0), subject(1, correct=8, cost=5000)), compared((0, 0.5), (1, 0.8), tasks=94)))
    assert (joined(chart), chart.frontier) == ([], "")
    assert chart.table[0][3] == "Not judged: too many answers are missing"
    assert chart.caption.startswith("No models are joined")


@pytest.mark.parametrize(
    "found",
    [
        [],
        [subject(0, correct=None)],
        [subject(0, cost=0), subject(1, cost=0)],
        [subject(0, kind="connection", cost=None)],
        [subject(0, kind="baseline", cost=0)],
    ],
    ids=["no subject", "no answer", "all free", "not known", "baseline"],
)
def test_without_a_known_cost_there_is_no_chart(found: list[dict[str, Any]]) -> None:
    assert cost_chart(result(*found)) is None


def test_results_from_before_costs_of_answers_were_kept_are_drawn() -> None:
    old = subject(0)
    del old["answers_charge_microusd"], old["kind"]
    assert made(cost_chart(result(old))).table[0][2] == "$0.10"


def test_identical_models_stand_side_by_side_inside_the_plot() -> None:
    chart = made(cost_chart(result(*(subject(index) for index in range(8)))))
    assert sorted(float(dot.dx) for dot in chart.dots) == [0.0 - 9 * place for place in reversed(range(8))]
    assert len({(dot.x, dot.y) for dot in chart.dots}) == 1
    assert joined(chart) == [f"model-{index}" for index in range(8)]
    assert chart.frontier == ""


def test_names_leave_out_the_provider_unless_two_have_the_same() -> None:
    chart = made(
        cost_chart(result(subject(0, "acme/one", cost=1000), subject(1, "acme/two", cost=3000), subject(2, "other/two", cost=9000)))
    )
    assert sorted(dot.name for dot in chart.dots) == ["acme/two", "one", "other/two"]


@drawing
@given(subjects())
def test_any_result_is_drawn_inside_the_plot_and_in_order(found: list[dict[str, Any]]) -> None:
    for chart, template in ((cost_chart(result(*found)), "plane"), (speed_chart(result(*found)), "plane")):
        if chart is None:
            continue
        for dot in chart.dots:
            share_of(dot.x)
            assert TOP <= float(dot.y) <= TOP + HEIGHT
            if dot.low_y and dot.high_y:
                assert float(dot.high_y) <= 0.05 and float(dot.low_y) >= -0.05
                assert TOP - 0.1 <= float(dot.y) + float(dot.high_y) <= float(dot.y) + float(dot.low_y) <= TOP + HEIGHT + 0.1
        by_score = sorted(chart.dots, key=lambda dot: dot.model.score)
        assert [float(dot.y) for dot in by_score] == sorted((float(dot.y) for dot in by_score), reverse=True)
        known = sorted((dot for dot in chart.dots if dot.model.amount is not None), key=lambda dot: dot.model.amount or 0)
        assert [share_of(dot.x) for dot in known] == sorted(share_of(dot.x) for dot in known)
        assert all(share_of(dot.x) >= share_of(chart.unknown_x or "") for dot in chart.dots if dot.model.amount is None)
        assert {row[0] for row in chart.table} == {each["label"] for each in found}
        assert len(drawn(template, chart).findall(f".//{SVG}svg[@class]")) > 0
        _assert_apart(chart)


def _assert_apart(chart: Plane) -> None:
    """No name of a wide drawing covers another name or a mark, or leaves the plot, at any width."""
    names = [dot.label.box for dot in chart.dots if dot.label]
    marks = [mark_box(share_of(dot.x), float(dot.y), float(dot.dx)) for dot in chart.dots]
    assert chart.is_labelled is (len(names) == len(chart.dots) and all(line.label_y for line in chart.floors))
    for place, box in enumerate(names):
        for width in (NARROWEST, 700, 960, WIDEST):
            left, right = _span(box, width)
            assert -0.1 <= left <= right <= width + 0.1
            assert box.top >= 0 and box.bottom <= TOP + HEIGHT + 0.1
            for other in names[place + 1 :] + marks:
                its_left, its_right = _span(other, width)
                # Marks are placed to a tenth of a pixel and a hundredth of a percent.
                assert min(right, its_right) - max(left, its_left) <= 0.3 or min(box.bottom, other.bottom) - max(box.top, other.top) <= 0.3


def _span(box: Box, width: float) -> tuple[float, float]:
    return box.left_share * width + box.left, box.right_share * width + box.right


def test_a_name_without_a_free_place_is_left_to_the_key() -> None:
    spots = [Spot(0.5, 20, "a name of some length")] * 30
    placed = place_labels(spots, 60)
    assert [each is None for each in placed].count(True) > 20
    assert placed[0] is not None


def test_names_choose_a_side_without_a_line_where_there_is_one() -> None:
    line = Box(0.5, 0, 1, 0, 99, 101)
    (free,), (crossed,) = place_labels([Spot(0.5, 100, "name")], 200), place_labels([Spot(0.5, 100, "name")], 200, lines=[line])
    assert free and crossed
    assert ((free.anchor, free.dx > 0), (crossed.anchor, crossed.dx < 0)) == (("start", True), ("end", True))


def test_plane_is_drawn_with_all_its_parts() -> None:
    chart = made(
        cost_chart(
            result(subject(0, "small"), subject(1, "large", correct=8, cost=9000), subject(2, HOSTILE, kind="baseline", correct=1, cost=0))
        )
    )
    figure = drawn("plane", chart)
    assert texts(figure, "chart-hover") == [
        "50.0% (23.7 to 76.3), $0.10 for 1,000 answers",
        "80.0% (49.0 to 94.3), $0.90 for 1,000 answers",
    ]
    assert texts(figure, "chart-key-label") == ["small", "large", HOSTILE]
    assert [row[0] for row in table_of(figure)] == ["Model", "small", "large", HOSTILE]
    assert len([path for path in figure.iter(f"{SVG}path") if path.get("class") == "chart-frontier"]) == 1
