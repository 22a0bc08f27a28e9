"""The wallet of the workspace one works in, its limits, and what a key may spend."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from billing.forms import CeilingForm, MonthlyLimitForm
from billing.limits import set_key_ceiling, set_workspace_limit
from billing.queries import allowance_of_key, allowances_of_keys, entries_for, monthly_limit, wallet_figures
from common.errors import Forbidden, Refused
from common.forms import add_refusal
from common.money import format_usd
from common.pages import page_of
from common.web import page, render_page
from workspaces.actors import Actor, actor_of_user
from workspaces.models import ApiKey, Workspace
from workspaces.permissions import can_manage_keys, can_manage_workspace, can_read_billing, require
from workspaces.queries import api_keys_for, get_api_key_of_member, get_workspace_of, required_workspace
from workspaces.requests import PersonRequest


@require_safe
@page
def wallet(request: PersonRequest) -> HttpResponse:
    workspace = required_workspace(request)
    return _wallet_page(request, actor_of_user(request.user), workspace)


@require_POST
@page
def monthly(request: PersonRequest) -> HttpResponse:
    """Set or lift the workspace's monthly limit."""
    actor = actor_of_user(request.user)
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    require(can_manage_workspace(actor, workspace))
    form = MonthlyLimitForm(request.POST)
    if not form.is_valid():
        return _wallet_page(request, actor, workspace, form=form, status=422)
    set_workspace_limit(workspace, actor=actor, monthly_microusd=form.cleaned_data["monthly"])
    messages.success(request, "The monthly limit is saved.")
    return redirect("billing:wallet")


@require_http_methods(["GET", "POST"])
@page
def key_ceiling(request: PersonRequest, key_id: UUID) -> HttpResponse:
    """What a key has spent and may spend: a part of the key's page, and a page of its own without script."""
    actor = actor_of_user(request.user)
    key = get_api_key_of_member(request.user, key_id)
    if request.method == "GET":
        return _ceiling_page(request, actor, key)
    require(can_manage_keys(actor, key.workspace))
    form = CeilingForm(request.POST)
    if form.is_valid():
        try:
            set_key_ceiling(key, actor=actor, ceiling_microusd=form.cleaned_data["ceiling"])
        except Forbidden:
            raise
        except Refused as refused:
            add_refusal(form, refused.message, "ceiling")
        else:
            messages.success(request, "The ceiling is saved.")
            return redirect("workspaces:api_key", key_id)
    return _ceiling_page(request, actor, key, form=form, status=422)


def _ceiling_page(request: PersonRequest, actor: Actor, key: ApiKey, *, form: CeilingForm | None = None, status: int = 200) -> HttpResponse:
    allowance = allowance_of_key(key)
    ceiling = allowance.ceiling_microusd if allowance else None
    context = {
        "key": key,
        "allowance": allowance,
        "form": form or CeilingForm(initial={"ceiling": _as_typed(ceiling)}),
        "can_change": key.revoked_at is None and can_manage_keys(actor, key.workspace),
    }
    return render_page(request, "billing/key_ceiling.html", context, partial="ceiling", status=status)


def _wallet_page(
    request: PersonRequest, actor: Actor, workspace: Workspace, *, form: MonthlyLimitForm | None = None, status: int = 200
) -> HttpResponse:
    require(can_read_billing(actor, workspace))
    limit = monthly_limit(workspace)
    allowances = allowances_of_keys(workspace)
    keys = {str(key.lineage): key for key in reversed(api_keys_for(workspace))}
    context = {
        "workspace": workspace,
        "figures": wallet_figures(workspace),
        "entries": page_of(entries_for(workspace), cursor=request.GET.get("cursor"), limit=50),
        "cursor": request.GET.get("cursor"),
        "key_rows": [{"key": key, "allowance": allowances[lineage]} for lineage, key in keys.items() if lineage in allowances],
        "limit": limit,
        "form": form or MonthlyLimitForm(initial={"monthly": _as_typed(limit)}),
        "can_manage": can_manage_workspace(actor, workspace),
    }
    return render_page(request, "billing/wallet.html", context, status=status)


def _as_typed(microusd: int | None) -> str:
    return "" if microusd is None else format_usd(microusd).removeprefix("$")
