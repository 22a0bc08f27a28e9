"""Charges in integers equal the stated formulas, and nothing ever charges more than it reserved."""

from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.money import fee_charge, usage_charge
from gateway.metering import FREE, InexactRate, Price, Tier, charge, settle, worst_case, worst_case_input_tokens

rates = st.decimals(min_value=0, max_value=10**9, places=6, allow_nan=False)
percents = st.decimals(min_value=0, max_value=100, places=3, allow_nan=False)
prices = st.builds(Price, st.just(1), rates, rates, rates, percents)
tokens = st.integers(min_value=0, max_value=10**7)

PRICE = Price(1, Decimal(400_000), Decimal(100_000), Decimal(1_600_000), Decimal(5))


def used(input_tokens: int, cached: int, output_tokens: int) -> SimpleNamespace:
    return SimpleNamespace(input_tokens=input_tokens, cached_input_tokens=cached, output_tokens=output_tokens)


@given(prices, tokens, tokens, tokens)
def test_charge_equals_the_formulas_of_money(price: Price, input_tokens: int, cached: int, output_tokens: int) -> None:
    cached = min(cached, input_tokens)
    usage = usage_charge(
        input_tokens=input_tokens,
        cached_input_tokens=cached,
        output_tokens=output_tokens,
        input_rate=price.input_rate,
        cached_input_rate=price.cached_input_rate,
        output_rate=price.output_rate,
    )

    assert charge(price, input_tokens, cached, output_tokens) == (usage, fee_charge(usage, price.fee_percent))


def test_charge_rounds_usage_and_fee_up_each() -> None:
    # 10 fresh and 5 cached input tokens and 3 output tokens: 4 + 0.5 + 4.8 = 9.3 micro-USD, whose fee of 5% is half a micro-USD.
    assert charge(PRICE, 15, 5, 3) == (10, 1)


@given(prices, st.integers(0, 10**6), st.integers(1, 20), st.integers(0, 10**5), st.data())
def test_any_usage_within_the_worst_case_is_charged_whole(
    price: Price, prompt_bytes: int, messages: int, output_limit: int, data: st.DataObject
) -> None:
    reserved = worst_case(prompt_bytes, messages, output_limit, price)
    input_tokens = data.draw(st.integers(0, worst_case_input_tokens(prompt_bytes, messages)))
    cached = data.draw(st.integers(0, input_tokens))
    output_tokens = data.draw(st.integers(0, output_limit))

    usage, fee, absorbed = settle(price, used(input_tokens, cached, output_tokens), reserved)

    assert (usage, fee) == charge(price, input_tokens, cached, output_tokens)
    assert absorbed == 0
    assert usage + fee <= reserved


@given(prices, tokens, tokens, st.integers(0, 10**9))
def test_usage_above_the_reservation_is_absorbed(price: Price, input_tokens: int, output_tokens: int, reserved: int) -> None:
    usage, fee, absorbed = settle(price, used(input_tokens, 0, output_tokens), reserved)

    assert usage + fee <= reserved
    assert fee == fee_charge(usage, price.fee_percent)
    assert usage + fee + absorbed == sum(charge(price, input_tokens, 0, output_tokens))


def test_excess_over_a_worst_case_charges_all_of_it() -> None:
    reserved = worst_case(100, 1, 50, PRICE)

    usage, fee, absorbed = settle(PRICE, used(10_000, 0, 10_000), reserved)

    assert (usage, fee, usage + fee) == (178, 9, reserved)
    assert absorbed == 20_000 + 1_000 - reserved


def test_worst_case_counts_bytes_messages_and_the_limit() -> None:
    # 1,000 bytes + 2 × 16 + 128 = 1,160 tokens at 0.4, 256 at 1.6: 873.6, so 874, and 5% of it is 43.7, so 44.
    assert worst_case(1_000, 2, 256, PRICE) == 874 + 44


def test_worst_case_takes_the_dearer_of_the_input_rates() -> None:
    odd = Price(1, Decimal(1_000_000), Decimal(2_000_000), Decimal(0), Decimal(0))

    assert worst_case(0, 0, 0, odd) == 2 * 128


def test_free_reserves_and_charges_nothing() -> None:
    assert worst_case(10**6, 9, 10**6, FREE) == 0
    assert settle(FREE, used(10**6, 0, 10**6), 0) == (0, 0, 0)


@pytest.mark.parametrize("rate", ["0.0000001", "-1"])
def test_rates_the_database_cannot_hold_are_refused(rate: str) -> None:
    with pytest.raises(InexactRate):
        Price(1, Decimal(rate), Decimal(0), Decimal(0), Decimal(0))


bounds = st.lists(st.integers(1, 10**6), min_size=1, max_size=4, unique=True).map(sorted)


@st.composite
def tiered_prices(draw: st.DrawFn, *, rising: bool = False) -> Price:
    """Any price in tiers; a `rising` one has no rate that falls from one tier to the next."""
    above = draw(bounds)
    columns = [draw(st.lists(rates, min_size=len(above) + 1, max_size=len(above) + 1)) for _ in range(3)]
    base, *steps = zip(*(sorted(column) if rising else column for column in columns), strict=True)
    tiers = tuple(Tier(bound, *step) for bound, step in zip(above, steps, strict=True))
    return Price(1, *base, draw(percents), tiers)


