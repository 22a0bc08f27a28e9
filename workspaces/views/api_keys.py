"""API keys of the workspace one works in. A key's text is in the one answer that made it, and nowhere else."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_http_methods, require_POST

from common.errors import Forbidden, Refused
from common.forms import add_refusal
from common.web import page, render_page
from workspaces.actions import change_api_key, create_api_key, revoke_api_key, roll_api_key
from workspaces.actors import Actor, actor_of_user
from workspaces.forms import ApiKeyChangeForm, ApiKeyForm, ApiKeyRollForm
from workspaces.models import ApiKey, Workspace
from workspaces.permissions import can_manage_keys, require
from workspaces.queries import api_keys_for, get_api_key_of_member, get_workspace_of, required_workspace
from workspaces.requests import PersonRequest

FIELD_OF_REFUSAL = {
    "label_required": "label",
    "invalid_scopes": "scopes",
    "invalid_expiry": "expires_in",
    "invalid_amount": "spend_ceiling",
}


@require_http_methods(["GET", "POST"])
@page
def api_keys(request: PersonRequest) -> HttpResponse:
    actor = actor_of_user(request.user)
    if request.method == "GET":
        return _list_page(request, actor, required_workspace(request), form=ApiKeyForm())
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    require(can_manage_keys(actor, workspace))
    form = ApiKeyForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            key, text = create_api_key(
                workspace,
                actor=actor,
                label=data["label"],
                scopes=data["scopes"],
                expires_at=data["expires_in"],
                spend_ceiling_microusd=data["spend_ceiling"],
            )
        except Forbidden:
            raise
        except Refused as refused:
            add_refusal(form, refused.message, FIELD_OF_REFUSAL.get(refused.code))
        else:
            return _secret_page(request, key, text)
    return _list_page(request, actor, workspace, form=form, status=422)


@require_http_methods(["GET", "POST"])
@page
def api_key(request: PersonRequest, key_id: UUID) -> HttpResponse:
    actor = actor_of_user(request.user)
    key = get_api_key_of_member(request.user, key_id)
    if request.method == "GET":
        return _key_page(request, actor, key, form=ApiKeyChangeForm.of(key))
    require(can_manage_keys(actor, key.workspace))
    form = ApiKeyChangeForm.of(key, request.POST)
    if form.is_valid():
        try:
            change_api_key(key, actor=actor, label=form.cleaned_data["label"], scopes=form.cleaned_data["scopes"])
        except Forbidden:
            raise
        except Refused as refused:
            add_refusal(form, refused.message, FIELD_OF_REFUSAL.get(refused.code))
        else:
            messages.success(request, "The key is changed.")
            return redirect("workspaces:api_key", key_id)
    return _key_page(request, actor, key, form=form, status=422)


@require_POST
@page
def roll(request: PersonRequest, key_id: UUID) -> HttpResponse:
    actor = actor_of_user(request.user)
    key = get_api_key_of_member(request.user, key_id)
    require(can_manage_keys(actor, key.workspace))
    form = ApiKeyRollForm(request.POST)
    if not form.is_valid():
        return _key_page(request, actor, key, form=ApiKeyChangeForm.of(key), roll_form=form, status=422)
    new, text = roll_api_key(key, actor=actor, overlap=form.cleaned_data["overlap"])
    return _secret_page(request, new, text, rolled_from=get_api_key_of_member(request.user, key_id))


@require_POST
@page
def revocation(request: PersonRequest, key_id: UUID) -> HttpResponse:
    key = get_api_key_of_member(request.user, key_id)
    revoke_api_key(key, actor=actor_of_user(request.user))
    messages.success(request, f"“{key.label}” is revoked. Runs it has started go on.")
    return redirect("workspaces:api_keys")


def _secret_page(request: PersonRequest, key: ApiKey, text: str, *, rolled_from: ApiKey | None = None) -> HttpResponse:
    """The one page with the key's text. It answers the POST itself: a redirect would have to keep the secret somewhere."""
    response = render_page(request, "workspaces/api_key_secret.html", {"key": key, "text": text, "rolled_from": rolled_from}, status=201)
    add_never_cache_headers(response)
    return response


def _list_page(request: PersonRequest, actor: Actor, workspace: Workspace, *, form: ApiKeyForm, status: int = 200) -> HttpResponse:
    now = timezone.now()
    rows = [{"key": key, "state": key_state(key, now)} for key in api_keys_for(workspace)]
    context = {
        "workspace": workspace,
        "live": [row for row in rows if row["state"] == "active"],
        "ended": [row for row in rows if row["state"] != "active"],
        "form": form,
        "can_manage": can_manage_keys(actor, workspace),
    }
    return render_page(request, "workspaces/api_keys.html", context, status=status)


def _key_page(
    request: PersonRequest, actor: Actor, key: ApiKey, *, form: ApiKeyChangeForm, roll_form: ApiKeyRollForm | None = None, status: int = 200
) -> HttpResponse:
    state = key_state(key, timezone.now())
    context = {
        "key": key,
        "state": state,
        "form": form,
        "roll_form": roll_form or ApiKeyRollForm(),
        "can_change": state == "active" and can_manage_keys(actor, key.workspace),
    }
    return render_page(request, "workspaces/api_key.html", context, status=status)


def key_state(key: ApiKey, now: object) -> str:
    """The state in a word: active, revoked or expired."""
    if key.revoked_at is not None:
        return "revoked"
    return "active" if key.is_live(now) else "expired"  # type: ignore[arg-type]
