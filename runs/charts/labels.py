"""Placing names beside the marks of a plane, so that none covers another at any width of the drawing.

Horizontal places are shares of a width that is not known, while texts keep their size. Each box is `share · width + pixels`: two boxes that
lie in the same order at the narrowest and at the widest drawing do so at every width between, since their distance is linear in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from runs.charts.marks import RADIUS

NARROWEST, WIDEST = 540, 1240
"""Widths of a plot in pixels at which names are shown."""

CHARACTER = 7.0
"""An ample width of a character, in pixels."""

LINE = 14
"""The height of a name, in pixels."""

_GAP = RADIUS + 4
_CANDIDATES = tuple(
    [(_GAP, 4, "start"), (-_GAP, 4, "end"), (0, -_GAP, "middle"), (0, _GAP + 9, "middle")]
    + [(side * (_GAP - 2), 4 + LINE * row, "start" if side > 0 else "end") for row in (-1, 1) for side in (1, -1)]
    + [(side * (_GAP - 2), 4 + LINE * row, "start" if side > 0 else "end") for row in (-2, 2, -3, 3) for side in (1, -1)]
)
"""Offsets of a name's start, end or middle and of its baseline from the mark, the most wanted first."""

_ON_A_LINE = 6.0
"""What it costs to cover a line, in places of the list above: a name can be read across a line, and not across a name."""


@dataclass(frozen=True, slots=True)
class Box:
    """From `left` pixels beside one share of the width to `right` pixels beside another; `top` to `bottom` in pixels."""

    left_share: float
    left: float
    right_share: float
    right: float
    top: float
    bottom: float

    def is_clear_of(self, other: "Box") -> bool:
        """Whether they cover nothing of each other at any width that shows names."""
        if self.bottom <= other.top or other.bottom <= self.top:
            return True
        return self._is_left_of(other) or other._is_left_of(self)

    def _is_left_of(self, other: "Box") -> bool:
        return all(self._right(width) <= other._left(width) for width in (NARROWEST, WIDEST))

    def fits(self, height: float) -> bool:
        """Whether it is inside the drawing at every width."""
        inside = all(self._left(width) >= 0 and self._right(width) <= width for width in (NARROWEST, WIDEST))
        return inside and self.top >= 0 and self.bottom <= height

    def _left(self, width: float) -> float:
        return self.left_share * width + self.left

    def _right(self, width: float) -> float:
        return self.right_share * width + self.right


def box_at(share: float, left: float, right: float, top: float, bottom: float) -> Box:
    """A box whose both sides keep their distance in pixels from one share of the width."""
    return Box(share, left, share, right, top, bottom)


@dataclass(frozen=True, slots=True)
class Spot:
    """A mark that wants its name beside it: `share` of the width, `y` in pixels, moved sideways by `dx` pixels."""

    share: float
    y: float
    text: str
    dx: float = 0.0


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a name stands: pixels from its mark, and which end of the text is there."""

    dx: float
    dy: float
    anchor: str
    box: Box


def mark_box(share: float, y: float, dx: float = 0.0) -> Box:
    return box_at(share, dx - RADIUS, dx + RADIUS, y - RADIUS, y + RADIUS)


def place_labels(spots: Sequence[Spot], height: float, walls: Sequence[Box] = (), lines: Sequence[Box] = ()) -> list[Placed | None]:
    """A place for each name, the first ones choosing first; None where there is no free one.

    Names never cover a mark, another name or a wall; they avoid lines where there is room elsewhere.
    """
    taken = [*walls, *(mark_box(spot.share, spot.y, spot.dx) for spot in spots)]
    placed: list[Placed | None] = []
    for spot in spots:
        free = []
        for rank, (dx, dy, anchor) in enumerate(_CANDIDATES):
            box = _box(spot, dx, dy, anchor)
            if box.fits(height) and all(box.is_clear_of(other) for other in taken):
                crossed = sum(not box.is_clear_of(line) for line in lines)
                free.append((rank + _ON_A_LINE * crossed, rank, Placed(dx, dy, anchor, box)))
        best = min(free, key=lambda each: each[:2], default=None)
        placed.append(best[2] if best else None)
        if best:
            taken.append(best[2].box)
    return placed


def _box(spot: Spot, dx: float, dy: float, anchor: str) -> Box:
    width = CHARACTER * len(spot.text)
    left = spot.dx + dx - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    baseline = spot.y + dy
    return box_at(spot.share, left, left + width, baseline - LINE + 3, baseline + 3)
