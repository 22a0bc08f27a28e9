"""What a model's mark looks like: a colour and a shape of its own, so that no chart needs colour to be read."""

from dataclasses import dataclass

SERIES = 8

_SHAPES = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0Z",
    "M-4.5-4.5h9v9h-9Z",
    "M0-6.2L6.2 0L0 6.2L-6.2 0Z",
    "M0-6.2L6 4.4H-6Z",
    "M0 6.2L6-4.4H-6Z",
    "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4Z",
    "M0-2.6L3.4-6L6-3.4L2.6 0L6 3.4L3.4 6L0 2.6L-3.4 6L-6 3.4L-2.6 0L-6-3.4L-3.4-6Z",
    "M0-7L1.8-2.4L6.7-2.2L2.9.9L4.1 5.7L0 3L-4.1 5.7L-2.9.9L-6.7-2.2L-1.8-2.4Z",
)
"""Circle, square, diamond, triangle, triangle upside down, plus, cross, star: each about as dark as the others, around 0 0."""

RADIUS = 7
"""No shape reaches further from its middle, in pixels."""


@dataclass(frozen=True, slots=True)
class Key:
    """A line of a chart's key: the mark, the model, and its figures in words."""

    series: int
    shape: str
    label: str
    words: str = ""


def series_of(index: int) -> int:
    """The number of a subject's colour and shape, 1 to 8, in charts and tables alike."""
    return index % SERIES + 1


def shape_of(series: int) -> str:
    """The outline of a series' mark as path data; series 0, which stands for no model, is a circle."""
    return _SHAPES[max(series, 1) - 1]
