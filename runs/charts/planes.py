"""Charts of a plane: marks placed by an amount to the right and a score upward, with the ones that nothing beats joined."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from runs.charts.labels import CHARACTER, LINE, Box, Placed, Spot, box_at, place_labels
from runs.charts.marks import Key, shape_of
from runs.charts.plots import share_tick
from runs.charts.rows import NEAR_END, Tick, ticks_of
from runs.charts.scales import Axis, LogScale, Scale, amounts_scale, percent, scale_over
from runs.charts.words import percent_words, shortened, shortened_apart

HEIGHT = 300
"""Of the plot, in pixels, between the highest and the lowest line."""

TOP = 18
AXIS_HEIGHT = 42
BAND = 0.14
"""The share of the width that amounts of zero take beside a logarithmic axis, and unknown ones beside any."""

INSET = 0.06
NOT_KNOWN = "not known here"
"""Over the band of unknown amounts, where no other name may stand."""

LONGEST_NAME = 26
NUDGE = 9
"""Between marks that would cover each other exactly, in pixels."""

_ALIKE = 0.004
"""Marks nearer than this share of the width, and nearer than two pixels upward, would cover each other."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model in the plane. `amount` None: not known; `is_joined`: nothing beats it."""

    label: str
    series: int
    score: float
    low: float | None
    high: float | None
    amount: float | None
    words: str
    """Score and amount in words, as hovering and the key show them."""
    is_joined: bool = False


@dataclass(frozen=True, slots=True)
class Floor:
    """A score that needs no model: a baseline's."""

    label: str
    series: int
    score: float


@dataclass(frozen=True, slots=True)
class Dot:
    """A drawn model."""

    model: Model
    shape: str
    x: str
    y: str
    dx: str
    low_y: str | None
    high_y: str | None
    name: str
    label: Placed | None
    label_x: str
    label_y: str
    is_unknown: bool
    anchor: str


@dataclass(frozen=True, slots=True)
class FloorLine:
    floor: Floor
    y: str
    label_y: str | None
    """None where its name has no free place."""
    text: str


@dataclass(frozen=True, slots=True)
class Plane:
    """Everything that the template draws and says. Lengths are texts, so that no locale writes a comma into them."""

    id: str
    title: str
    description: str
    caption: str
    axis: str
    upward: str
    """The names of the two axes."""
    columns: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    dots: tuple[Dot, ...]
    floors: tuple[FloorLine, ...]
    frontier: str
    """Path data in a box of 100 by `height`, empty where fewer than two are joined."""
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    free_x: str | None
    """Where the band of zero ends, and the one of unknown amounts begins."""
    unknown_x: str | None
    key: tuple[Key, ...]
    is_labelled: bool
    """Whether every mark has its name beside it on a wide drawing, so that the key is for narrow ones alone."""
    gutter: str
    top: str
    bottom: str
    height: str
    tick_y: str
    axis_name_y: str


def nothing_beats(points: Sequence[tuple[float, float]], floors: Sequence[float] = ()) -> list[bool]:
    """For each (amount, score): whether no other has as much for less or more for as much.

    `floors` are scores that cost nothing: a model beats them, or is not better than no model at all.
    """
    every = [*points, *((0.0, score) for score in floors)]

    def is_beaten(amount: float, score: float) -> bool:
        return any(its <= amount and other >= score and (its < amount or other > score) for its, other in every)

    return [not is_beaten(amount, score) for amount, score in points]