def plain(price: Price, input_tokens: int) -> Price:
    """The price of a call of so many input tokens, looked up the slow way."""
    reached = [tier for tier in price.tiers if input_tokens > tier.above_input_tokens]
    of = reached[-1] if reached else price
    return Price(1, of.input_rate, of.cached_input_rate, of.output_rate, price.fee_percent)


DEARER = Tier(200, Decimal(2_000_000), Decimal(200_000), Decimal(15_000_000))
TIERED = Price(1, Decimal(1_000_000), Decimal(100_000), Decimal(10_000_000), Decimal(0), (DEARER,))


def test_call_above_a_bound_is_charged_wholly_at_its_tier_and_one_at_the_bound_is_not() -> None:
    assert charge(TIERED, 200, 0, 10) == (200 + 100, 0)
    assert charge(TIERED, 201, 0, 10) == (402 + 150, 0)
    # Cached tokens are input too: they count against the bound, and have the tier's own rate.
    assert charge(TIERED, 201, 200, 10) == (2 + 40 + 150, 0)


@given(tiered_prices(), tokens, tokens, tokens)
def test_charge_is_that_of_the_tier_alone(price: Price, input_tokens: int, cached: int, output_tokens: int) -> None:
    cached = min(cached, input_tokens)

    assert charge(price, input_tokens, cached, output_tokens) == charge(plain(price, input_tokens), input_tokens, cached, output_tokens)


@given(tiered_prices(), st.integers(0, 10**6), st.integers(1, 20), st.integers(0, 10**5), st.data())
def test_no_usage_within_the_bound_is_charged_above_the_worst_case_of_its_tiers(
    price: Price, prompt_bytes: int, messages: int, output_limit: int, data: st.DataObject
) -> None:
    reserved = worst_case(prompt_bytes, messages, output_limit, price)
    most = worst_case_input_tokens(prompt_bytes, messages)
    edges = [bound for tier in price.tiers for bound in (tier.above_input_tokens, tier.above_input_tokens + 1) if bound <= most]
    input_tokens = data.draw(st.one_of(st.integers(0, most), st.sampled_from([most, *edges])))
    cached = data.draw(st.one_of(st.integers(0, input_tokens), st.sampled_from([0, input_tokens])))
    output_tokens = data.draw(st.one_of(st.integers(0, output_limit), st.just(output_limit)))

    usage, fee, absorbed = settle(price, used(input_tokens, cached, output_tokens), reserved)

    assert (usage, fee, absorbed) == (*charge(price, input_tokens, cached, output_tokens), 0)
    assert usage + fee <= reserved


@given(tiered_prices(), st.integers(0, 10**6), st.integers(1, 20), st.integers(0, 10**5))
def test_worst_case_of_tiers_is_a_charge_that_can_be(price: Price, prompt_bytes: int, messages: int, output_limit: int) -> None:
    most = worst_case_input_tokens(prompt_bytes, messages)
    inputs = [min(most, bound) for bound in (*(tier.above_input_tokens for tier in price.tiers), most)]

    possible = [sum(charge(price, tokens, cached, output_limit)) for tokens in inputs for cached in (0, tokens)]

    assert worst_case(prompt_bytes, messages, output_limit, price) == max(possible)


@given(tiered_prices(), tokens, tokens, tokens, st.integers(0, 10**6))
def test_more_output_never_costs_less(price: Price, input_tokens: int, cached: int, output_tokens: int, more: int) -> None:
    cached = min(cached, input_tokens)

    assert sum(charge(price, input_tokens, cached, output_tokens)) <= sum(charge(price, input_tokens, cached, output_tokens + more))


@given(tiered_prices(rising=True), tokens, tokens, tokens, st.integers(0, 10**6))
def test_more_fresh_input_never_costs_less_where_no_tier_is_cheaper(
    price: Price, input_tokens: int, cached: int, output_tokens: int, more: int
) -> None:
    cached = min(cached, input_tokens)

    assert sum(charge(price, input_tokens, cached, output_tokens)) <= sum(charge(price, input_tokens + more, cached, output_tokens))


def test_more_input_may_cost_less_where_a_tier_is_cheaper_and_the_worst_case_knows() -> None:
    falling = Price(
        1, Decimal(2_000_000), Decimal(2_000_000), Decimal(0), Decimal(0), (Tier(1_000, Decimal(1_000_000), Decimal(0), Decimal(0)),)
    )

    assert (charge(falling, 1_000, 0, 0), charge(falling, 1_001, 0, 0)) == ((2_000, 0), (1_001, 0))
    assert worst_case(1_000, 1, 0, falling) == 2_000


def test_tier_out_of_reach_of_a_prompt_is_not_reserved_for() -> None:
    assert worst_case(200 - 16 - 128, 1, 10, TIERED) == 200 + 100
    assert worst_case(201 - 16 - 128, 1, 10, TIERED) == 402 + 150


def test_price_free_at_first_is_not_free_where_a_tier_is_not() -> None:
    zero = Decimal(0)
    price = Price(1, zero, zero, zero, zero, (Tier(10, Decimal(1_000_000), zero, zero),))

    assert (price.is_free, charge(price, 10, 0, 5), charge(price, 11, 0, 5)) == (False, (0, 0), (11, 0))
    assert Price(1, zero, zero, zero, zero, (Tier(10, zero, zero, zero),)).is_free


@pytest.mark.parametrize("above", [(0,), (5, 5), (9, 3)])
def test_tiers_that_do_not_rise_are_refused(above: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rise"):
        Price(1, *[Decimal(1)] * 4, tuple(Tier(bound, *[Decimal(1)] * 3) for bound in above))
