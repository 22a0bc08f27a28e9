"""Charts of groups, of times, and of progress."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.charts import Pace, groups_chart, latency_chart, paces_of, progress_chart
from runs.charts.parts import MOST_GROUPS
from runs.charts.progress import HEIGHT, MOST_POINTS, TOP
from runs.charts.rows import MARK_PITCH, STRIP_HEIGHT
from tests.runs.drawing import HOSTILE, drawing, drawn, share_of, subject, subjects, table_of, texts


def test_groups_have_a_row_each_with_a_mark_for_each_model() -> None:
    result = {
        "subjects": [
            subject(0, "one", groups={"level 10": (1, 4), "level 2": (3, 4)}),
            subject(1, "two", groups={"level 2": None, "level 10": (2, 4)}),
        ]
    }
    chart = groups_chart(result)
    assert chart
    assert [(row.label, row.entry.note, row.entry.words, len(row.marks), row.height) for row in chart.rows] == [
        ("level 2", "3 tasks", "", 1, str(STRIP_HEIGHT + MARK_PITCH)),
        ("level 10", "4 tasks", "", 2, str(STRIP_HEIGHT + MARK_PITCH)),
    ]
    assert [mark.point.words for mark in chart.rows[1].marks] == ["one 25.0%", "two 50.0%"]
    assert chart.description == "one: best level 2 with 75.0%, worst level 10 with 25.0%. two: 50.0% in every group."
    assert [(key.label, key.series, key.words) for key in chart.key] == [("one", 1, "50.0%"), ("two", 2, "50.0%")]
    assert table_of(drawn("groups", chart)) == [
        ["Group", "Tasks", "one", "two"],
        ["level 2", "3", "75.0% (30.1 to 95.4)", "—"],
        ["level 10", "4", "25.0% (4.6 to 69.9)", "50.0% (15.0 to 85.0)"],
    ]


def test_groups_of_one_model_have_their_figures_beside_the_marks() -> None:
    chart = groups_chart({"subjects": [subject(0, groups={"a": (1, 4), "b": None})]})
    assert chart
    assert [(row.entry.words, row.entry.detail, row.entry.note) for row in chart.rows] == [
        ("25.0%", "4.6 to 69.9", "4 tasks"),
        ("no answer graded", "", "3 tasks"),
    ]
    assert chart.key == ()


def test_more_groups_than_can_be_drawn_are_all_in_the_table() -> None:
    groups = {f"g{number}": (1, 2 + number) for number in range(MOST_GROUPS + 3)}
    chart = groups_chart({"subjects": [subject(0, groups=groups)]})
    assert chart
    assert [row.label for row in chart.rows] == [f"g{number}" for number in range(3, MOST_GROUPS + 3)]
    assert len(chart.table) == MOST_GROUPS + 3
    assert chart.caption.endswith("The 40 largest of 43 groups.")


def test_without_groups_there_is_no_chart_of_them() -> None:
    assert groups_chart({"subjects": [subject(0)]}) is None
    assert groups_chart({"subjects": []}) is None


@drawing
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([f"g{n}" for n in range(40)] + [HOSTILE]), st.none() | st.just((0, 3)) | st.just((5, 5)), max_size=41
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_groups_are_drawn_inside(found: list[dict[str, Any]]) -> None:
    chart = groups_chart({"subjects": [subject(index, HOSTILE, groups=groups) for index, groups in enumerate(found)]})
    if chart is None:
        assert not any(found)
        return
    for row in chart.rows:
        ys = [int(mark.y) for mark in row.marks]
        assert ys == sorted(set(ys))
        assert all(6 <= y <= int(row.height) - 6 for y in ys)
        assert all(share_of(place) is not None for mark in row.marks for place in (mark.x, mark.low_x, mark.high_x) if place)
    drawn("groups", chart)


def test_times_have_their_median_the_middle_half_and_the_end() -> None:
    chart = latency_chart(
        {"subjects": [subject(0, "one", p50=100), subject(1, "none", correct=None, p50=None), subject(2, kind="baseline", p50=0)]}
    )
    assert chart
    assert [(row.label, row.entry.words, row.entry.detail) for row in chart.rows] == [
        ("one", "100 ms", "95% in 175 ms"),
        ("none", "no answer graded", ""),
    ]
    (mark,) = chart.rows[0].marks
    # From 0 to 200 ms: 25, 58, 100, 141 and 175.
    assert (mark.low_x, mark.box_x, mark.x, mark.box_width, mark.high_x) == ("12.50%", "29.00%", "50.00%", "41.50%", "87.50%")
    assert chart.table == (("one", "100 ms", "175 ms", "58 ms to 141 ms"), ("none", "—", "—", "—"))


def test_times_from_before_quantiles_were_kept_have_their_median_and_the_end() -> None:
    old = subject(0)
    del old["latency_ms"]["quantiles"]
    chart = latency_chart({"subjects": [old]})
    assert chart
    (mark,) = chart.rows[0].marks
    assert (mark.low_x, mark.box_x) == (mark.x, None)


def test_times_that_are_far_apart_have_a_log_axis() -> None:
    chart = latency_chart({"subjects": [subject(0, p50=100), subject(1, p50=5000)]})
    assert chart
    assert [tick.label for tick in chart.ticks] == ["10 ms", "100 ms", "1 s", "10 s"]


@pytest.mark.parametrize("found", [[], [subject(0, correct=None, p50=None)], [subject(0, kind="baseline", p50=0)]])
def test_without_times_there_is_no_chart_of_them(found: list[dict[str, Any]]) -> None:
    assert latency_chart({"subjects": found}) is None


@drawing
@given(subjects())
def test_any_times_are_drawn_inside_and_in_order(found: list[dict[str, Any]]) -> None:
    chart = latency_chart({"subjects": found})
    if chart is None:
        return
    for row in chart.rows:
        for mark in row.marks:
            places = [share_of(place) for place in (mark.low_x, mark.box_x, mark.x, mark.high_x) if place]
            assert places == sorted(places)
            if mark.box_x and mark.box_width:
                assert share_of(mark.x) <= share_of(mark.box_x) + share_of(mark.box_width) + 1e-3
    drawn("latency", chart)


def test_progress_is_answers_over_time() -> None:
    paces = paces_of([(0, "one", 10), (1, "two", 10), (2, "three", 10)], [(1.0, 0, 4, 4), (2.0, 1, 5, 8), (8.0, 0, 6, 10)])
    assert [(pace.label, list(pace.steps)) for pace in paces] == [
        ("one", [(0.0, 0), (1.0, 4), (8.0, 10)]),
        ("two", [(0.0, 3), (2.0, 8)]),
        ("three", []),
    ]
    chart = progress_chart(paces, 10.0)
    assert chart
    assert [line.path for line in chart.lines] == [
        f"M0.00 {TOP + HEIGHT}.0L10.00 134.0L80.00 {TOP}.0",
        "M0.00 154.0L20.00 54.0",
    ]
    assert chart.table == (("one", "10", "10", "8.0 s"), ("two", "8", "10", "2.0 s"))
    assert [tick.label for tick in chart.x_ticks] == ["0", "2 s", "4 s", "6 s", "8 s", "10 s"]
    assert [tick.label for tick in chart.y_ticks] == ["0", "2", "4", "6", "8", "10"]
    assert texts(drawn("progress", chart), "chart-key-words") == ["10 of 10 in 8.0 s", "8 of 10 in 2.0 s"]


def test_before_the_first_answer_there_is_no_progress_to_draw() -> None:
    assert progress_chart([], 5.0) is None
    assert progress_chart([Pace(0, "one", 10, []), Pace(1, "two", 10, [(0.0, 0)])], 5.0) is None


steps = st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 3000)), min_size=1, max_size=400)


@drawing
@given(st.lists(steps, min_size=1, max_size=8), st.floats(0, 1e6))
def test_any_progress_is_drawn_inside_with_few_points(found: list[list[tuple[float, int]]], seconds: float) -> None:
    stored = sorted((at, index, 1, total) for index, its in enumerate(found) for at, total in its)
    chart = progress_chart(paces_of([(index, HOSTILE, 2000) for index in range(len(found))], stored), seconds)
    if chart is None:
        assert not any(total for its in found for _, total in its)
        return
    for line in chart.lines:
        points = [tuple(map(float, pair.split())) for pair in line.path.removeprefix("M").split("L")]
        assert len(points) <= MOST_POINTS
        assert [x for x, _ in points] == sorted(x for x, _ in points)
        assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
        assert all(0 <= x <= 100 and TOP <= y <= TOP + HEIGHT for x, y in points)
        assert all(0 <= share_of(x) <= 1 and TOP <= float(y) <= TOP + HEIGHT for x, y in line.marks)
    drawn("progress", chart)