def lay_out_plane(
    models: Sequence[Model],
    floors: Sequence[Floor],
    *,
    chart_id: str,
    title: str,
    description: str,
    caption: str,
    axis: str,
    upward: str,
    columns: tuple[str, ...],
    table: tuple[tuple[str, ...], ...],
    tick_words: Callable[[float], str],
) -> Plane:
    """The plane of these models, of which one at least has an amount above 0."""
    frame = _frame(models, floors)
    y_scale = frame.upward
    # Those that are joined choose the places of their names first.
    order = sorted(range(len(models)), key=lambda place: (not models[place].is_joined, -models[place].score))
    spots = _spots([models[place] for place in order], frame)
    tick = share_tick(y_scale)
    y_ticks = tuple(Tick(f"{frame.y(value):.1f}", tick(value), is_zero=value == 0) for value in y_scale.ticks())
    floor_boxes, steps = _floor_boxes(floors, frame), _steps(models, frame)
    placed = place_labels(
        spots,
        TOP + HEIGHT,
        walls=[*(box for box in floor_boxes if box is not None), box_at(1.0, -CHARACTER * len(NOT_KNOWN), 0.0, 0.0, LINE)],
        lines=[*_step_boxes(steps), *(_interval_box(spot, models[place], frame) for spot, place in zip(spots, order, strict=True))],
    )
    dots = [_dot(models[place], spot, label, frame) for place, spot, label in zip(order, spots, placed, strict=True)]
    return Plane(
        id=chart_id,
        title=title,
        description=description,
        caption=caption,
        axis=axis,
        upward=upward,
        columns=columns,
        table=table,
        # Drawn last is on top: the joined ones.
        dots=tuple(reversed(dots)),
        floors=tuple(_floor_line(floor, box, frame) for floor, box in zip(floors, floor_boxes, strict=True)),
        frontier=_step_path(steps),
        x_ticks=frame.ticks(tick_words),
        y_ticks=y_ticks,
        free_x=percent(frame.start) if frame.start else None,
        unknown_x=percent(frame.end) if frame.end < 1 else None,
        key=tuple(Key(model.series, shape_of(model.series), model.label, model.words) for model in models)
        + tuple(Key(0, "M-7 0H7", floor.label, f"{percent_words(floor.score)}, a baseline") for floor in floors),
        is_labelled=all(placed) and all(floor_boxes),
        gutter=str(max(len(tick.label) for tick in y_ticks) * 8 + 10),
        top=str(TOP),
        bottom=str(TOP + HEIGHT),
        height=str(TOP + HEIGHT + AXIS_HEIGHT),
        tick_y=str(TOP + HEIGHT + 19),
        axis_name_y=str(TOP + HEIGHT + 36),
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where amounts and scores are: known amounts between the shares `start` and `end` of the width."""

    along: Axis
    upward: Scale
    start: float
    end: float

    def x(self, amount: float | None) -> float:
        if amount is None:
            return (self.end + 1) / 2
        if self.start and amount <= 0:
            return self.start / 2
        # Beside a band the axis begins a little further in, so that its last mark and its words are clear of the border.
        first, last = self.start + (INSET if self.start else 0.0), self.end - (INSET / 2 if self.end < 1 else 0.0)
        return first + (last - first) * self.along.share(amount)

    def y(self, score: float) -> float:
        return TOP + HEIGHT * (1 - self.upward.share(score))

    def ticks(self, words: Callable[[float], str]) -> tuple[Tick, ...]:
        values = self.along.ticks()
        known = ticks_of(values, [percent(self.x(value)) for value in values], [words(value) for value in values], self.end - self.start)
        return (Tick(percent(self.start / 2), words(0.0)), *known) if self.start else known


def _frame(models: Sequence[Model], floors: Sequence[Floor]) -> _Frame:
    amounts = [model.amount for model in models if model.amount is not None]
    scores = [value for model in models for value in (model.score, model.low, model.high) if value is not None]
    along = amounts_scale(amounts)
    has_free = isinstance(along, LogScale) and min(amounts) <= 0
    has_unknown = len(amounts) < len(models)
    return _Frame(
        along, scale_over([*scores, *(floor.score for floor in floors)]), BAND if has_free else 0.0, 1 - BAND if has_unknown else 1.0
    )


def _spots(models: Sequence[Model], frame: _Frame) -> list[Spot]:
    """Marks with their names; those that would cover each other exactly stand side by side."""
    shares, heights = [frame.x(model.amount) for model in models], [frame.y(model.score) for model in models]
    names = _names([model.label for model in models])
    spots = []
    for place, (share, y) in enumerate(zip(shares, heights, strict=True)):
        alike = [
            other
            for other in range(len(models))
            if abs(shares[other] - share) < _ALIKE and abs(heights[other] - y) < 2  # transitive enough for marks on one spot
        ]
        # At an end of the plot they stand inward.
        middle = 0 if share < NEAR_END else len(alike) - 1 if share > 1 - NEAR_END else (len(alike) - 1) / 2
        dx = (alike.index(place) - middle) * NUDGE
        spots.append(Spot(share, y, names[place], dx))
    return spots


def _names(labels: Sequence[str]) -> list[str]:
    """Names without the provider, where that leaves them different."""
    short = [label.rsplit("/", 1)[-1] or label for label in labels]
    return shortened_apart([name if short.count(name) == 1 else label for name, label in zip(short, labels, strict=True)], LONGEST_NAME)


def _interval_box(spot: Spot, model: Model, frame: _Frame) -> Box:
    low, high = model.low if model.low is not None else model.score, model.high if model.high is not None else model.score
    return box_at(spot.share, spot.dx - 2, spot.dx + 2, frame.y(high), frame.y(low))


def _floor_boxes(floors: Sequence[Floor], frame: _Frame) -> list[Box | None]:
    """A place for each baseline's name at the right end: on its line, below it, or beyond the names that are there; the lowest is first."""
    boxes: dict[int, Box] = {}
    for place in sorted(range(len(floors)), key=lambda place: floors[place].score):
        y, width = frame.y(floors[place].score), CHARACTER * len(_floor_text(floors[place]))
        beyond = [top for box in boxes.values() for top in (box.top - LINE, box.bottom)]
        for top in (y - LINE - 3, y + 3, *sorted(beyond, key=lambda top: abs(top + LINE - y))):
            box = box_at(frame.end, -width - 4, -4.0, top, top + LINE)
            if box.fits(TOP + HEIGHT) and all(box.is_clear_of(other) for other in boxes.values()):
                boxes[place] = box
                break
    return [boxes.get(place) for place in range(len(floors))]


def _floor_text(floor: Floor) -> str:
    return f"{shortened(floor.label, LONGEST_NAME)} {percent_words(floor.score)}"


def _floor_line(floor: Floor, box: Box | None, frame: _Frame) -> FloorLine:
    return FloorLine(floor, f"{frame.y(floor.score):.1f}", None if box is None else f"{box.bottom - 3:.1f}", _floor_text(floor))


def _dot(model: Model, spot: Spot, label: Placed | None, frame: _Frame) -> Dot:
    has_interval = model.low is not None and model.high is not None
    return Dot(
        model=model,
        shape=shape_of(model.series),
        x=percent(spot.share),
        y=f"{spot.y:.1f}",
        dx=f"{spot.dx:g}",
        low_y=f"{frame.y(model.low) - spot.y:.1f}" if has_interval and model.low is not None else None,
        high_y=f"{frame.y(model.high) - spot.y:.1f}" if has_interval and model.high is not None else None,
        name=spot.text,
        label=label,
        label_x=f"{label.dx:g}" if label else "0",
        label_y=f"{label.dy:g}" if label else "0",
        is_unknown=model.amount is None,
        anchor="start" if spot.share < 0.25 else "end" if spot.share > 0.75 else "middle",
    )


def _steps(models: Sequence[Model], frame: _Frame) -> list[tuple[float, float]]:
    """Where the joined ones are, the least amount first; empty where there is nothing to join."""
    joined = [model for model in models if model.is_joined and model.amount is not None]
    places = sorted({(frame.x(model.amount), frame.y(model.score)) for model in joined})
    return places if len(places) > 1 else []


def _step_path(steps: Sequence[tuple[float, float]]) -> str:
    """The most score for at most an amount: to the right at a score, then up to the next. In a box 100 wide."""
    if not steps:
        return ""
    (x, y), *rest = steps
    return f"M{100 * x:.2f} {y:.1f}" + "".join(f"H{100 * x:.2f}V{y:.1f}" for x, y in rest)


def _step_boxes(steps: Sequence[tuple[float, float]]) -> list[Box]:
    flat = [Box(x, 0, next_x, 0, y - 2, y + 2) for (x, y), (next_x, _) in pairwise(steps)]
    upright = [box_at(next_x, -2, 2, next_y, y) for (_, y), (next_x, next_y) in pairwise(steps)]
    return flat + upright
