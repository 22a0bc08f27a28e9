"""Prices as people state them and as documents show them. In the database they are micro-USD a million tokens, people write USD."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from catalog.models import RouteRate, RouteRateTier
from common.errors import Refused

MICROUSD_PER_USD = 1_000_000
MAX_USD_PER_MTOK = 1_000_000
MAX_TIERS = 8
MAX_TIER_TOKENS = 100_000_000
TIER_FORM = "TOKENS:INPUT:OUTPUT or TOKENS:INPUT:OUTPUT:CACHED"
RATES = ("input_microusd_per_mtok", "cached_input_microusd_per_mtok", "output_microusd_per_mtok")


class StatedTier(NamedTuple):
    """What a call costs whose input is above so many tokens, in USD a million tokens; cached input as input where it is None."""

    above_input_tokens: int
    input_usd_per_mtok: Decimal
    output_usd_per_mtok: Decimal
    cached: Decimal | None = None


def read_tier(text: str) -> StatedTier:
    """The tier that a text such as "200000:2.50:15" or "200,000 : 2.50 : 15 : 0.25" states. Raises Refused `invalid_rate`."""
    parts = [part.strip() for part in text.split(":")]
    try:
        if len(parts) not in {3, 4}:
            raise ValueError
        return StatedTier(int(parts[0].replace(",", "")), *(Decimal(part) for part in parts[1:]))
    except (ValueError, InvalidOperation):
        raise Refused("invalid_rate", f"{text.strip()!r} is no tier; write {TIER_FORM}, prices in USD a million tokens.") from None


def written_tier(tier: RouteRateTier) -> str:
    """The tier as `read_tier` takes it."""
    fresh, cached, output = (getattr(tier, name) / MICROUSD_PER_USD for name in RATES)
    parts = [str(tier.above_input_tokens), plain_decimal(fresh), plain_decimal(output)]
    return ":".join(parts if cached == fresh else [*parts, plain_decimal(cached)])


def microusd_rates(input_usd: Decimal, output_usd: Decimal, cached_usd: Decimal | None) -> dict[str, Decimal]:
    """The columns of prices in USD a million tokens. Raises Refused `invalid_rate`."""
    stated = (input_usd, input_usd if cached_usd is None else cached_usd, output_usd)
    return {name: _microusd(usd) for name, usd in zip(RATES, stated, strict=True)}


def tier_columns(tiers: Sequence[StatedTier], base: dict[str, Decimal]) -> list[dict[str, Any]]:
    """The columns of a price's tiers, by rising bounds. Raises Refused `invalid_rate` for what is no price in tiers."""
    bounds = sorted(tier.above_input_tokens for tier in tiers)
    if len(tiers) > MAX_TIERS:
        raise Refused("invalid_rate", f"A price has at most {MAX_TIERS} tiers.")
    if any(not 1 <= bound <= MAX_TIER_TOKENS for bound in bounds) or len(set(bounds)) < len(bounds):
        raise Refused("invalid_rate", f"Each tier begins above its own number of input tokens, from 1 to {MAX_TIER_TOKENS:,}.")
    if tiers and not any(base.values()):
        raise Refused("invalid_rate", "A free route has no tiers.")
    return [
        {"above_input_tokens": tier.above_input_tokens, **microusd_rates(tier.input_usd_per_mtok, tier.output_usd_per_mtok, tier.cached)}
        for tier in sorted(tiers)
    ]


def rates_document(rate: RouteRate | None) -> dict[str, Any]:
    """A price as documents show it, zeros where nothing is charged. `tiers` is there only where the price has some."""
    if rate is None:
        return dict.fromkeys(RATES, "0")
    shown = _shown(rate)
    tiers = [{"above_input_tokens": tier.above_input_tokens, **_shown(tier)} for tier in rate.tiers.all()]
    return {**shown, "tiers": tiers} if tiers else shown


def plain_decimal(value: Decimal) -> str:
    """A decimal without trailing zeros or exponent."""
    return f"{value.normalize():f}" if value else "0"


def _shown(row: RouteRate | RouteRateTier) -> dict[str, Any]:
    return {name: plain_decimal(getattr(row, name)) for name in RATES}


def _microusd(usd: Decimal) -> Decimal:
    """Micro-USD a million tokens of a price in USD a million tokens."""
    usd = Decimal(usd)
    if not usd.is_finite() or usd < 0 or usd > MAX_USD_PER_MTOK:
        raise Refused("invalid_rate", f"A price must be from 0 to {MAX_USD_PER_MTOK:,} USD a million tokens.")
    exact = usd * MICROUSD_PER_USD
    if exact != round(exact, 6):
        raise Refused("invalid_rate", "A price has at most twelve decimals.")
    return exact
