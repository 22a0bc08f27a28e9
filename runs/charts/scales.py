"""From values to places on a drawing of any width: horizontal places are percentages, so nothing is stretched or measured."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

MARGIN = 2.0
"""Percent left free at each side, so that a mark at the end of the scale is whole."""

MOST_STEPS = 5

NARROWEST = 0.002
"""A fifth of a point: values closer together than that get a scale this wide."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from `low` to `high`, both multiples of `step`."""

    low: float
    high: float
    step: float

    def x(self, value: float) -> str:
        """The place of a value; one beyond the scale is put at its end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return f"{MARGIN + (100 - 2 * MARGIN) * share:.2f}%"

    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [round(self.low + place * self.step, 12) for place in range(count + 1)]


def scale_over(values: Iterable[float]) -> Scale:
    """The narrowest scale of at most five steps of 1, 2 or 5 times a power of ten that holds all values."""
    found = [*values] or [0.0, 1.0]
    low, high = min(found), max(found)
    if high - low < NARROWEST:
        middle = (low + high) / 2
        low, high = middle - NARROWEST / 2, middle + NARROWEST / 2
    power = floor(log10((high - low) / MOST_STEPS))
    for step in (factor * 10.0**exponent for exponent in (power, power + 1) for factor in (1, 2, 5)):
        # Rounding keeps 0.30000000000000004 / 0.1 from reaching for a fourth step.
        first, last = floor(round(low / step, 9)), ceil(round(high / step, 9))
        if last - first <= MOST_STEPS:
            return Scale(first * step, last * step, step)
    raise AssertionError("A step of ten times the span always holds it.")


def decimals_for(step: float) -> int:
    """Decimals that tell neighbouring ticks apart."""
    return max(0, -floor(log10(step) + 1e-9))
