"""Charts of rows, with scores and differences: where their marks are, and that the drawing says the same in words."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.charts import STYLE_SHEETS, differences_chart, ranking_chart, running_chart, scores_chart
from runs.charts.marks import SERIES, shape_of
from runs.charts.words import LONGEST_LABEL, shortened
from runs.results import running_headline
from tests.runs.drawing import HOSTILE, SVG, drawing, drawn, pair, ranked, share_of, subject, subjects, table_of, texts

ROOT = Path(__file__).resolve().parent.parent.parent
RESULT = {
    "subjects": [
        subject(0, "low", figures=(0.25, 0.2, 0.3)),
        subject(1, "high", figures=(0.5, 0.4, 0.6)),
        subject(2, "stopped", correct=None),
    ]
}
COMPARE = {
    "ranking": [ranked(1, "high", 0.5, 0.4, 0.6), ranked(0, "low", 0.25, 0.2, 0.3, "b")],
    "excluded": [{"subject_index": 2, "reason": "silent_zero"}],
    "pairs": [pair(1, 0, 0.25, 0.15, 0.35, separable=True)],
}


def test_scores_chart_follows_the_ranking_and_keeps_those_left_out() -> None:
    chart = scores_chart(RESULT, COMPARE)
    assert [(row.label, row.entry.words, row.entry.detail, row.entry.letters, row.entry.note) for row in chart.rows] == [
        ("high", "50.0%", "40.0 to 60.0", "a", ""),
        ("low", "25.0%", "20.0 to 30.0", "b", ""),
        ("stopped", "no answer graded", "", "", "left out"),
    ]
    assert [[(mark.low_x, mark.x, mark.high_x) for mark in row.marks] for row in chart.rows] == [
        [("50.00%", "75.00%", "100.00%")],
        [("0.00%", "12.50%", "25.00%")],
        [],
    ]
    assert [(tick.label, tick.place) for tick in chart.ticks] == [
        ("20%", "0.00%"),
        ("30%", "25.00%"),
        ("40%", "50.00%"),
        ("50%", "75.00%"),
        ("60%", "100.00%"),
    ]
    assert chart.description == (
        "high: 50.0% (40.0 to 60.0), group a. low: 25.0% (20.0 to 30.0), group b. stopped: no answer graded, left out of the comparison."
    )


def test_scores_chart_of_one_model_needs_no_comparison() -> None:
    chart = scores_chart({"subjects": RESULT["subjects"][:1]})
    assert [(row.label, row.entry.note, row.entry.remark) for row in chart.rows] == [("low", "", "")]
    assert chart.title == "Accuracy with 95% intervals"


def test_scores_chart_without_models_is_an_empty_drawing() -> None:
    assert texts(drawn("forest", scores_chart({"subjects": []})), "chart-row") == []


def test_ranking_chart_shows_the_scores_over_the_compared_tasks() -> None:
    assert [(row.label, row.entry.words, row.marks[0].point.series) for row in ranking_chart(COMPARE).rows] == [
        ("high", "50.0%", 2),
        ("low", "25.0%", 1),
    ]


def test_running_chart_has_a_row_for_who_has_nothing_yet() -> None:
    chart = running_chart([("one", running_headline(12, 25)), ("two", running_headline(0, 0))])
    assert [(row.label, row.entry.words, len(row.marks)) for row in chart.rows] == [("one", "48.0%", 1), ("two", "no answer graded", 0)]
    assert chart.title == "Score so far with 95% intervals"


def test_differences_chart_holds_zero_and_marks_what_is_told_apart() -> None:
    compare = {
        "ranking": [ranked(i, name, 0.5, 0.4, 0.6) for i, name in enumerate("xyz")],
        "pairs": [
            pair(0, 1, 0.04, -0.01, 0.09, separable=False),
            pair(0, 2, 0.1, 0.05, 0.15, separable=True),
            pair(1, 2, 0.0, -0.04, 0.04, separable=False),
        ],
    }
    chart = differences_chart(compare)
    assert chart
    assert [
        (row.label, row.against, row.entry.words, row.entry.detail, row.entry.remark, row.marks[0].point.is_hollow) for row in chart.rows
    ] == [
        ("x", "y", "+4.0", "−1.0 to 9.0", "Cannot be told apart", True),
        ("x", "z", "+10.0", "5.0 to 15.0", "Told apart", False),
        ("y", "z", "0.0", "−4.0 to 4.0", "Cannot be told apart", True),
    ]
    assert [(tick.label, tick.is_zero) for tick in chart.ticks] == [
        ("−5", False),
        ("0", True),
        ("+5", False),
        ("+10", False),
        ("+15", False),
    ]
    assert differences_chart({"ranking": [], "pairs": []}) is None


def test_differences_chart_of_many_models_keeps_those_with_the_best() -> None:
    compare = {
        "ranking": [ranked(i, name, 0.5, 0.4, 0.6) for i, name in enumerate("vwxyz")],
        "pairs": [pair(a, b, 0.1, 0.05, 0.15, separable=True) for a in range(5) for b in range(a + 1, 5)],
    }
    chart = differences_chart(compare)
    assert chart
    assert [(row.label, row.against) for row in chart.rows] == [("v", "w"), ("v", "x"), ("v", "y"), ("v", "z")]
    assert chart.title == "v against each other model"


def test_long_labels_are_shortened_in_the_middle_and_whole_in_words() -> None:
    label = "provider/a-model-with-a-very-long-name-that-goes-on-and-on-and-ends-in-2026"
    chart = ranking_chart({"ranking": [ranked(0, label, 0.5, 0.4, 0.6)], "excluded": []})
    assert len(chart.rows[0].label) <= LONGEST_LABEL < len(label)
    assert (chart.rows[0].label[:9], chart.rows[0].label[-4:]) == ("provider/", "2026")
    assert label in chart.description
    assert table_of(drawn("forest", chart))[1][0] == label


@drawing
@given(subjects(), st.booleans())
def test_marks_of_any_result_are_inside_and_in_the_order_of_their_values(found: list[dict], in_groups: bool) -> None:
    for each in found:
        each["headline"]["interval"] = None if in_groups else each["headline"]["interval"]
    chart = scores_chart({"subjects": found})
    places = []
    for row in chart.rows:
        for mark in row.marks:
            places.append((mark.point.value, share_of(mark.x)))
            if mark.low_x and mark.high_x:
                assert share_of(mark.low_x) <= share_of(mark.x) <= share_of(mark.high_x)
    assert [share for _, share in sorted(places)] == sorted(share for _, share in places)
    assert [row.entry.label for row in chart.rows] == [each["label"] for each in found]
    shares = [share_of(tick.place) for tick in chart.ticks]
    assert (shares[0], shares[-1]) == (0, 1)
    assert shares == sorted(set(shares))
    drawn("forest", chart)


def test_chart_draws_one_mark_a_row_that_has_a_value_in_the_shape_of_its_series() -> None:
    figure = drawn("forest", scores_chart(RESULT, COMPARE))
    points = [path for path in figure.iter(f"{SVG}path") if "chart-point" in (path.get("class") or "").split()]
    assert [path.get("d") for path in points] == [shape_of(2), shape_of(1)]
    assert [path.findtext(f"{SVG}title") for path in points] == ["50.0%", "25.0%"]
    assert [element.get("class") for element in figure.iter(f"{SVG}g")] == ["chart-mark series-2", "chart-mark series-1"]


def test_chart_draws_each_grid_line_once() -> None:
    figure = drawn("forest", scores_chart(RESULT, COMPARE))
    assert sum(line.get("class") == "chart-grid" for line in figure.iter(f"{SVG}line")) == 5
    assert [line.get("class") for line in drawn("differences", differences_chart(COMPARE)).iter(f"{SVG}line")].count("chart-zero") == 1


def test_chart_says_the_same_in_a_table_unless_the_page_has_one() -> None:
    assert table_of(drawn("differences", differences_chart(COMPARE))) == [
        ["Pair", "Difference in points", "95% interval", "Reading"],
        ["high against low", "+25.0", "15.0 to 35.0", "Told apart"],
    ]
    assert drawn("forest", scores_chart(RESULT, COMPARE), hide_table=True).find(".//details") is None


def test_hostile_labels_are_text() -> None:
    chart = ranking_chart({"ranking": [ranked(0, HOSTILE, 0.5, 0.4, 0.6)], "excluded": []})
    figure = drawn("forest", chart)
    assert texts(figure, "chart-label") == [f"{shortened(HOSTILE)} a"]
    assert table_of(figure)[1][0] == HOSTILE


def test_shapes_differ_and_stay_within_their_radius() -> None:
    shapes = [shape_of(series) for series in range(1, SERIES + 1)]
    assert len(set(shapes)) == SERIES == 8
    numbers = [float(number) for shape in shapes for number in re.findall(r"-?\d*\.?\d+", shape)]
    assert max(map(abs, numbers)) <= 10  # the way around the circle, whose radius is half of it


def test_the_named_style_sheets_are_all_that_charts_need() -> None:
    sheets = [(ROOT / "static" / name).read_text() for name in STYLE_SHEETS]
    used = set(re.findall(r"var\((--[\w-]+)\)", sheets[-1]))
    assert used - set(re.findall(r"(--[\w-]+):", "".join(sheets))) == set()
    templates = "".join(path.read_text() for path in (ROOT / "templates" / "runs" / "charts").glob("*.html"))
    named = {
        name
        for names in re.findall(r'class="([^"]+)"', re.sub(r"{%.*?%}", " ", templates))
        for name in names.split()
        if name.startswith("chart-")
    }
    assert {name for name in named if f".{name}" not in sheets[-1]} == set()


@pytest.mark.parametrize("module", ["numpy", "scipy", "django"])
def test_charts_are_cheap_to_import(module: str) -> None:
    code = f"import sys, runs.charts; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
