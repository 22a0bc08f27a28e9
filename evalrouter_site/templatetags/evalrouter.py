"""Template filters of the product, built in to every template."""

from django import template

from common.money import format_usd

register = template.Library()


@register.filter
def usd(microusd: int | None) -> str:
    """Micro-USD as USD, an em dash for none."""
    return "—" if microusd is None else format_usd(int(microusd))
