"""The wallet of the workspace one works in: what is left, what it may spend, what was bought, and the ledger."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from billing.forms import LedgerForm, MonthlyLimitForm, TopUpForm
from billing.limits import set_workspace_limit
from billing.models import LedgerEntry
from billing.months import month_words, this_month
from billing.payments.checkout import purchases_enabled
from billing.payments.queries import top_up_of
from billing.queries import get_wallet, wallet_figures
from billing.statements import (
    SHOWN_PAYMENTS,
    alerts_in,
    charged_in,
    entries_matching,
    in_progress,
    limits_of_keys,
    payments_for,
    workspace_month,
)
from common.money import format_usd
from common.pages import Page, page_of
from common.web import is_fragment_request, page, render_page
from workspaces.actors import Actor, actor_of_user
from workspaces.models import Workspace
from workspaces.permissions import can_buy_credit, can_manage_workspace, can_read_billing, require
from workspaces.queries import get_workspace_of, required_workspace
from workspaces.requests import PersonRequest

ENTRIES_A_PAGE = 50


@require_safe
@page
def wallet(request: PersonRequest) -> HttpResponse:
    workspace = required_workspace(request)
    return wallet_page(request, actor_of_user(request.user), workspace)


@require_POST
@page
def monthly(request: PersonRequest) -> HttpResponse:
    """Set or lift the workspace's monthly limit."""
    actor = actor_of_user(request.user)
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    require(can_manage_workspace(actor, workspace))
    form = MonthlyLimitForm(request.POST)
    if not form.is_valid():
        return wallet_page(request, actor, workspace, form=form, status=422)
    set_workspace_limit(workspace, actor=actor, monthly_microusd=form.cleaned_data["monthly"])
    messages.success(request, "The monthly limit is saved.")
    return redirect("billing:wallet")


def wallet_page(
    request: PersonRequest,
    actor: Actor,
    workspace: Workspace,
    *,
    form: MonthlyLimitForm | None = None,
    top_up_form: TopUpForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """The whole page, or its ledger alone where htmx asked; the forms are those that were refused."""
    require(can_read_billing(actor, workspace))
    filters = LedgerForm(request.GET if request.method != "POST" else {})
    ledger = {
        "entries": _entries(request, workspace, filters),
        "cursor": request.GET.get("cursor"),
        "filters": filters,
        "is_filtered": any(request.GET.get(name) for name in filters.fields),
    }
    if status == 200 and filters.errors:
        status = 422
    if request.method != "POST" and is_fragment_request(request):
        return render_page(request, "billing/wallet.html", ledger, partial="ledger", status=status)
    month = this_month()
    limit = workspace_month(workspace, month)
    context = {
        "workspace": workspace,
        "wallet": get_wallet(workspace),
        "figures": wallet_figures(workspace),
        "month": month,
        "month_words": month_words(month),
        "charged": charged_in(workspace, month),
        "progress": in_progress(workspace),
        "payments": page_of(payments_for(workspace), limit=SHOWN_PAYMENTS),
        "key_rows": limits_of_keys(workspace, month),
        "limit": limit,
        "alerts": alerts_in(workspace, month),
        "form": form or MonthlyLimitForm(initial={"monthly": as_typed(limit.limit_microusd)}),
        "can_manage": can_manage_workspace(actor, workspace),
        "can_buy": can_buy_credit(actor, workspace),
        "purchases_enabled": purchases_enabled(),
        **_top_up(workspace, top_up_form),
        **ledger,
    }
    return render_page(request, "billing/wallet.html", context, status=status)


def _entries(request: HttpRequest, workspace: Workspace, filters: LedgerForm) -> Page[LedgerEntry]:
    """The entries that are looked for; all of them where that cannot be read."""
    wanted = filters.wanted if filters.is_valid() else {}
    return page_of(entries_matching(workspace, **wanted), cursor=request.GET.get("cursor"), limit=ENTRIES_A_PAGE)


def _top_up(workspace: Workspace, form: TopUpForm | None) -> dict[str, Any]:
    top_up = top_up_of(workspace)
    initial = {
        "is_enabled": top_up.is_enabled,
        "threshold": as_typed(top_up.threshold_microusd),
        "amount": as_typed(top_up.amount_microusd),
        "monthly_limit": as_typed(top_up.monthly_limit_microusd),
    }
    return {"top_up": top_up, "top_up_form": form or TopUpForm(initial=initial)}


def as_typed(microusd: int | None) -> str:
    """An amount as somebody would type it into a field."""
    return "" if microusd is None else format_usd(microusd).removeprefix("$")
