"""Pages of a workspace's own endpoints. A key can be written here and never read."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.errors import Forbidden, Refused
from common.pages import page_of
from common.web import page, redirect_to, render_page
from gateway import actions, queries
from gateway.forms import ConnectionChangeForm, ConnectionForm, KeyForm
from gateway.models import Connection
from workspaces.actors import actor_of_user
from workspaces.models import Workspace
from workspaces.permissions import can_manage_connections, can_run, require
from workspaces.queries import get_workspace_of, required_workspace
from workspaces.requests import PersonRequest

CONNECTIONS_A_PAGE = 50
FORM_METHODS = ["GET", "HEAD", "POST"]
NEEDS_ADMIN = "Connections are added and changed by admins of the workspace."


def _roles(request: PersonRequest, workspace: Workspace) -> dict[str, Any]:
    actor = actor_of_user(request.user)
    can_manage = can_manage_connections(actor, workspace)
    return {"can_manage": can_manage, "can_check": can_manage or can_run(actor, workspace), "owner_workspace": workspace}


@page
@require_safe
def connections(request: PersonRequest) -> HttpResponse:
    """The workspace's endpoints, the newest first."""
    workspace = required_workspace(request)
    listed = page_of(queries.connections_for(workspace), cursor=request.GET.get("cursor"), limit=CONNECTIONS_A_PAGE)
    context = {"connections": listed.rows, "next_cursor": listed.next_cursor, "cursor": request.GET.get("cursor")} | _roles(
        request, workspace
    )
    return render_page(request, "gateway/connections.html", context, partial="list")


@page
@require_http_methods(FORM_METHODS)
def new_connection(request: PersonRequest) -> HttpResponse:
    """Add an endpoint. The form carries its workspace's ID."""
    is_post = request.method == "POST"
    stated = request.POST.get("workspace", "") if is_post else ""
    workspace = get_workspace_of(request.user, stated) if stated else required_workspace(request)
    actor = actor_of_user(request.user)
    require(can_manage_connections(actor, workspace), NEEDS_ADMIN)
    form = ConnectionForm(request.POST if is_post else None, initial={"workspace": workspace.public_id})
    if is_post and form.is_valid():
        given = {key: form.cleaned_data[key] for key in ("name", "endpoint", "model", "api_key")}
        made = _attempt(form, lambda: actions.create_connection(workspace, actor=actor, **given))
        if made is not None:
            messages.success(request, f"{made.name} is added. Check it before the first quote.")
            return redirect_to(request, reverse("gateway:connection", args=[made.public_id]))
    return render_page(
        request, "gateway/new_connection.html", {"form": form, "owner_workspace": workspace}, partial="form", status=422 if is_post else 200
    )


@page
@require_http_methods(FORM_METHODS)
def connection(request: PersonRequest, connection_id: UUID) -> HttpResponse:
    """One endpoint: whether it answers, and changing what is called."""
    found = queries.get_connection_of_member(request.user, connection_id)
    is_post = request.method == "POST"
    actor = actor_of_user(request.user)
    if is_post:
        require(can_manage_connections(actor, found.workspace), NEEDS_ADMIN)
    initial = {"name": found.name, "endpoint": found.endpoint, "model": found.model}
    form = ConnectionChangeForm(request.POST if is_post else None, initial=initial)
    if is_post and form.is_valid():
        changed = _attempt(form, lambda: actions.change_connection(found, actor=actor, **form.cleaned_data))
        if changed is not None:
            messages.success(request, "Changed." if changed.checked_at else "Changed. Check the connection before the next quote.")
            return redirect_to(request, reverse("gateway:connection", args=[found.public_id]))
    return _show(request, found, form=form, status=422 if is_post else 200)


@page
@require_POST
def check(request: PersonRequest, connection_id: UUID) -> HttpResponse:
    """Make one small real call to the endpoint and show what came back."""
    found = queries.get_connection_of_member(request.user, connection_id)
    result = actions.check_connection(found, actor=actor_of_user(request.user))
    if result.ok:
        messages.success(request, f"{found.name} answered.")
    else:
        messages.error(request, f"{found.name} did not answer: {result.error}")
    return redirect_to(request, reverse("gateway:connection", args=[found.public_id]))


@page
@require_http_methods(FORM_METHODS)
def key(request: PersonRequest, connection_id: UUID) -> HttpResponse:
    """Put another key in the place of the present one."""
    found = queries.get_connection_of_member(request.user, connection_id)
    actor = actor_of_user(request.user)
    require(can_manage_connections(actor, found.workspace), NEEDS_ADMIN)
    is_post = request.method == "POST"
    form = KeyForm(request.POST if is_post else None)
    if is_post and form.is_valid():
        rotated = _attempt(form, lambda: actions.rotate_key(found, actor=actor, api_key=form.cleaned_data["api_key"]))
        if rotated is not None:
            messages.success(request, "The key is replaced. Check the connection before the next quote.")
            return redirect_to(request, reverse("gateway:connection", args=[found.public_id]))
    context = {"connection": found, "form": form}
    return render_page(request, "gateway/key.html", context, partial="form", status=422 if is_post else 200)


@page
@require_http_methods(FORM_METHODS)
def deletion(request: PersonRequest, connection_id: UUID) -> HttpResponse:
    """Ask, and delete: the key is erased, results that name the connection stay."""
    found = queries.get_connection_of_member(request.user, connection_id)
    actor = actor_of_user(request.user)
    require(can_manage_connections(actor, found.workspace), NEEDS_ADMIN)
    if request.method != "POST":
        return render_page(request, "gateway/deletion.html", {"connection": found})
    actions.delete_connection(found, actor=actor)
    messages.success(request, f"{found.name} is deleted, and its key is erased.")
    return redirect_to(request, reverse("gateway:connections"))


def _attempt(form: Any, act: Any) -> Any:
    """What the action returns; None where it refused, which the form then says."""
    try:
        return act()
    except Forbidden:
        raise
    except Refused as refusal:
        if hasattr(form, "refuse"):
            form.refuse(refusal)
        else:
            form.add_error(next((each for each in refusal.details if each in form.fields), None), refusal.message)
        return None


def _show(request: PersonRequest, found: Connection, *, form: ConnectionChangeForm, status: int = 200) -> HttpResponse:
    context = {"connection": found, "form": form} | _roles(request, found.workspace)
    return render_page(request, "gateway/connection.html", context, partial="details", status=status)
