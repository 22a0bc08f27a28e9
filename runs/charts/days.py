"""Amounts by day: one bar for each day of a month."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from common.money import format_usd
from runs.charts.rows import Tick
from runs.charts.scales import percent, scale_over
from runs.charts.words import usd_tick

HEIGHT = 140
"""Of the plot in pixels."""

TOP = 14
AXIS_HEIGHT = 42
BAR = 0.68
"""Of a day's width."""

LEAST_HEIGHT = 2.0
"""A day on which something was charged is never without a bar."""

TICK_DAYS = 7


@dataclass(frozen=True, slots=True)
class Bar:
    """A drawn bar: across in percent, upright in pixels."""

    x: str
    width: str
    y: str
    height: str
    words: str


@dataclass(frozen=True, slots=True)
class DaysChart:
    """Everything that the template draws and says. Lengths are texts, so that no locale writes a comma into them."""

    id: str
    title: str
    description: str
    caption: str
    axis: str
    upward: str
    columns: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    bars: tuple[Bar, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    gutter: str
    top: str
    bottom: str
    height: str
    tick_y: str
    axis_name_y: str


def days_chart(days: Mapping[date, tuple[int, int]], title: str) -> DaysChart | None:
    """Usage and fee of each day in micro-USD, as one bar of both; None where nothing was charged on any."""
    totals = {day: usage + fee for day, (usage, fee) in days.items()}
    if not any(totals.values()):
        return None
    upward = scale_over([0.0, *map(float, totals.values())], narrowest=1.0)
    width = 1 / len(totals)

    def height_of(total: int) -> float:
        return max(LEAST_HEIGHT, HEIGHT * upward.share(total)) if total else 0.0

    bars = tuple(
        Bar(
            x=percent((order + (1 - BAR) / 2) * width),
            width=percent(BAR * width),
            y=f"{TOP + HEIGHT - height_of(total):.1f}",
            height=f"{height_of(total):.1f}",
            words=f"{_day_words(day)}: {format_usd(total)}",
        )
        for order, (day, total) in enumerate(totals.items())
        if total
    )
    marks = [value for value in upward.ticks() if value == round(value)]
    y_ticks = tuple(Tick(f"{TOP + HEIGHT * (1 - upward.share(value)):.1f}", usd_tick(value), is_zero=value == 0) for value in marks)
    ordered = list(totals)
    x_ticks = tuple(Tick(percent((order + 0.5) * width), str(ordered[order].day)) for order in range(0, len(ordered), TICK_DAYS))
    return DaysChart(
        id="days-chart",
        title=title,
        description=_described(totals),
        caption="Usage and platform fee together, on the day (UTC) on which they were entered, which is when a run ended.",
        axis="day of the month",
        upward="Charged",
        columns=("Day", "Usage", "Platform fee", "Charged"),
        table=tuple(
            (_day_words(day), format_usd(usage), format_usd(fee), format_usd(usage + fee))
            for day, (usage, fee) in days.items()
            if usage + fee
        ),
        bars=bars,
        x_ticks=x_ticks,
        y_ticks=y_ticks,
        gutter=str(max(len(tick.label) for tick in y_ticks) * 8 + 10),
        top=str(TOP),
        bottom=str(TOP + HEIGHT),
        height=str(TOP + HEIGHT + AXIS_HEIGHT),
        tick_y=str(TOP + HEIGHT + 19),
        axis_name_y=str(TOP + HEIGHT + 36),
    )


def _day_words(day: date) -> str:
    return f"{day.day} {day:%B}"


def _described(totals: Mapping[date, int]) -> str:
    """The sum, the days with a charge and the dearest: every figure would be too long to listen to, the table has them."""
    charged = {day: total for day, total in totals.items() if total}
    dearest = max(charged, key=lambda day: charged[day])
    days = "1 day" if len(charged) == 1 else f"{len(charged)} days"
    return (
        f"{format_usd(sum(charged.values()))} charged on {days} of {len(totals)}. "
        f"The most on {_day_words(dearest)}: {format_usd(charged[dearest])}."
    )
