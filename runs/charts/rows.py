"""Charts of rows: words at both sides of a strip that holds marks with their intervals. Scores, differences, groups and times are such."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from runs.charts.marks import Key, shape_of
from runs.charts.scales import Axis, finite, percent
from runs.charts.words import shortened_apart

STRIP_HEIGHT = 28
"""Of a strip with one mark, in pixels."""

MARK_PITCH = 11
"""Between the marks of one strip."""

PHONE = 230
"""The width of a plot on a narrow phone, in pixels."""

CHARACTER = 6.4
"""Of a tick's words, in pixels."""

TICK_GAP = 10

NEAR_END = 0.2
"""A mark this near to an end of the scale has its words on the inner side."""


@dataclass(frozen=True, slots=True)
class Point:
    """A mark as it is asked for; `value` None: there is nothing to draw."""

    value: float | None
    low: float | None = None
    high: float | None = None
    words: str = ""
    """What hovering says."""
    series: int = 0
    """The colour and the shape, 1 to 8; 0 for neither."""
    is_hollow: bool = False
    box: tuple[float, float] | None = None
    """The middle half of a distribution."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row as it is asked for."""

    label: str
    points: tuple[Point, ...]
    words: str = ""
    """The value in words, such as "56.3%", or why there is none."""
    detail: str = ""
    """What stands beside the value, such as its interval."""
    against: str = ""
    """What the label is set against, in a row of a pair."""
    note: str = ""
    """A word or two beside the label."""
    letters: str = ""
    """Of a ranking: who shares one cannot be told apart."""
    remark: str = ""
    """What the row says, in the table and in the description."""

    @property
    def name(self) -> str:
        """The row in full, for the table and the description."""
        return f"{self.label} against {self.against}" if self.against else self.label


@dataclass(frozen=True, slots=True)
class Mark:
    """A drawn mark: places are ready for attributes. `x` is where it stands, `low_x` to `high_x` its interval."""

    point: Point
    shape: str
    x: str
    y: str
    low_x: str | None
    high_x: str | None
    box_x: str | None
    box_width: str | None
    anchor: str
    """Of the words that hovering shows."""


@dataclass(frozen=True, slots=True)
class Row:
    """A drawn row; `height` is its strip's."""

    entry: Entry
    label: str
    against: str
    """Both shortened in the middle where they are very long."""
    marks: tuple[Mark, ...]
    height: str
    is_shared: bool
    """Whether several models share the strip: their intervals then step back behind the marks."""


@dataclass(frozen=True, slots=True)
class Tick:
    place: str
    """A percentage of the width, or pixels from the top."""
    label: str
    is_zero: bool = False
    is_minor: bool = False
    """Left out on a phone, where its words would touch the next."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that the template draws and says. Lengths are texts, so that no locale writes a comma into them."""

    id: str
    title: str
    description: str
    caption: str
    axis: str
    """The name of the horizontal axis."""
    columns: tuple[str, ...]
    """Heads of the table that says the same in words."""
    table: tuple[tuple[str, ...], ...]
    """Its rows; the first cell of each is the row's head."""
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    key: tuple[Key, ...] = ()


def lay_out(
    entries: Sequence[Entry],
    scale: Axis,
    *,
    chart_id: str,
    title: str,
    caption: str,
    axis: str,
    columns: tuple[str, ...],
    tick_words: Callable[[float], str],
    table: Iterable[tuple[str, ...]] | None = None,
    description: str | None = None,
    key: tuple[Key, ...] = (),
) -> Chart:
    """The chart of these rows. Without `table` and `description` both are made of the entries' words."""
    values = scale.ticks()
    labels, against_labels = (
        shortened_apart(names) for names in ([entry.label for entry in entries], [entry.against for entry in entries])
    )
    return Chart(
        id=chart_id,
        title=title,
        description=_described(entries) if description is None else description,
        caption=caption,
        axis=axis,
        columns=columns,
        table=tuple(table) if table is not None else tuple(_told(entry) for entry in entries),
        rows=tuple(_row(entry, label, against, scale) for entry, label, against in zip(entries, labels, against_labels, strict=True)),
        ticks=ticks_of(values, [percent(scale.share(value)) for value in values], [tick_words(value) for value in values]),
        key=key,
    )


def ticks_of(values: Sequence[float], places: Sequence[str], labels: Sequence[str], share: float = 1.0) -> tuple[Tick, ...]:
    """The ticks at these places along `share` of the width, with what a phone has room for."""
    is_crowded = CHARACTER * max(map(len, labels)) + TICK_GAP > share * PHONE / max(1, len(values) - 1)
    return tuple(
        Tick(place, label, is_zero=value == 0, is_minor=is_crowded and order % 2 == 1)
        for order, (value, place, label) in enumerate(zip(values, places, labels, strict=True))
    )


def values_of(entries: Iterable[Entry]) -> list[float]:
    """Every value that a scale of these rows must hold."""
    found = [value for entry in entries for point in entry.points for value in (point.value, point.low, point.high)]
    return [value for value in map(finite, found) if value is not None]


def _row(entry: Entry, label: str, against: str, scale: Axis) -> Row:
    height = STRIP_HEIGHT + MARK_PITCH * max(0, len(entry.points) - 1)
    marks = [
        _mark(point, scale, STRIP_HEIGHT // 2 + MARK_PITCH * place)
        for place, point in enumerate(entry.points)
        if finite(point.value) is not None
    ]
    return Row(entry, label, against, tuple(marks), str(height), len(entry.points) > 1)


def _mark(point: Point, scale: Axis, y: int) -> Mark:
    assert point.value is not None
    share = scale.share(point.value)
    low, high = finite(point.low), finite(point.high)
    has_interval = low is not None and high is not None
    box_x = scale.share(point.box[0]) if point.box else None
    return Mark(
        point=point,
        shape=shape_of(point.series),
        x=percent(share),
        y=str(y),
        low_x=percent(scale.share(low)) if has_interval and low is not None else None,
        high_x=percent(scale.share(high)) if has_interval and high is not None else None,
        box_x=None if box_x is None else percent(box_x),
        box_width=percent(scale.share(point.box[1]) - box_x) if point.box and box_x is not None else None,
        anchor="start" if share < NEAR_END else "end" if share > 1 - NEAR_END else "middle",
    )


def _told(entry: Entry) -> tuple[str, ...]:
    return entry.name, entry.words, entry.detail or "—", entry.remark or "—"


def _described(entries: Sequence[Entry]) -> str:
    """The rows as sentences, for those who do not see them."""
    parts = (
        f"{entry.name}: {entry.words}{f' ({entry.detail})' if entry.detail else ''}{f', {entry.remark.lower()}' if entry.remark else ''}."
        for entry in entries
    )
    return " ".join(parts)
