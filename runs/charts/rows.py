"""The parts of a chart whose rows each hold a point and its interval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runs.charts.scales import decimals_for, scale_over

LINE_HEIGHT = 18
STRIP_HEIGHT = 28
"""Of the strip below a row's words that holds its mark. Grid lines cross the strips, never the words."""

AXIS_HEIGHT = 40
LONGEST_LABEL = 38
LONGEST_BESIDE_VALUE = 24
"""A longer label has a line of its own, so that a phone shows it beside no value."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row as it is asked for. `value` None: there is nothing to draw, and `words` say why."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    words: str
    """The value in words, such as "56.3%"."""
    interval_words: str = ""
    against: str = ""
    """What the label is set against, in a row of a pair."""
    note: str = ""
    """A word or two beside the label, such as the letters of a ranking."""
    remark: str = ""
    """What the row says, in the table and in the description."""
    series: int = 0
    """The colour, 1 to 8; 0 for none."""
    is_hollow: bool = False

    @property
    def name(self) -> str:
        """The row in full, for the table and the description."""
        return f"{self.label} against {self.against}" if self.against else self.label


@dataclass(frozen=True, slots=True)
class Row:
    """A drawn row: places are ready for attributes."""

    entry: Entry
    label: str
    against: str
    """Both shortened in the middle where they are very long."""
    label_y: str
    value_y: str
    """The same as `label_y` where one line holds both."""
    top: str
    bottom: str
    middle: str
    cap_top: str
    cap_bottom: str
    x: str | None
    low_x: str | None
    high_x: str | None


@dataclass(frozen=True, slots=True)
class Tick:
    x: str
    label: str
    anchor: str
    is_zero: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that the template draws and says. Lengths are texts, so that no locale writes a comma into them."""

    id: str
    title: str
    description: str
    caption: str
    axis: str
    columns: tuple[str, ...]
    """Heads of the table that says the same in words."""
    rows: tuple[Row, ...]
    has_two_lines: bool
    ticks: tuple[Tick, ...]
    height: str
    axis_y: str
    tick_y: str
    axis_name_y: str


def lay_out(
    entries: Sequence[Entry],
    *,
    chart_id: str,
    title: str,
    caption: str,
    axis: str,
    columns: tuple[str, ...],
    tick_words: Callable[[float, int], str],
    holds: Sequence[float] = (),
) -> Chart:
    """The chart of these rows. `tick_words` writes a share with as many decimals as told, `holds` are values that the scale must hold."""
    values = [value for entry in entries for value in (entry.value, entry.low, entry.high) if value is not None]
    scale = scale_over([*values, *holds])
    decimals = decimals_for(100 * scale.step)
    values_of_ticks = scale.ticks()
    anchors = ["start", *["middle"] * (len(values_of_ticks) - 2), "end"]
    ticks = [
        Tick(scale.x(value), tick_words(value, decimals), anchor, is_zero=value == 0)
        for value, anchor in zip(values_of_ticks, anchors, strict=True)
    ]
    has_two_lines = any(len(f"{entry.name} {entry.note}") > LONGEST_BESIDE_VALUE for entry in entries)
    words_height = LINE_HEIGHT * (2 if has_two_lines else 1) + 4
    height = (words_height + STRIP_HEIGHT) * len(entries)

    def row(place: int, entry: Entry) -> Row:
        top = (words_height + STRIP_HEIGHT) * place
        strip = top + words_height
        middle = strip + STRIP_HEIGHT // 2
        return Row(
            entry=entry,
            label=_shortened(entry.label),
            against=_shortened(entry.against),
            label_y=str(top + LINE_HEIGHT - 2),
            value_y=str(strip - 6),
            top=str(strip),
            bottom=str(strip + STRIP_HEIGHT),
            middle=str(middle),
            cap_top=str(middle - 4),
            cap_bottom=str(middle + 4),
            x=None if entry.value is None else scale.x(entry.value),
            low_x=None if entry.low is None else scale.x(entry.low),
            high_x=None if entry.high is None else scale.x(entry.high),
        )

    return Chart(
        id=chart_id,
        title=title,
        description=_described(entries),
        caption=caption,
        axis=axis,
        columns=columns,
        rows=tuple(row(place, entry) for place, entry in enumerate(entries)),
        has_two_lines=has_two_lines,
        ticks=tuple(ticks),
        height=str(height + AXIS_HEIGHT),
        axis_y=str(height + 2),
        tick_y=str(height + 17),
        axis_name_y=str(height + 34),
    )


def _described(entries: Sequence[Entry]) -> str:
    """The rows as sentences, for those who do not see them."""
    parts = (
        f"{entry.name}: {entry.words}{f' ({entry.interval_words})' if entry.interval_words else ''}"
        f"{f', {entry.remark.lower()}' if entry.remark else ''}."
        for entry in entries
    )
    return " ".join(parts)


def _shortened(label: str) -> str:
    if len(label) <= LONGEST_LABEL:
        return label
    half = (LONGEST_LABEL - 1) // 2
    return f"{label[:half]}…{label[-half:]}"
