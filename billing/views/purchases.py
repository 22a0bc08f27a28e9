"""Buying credit: the form, and the page of a payment that Stripe leads back to."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from billing.enums import PaymentStatus
from billing.forms import OWN, PRESETS, PurchaseForm
from billing.payments.checkout import check_amount, purchase_fee, purchases_enabled, start_purchase
from billing.queries import wallet_figures
from billing.statements import entry_of_payment, get_payment_of_member
from common.errors import Forbidden, Refused
from common.forms import add_refusal
from common.ids import new_id
from common.money import MICRO, InvalidAmount, parse_usd
from common.web import is_fragment_request, page, render_page
from workspaces.actors import actor_of_user
from workspaces.models import Workspace
from workspaces.permissions import can_buy_credit, require
from workspaces.queries import get_workspace_of, required_workspace
from workspaces.requests import PersonRequest

SOON = timedelta(minutes=10)
"""A payment is asked for every few seconds for so long, then every half minute."""

REFUSAL = "Only an owner or an admin of the workspace buys credit."


@require_http_methods(["GET", "POST"])
@page
def purchase(request: PersonRequest) -> HttpResponse:
    """Choose an amount, see its fee and total, and go to Stripe's page. htmx asks for the price alone."""
    actor = actor_of_user(request.user)
    if request.method != "POST":
        workspace = required_workspace(request)
        require(can_buy_credit(actor, workspace), REFUSAL)
        return _purchase_page(request, workspace, PurchaseForm(initial={"key": str(new_id())}))
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    require(can_buy_credit(actor, workspace), REFUSAL)
    form = PurchaseForm(request.POST)
    if form.is_valid():
        try:
            _, url = start_purchase(
                workspace,
                actor=actor,
                credit_microusd=form.credit_microusd,
                save_card=form.cleaned_data["save_card"],
                key=form.cleaned_data["key"],
            )
        except Forbidden:
            raise
        except Refused as refused:
            add_refusal(form, refused.message, "own" if refused.code == "invalid_amount" and form.cleaned_data["preset"] == OWN else None)
        else:
            return redirect(url)
    return _purchase_page(request, workspace, form, status=422)


def _purchase_page(request: PersonRequest, workspace: Workspace, form: PurchaseForm, *, status: int = 200) -> HttpResponse:
    typed = request.POST if request.method == "POST" else request.GET
    context = {
        "workspace": workspace,
        "form": form,
        "is_open": purchases_enabled(),
        "available": 0 if is_fragment_request(request) else wallet_figures(workspace)["available_microusd"],
        "fee_percent": settings.PURCHASE_FEE_PERCENT,
        "presets": [(value, int(value) * MICRO, _price(int(value) * MICRO)) for value, _ in PRESETS],
        "price": _price_of(typed.get("preset", "25"), typed.get("own", "")),
    }
    return render_page(request, "billing/purchase.html", context, partial="price", status=status)


def _price_of(preset: str, own: str) -> dict[str, Any]:
    """Credit, fee and total of what is chosen, or what is wrong with it; nothing where nothing is typed yet."""
    if preset != OWN:
        return _price(int(preset) * MICRO) if preset in dict(PRESETS) else {}
    if not own.strip():
        return {}
    try:
        return _price(parse_usd(own))
    except InvalidAmount:
        return {"refusal": "Enter an amount in USD, such as 40."}


def _price(credit_microusd: int) -> dict[str, Any]:
    try:
        check_amount(credit_microusd)
    except Refused as refused:
        return {"refusal": refused.message}
    fee = purchase_fee(credit_microusd)
    return {"credit": credit_microusd, "fee": fee, "total": credit_microusd + fee}


@require_safe
@page
def payment(request: PersonRequest, payment_id: UUID) -> HttpResponse:
    """How a payment stands. The page asks again by itself until that is final."""
    found = get_payment_of_member(request.user, payment_id)
    is_entered = entry_of_payment(found) is not None
    is_final = is_entered or found.status in {PaymentStatus.FAILED, PaymentStatus.EXPIRED}
    context = {
        "payment": found,
        "workspace": found.wallet.workspace,
        "is_entered": is_entered,
        "is_final": is_final,
        "every": "" if is_final else "3s" if timezone.now() - found.created_at < SOON else "30s",
        "figures": wallet_figures(found.wallet.workspace),
        "can_buy": can_buy_credit(actor_of_user(request.user), found.wallet.workspace),
    }
    return render_page(request, "billing/payment.html", context, partial="state")
