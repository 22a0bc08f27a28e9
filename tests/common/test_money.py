"""Amounts as text: what a person may write, and what they read."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.money import MAX_MICROUSD, InvalidAmount, fee_charge, format_usd, parse_usd


@pytest.mark.parametrize(
    ("text", "microusd"),
    [
        ("5", 5_000_000),
        (" $1,250.00 ", 1_250_000_000),
        ("0.000001", 1),
        (".5", 500_000),
        ("5.", 5_000_000),
        ("0012", 12_000_000),
        ("+5", 5_000_000),
        ("-$3", -3_000_000),
        ("−$1.00", -1_000_000),
        ("-0", 0),
        ("2.50000000000", 2_500_000),
        ("1000000000", MAX_MICROUSD),
    ],
)
def test_amount_is_read_exactly(text: str, microusd: int) -> None:
    assert parse_usd(text) == microusd


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        ".",
        "$",
        "much",
        "--5",
        "5-",
        "1 000",
        "1_0",
        "1,50",
        "1,2,3",
        "1,0000",
        "NaN",
        "Infinity",
        "sNaN",
        "١",
        "$$5",
        "5 USD",
        "1e3",
        "1e400",
        "1e999999",
        "1e-9999999",
    ],
)
def test_text_that_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(InvalidAmount, match="is not an amount in USD"):
        parse_usd(text)


@pytest.mark.parametrize("text", ["0.0000001", "1.0000001", "0.00000100000000000000000000000000000001"])
def test_seventh_decimal_is_refused_however_far_out(text: str) -> None:
    with pytest.raises(InvalidAmount, match="more than six decimals"):
        parse_usd(text)


@pytest.mark.parametrize("text", ["1000000000.000001", "-1000000000.000001", "9" * 400])
def test_amount_above_the_largest_is_refused(text: str) -> None:
    with pytest.raises(InvalidAmount, match="too large"):
        parse_usd(text)


@given(st.text(max_size=40))
def test_any_text_is_an_amount_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidAmount):
        assert abs(parse_usd(text)) <= MAX_MICROUSD


@given(st.integers(-MAX_MICROUSD, MAX_MICROUSD))
def test_written_amount_is_read_back(microusd: int) -> None:
    assert parse_usd(format_usd(microusd)) == microusd


@pytest.mark.parametrize(
    ("microusd", "text"),
    [
        (0, "$0.00"),
        (5_000_000, "$5.00"),
        (1_250, "$0.00125"),
        (-1_000_000, "−$1.00"),
        (1_234_567_890_000, "$1,234,567.89"),
        (1, "$0.000001"),
    ],
)
def test_amount_is_written_with_the_decimals_it_needs(microusd: int, text: str) -> None:
    assert format_usd(microusd) == text


@given(st.integers(0, 10**12), st.decimals(0, 100, places=3))
def test_fee_is_the_share_rounded_up(usage: int, percent: object) -> None:
    fee = fee_charge(usage, percent)  # type: ignore[arg-type]
    assert 0 <= fee - usage * percent / 100 < 1  # type: ignore[operator]
