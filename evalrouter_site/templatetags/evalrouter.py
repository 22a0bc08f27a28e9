"""Filters and tags of the product, built in to every template: amounts, shares, times and states in words."""

from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any

from django import template
from django.contrib.messages.storage.base import Message
from django.templatetags.static import static
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.money import format_usd

register = template.Library()

NONE = "—"

TONES = {
    "good": {"completed", "graded", "active", "answered", "correct", "done", "qualified", "checked", "succeeded", "ok", "settled"},
    "live": {"running", "finalizing"},
    "warn": {
        "partial",
        "waiting",
        "inconclusive",
        "in_review",
        "draft",
        "paused",
        "truncated",
        "unreadable",
        "empty",
        "unchecked",
        "expiring",
        "continuing",
    },
    "bad": {"failed", "error", "stopped", "incorrect", "revoked", "expired", "unknown"},
    "info": {"open", "started", "owner"},
}
TONE_OF = {state: tone for tone, states in TONES.items() for state in states}
WORDS = {"partial": "Interrupted", "ok": "OK", "finalizing": "Writing the result", "in_review": "In review"}
"""States whose stored word is not what a person would say."""


AUDIT_WORDS = {
    "workspace.create": "Workspace made",
    "workspace.rename": "Workspace renamed",
    "workspace.set_budget": "Monthly budget set",
    "account.create": "Account made by an operator",
    "member.add": "Member added",
    "member.change_role": "Role changed",
    "member.remove": "Member removed",
    "api_key.create": "API key made",
    "api_key.change": "API key changed",
    "api_key.roll": "API key rolled",
    "api_key.revoke": "API key revoked",
    "api_key.set_ceiling": "Spend ceiling of a key set",
    "api_key.set_month": "Monthly limit of a key set",
    "billing.grant_credit": "Credit granted",
    "webhook_endpoint.create": "Webhook added",
    "webhook_endpoint.change": "Webhook changed",
    "webhook_endpoint.rotate_secret": "Secret of a webhook replaced",
    "webhook_endpoint.delete": "Webhook deleted",
    "webhook_endpoint.test": "Webhook tested",
    "webhook_endpoint.turn_off": "Webhook turned off by itself",
    "webhook_delivery.again": "Delivered again by webhook",
    "share.create": "Link to a result made",
    "share.revoke": "Link to a result revoked",
    "publication.create": "Result published",
    "publication.withdraw": "Published result withdrawn",
    "publication.hide": "Published result hidden by staff",
    "publication.unhide": "Published result shown again by staff",
}


# ── Numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@register.filter
def usd(microusd: int | str | None) -> str:
    """Micro-USD as USD, an em dash for none."""
    return NONE if microusd is None or microusd == "" else format_usd(int(microusd))


@register.filter
def usd_aligned(microusd: int | str | None) -> str:
    """The same for a column: what it has less than six decimals is kept free after it, so that the points stand below each other."""
    text = usd(microusd)
    missing = 6 - len(text.partition(".")[2]) if "." in text else 0
    return format_html('{}<span class="pad" data-pad="{}"></span>', text, "0" * missing) if missing else text


@register.filter
def usd_rounded(microusd: int | None) -> str:
    """Micro-USD as USD in whole cents, rounded down: what may be spent is never shown as more than it is."""
    return NONE if microusd is None else format_usd(int(microusd) // 10_000 * 10_000)


@register.filter
def percent(share: float | str | None, decimals: int = 1) -> str:
    """A share from 0 to 1 as a percentage: "56.3%"."""
    if share is None or share == "":
        return NONE
    exact = Decimal(str(share)) * 100
    return f"{exact.quantize(Decimal(1).scaleb(-int(decimals)), rounding=ROUND_HALF_UP)}%"


@register.filter
def percent_number(share: float | None, decimals: int = 1) -> str:
    """The same without its sign, for the first of two: "53.6"."""
    return percent(share, decimals).rstrip("%")


@register.filter
def number(value: float | str | Decimal | None) -> str:
    """A number with separators: "1,319", an em dash for none."""
    if value is None or value == "":
        return NONE
    if isinstance(value, int):
        return f"{value:,}"
    amount = Decimal(str(value))
    return f"{int(amount):,}" if amount == amount.to_integral_value() else f"{amount.normalize():,f}"


@register.filter
def unlocalized(value: float | None) -> str:
    """A number as attributes of HTML want it."""
    return "0" if value is None else f"{value}"


@register.filter
def duration(seconds: float | str | None) -> str:
    """Seconds in words: "0.4 s", "31 s", "1 min 5 s", "2 h 3 min", "4 d 2 h"."""
    if seconds is None or seconds == "":
        return NONE
    amount = float(seconds)
    if amount < 10:
        return f"{amount:.1f} s"
    whole = round(amount)
    for size, name, next_size, next_name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // next_size
            return f"{whole // size} {name} {rest} {next_name}" if rest else f"{whole // size} {name}"
    return f"{whole} s"


@register.filter
def milliseconds(value: float | str | None) -> str:
    """Milliseconds in words: "48 ms", "1.24 s"."""
    if value is None or value == "":
        return NONE
    amount = float(value)
    return f"{amount:,.0f} ms" if amount < 1000 else f"{amount / 1000:,.2f} s"


@register.filter
def svg_percent(share: float | None) -> str:
    """A share from 0 to 1 as a coordinate of SVG, kept within it."""
    return f"{min(1.0, max(0.0, float(share or 0))) * 100:.3f}%"


@register.filter
def svg_part(part: int | str | None, whole: int | str | None) -> str:
    """What part of the whole it is, as a length of SVG; 0 where there is no whole."""
    total = int(whole or 0)
    return svg_percent(int(part or 0) / total if total > 0 else 0)


@register.filter
def less(amount: int | str | None, part: int | str | None) -> int | None:
    """An amount without a part of it, never below 0; None for none."""
    return None if amount is None or amount == "" else max(0, int(amount) - int(part or 0))


# ── Times ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _moment(value: datetime | str | None) -> datetime | None:
    moment = parse_datetime(value) if isinstance(value, str) else value
    return moment.astimezone(UTC) if moment else None


@register.filter
def date_words(value: datetime | str | None) -> str:
    """A time in full: "29 November 2026, 17:05 UTC"."""
    moment = _moment(value)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC" if moment else NONE


@register.filter
def when(value: datetime | str | None) -> str:
    """A `<time>`: how long ago within a day (or how soon), else the date; the full time is its title."""
    moment = _moment(value)
    if moment is None:
        return NONE
    now = timezone.now()
    seconds = (now - moment).total_seconds()
    words = f"{moment.day} {moment:%b}" if moment.year == now.year else f"{moment.day} {moment:%b %Y}"
    if abs(seconds) < 45:
        words = "just now" if seconds >= 0 else "in a moment"
    elif abs(seconds) < 86400:
        amount = f"{abs(seconds) / 60:.0f} min" if abs(seconds) < 3570 else f"{abs(seconds) / 3600:.0f} h"
        words = f"{amount} ago" if seconds > 0 else f"in {amount}"
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(timespec="seconds"), date_words(moment), words)


