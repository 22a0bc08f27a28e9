"""The saved card, and when it is charged by itself."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from billing.forms import TopUpForm
from billing.payments.top_ups import remove_card, set_top_up
from billing.views.wallet import wallet_page
from common.errors import Forbidden, Refused
from common.forms import add_refusal
from common.web import page
from workspaces.actors import Actor, actor_of_user
from workspaces.models import Workspace
from workspaces.permissions import can_buy_credit, require
from workspaces.queries import get_workspace_of
from workspaces.requests import PersonRequest


@require_POST
@page
def top_up(request: PersonRequest) -> HttpResponse:
    """Turn automatic top-ups on or off, and say when, how much and how often."""
    actor, workspace = _buyer(request)
    form = TopUpForm(request.POST)
    if form.is_valid():
        try:
            found = form.cleaned_data
            set_top_up(
                workspace,
                actor=actor,
                is_enabled=found["is_enabled"],
                threshold_microusd=found["threshold"],
                amount_microusd=found["amount"],
                monthly_limit_microusd=found["monthly_limit"],
            )
        except Forbidden:
            raise
        except Refused as refused:
            add_refusal(form, refused.message)
        else:
            is_on = form.cleaned_data["is_enabled"]
            messages.success(request, "Automatic top-ups are on." if is_on else "Automatic top-ups are off.")
            return redirect("billing:wallet")
    return wallet_page(request, actor, workspace, top_up_form=form, status=422)


@require_POST
@page
def card_removal(request: PersonRequest) -> HttpResponse:
    """Forget the saved card, which turns automatic top-ups off."""
    actor, workspace = _buyer(request)
    try:
        remove_card(workspace, actor=actor)
    except Forbidden:
        raise
    except Refused as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, "The card is removed, and automatic top-ups are off.")
    return redirect("billing:wallet")


def _buyer(request: PersonRequest) -> tuple[Actor, Workspace]:
    """Who asks, and the workspace that the form names. Raises Forbidden for those who buy nothing in it."""
    actor = actor_of_user(request.user)
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    require(can_buy_credit(actor, workspace), "Only an owner or an admin of the workspace decides on its card.")
    return actor, workspace
