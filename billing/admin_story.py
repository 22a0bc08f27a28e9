"""A wallet's whole story on one page, for staff who look into a question about money. Read only, and always the same number of queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Count, Model, Q, Sum
from django.urls import reverse
from django.utils import timezone

from billing.alerts import used_of_month
from billing.enums import DisputeStatus, EntryKind, PaymentKind, PaymentStatus, RefundStatus
from billing.models import Allowance, Budget, Dispute, Hold, LedgerEntry, Payment, Refund, SpendAlert, Wallet
from billing.months import month_of, month_words
from billing.statements import Limit, alerts_for, limits_of_keys, workspace_month
from common.money import format_usd

NEWEST = 20
"""Rows of each part; the list that is linked has all."""
NONE = "—"


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, or a moment for the template to write; with `href` it leads there."""

    text: str = ""
    href: str = ""
    is_number: bool = False
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One table of the story. `more` leads to the list that it is the newest of."""

    title: str
    headings: tuple[str, ...]
    rows: list[list[Cell]]
    nothing: str
    more: str = ""


def story_of(wallet: Wallet) -> list[Part]:
    """Everything about the wallet, part by part."""
    month = month_of(timezone.now())
    return [
        _figures(wallet, month),
        _keys(wallet, month),
        _holds(wallet),
        _kinds(wallet),
        _payments(wallet),
        _refunds(wallet),
        _disputes(wallet),
        _grants(wallet),
        _newest(wallet),
        _alerts(wallet),
    ]


def _usd(amount: int | None) -> Cell:
    return Cell(NONE if amount is None else format_usd(amount), is_number=True)


def _row(*cells: Cell | str) -> list[Cell]:
    return [Cell(cell or NONE) if isinstance(cell, str) else cell for cell in cells]


def _list_of(model: type[Model], **query: object) -> str:
    """The admin's list of the model, narrowed; empty where it has none."""
    if model not in admin.site._registry:
        return ""
    return f"{reverse(f'admin:{model._meta.app_label}_{model._meta.model_name}_changelist')}?{urlencode(query)}"


def _page_of(row: Model) -> str:
    if type(row) not in admin.site._registry:
        return ""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def _source(source: str) -> Cell:
    """A source with the way to it: runs are not known here, their list finds them by ID."""
    kind, _, public_id = source.partition(":")
    return Cell(source or NONE, f"{reverse('admin:runs_run_changelist')}?{urlencode({'q': public_id})}" if kind == "run" else "")


def _figures(wallet: Wallet, month: str) -> Part:
    limit = workspace_month(wallet.workspace, month)
    used = used_of_month(wallet.workspace, month)
    rows = [
        _row("Balance", _usd(wallet.balance_microusd)),
        _row("Held by running work", _usd(wallet.held_microusd)),
        _row("Available", _usd(wallet.available_microusd)),
        _row("Disputed", "Yes, nothing can be started" if wallet.is_disputed else "No"),
        _row(f"Limit of {month_words(month)}", _usd(limit.limit_microusd)),
        _row("Used of it, work that still runs too", _usd(used)),
        _row("Spent by ended work, and reserved", Cell(_spent(limit))),
        _row("Customer at Stripe", wallet.stripe_customer_id),
    ]
    return Part("Figures", ("What", "Now"), rows, "")


def _spent(limit: Limit) -> str:
    return f"{format_usd(limit.spent_microusd)} and {format_usd(limit.reserved_microusd)}"


def _keys(wallet: Wallet, month: str) -> Part:
    rows = [
        _row(
            Cell(each.key.label, _page_of(each.key)),
            "Revoked" if each.key.revoked_at else "In use",
            _usd(each.ceiling.limit_microusd),
            Cell(_spent(each.ceiling)),
            _usd(each.month.limit_microusd),
            Cell(_spent(each.month)),
        )
        for each in limits_of_keys(wallet.workspace, month)
    ]
    headings = ("Key", "State", "Ceiling", "Spent and reserved", "Limit of the month", "Spent and reserved in it")
    return Part("API keys", headings, rows, "No key has a limit or has spent something.", _list_of(Allowance, q=wallet.workspace.name))


def _holds(wallet: Wallet) -> Part:
    budgets = Budget.objects.filter(wallet=wallet, closed_at=None, hold__isnull=False).select_related("hold").order_by("-id")
    rows = [
        _row(
            _source(budget.source),
            Cell(at=budget.hold.created_at) if budget.hold else "",
            _usd(budget.hold.amount_microusd if budget.hold else None),
            _usd(budget.cap_microusd),
            _usd(budget.settled_microusd),
            _usd(budget.reserved_microusd),
        )
        for budget in budgets[:NEWEST]
    ]
    headings = ("Work", "Since", "Held", "Cap", "Settled", "Reserved")
    return Part("Open holds", headings, rows, "Nothing runs.", _list_of(Hold, wallet__id__exact=wallet.pk))