# ── States ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@register.filter
def status_words(status: str | None) -> str:
    """A stored state as a person would say it: "partial" is "Interrupted"."""
    if not status:
        return NONE
    return WORDS.get(str(status)) or str(status).replace("_", " ").capitalize()


@register.filter
def status_tone(status: str | None) -> str:
    """The tone of a state's badge: good, bad, warn, info, live or neutral."""
    return TONE_OF.get(str(status), "neutral")


@register.filter
def audit_words(action: str) -> str:
    """An audit entry's action in words; the list is `AUDIT_WORDS`, anything else is spelled out."""
    return AUDIT_WORDS.get(action) or action.replace(".", ": ").replace("_", " ").capitalize()


@register.filter
def audit_subject(data: dict[str, Any]) -> str:
    """What an audit entry's change was about, where its data names it."""
    return str(next((data[key] for key in ("label", "name", "email", "after", "slug", "reason") if data.get(key)), ""))


@register.filter
def source_href(source: str) -> str:
    """The page of what a ledger entry came from, empty where it has none."""
    kind, _, identifier = source.partition(":")
    pages = {"run": "/evaluations/", "payment": "/settings/billing/payments/"}
    return f"{pages[kind]}{identifier}" if kind in pages and identifier else ""


@register.filter
def message_tone(message: Message) -> str:
    """The tone of a notice for one of Django's messages."""
    return {"success": "good", "warning": "warn", "error": "bad"}.get(message.level_tag, "info")


# ── Small pieces ────────────────────────────────────────────────────────────────────────────────────────────────────


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str) -> SafeString:
    """A drawing of `static/img/icons.svg`, for decoration: words always stand beside it. Each is put together once."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>', static("img/icons.svg"), name
    )


@register.simple_tag(takes_context=True)
def nav_link(context: dict[str, Any], label: str, href: str, icon_name: str = "") -> SafeString:
    """A link of a navigation, marked where the request is on it or below it."""
    request = context.get("request")
    path = request.path if request else ""
    current = ' aria-current="page"' if path == href else (' aria-current="true"' if path.startswith(href.rstrip("/") + "/") else "")
    drawing = icon(icon_name) if icon_name else ""
    return format_html('<a href="{}"{}>{}{}</a>', href, SafeString(current), drawing, label)


@register.simple_tag(takes_context=True)
def sort_header(context: dict[str, Any], label: str, key: str, css: str = "") -> SafeString:
    """The head of a column that can be sorted: a link that sorts by `key` (`?sort=key`), and turns round the order it is in (`?sort=-key`).

    Figures are sorted largest first at the first click: give their key with a minus.
    """
    request = context["request"]
    current = request.GET.get("sort", "")
    name = key.lstrip("-")
    state = {name: "ascending", f"-{name}": "descending"}.get(current, "")
    query = request.GET.copy()
    query.pop("cursor", None)
    query["sort"] = (name if current == f"-{name}" else f"-{name}") if state else key
    return format_html(
        '<th scope="col"{}{}><a class="sort" href="?{}">{}{}</a></th>',
        format_html(' class="{}"', css) if css else "",
        format_html(' aria-sort="{}"', state) if state else "",
        query.urlencode(),
        label,
        icon("sort"),
    )
