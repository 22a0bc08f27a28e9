"""What an API key may spend, in all and in a month: a part of the key's page, and a page of its own without script."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from billing.forms import CeilingForm, KeyMonthForm
from billing.limits import set_key_ceiling, set_key_month
from billing.months import month_words, this_month
from billing.queries import allowance_of_key
from billing.statements import key_month as month_of_key
from billing.views.wallet import as_typed
from common.errors import Forbidden, Refused
from common.forms import add_refusal
from common.web import page, render_page
from workspaces.actors import Actor, actor_of_user
from workspaces.models import ApiKey
from workspaces.permissions import can_manage_keys, can_read_billing, require
from workspaces.queries import get_api_key_of_member
from workspaces.requests import PersonRequest


@require_http_methods(["GET", "POST"])
@page
def key_ceiling(request: PersonRequest, key_id: UUID) -> HttpResponse:
    """What a key has spent and may spend; POST sets its ceiling."""
    actor = actor_of_user(request.user)
    key = get_api_key_of_member(request.user, key_id)
    if request.method == "GET":
        return _limits_page(request, actor, key)
    form = CeilingForm(request.POST)
    return _set(request, actor, key, form, "ceiling", lambda amount: set_key_ceiling(key, actor=actor, ceiling_microusd=amount))


@require_POST
@page
def key_month(request: PersonRequest, key_id: UUID) -> HttpResponse:
    """Set or lift what a key may spend in a month."""
    actor = actor_of_user(request.user)
    key = get_api_key_of_member(request.user, key_id)
    form = KeyMonthForm(request.POST)
    return _set(request, actor, key, form, "month", lambda amount: set_key_month(key, actor=actor, monthly_microusd=amount))


def _set(
    request: PersonRequest, actor: Actor, key: ApiKey, form: forms.Form, field: str, action: Callable[[int | None], object]
) -> HttpResponse:
    require(can_manage_keys(actor, key.workspace))
    if form.is_valid():
        try:
            action(form.cleaned_data[field])
        except Forbidden:
            raise
        except Refused as refused:
            add_refusal(form, refused.message, field)
        else:
            messages.success(request, "The ceiling is saved." if field == "ceiling" else "The monthly limit is saved.")
            return redirect("workspaces:api_key", key.public_id)
    return _limits_page(request, actor, key, status=422, **{"form" if field == "ceiling" else "month_form": form})


def _limits_page(request: PersonRequest, actor: Actor, key: ApiKey, *, status: int = 200, **refused: forms.Form) -> HttpResponse:
    require(can_read_billing(actor, key.workspace))
    allowance, month = allowance_of_key(key), this_month()
    limit = month_of_key(key, month)
    ceiling = allowance.ceiling_microusd if allowance else None
    context: dict[str, Any] = {
        "key": key,
        "allowance": allowance,
        "limit": limit,
        "month_words": month_words(month),
        "form": CeilingForm(initial={"ceiling": as_typed(ceiling)}),
        "month_form": KeyMonthForm(initial={"month": as_typed(limit.limit_microusd)}),
        "can_change": key.revoked_at is None and can_manage_keys(actor, key.workspace),
        **refused,
    }
    return render_page(request, "billing/key_ceiling.html", context, partial="ceiling", status=status)
