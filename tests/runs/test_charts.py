"""Charts: where their marks are, and that the drawing says the same in words."""

from typing import Any
from xml.etree import ElementTree

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from runs.charts import Chart, differences_chart, ranking_chart, running_chart, scores_chart
from runs.charts.rows import LONGEST_LABEL
from runs.charts.scales import NARROWEST, decimals_for, scale_over
from runs.results import running_headline

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.536, 0.589], [0.52, 0.54, 0.56, 0.58, 0.6]),
        ([0.195, 0.589], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        ([0.0, 1.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ([0.839, 1.0], [0.8, 0.85, 0.9, 0.95, 1.0]),
        ([-0.161, 0.161, 0.0], [-0.2, -0.1, 0.0, 0.1, 0.2]),
        ([0.1, 0.3], [0.1, 0.15, 0.2, 0.25, 0.3]),
        ([], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ([0.5], [0.499, 0.4995, 0.5, 0.5005, 0.501]),
    ],
)
def test_scale_has_round_ticks_that_hold_the_values(values: list[float], ticks: list[float]) -> None:
    assert scale_over(values).ticks() == ticks


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_scale_any_values_are_held_by_at_most_five_steps(values: list[float]) -> None:
    scale = scale_over(values)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 6
    room = 1e-6 * (ticks[-1] - ticks[0])
    assert ticks[0] - room <= min(values) <= max(values) <= ticks[-1] + room
    for value in values:
        assert 2 <= float(scale.x(value).removesuffix("%")) <= 98


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_scale_of_shares_that_differ_stays_between_0_and_1(values: list[float]) -> None:
    if max(values) - min(values) < NARROWEST:
        return
    ticks = scale_over(values).ticks()
    assert ticks[0] >= 0
    assert ticks[-1] <= 1


@pytest.mark.parametrize(("step", "decimals"), [(10, 0), (5, 0), (1, 0), (0.5, 1), (0.1, 1), (0.02, 2)])
def test_decimals_tell_ticks_apart(step: float, decimals: int) -> None:
    assert decimals_for(step) == decimals


def ranked(index: int, label: str, score: float, low: float, high: float, group: str = "a") -> dict[str, Any]:
    return {"subject_index": index, "label": label, "score": score, "interval": {"low": low, "high": high}, "group": group}


def pair(a: int, b: int, difference: float, low: float, high: float, *, separable: bool) -> dict[str, Any]:
    return {"a": a, "b": b, "difference": difference, "interval": {"low": low, "high": high}, "separable": separable}


def headline(value: float | None, low: float = 0.0, high: float = 0.0) -> dict[str, Any]:
    return {"name": "Accuracy", "value": value, "interval": None if value is None else {"low": low, "high": high}}


RESULT = {
    "subjects": [
        {"index": 0, "label": "low", "headline": headline(0.25, 0.2, 0.3)},
        {"index": 1, "label": "high", "headline": headline(0.5, 0.4, 0.6)},
        {"index": 2, "label": "stopped", "headline": headline(None)},
    ]
}
COMPARE = {
    "ranking": [ranked(1, "high", 0.5, 0.4, 0.6), ranked(0, "low", 0.25, 0.2, 0.3, "b")],
    "excluded": [{"subject_index": 2, "reason": "silent_zero"}],
    "pairs": [pair(1, 0, 0.25, 0.15, 0.35, separable=True)],
}


def test_scores_chart_follows_the_ranking_and_keeps_those_left_out() -> None:
    chart = scores_chart(RESULT, COMPARE)
    assert [(row.label, row.entry.words, row.entry.interval_words, row.entry.note) for row in chart.rows] == [
        ("high", "50.0%", "40.0 to 60.0", "a"),
        ("low", "25.0%", "20.0 to 30.0", "b"),
        ("stopped", "no answer graded", "", "left out"),
    ]
    assert [(row.low_x, row.x, row.high_x) for row in chart.rows] == [
        ("50.00%", "74.00%", "98.00%"),
        ("2.00%", "14.00%", "26.00%"),
        (None, None, None),
    ]
    assert [(tick.label, tick.x, tick.anchor) for tick in chart.ticks] == [
        ("20%", "2.00%", "start"),
        ("30%", "26.00%", "middle"),
        ("40%", "50.00%", "middle"),
        ("50%", "74.00%", "middle"),
        ("60%", "98.00%", "end"),
    ]
    assert chart.description == (
        "high: 50.0% (40.0 to 60.0), group a. low: 25.0% (20.0 to 30.0), group b. stopped: no answer graded, left out of the comparison."
    )


def test_scores_chart_of_one_model_needs_no_comparison() -> None:
    chart = scores_chart({"subjects": RESULT["subjects"][:1]})
    assert [(row.label, row.entry.note, row.entry.remark) for row in chart.rows] == [("low", "", "")]
    assert chart.title == "Accuracy with 95% intervals"


def test_ranking_chart_shows_the_scores_over_the_compared_tasks() -> None:
    assert [(row.label, row.entry.words, row.entry.series) for row in ranking_chart(COMPARE).rows] == [
        ("high", "50.0%", 2),
        ("low", "25.0%", 1),
    ]


def test_running_chart_has_a_row_for_who_has_nothing_yet() -> None:
    chart = running_chart([("one", running_headline(12, 25)), ("two", running_headline(0, 0))])
    assert [(row.label, row.entry.words, row.x is None) for row in chart.rows] == [
        ("one", "48.0%", False),
        ("two", "no answer graded", True),
    ]
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
        (row.label, row.against, row.entry.words, row.entry.interval_words, row.entry.remark, row.entry.is_hollow) for row in chart.rows
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


def test_chart_long_labels_are_shortened_in_the_middle_and_have_their_own_line() -> None:
    label = "provider/a-model-with-a-very-long-name-that-ends-in-2026"
    chart = ranking_chart({"ranking": [ranked(0, label, 0.5, 0.4, 0.6)], "excluded": []})
    assert chart.has_two_lines is True
    assert len(chart.rows[0].label) <= LONGEST_LABEL
    assert (chart.rows[0].label[:9], chart.rows[0].label[-4:]) == ("provider/", "2026")
    assert label in chart.description


def drawn(chart: Chart, **context: Any) -> ElementTree.Element:
    """The rendered figure as a tree: it must be well-formed."""
    html = render_to_string("runs/charts/forest.html", {"chart": chart, **context})
    return ElementTree.fromstring(html[html.index("<figure") :].replace("<svg class", '<svg xmlns="http://www.w3.org/2000/svg" class', 1))


def test_chart_is_drawn_with_a_title_and_a_description_that_name_it() -> None:
    svg = drawn(scores_chart(RESULT, COMPARE)).find(f"{SVG}svg")
    assert svg is not None
    ids = {element.get("id"): element.text for element in svg.iter() if element.get("id")}
    assert svg.get("role") == "img"
    assert [ids[name] for name in (svg.get("aria-labelledby") or "").split()] == [
        "Accuracy with 95% intervals",
        scores_chart(RESULT, COMPARE).description,
    ]


def test_chart_draws_one_mark_a_row_that_has_a_value() -> None:
    figure = drawn(scores_chart(RESULT, COMPARE))
    assert [circle.get("cx") for circle in figure.iter(f"{SVG}circle")] == ["74.00%", "14.00%"]
    assert [circle.get("class") for circle in figure.iter(f"{SVG}circle")] == ["chart-point", "chart-point"]


def test_chart_has_no_inline_style_or_script() -> None:
    for element in drawn(scores_chart(RESULT, COMPARE)).iter():
        assert element.get("style") is None
        assert not element.tag.endswith(("script", "style"))
        assert not [name for name in element.attrib if name.startswith("on")]


def test_chart_says_the_same_in_a_table_unless_the_page_has_one() -> None:
    figure = drawn(differences_chart(COMPARE) or pytest.fail("There is a pair."))
    assert [[cell.text for cell in row] for row in figure.iter("tr")] == [
        ["Pair", "Difference in points", "95% interval", "Reading"],
        ["high against low", "+25.0", "15.0 to 35.0", "Told apart"],
    ]
    assert drawn(scores_chart(RESULT, COMPARE), hide_table=True).find("details") is None


def test_chart_labels_are_escaped() -> None:
    chart = ranking_chart({"ranking": [ranked(0, "<b>&</b>", 0.5, 0.4, 0.6)], "excluded": []})
    assert [text.text for text in drawn(chart).iter(f"{SVG}text") if text.get("class") == "chart-label"] == ["<b>&</b>"]


def test_differences_template_draws_the_zero_line() -> None:
    html = render_to_string("runs/charts/differences.html", {"chart": differences_chart(COMPARE)})
    assert html.count('class="chart-zero"') == 1
