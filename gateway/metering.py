"""What a call may cost and what it cost: integers of micro-USD, computed without a float.

`common.money` states the formulas; this module computes the same numbers in machine integers, because it runs for every call.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

RATE_SCALE = 10**6
"""Rates have at most six decimals of a micro-USD a million tokens."""
USAGE_DIVISOR = 10**6 * RATE_SCALE
PERCENT_SCALE = 10**3
"""Fee percents have at most three decimals."""
FEE_DIVISOR = 100 * PERCENT_SCALE

TOKENS_A_MESSAGE = 16
TOKENS_A_CALL = 128


class InexactRate(ValueError):
    """A rate or percent has more decimals than the database keeps."""


class Usage(Protocol):
    """The counts of a reply: input includes cached, output includes reasoning."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def cached_input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Price:
    """A frozen price. Rates are micro-USD a million tokens; `rate_id` is the RouteRate's key, None where nothing is charged."""

    rate_id: int | None
    input_rate: Decimal
    cached_input_rate: Decimal
    output_rate: Decimal
    fee_percent: Decimal
    _input: int = field(init=False, repr=False, compare=False)
    _cached: int = field(init=False, repr=False, compare=False)
    _output: int = field(init=False, repr=False, compare=False)
    _percent: int = field(init=False, repr=False, compare=False)
    is_free: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value, scale in (
            ("_input", self.input_rate, RATE_SCALE),
            ("_cached", self.cached_input_rate, RATE_SCALE),
            ("_output", self.output_rate, RATE_SCALE),
            ("_percent", self.fee_percent, PERCENT_SCALE),
        ):
            object.__setattr__(self, name, _scaled(value, scale))
        object.__setattr__(self, "is_free", not (self._input or self._cached or self._output))


def _scaled(value: Decimal, scale: int) -> int:
    exact = value * scale
    if exact != int(exact) or exact < 0:
        raise InexactRate(f"{value} is negative or has too many decimals")
    return int(exact)


ZERO = Decimal(0)
FREE = Price(None, ZERO, ZERO, ZERO, ZERO)
"""What baselines and connections cost here."""


def charge(price: Price, input_tokens: int, cached_input_tokens: int, output_tokens: int) -> tuple[int, int]:
    """Usage and fee of one call in micro-USD: ⌈((in − cached)·r + cached·rc + out·ro)/10⁶⌉ and ⌈usage·percent/100⌉."""
    if price.is_free:
        return 0, 0
    exact = (input_tokens - cached_input_tokens) * price._input + cached_input_tokens * price._cached + output_tokens * price._output
    usage = -(-exact // USAGE_DIVISOR)
    return usage, -(-usage * price._percent // FEE_DIVISOR)


def worst_case_input_tokens(prompt_bytes: int, message_count: int) -> int:
    """The most input tokens a prompt can be: one a UTF-8 byte, and 16 a message and 128 a call for what wraps it."""
    return prompt_bytes + TOKENS_A_MESSAGE * message_count + TOKENS_A_CALL


def worst_case(prompt_bytes: int, message_count: int, output_limit: int, price: Price) -> int:
    """The most a call may be charged in micro-USD, fee included; what is reserved before it is sent. 0 where the price is free."""
    if price.is_free:
        return 0
    rate = max(price._input, price._cached)
    usage = -(-(worst_case_input_tokens(prompt_bytes, message_count) * rate + output_limit * price._output) // USAGE_DIVISOR)
    return usage + -(-usage * price._percent // FEE_DIVISOR)


def settle(price: Price, usage: Usage, reserved_microusd: int) -> tuple[int, int, int]:
    """Usage, fee and what is absorbed, in micro-USD. Usage and fee together never exceed the reservation; the excess is absorbed."""
    usage_microusd, fee_microusd = charge(price, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
    real = usage_microusd + fee_microusd
    if real <= reserved_microusd:
        return usage_microusd, fee_microusd, 0
    # The largest usage whose own fee still fits. A reservation is itself a usage with its fee, so this charges all of it.
    usage_microusd = reserved_microusd * FEE_DIVISOR // (FEE_DIVISOR + price._percent)
    fee_microusd = -(-usage_microusd * price._percent // FEE_DIVISOR)
    return usage_microusd, fee_microusd, real - usage_microusd - fee_microusd
