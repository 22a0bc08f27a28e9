"""Filters that turn codes into words and figures into text: `{% load wording %}`."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit

from django import template

from catalog.enums import ExportPolicy, Grader
from common.money import format_usd
from runs import wording
from runs.charts.marks import series_of, shape_of
from runs.charts.words import usd_words
from runs.summarizing import about

register = template.Library()

for _name in (
    "error_words",
    "reason_words",
    "method_words",
    "notice_words",
    "difference_words",
    "flag_words",
    "interruption_words",
    "phase_words",
    "sample_status_words",
    "warning_title",
    "warning_tone",
    "role_words",
    "finish_words",
    "reasoning_words",
    "coverage_words",
    "refusal_words",
):
    register.filter(_name, getattr(wording, _name))


@register.filter
def grader_words(grader: str) -> str:
    return Grader(grader).label if grader in Grader.values else wording.plain(grader)


@register.filter
def export_words(policy: str) -> str:
    """What may leave of a sample, in a sentence."""
    return {
        ExportPolicy.FULL.value: "Prompts, answers and references may be shown and exported.",
        ExportPolicy.NO_ANSWERS.value: "References stay here: pages and exports show prompts and answers without them.",
        ExportPolicy.AGGREGATE.value: "Only aggregates may be shown: no prompts, answers or references.",
    }.get(policy, wording.plain(policy))


@register.filter
def license_words(license_id: str) -> str:
    return "Private to the workspace" if license_id == "LicenseRef-Workspace-Private" else license_id


@register.filter
def rate(microusd_per_mtok: Decimal | str | int | None) -> str:
    """A rate in USD a million tokens: "$0.40"; an em dash for none, "free" for zero."""
    if microusd_per_mtok is None:
        return "—"
    try:
        amount = Decimal(microusd_per_mtok)
    except InvalidOperation:
        return "—"
    return format_usd(int(amount.to_integral_value())) if amount else "free"


@register.filter
def points(share: float | None) -> str:
    """A difference of shares in points with its sign: "+4.3", "−1.0", an em dash for none."""
    if share is None:
        return "—"
    text = f"{abs(share) * 100:.1f}"
    return f"{'−' if share < 0 and text != '0.0' else '+' if text != '0.0' else ''}{text}"


@register.filter
def bare_points(share: float | None) -> str:
    """A size in points without a sign: "4.3"."""
    return "—" if share is None else f"{abs(share) * 100:.1f}"


@register.filter
def points_interval(interval: Mapping[str, Any] | None) -> str:
    """An interval of a difference: "+1.2 to +6.8"."""
    return "—" if not interval else f"{points(interval['low'])} to {points(interval['high'])}"


@register.filter
def p_value(value: float | None) -> str:
    """A p-value to three digits, and "< 0.001" below that."""
    if value is None:
        return "—"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


@register.filter
def usd_short(microusd: int | None) -> str:
    """A derived amount in micro-USD, such as the cost of 1,000 answers, to three digits and to two below a dollar: "$0.45"."""
    return "—" if microusd is None else usd_words(microusd)


@register.filter
def roughly(count: int) -> str:
    """An estimated count to two digits, rounded up: "1,600"."""
    return about(count)


@register.filter
def item(mapping: Mapping[Any, Any], key: Any) -> Any:
    """The value of a key that is only known in the template."""
    return mapping.get(key)


@register.filter
def of_one(index: int) -> int:
    """A position counted from one, as people count."""
    return int(index) + 1


@register.filter
def plain_words(code: str) -> str:
    return wording.plain(code)


@register.filter
def host(address: str) -> str:
    """The host of an address, with its port."""
    return urlsplit(address).netloc.rpartition("@")[2] or address


@register.filter
def series(index: int) -> int:
    """The number of a subject's colour, 1 to 8."""
    return series_of(int(index))


@register.filter
def mark_shape(index: int) -> str:
    """The outline of a subject's mark, the same in every chart and table."""
    return shape_of(series_of(int(index)))


@register.filter
def is_container(value: Any) -> bool:
    return isinstance(value, (dict, list))
