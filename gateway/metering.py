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
class Tier:
    """What a whole call costs whose input is above so many tokens, cached ones included: micro-USD a million tokens."""

    above_input_tokens: int
    input_rate: Decimal
    cached_input_rate: Decimal
    output_rate: Decimal


@dataclass(frozen=True, slots=True)
class Price:
    """A frozen price. Rates are micro-USD a million tokens; `rate_id` is the RouteRate's key, None where nothing is charged.

    `tiers` are in rising order of their bounds. A call above a tier's bound is charged wholly at that tier's rates.
    """

    rate_id: int | None
    input_rate: Decimal
    cached_input_rate: Decimal
    output_rate: Decimal
    fee_percent: Decimal
    tiers: tuple[Tier, ...] = ()
    _input: int = field(init=False, repr=False, compare=False)
    _cached: int = field(init=False, repr=False, compare=False)
    _output: int = field(init=False, repr=False, compare=False)
    _percent: int = field(init=False, repr=False, compare=False)
    _is_plain: bool = field(init=False, repr=False, compare=False)
    """Whether its own rates are all there is: neither free nor in tiers. The one question that a plain call asks."""
    _steps: "tuple[tuple[int, Price], ...]" = field(init=False, repr=False, compare=False)
    """The tiers as prices of their own, by rising bounds."""
    is_free: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value, scale in (
            ("_input", self.input_rate, RATE_SCALE),
            ("_cached", self.cached_input_rate, RATE_SCALE),
            ("_output", self.output_rate, RATE_SCALE),
            ("_percent", self.fee_percent, PERCENT_SCALE),
        ):
            object.__setattr__(self, name, _scaled(value, scale))
        bounds = [tier.above_input_tokens for tier in self.tiers]
        if bounds != sorted(set(bounds)) or any(bound < 1 for bound in bounds):
            raise ValueError(f"tiers must rise from at least 1 token: {bounds}")
        steps = tuple(
            (tier.above_input_tokens, Price(self.rate_id, tier.input_rate, tier.cached_input_rate, tier.output_rate, self.fee_percent))
            for tier in self.tiers
        )
        is_free = not (self._input or self._cached or self._output) and all(step.is_free for _, step in steps)
        object.__setattr__(self, "_steps", steps)
        object.__setattr__(self, "is_free", is_free)
        object.__setattr__(self, "_is_plain", not (is_free or steps))

    def at(self, input_tokens: int) -> "Price":
        """The price without tiers that a call of so many input tokens is charged at; the `Price` itself where it has no tiers."""
        found = self
        for above, step in self._steps:
            if input_tokens <= above:
                break
            found = step
        return found

    def reachable(self, input_tokens: int) -> list[tuple[int, "Price"]]:
        """The prices that a call of at most so many input tokens may be charged at, each with the most input tokens it can have there.

        The first holds the base rates, whose `tiers` are to be ignored.
        """
        levels: list[tuple[int, Price]] = [(0, self), *self._steps]
        tops = [above for above, _ in self._steps]
        return [
            (min(input_tokens, top), price)
            for (above, price), top in zip(levels, [*tops, input_tokens], strict=True)
            if above < input_tokens or not above
        ]


def _scaled(value: Decimal, scale: int) -> int:
    exact = value * scale
    if exact != int(exact) or exact < 0:
        raise InexactRate(f"{value} is negative or has too many decimals")
    return int(exact)


ZERO = Decimal(0)
FREE = Price(None, ZERO, ZERO, ZERO, ZERO)
"""What baselines and connections cost here."""


def charge(price: Price, input_tokens: int, cached_input_tokens: int, output_tokens: int) -> tuple[int, int]:
    """Usage and fee of one call in micro-USD: ⌈((in − cached)·r + cached·rc + out·ro)/10⁶⌉ and ⌈usage·percent/100⌉, at its tier's rates."""
    if not price._is_plain:
        if price.is_free:
            return 0, 0
        price = price.at(input_tokens)
    exact = (input_tokens - cached_input_tokens) * price._input + cached_input_tokens * price._cached + output_tokens * price._output
    usage = -(-exact // USAGE_DIVISOR)
    return usage, -(-usage * price._percent // FEE_DIVISOR)


def worst_case_input_tokens(prompt_bytes: int, message_count: int) -> int:
    """The most input tokens a prompt can be: one a UTF-8 byte, and 16 a message and 128 a call for what wraps it."""
    return prompt_bytes + TOKENS_A_MESSAGE * message_count + TOKENS_A_CALL


def worst_case(prompt_bytes: int, message_count: int, output_limit: int, price: Price) -> int:
    """The most a call may be charged in micro-USD, fee included; what is reserved before it is sent. 0 where the price is free.

    Of a price in tiers it is the most that any tier in reach of the prompt may cost, for a real count may fall into each of them.
    """
    if price._is_plain:
        exact = worst_case_input_tokens(prompt_bytes, message_count) * max(price._input, price._cached) + output_limit * price._output
    elif price.is_free:
        return 0
    else:
        input_tokens = worst_case_input_tokens(prompt_bytes, message_count)
        exact = max(top * max(each._input, each._cached) + output_limit * each._output for top, each in price.reachable(input_tokens))
    usage = -(-exact // USAGE_DIVISOR)
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
