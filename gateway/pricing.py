"""From a rate in the database to the frozen price that calls are charged by."""

from decimal import Decimal

from catalog.models import RouteRate
from gateway.metering import Price, Tier


def price_of(rate: RouteRate, fee_percent: Decimal) -> Price:
    """The rate with its tiers as calls are charged. Tiers are made with their rate and never change, so it stays the same for ever."""
    tiers = tuple(
        Tier(tier.above_input_tokens, tier.input_microusd_per_mtok, tier.cached_input_microusd_per_mtok, tier.output_microusd_per_mtok)
        for tier in rate.tiers.all()
    )
    return Price(
        rate.pk,
        rate.input_microusd_per_mtok,
        rate.cached_input_microusd_per_mtok,
        rate.output_microusd_per_mtok,
        fee_percent,
        tiers,
    )
