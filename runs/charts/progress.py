"""How a run went: answers finished, by model, over the time since its start."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runs.charts.marks import Key, series_of, shape_of
from runs.charts.rows import Tick, ticks_of
from runs.charts.scales import percent, scale_over, time_scale
from runs.charts.words import clock_tick, duration_words

HEIGHT = 200
"""Of the plot in pixels."""

TOP = 14
AXIS_HEIGHT = 42
MOST_POINTS = 160
"""Of a line: more could not be told apart on any screen."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A model's answers over time: seconds since the run's start, and how many of its cells were finished by then."""

    index: int
    label: str
    planned: int
    steps: Sequence[tuple[float, int]]


@dataclass(frozen=True, slots=True)
class Line:
    """A drawn line: `path` in a box 100 wide, and marks on it that tell it from others without colour."""

    series: int
    shape: str
    words: str
    path: str
    marks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ProgressChart:
    """Everything that the template draws and says. Lengths are texts, so that no locale writes a comma into them."""

    id: str
    title: str
    description: str
    caption: str
    axis: str
    upward: str
    columns: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    planned_y: str | None
    """Where all answers are finished."""
    planned_words: str
    key: tuple[Key, ...]
    gutter: str
    top: str
    bottom: str
    height: str
    tick_y: str
    axis_name_y: str


def progress_chart(paces: Sequence[Pace], seconds: float) -> ProgressChart | None:
    """The answers finished over `seconds` since the start, one line a model; None before the first answer."""
    found = [pace for pace in paces if pace.steps and pace.steps[-1][1] > 0]
    if not found:
        return None
    last = max(seconds, *(pace.steps[-1][0] for pace in found))
    along, upward = time_scale(last), scale_over([0.0, float(max(pace.planned for pace in paces))], narrowest=1.0)

    def place(at: float, count: float) -> tuple[float, float]:
        return 100 * along.share(at), TOP + HEIGHT * (1 - upward.share(count))

    # Steps of less than one answer have no ticks of their own.
    y_ticks = tuple(
        Tick(f"{place(0, value)[1]:.1f}", f"{value:,.0f}", is_zero=value == 0) for value in upward.ticks() if value == round(value)
    )
    planned, times = {pace.planned for pace in found}, along.ticks()
    lines = []
    for order, pace in enumerate(found):
        points = [place(at, count) for at, count in _thinned(pace.steps)]
        lines.append(_line(pace, points, order, len(found)))
    words = [_words(pace) for pace in found]
    return ProgressChart(
        id="progress-chart",
        title="Progress over time",
        description=" ".join(f"{pace.label}: {said}." for pace, said in zip(found, words, strict=True)),
        caption="Answers finished since the start, errors among them. A flat line waited.",
        axis="time since the start",
        upward="Answers finished",
        columns=("Model", "Finished", "Planned", "Last answer after"),
        table=tuple((pace.label, f"{pace.steps[-1][1]:,}", f"{pace.planned:,}", duration_words(_ended(pace))) for pace in found),
        lines=tuple(lines),
        x_ticks=ticks_of(times, [percent(along.share(value)) for value in times], [clock_tick(value) for value in times]),
        y_ticks=y_ticks,
        planned_y=f"{place(0, next(iter(planned)))[1]:.1f}" if len(planned) == 1 else None,
        planned_words=f"all {next(iter(planned)):,}" if len(planned) == 1 else "",
        key=tuple(
            Key(series_of(pace.index), shape_of(series_of(pace.index)), pace.label, said) for pace, said in zip(found, words, strict=True)
        ),
        gutter=str(max(len(tick.label) for tick in y_ticks) * 8 + 10),
        top=str(TOP),
        bottom=str(TOP + HEIGHT),
        height=str(TOP + HEIGHT + AXIS_HEIGHT),
        tick_y=str(TOP + HEIGHT + 19),
        axis_name_y=str(TOP + HEIGHT + 36),
    )


def paces_of(subjects: Iterable[tuple[int, str, int]], stored: Iterable[tuple[float, int, int, int]]) -> list[Pace]:
    """The paces of subjects (index, label, planned) from what was stored, oldest first: seconds, subject index, count, and total so far.

    What a continuation took over was there at the start.
    """
    steps: dict[int, list[tuple[float, int]]] = {}
    for at, index, count, processed in stored:
        its = steps.setdefault(index, [(0.0, max(0, processed - count))])
        its.append((max(at, its[-1][0]), max(processed, its[-1][1])))
    return [Pace(index, label, planned, steps.get(index, [])) for index, label, planned in subjects]


def _thinned(steps: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """As many steps as a line needs, the first and the last among them."""
    if len(steps) <= MOST_POINTS:
        return list(steps)
    stride = (len(steps) - 1) / (MOST_POINTS - 1)
    return [steps[round(place * stride)] for place in range(MOST_POINTS)]


def _line(pace: Pace, points: Sequence[tuple[float, float]], order: int, lines: int) -> Line:
    """Marks stand at the end and twice on the way, where those of other lines do not."""
    series = series_of(pace.index)
    last = len(points) - 1
    marked = [points[round(1 + (last - 2) * (turn + (order + 0.5) / lines) / 2)] for turn in (0, 1)] if last > 3 else []
    path = "M" + "L".join(f"{x:.2f} {y:.1f}" for x, y in points)
    marks = tuple((percent(x / 100), f"{y:.1f}") for x, y in [*marked, points[-1]])
    return Line(series, shape_of(series), f"{pace.label}: {_words(pace)}", path, marks)


def _ended(pace: Pace) -> float:
    """When it reached its last count."""
    total = pace.steps[-1][1]
    return next(at for at, count in pace.steps if count == total)


def _words(pace: Pace) -> str:
    done = pace.steps[-1][1]
    return f"{done:,} of {pace.planned:,} in {duration_words(_ended(pace))}"
