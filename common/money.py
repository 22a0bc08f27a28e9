"""Money is an integer of micro-USD everywhere; this module is the only place that turns it into text and back."""

import re
from decimal import ROUND_CEILING, Decimal

MICRO = 1_000_000
MAX_MICROUSD = 10**15
"""A thousand million USD: no amount that a person states may be larger."""


class InvalidAmount(ValueError):
    """The text is not an amount of money of at most six decimals."""


_USD = re.compile(r"([+-]?)\$?(\d{1,3}(?:,\d{3})+|\d*)(?:\.(\d*))?", re.ASCII)


def parse_usd(text: str) -> int:
    """Micro-USD of an amount written in USD ("5", "$1,250.00", "-$3", "0.000001"). Raises `InvalidAmount`.

    Read digit by digit: a Decimal takes exponents, foreign digits and underscores, and rounds what is long.
    """
    found = _USD.fullmatch(text.strip().replace("−", "-"))
    if found is None or not (found[2] or found[3]):
        raise InvalidAmount(f"{text!r} is not an amount in USD")
    whole, decimals = found[2].replace(",", "").lstrip("0"), (found[3] or "").rstrip("0")
    if len(decimals) > 6:
        raise InvalidAmount(f"{text!r} has more than six decimals")
    if len(whole) > 10 or (amount := int(f"0{whole}{decimals:0<6}")) > MAX_MICROUSD:
        raise InvalidAmount(f"{text!r} is too large")
    return -amount if found[1] == "-" else amount


def format_usd(microusd: int) -> str:
    """The amount in USD with at least two decimals and no more than it needs: "$5.00", "$0.00125", "−$1.00"."""
    sign = "−" if microusd < 0 else ""
    whole, rest = divmod(abs(microusd), MICRO)
    decimals = f"{rest:06d}".rstrip("0").ljust(2, "0")
    return f"{sign}${whole:,}.{decimals}"


def usage_charge(
    *,
    input_tokens: int,
    cached_input_tokens: int,
    output_tokens: int,
    input_rate: Decimal,
    cached_input_rate: Decimal,
    output_rate: Decimal,
) -> int:
    """Micro-USD of one call's usage: ⌈((in − cached)·r + cached·rc + out·ro)/10⁶⌉, rates in micro-USD a million tokens."""
    exact = (
        (input_tokens - cached_input_tokens) * input_rate + cached_input_tokens * cached_input_rate + output_tokens * output_rate
    ) / MICRO
    return int(exact.to_integral_value(rounding=ROUND_CEILING))


def fee_charge(usage_microusd: int, percent: Decimal) -> int:
    """Micro-USD of the platform fee on one call's usage: ⌈usage·percent/100⌉."""
    return int((usage_microusd * percent / 100).to_integral_value(rounding=ROUND_CEILING))