def _kinds(wallet: Wallet) -> Part:
    sums = (
        LedgerEntry.objects.filter(wallet=wallet)
        .order_by("kind")
        .values_list("kind")
        .annotate(count=Count("id"), total=Sum("amount_microusd"))
    )
    rows = [_row(EntryKind(kind).label, Cell(f"{count:,}", is_number=True), _usd(total)) for kind, count, total in sums]
    return Part("Entries by kind", ("Kind", "Entries", "Amount"), rows, "Nothing has been entered.")


def _payments(wallet: Wallet) -> Part:
    rows = [
        _row(
            Cell(at=each.created_at, href=_page_of(each)),
            PaymentKind(each.kind).label,
            PaymentStatus(each.status).label,
            _usd(each.credit_microusd),
            _usd(each.fee_microusd),
            each.failure,
            each.actor_label,
        )
        for each in Payment.objects.filter(wallet=wallet).order_by("-id")[:NEWEST]
    ]
    headings = ("Begun", "Kind", "State", "Credit", "Fee", "Failure", "By")
    return Part("Payments", headings, rows, "Nothing was bought.", _list_of(Payment, wallet__id__exact=wallet.pk))


def _refunds(wallet: Wallet) -> Part:
    rows = [
        _row(
            Cell(at=each.created_at, href=_page_of(each)),
            RefundStatus(each.status).label,
            _usd(each.amount_microusd),
            _usd(each.credit_microusd),
            _usd(each.taken_microusd),
            each.reason,
            each.actor_label,
        )
        for each in Refund.objects.filter(payment__wallet=wallet).order_by("-id")[:NEWEST]
    ]
    headings = ("Begun", "State", "Money", "Credit", "Taken of it", "Reason", "By")
    return Part("Refunds", headings, rows, "Nothing was refunded.", _list_of(Refund))


def _disputes(wallet: Wallet) -> Part:
    rows = [
        _row(
            Cell(at=each.opened_at, href=_page_of(each)),
            DisputeStatus(each.status).label,
            _usd(each.credit_microusd),
            each.reason.replace("_", " "),
            Cell(NONE, at=each.closed_at),
        )
        for each in Dispute.objects.filter(payment__wallet=wallet).order_by("-id")[:NEWEST]
    ]
    return Part("Disputes", ("Opened", "State", "Credit", "Reason", "Decided"), rows, "Nothing was disputed.", _list_of(Dispute))


def _entries(title: str, entries: Iterable[LedgerEntry], nothing: str, more: str) -> Part:
    rows = [
        _row(
            Cell(at=entry.created_at, href=_page_of(entry)),
            EntryKind(entry.kind).label,
            _usd(entry.amount_microusd),
            _usd(entry.balance_after_microusd),
            _source(entry.source),
            entry.note,
            entry.actor_label,
        )
        for entry in entries
    ]
    return Part(title, ("When", "Kind", "Amount", "Balance after", "Source", "Note", "By"), rows, nothing, more)


def _grants(wallet: Wallet) -> Part:
    given = Q(kind=EntryKind.ADJUSTMENT) | Q(kind=EntryKind.WELCOME_CREDIT)
    entries = LedgerEntry.objects.filter(given, wallet=wallet).order_by("-id")[:NEWEST]
    more = _list_of(LedgerEntry, wallet__id__exact=wallet.pk, kind__exact=EntryKind.ADJUSTMENT)
    return _entries("Grants and corrections", entries, "Nothing was granted.", more)


def _newest(wallet: Wallet) -> Part:
    entries = LedgerEntry.objects.filter(wallet=wallet).order_by("-id")[:NEWEST]
    return _entries("Newest entries", entries, "Nothing has been entered.", _list_of(LedgerEntry, wallet__id__exact=wallet.pk))


def _alerts(wallet: Wallet) -> Part:
    rows = [
        _row(
            Cell(at=each.reached_at),
            month_words(each.month),
            Cell(f"{each.percent}%", is_number=True),
            _usd(each.used_microusd),
            _usd(each.limit_microusd),
            Cell(NONE, at=each.mailed_at),
        )
        for each in alerts_for(wallet.workspace)[:NEWEST]
    ]
    headings = ("Reached", "Month", "Share", "Used", "Limit", "Mailed")
    return Part("Budget alerts", headings, rows, "No share of a monthly limit was reached.", _list_of(SpendAlert, q=wallet.workspace.name))
