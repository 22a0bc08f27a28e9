"""Figures in words, as charts write them."""

import re
from collections.abc import Collection, Sequence
from decimal import ROUND_HALF_UP, Decimal
from math import floor, log10

LONGEST_LABEL = 60


def percent_words(share: float, decimals: int = 1) -> str:
    """A share from 0 to 1: "56.3%", halves rounded up as in tables."""
    return f"{_percent(share, decimals)}%"


def signed_points(share: float, decimals: int = 1) -> str:
    """Points with a sign and a true minus; zero has none."""
    text = f"{100 * share:+.{decimals}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def points(share: float) -> str:
    """Points with a sign where they are below zero."""
    return signed_points(share).lstrip("+")


def percent_range(low: float, high: float) -> str:
    """An interval of shares: "53.6 to 58.9"."""
    return f"{_percent(low)} to {_percent(high)}"


def _percent(share: float, decimals: int = 1) -> str:
    # By the digits of the float: 1.25 of 0.0125 is a half, whatever its bits are.
    return str((Decimal(repr(float(share))) * 100).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP))


def usd_words(microusd: float) -> str:
    """USD to three digits, and to two below a dollar: "$12.3", "$0.42", "$0.0042"; zero is "$0"."""
    usd = microusd / 1_000_000
    if usd <= 0:
        return "$0"
    if usd >= 1:
        digits = max(0, 2 - floor(log10(usd) + 1e-12))
        return f"${usd:,.{digits}f}"
    decimals = 1 - floor(log10(usd) + 1e-12)
    return f"${usd:.{max(2, decimals)}f}"


def usd_tick(microusd: float) -> str:
    """A round amount: "$0.50", "$0.005", "$20", "$2.50"; zero is "$0"."""
    usd = round(microusd / 1_000_000, 8)
    if usd == round(usd):
        return f"${usd:,.0f}"
    text = f"{usd:,.8f}".rstrip("0")
    return f"${text}{'0' * (2 - len(text.partition('.')[2]))}"


def time_words(milliseconds: float) -> str:
    """A measured time as pages write it: "48 ms", "1.24 s"."""
    return f"{milliseconds:,.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:,.2f} s"


def time_tick(milliseconds: float) -> str:
    """A round time of an axis: "0", "200 ms", "1.5 s", "2 min"."""
    if milliseconds == 0:
        return "0"
    if milliseconds < 1000:
        return f"{milliseconds:g} ms"
    if milliseconds < 60_000 or milliseconds % 60_000:
        return f"{milliseconds / 1000:,g} s"
    return f"{milliseconds / 60_000:,g} min"


def clock_tick(seconds: float) -> str:
    """A round time since a start: "0", "30 s", "2 min", "1 h"."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size and seconds % (size / 2) == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s" if seconds else "0"


def duration_words(seconds: float) -> str:
    """How long something took: "0.4 s", "31 s", "1 min 5 s", "2 h 3 min"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, name, part, part_name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name} {rest} {part_name}" if rest else f"{whole // size} {name}"
    return f"{whole} s"


def natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that puts "level 2" before "level 10"."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part)


def shortened(label: str, longest: int = LONGEST_LABEL) -> str:
    """A very long label without its middle: both ends tell models apart."""
    if len(label) <= longest:
        return label
    half = (longest - 1) // 2
    return f"{label[:half]}…{label[-half:]}"


def shortened_apart(labels: Sequence[str], longest: int = LONGEST_LABEL) -> list[str]:
    """Labels of at most `longest` characters that differ where the labels do: those that would look alike begin where they part."""
    short = [shortened(label, longest) for label in labels]
    alike = {name: {label for label, its in zip(labels, short, strict=True) if its == name} for name in short}
    return [
        _cut_before(label, _parting(alike[name]), longest) if len(alike[name]) > 1 else name
        for label, name in zip(labels, short, strict=True)
    ]


def _parting(labels: Collection[str]) -> int:
    """How many characters all of these different labels begin with."""
    first, last = min(labels), max(labels)
    return next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))


def _cut_before(label: str, place: int, longest: int) -> str:
    """The part of a label around a place, which is in its first half."""
    start = max(0, min(place - longest // 3, len(label) - longest + 1))
    end = start + longest - (1 if start else 0)
    return f"{'…' if start else ''}{label[start : end - 1]}…" if end < len(label) else f"{'…' if start else ''}{label[start:]}"
