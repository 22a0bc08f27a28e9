"""Charges in integers equal the stated formulas, and nothing ever charges more than it reserved."""

from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.money import fee_charge, usage_charge
from gateway.metering import FREE, InexactRate, Price, charge, settle, worst_case, worst_case_input_tokens

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
