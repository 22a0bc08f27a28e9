"""From values to shares of an axis. Places on a drawing are percentages of its width, so nothing is stretched or measured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Protocol

MOST_STEPS = 5

NARROWEST = 0.002
"""A fifth of a point: shares closer together than that get a scale this wide."""

LOG_SPREAD = 12.0
"""Amounts of which the largest is more than this many times the least need a logarithmic axis."""

MOST_LOG_TICKS = 6

_MANTISSAS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
_TIME_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800)


class Axis(Protocol):
    """A scale of either kind."""

    def share(self, value: float) -> float:
        """The place of a value from 0 to 1; one beyond the scale is put at its end."""
        ...

    def ticks(self) -> list[float]:
        """Round values, the ends of the scale among them."""
        ...


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from `low` to `high`, both multiples of `step`."""

    low: float
    high: float
    step: float

    def share(self, value: float) -> float:
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [round(self.low + place * self.step, 12) for place in range(count + 1)]


@dataclass(frozen=True, slots=True)
class LogScale:
    """A logarithmic scale between the first and the last of its marks."""

    marks: Sequence[float]

    def share(self, value: float) -> float:
        low, high = log10(self.marks[0]), log10(self.marks[-1])
        return (min(max(log10(max(value, self.marks[0])), low), high) - low) / (high - low)

    def ticks(self) -> list[float]:
        return list(self.marks)


def percent(share: float) -> str:
    """A share as a coordinate: two decimals, and never a minus before zero."""
    return f"{round(100 * share, 2) + 0.0:.2f}%"


def finite(value: float | None) -> float | None:
    """The value, or None where there is none to draw."""
    return value if value is not None and isfinite(value) else None


def scale_over(values: Iterable[float], narrowest: float = NARROWEST) -> Scale:
    """The narrowest scale of at most five steps of 1, 2 or 5 times a power of ten that holds all values."""
    found = [*values] or [0.0, 1.0]
    low, high = min(found), max(found)
    if high - low < narrowest:
        middle = (low + high) / 2
        low, high = middle - narrowest / 2, middle + narrowest / 2
    power = floor(log10((high - low) / MOST_STEPS))
    for step in (factor * 10.0**exponent for exponent in (power, power + 1) for factor in (1, 2, 5)):
        # Rounding keeps 0.30000000000000004 / 0.1 from reaching for a fourth step.
        first, last = floor(round(low / step, 9)), ceil(round(high / step, 9))
        if last - first <= MOST_STEPS:
            return Scale(first * step, last * step, step)
    raise AssertionError("A step of ten times the span always holds it.")


def log_scale_over(values: Iterable[float]) -> LogScale:
    """The narrowest scale of at most six marks (1, 2, 5 or 1, 3 or 1 times powers of ten) that holds all values, which are above 0."""
    found = [*values]
    low, high = min(found), max(found)
    for mantissas in _MANTISSAS:
        marks = _marks(low, high, mantissas)
        if len(marks) <= MOST_LOG_TICKS:
            return LogScale(marks)
    exponents = [round(log10(mark)) for mark in marks]
    stride = ceil((len(exponents) - 1) / (MOST_LOG_TICKS - 1))
    last = exponents[0] + stride * ceil((exponents[-1] - exponents[0]) / stride)
    return LogScale([10.0**exponent for exponent in range(exponents[0], last + 1, stride)])


def _marks(low: float, high: float, mantissas: Sequence[float]) -> list[float]:
    """From the last mark that is not above `low` to the first that is not below `high`, and at least two."""
    exponents = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    every = [float(f"{mantissa}e{exponent}") for exponent in exponents for mantissa in mantissas]
    first = max(place for place, mark in enumerate(every) if mark <= low)
    last = min(place for place, mark in enumerate(every) if mark >= high)
    return every[first : max(last, first + 1) + 1]


def amounts_scale(values: Iterable[float]) -> Axis:
    """A scale of amounts, of which one at least is above 0: from 0, or logarithmic where the spread needs it, which then holds no zero."""
    found = [value for value in values if value > 0]
    if max(found) > LOG_SPREAD * min(found):
        return log_scale_over(found)
    return scale_over([0.0, max(found)], narrowest=0.0)


def time_scale(seconds: float) -> Scale:
    """From 0 to a round time that holds `seconds`, in at most five steps as a clock has them."""
    longest = max(seconds, _TIME_STEPS[0])
    step = next((step for step in _TIME_STEPS if step * MOST_STEPS >= longest), None)
    if step is None:
        return scale_over([0.0, longest])
    return Scale(0.0, step * ceil(round(longest / step, 9)), float(step))


def decimals_for(step: float) -> int:
    """Decimals that tell neighbouring ticks apart."""
    return max(0, -floor(log10(step) + 1e-9))
