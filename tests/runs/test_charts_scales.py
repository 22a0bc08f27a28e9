"""Scales of charts and their ticks, and figures in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.charts.rows import ticks_of
from runs.charts.scales import LOG_SPREAD, NARROWEST, LogScale, amounts_scale, decimals_for, log_scale_over, scale_over, time_scale
from runs.charts.words import (
    clock_tick,
    duration_words,
    natural_order,
    shortened,
    shortened_apart,
    time_tick,
    usd_tick,
    usd_words,
)


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
    shares = [scale.share(value) for value in sorted(values)]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_scale_of_shares_that_differ_stays_between_0_and_1(values: list[float]) -> None:
    if max(values) - min(values) < NARROWEST:
        return
    ticks = scale_over(values).ticks()
    assert ticks[0] >= 0
    assert ticks[-1] <= 1


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([3, 40], [2, 5, 10, 20, 50]),
        ([1, 100], [1, 3, 10, 30, 100]),
        ([2, 900], [1, 10, 100, 1000]),
        ([0.5, 60_000], [0.1, 10, 1000, 100_000]),
        ([7, 7], [5, 10]),
        ([1, 1], [1, 2]),
    ],
)
def test_log_scale_has_the_finest_round_marks_that_are_few(values: list[float], ticks: list[float]) -> None:
    assert log_scale_over(values).ticks() == ticks


@given(st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=20))
def test_log_scale_any_amounts_are_held_by_two_to_six_marks(values: list[float]) -> None:
    scale = log_scale_over(values)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 6
    assert ticks[0] <= min(values) <= max(values) <= ticks[-1] * (1 + 1e-9)
    shares = [scale.share(value) for value in sorted(values)]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1


@pytest.mark.parametrize(
    ("values", "is_log"), [([10, 100], False), ([10, 10 * LOG_SPREAD + 1], True), ([0, 5], False), ([0, 5, 100], True)]
)
def test_amounts_are_drawn_from_zero_unless_the_spread_needs_a_log_axis(values: list[float], is_log: bool) -> None:
    scale = amounts_scale(values)
    assert isinstance(scale, LogScale) is is_log
    assert (scale.ticks()[0] == 0) is not is_log
    assert scale.share(0) == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, ["0", "0.1 s"]),
        (1.2, ["0", "0.5 s", "1 s", "1.5 s"]),
        (44, ["0", "10 s", "20 s", "30 s", "40 s", "50 s"]),
        (346, ["0", "2 min", "4 min", "6 min"]),
        (5000, ["0", "30 min", "1 h", "1.5 h"]),
        (90_000, ["0", "8 h", "16 h", "1 d", "32 h"]),
    ],
)
def test_time_scale_has_steps_of_a_clock(seconds: float, words: list[str]) -> None:
    assert [clock_tick(value) for value in time_scale(seconds).ticks()] == words


@given(st.floats(0, 1e7))
def test_time_scale_holds_any_time(seconds: float) -> None:
    scale = time_scale(seconds)
    assert scale.high >= seconds
    assert 2 <= len(scale.ticks()) <= 6


@pytest.mark.parametrize(("step", "decimals"), [(10, 0), (5, 0), (1, 0), (0.5, 1), (0.1, 1), (0.02, 2)])
def test_decimals_tell_ticks_apart(step: float, decimals: int) -> None:
    assert decimals_for(step) == decimals


def test_crowded_ticks_lose_every_second_one_on_a_phone() -> None:
    values = [100, 200, 500, 1000, 2000, 5000]
    places = [f"{20 * place:.2f}%" for place in range(6)]
    assert [tick.is_minor for tick in ticks_of(values, places, ["100 ms"] * 6)] == [False, True, False, True, False, True]
    assert [tick.is_minor for tick in ticks_of(values, places, ["1 s"] * 6)] == [False] * 6
    assert [tick.is_minor for tick in ticks_of(values, places, ["10 s"] * 6, 0.76)] == [False, True, False, True, False, True]


@pytest.mark.parametrize(
    ("microusd", "words", "tick"),
    [
        (0, "$0", "$0"),
        (1, "$0.0000010", "$0.000001"),
        (4200, "$0.0042", "$0.0042"),
        (500_000, "$0.50", "$0.50"),
        (2_500_000, "$2.50", "$2.50"),
        (12_340_000, "$12.3", "$12.34"),
        (20_000_000, "$20.0", "$20"),
        (1_234_567_890, "$1,235", "$1,234.56789"),
    ],
)
def test_money_has_as_many_digits_as_a_chart_can_show(microusd: int, words: str, tick: str) -> None:
    assert (usd_words(microusd), usd_tick(microusd)) == (words, tick)


@pytest.mark.parametrize(
    ("ms", "words"), [(0, "0"), (0.5, "0.5 ms"), (200, "200 ms"), (1500, "1.5 s"), (100_000, "100 s"), (120_000, "2 min")]
)
def test_times_of_an_axis_are_short(ms: float, words: str) -> None:
    assert time_tick(ms) == words


@pytest.mark.parametrize(("seconds", "words"), [(0.42, "0.4 s"), (31, "31 s"), (65, "1 min 5 s"), (7380, "2 h 3 min"), (172_800, "2 d")])
def test_durations_are_words(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


def test_names_with_numbers_are_in_their_order() -> None:
    assert sorted(["level 10", "level 2", "Level 1", "2", "10", ""], key=natural_order) == ["", "2", "10", "Level 1", "level 2", "level 10"]


@given(st.lists(st.text(alphabet="ab", max_size=90), max_size=8), st.integers(8, 40))
def test_no_label_is_longer_than_asked_and_those_that_fit_are_whole(labels: list[str], longest: int) -> None:
    short = shortened_apart(labels, longest)
    assert max(map(len, short), default=0) <= longest
    assert [name for name, label in zip(short, labels, strict=True) if len(label) <= longest] == [
        label for label in labels if len(label) <= longest
    ]


def test_labels_that_would_look_alike_begin_where_they_part() -> None:
    labels = [f"some-quite-long-model-name-{number}-instruct-2026" for number in (1, 2)]
    assert shortened(labels[0], 26) == shortened(labels[1], 26)
    assert shortened_apart(labels, 26) == ["…odel-name-1-instruct-2026", "…odel-name-2-instruct-2026"]
