"""Settings → Notices: what one wants mail about, and the workspace's webhooks. A secret is in the one answer that made it."""

import inspect
import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.errors import Forbidden, Refused
from common.pages import page_of
from common.web import page, render_page
from runs.models.notices import WebhookDelivery, WebhookEndpoint
from runs.notices import receiving
from runs.notices.actions import change_endpoint, choose_notices, create_endpoint, delete_endpoint, redeliver, rotate_secret, try_endpoint
from runs.notices.delivering import MOST_TRIES
from runs.notices.enums import DeliveryState, EventType
from runs.notices.forms import EndpointChangeForm, EndpointForm, NoticeForm, RotationForm
from runs.notices.queries import (
    choice_of,
    deliveries_for,
    endpoints_for,
    get_delivery_of_member,
    get_endpoint,
    get_endpoint_of_member,
)
from runs.permissions import can_manage_webhooks
from workspaces.actors import Actor, actor_of_user
from workspaces.permissions import require
from workspaces.queries import current_workspace, get_workspace_of, required_workspace
from workspaces.requests import PersonRequest

FORM_METHODS = ["GET", "HEAD", "POST"]
NEEDS_ADMIN = "Webhooks are for owners and admins of the workspace."
A_PAGE = 50
LATEST = 5
KINDS = {
    EventType.ENDED: "Run ended",
    EventType.INTERRUPTED: "Run interrupted",
    EventType.WAITING: "Run waiting",
    EventType.TEST: "Test",
}


@page
@require_http_methods(FORM_METHODS)
def notices(request: PersonRequest) -> HttpResponse:
    """What the person is told by mail; for admins the webhooks of the workspace they work in."""
    actor = actor_of_user(request.user)
    form = NoticeForm.of(choice_of(request.user), request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        choose_notices(request.user, actor=actor, **form.cleaned_data)
        messages.success(request, "Your choice is saved.")
        return redirect("runs:notices")
    workspace = current_workspace(request)
    can_manage = workspace is not None and can_manage_webhooks(actor, workspace)
    endpoints = list(endpoints_for(workspace)) if workspace is not None and can_manage else []
    context = {"form": form, "workspace": workspace, "can_manage": can_manage, "endpoints": endpoints}
    return render_page(request, "runs/notices/notices.html", context, status=422 if form.is_bound else 200)


@page
@require_http_methods(FORM_METHODS)
def new_webhook(request: PersonRequest) -> HttpResponse:
    """Add an endpoint; the answer to the form shows its secret."""
    stated = request.POST.get("workspace", "") if request.method == "POST" else ""
    workspace = get_workspace_of(request.user, stated) if request.method == "POST" else required_workspace(request)
    actor = actor_of_user(request.user)
    require(can_manage_webhooks(actor, workspace), NEEDS_ADMIN)
    form = EndpointForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            endpoint, secret = create_endpoint(workspace, actor=actor, **form.cleaned_data)
        except Forbidden:
            raise
        except Refused as refusal:
            form.refuse(refusal)
        else:
            return _secret_page(request, endpoint, secret)
    context = {"form": form, "workspace": workspace}
    return render_page(request, "runs/notices/new_webhook.html", context, status=422 if form.is_bound else 200)


@page
@require_http_methods(FORM_METHODS)
def webhook(request: PersonRequest, endpoint_id: UUID) -> HttpResponse:
    """One endpoint: how it does, and changing it."""
    endpoint, actor = _managed(request, endpoint_id)
    form = EndpointChangeForm.of(endpoint, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            change_endpoint(endpoint, actor=actor, **form.cleaned_data)
        except Forbidden:
            raise
        except Refused as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, "The webhook is changed.")
            return redirect("runs:webhook", endpoint_id)
    return _webhook_page(request, endpoint, form=form, status=422 if form.is_bound else 200)


@page
@require_POST
def webhook_secret(request: PersonRequest, endpoint_id: UUID) -> HttpResponse:
    """Make another secret, and show it."""
    endpoint, actor = _managed(request, endpoint_id)
    form = RotationForm(request.POST)
    if not form.is_valid():
        return _webhook_page(request, endpoint, form=EndpointChangeForm.of(endpoint), rotation=form, status=422)
    changed, secret = rotate_secret(endpoint, actor=actor, overlap=form.cleaned_data["overlap"])
    return _secret_page(request, changed, secret)


@page
@require_POST
def webhook_test(request: PersonRequest, endpoint_id: UUID) -> HttpResponse:
    """Send a test, and say what came of it."""
    endpoint, actor = _managed(request, endpoint_id)
    try:
        delivery = try_endpoint(endpoint, actor=actor)
    except Forbidden:
        raise
    except Refused as refusal:
        messages.error(request, refusal.message)
    else:
        if delivery.state == DeliveryState.DELIVERED:
            messages.success(request, f"The test was accepted with {delivery.last_status}, in {delivery.latency_ms:,} ms.")
        else:
            messages.error(request, f"The test was not accepted. {delivery.last_error}")
    return redirect("runs:webhook", endpoint_id)


@page
@require_http_methods(FORM_METHODS)
def webhook_deletion(request: PersonRequest, endpoint_id: UUID) -> HttpResponse:
    """Ask, and delete."""
    endpoint, actor = _managed(request, endpoint_id)
    if request.method != "POST":
        return render_page(request, "runs/notices/webhook_deletion.html", {"endpoint": endpoint})
    delete_endpoint(endpoint, actor=actor)
    messages.success(request, "The webhook is deleted, and its secret is erased.")
    return redirect("runs:notices")


@page
@require_safe
def webhook_deliveries(request: PersonRequest) -> HttpResponse:
    """What the workspace's endpoints were told, and what came of it."""
    workspace = required_workspace(request)
    require(can_manage_webhooks(actor_of_user(request.user), workspace), NEEDS_ADMIN)
    chosen, state = request.GET.get("endpoint", ""), request.GET.get("state", "")
    endpoint = get_endpoint(workspace, chosen) if chosen else None
    state = state if state in DeliveryState.values else ""
    cursor = request.GET.get("cursor")
    listed = page_of(deliveries_for(workspace, endpoint=endpoint, state=state), cursor=cursor, limit=A_PAGE)
    context = {
        "workspace": workspace,
        "rows": [_row(delivery) for delivery in listed.rows],
        "next_cursor": listed.next_cursor,
        "cursor": cursor,
        "endpoint": endpoint,
        "endpoints": list(endpoints_for(workspace)),
        "states": DeliveryState.choices,
        "state": state,
        "is_filtered": bool(endpoint or state),
    }
    return render_page(request, "runs/notices/deliveries.html", context, partial="list")


@page
@require_safe
def webhook_delivery(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    """One delivery: each of its last tries, what was answered, and what was sent."""
    delivery, _ = _managed_delivery(request, delivery_id)
    row = _row(delivery)
    context = {
        **row,
        "row": row,
        "workspace": delivery.workspace,
        "tries": [{**tried, "at": parse_datetime(tried["at"])} for tried in reversed(delivery.history)],
        "body": json.dumps(delivery.event.document, indent=2, ensure_ascii=False),
        "can_repeat": not row["is_pending"] and not delivery.is_test and delivery.endpoint.is_enabled,
        "most_tries": MOST_TRIES,
    }
    return render_page(request, "runs/notices/delivery.html", context)


@page
@require_POST
def webhook_redelivery(request: PersonRequest, delivery_id: UUID) -> HttpResponse:
    """Deliver it again."""
    delivery, actor = _managed_delivery(request, delivery_id)
    try:
        redeliver(delivery, actor=actor)
    except Forbidden:
        raise
    except Refused as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "It is being delivered again, under the same webhook-id.")
    return redirect("runs:webhook_delivery", delivery_id)


def _managed(request: PersonRequest, endpoint_id: UUID) -> tuple[WebhookEndpoint, Actor]:
    """The endpoint, for who may manage it: its address may hold a secret, so nobody else sees it."""
    endpoint, actor = get_endpoint_of_member(request.user, endpoint_id), actor_of_user(request.user)
    require(can_manage_webhooks(actor, endpoint.workspace), NEEDS_ADMIN)
    return endpoint, actor


def _managed_delivery(request: PersonRequest, delivery_id: UUID) -> tuple[WebhookDelivery, Actor]:
    delivery, actor = get_delivery_of_member(request.user, delivery_id), actor_of_user(request.user)
    require(can_manage_webhooks(actor, delivery.workspace), NEEDS_ADMIN)
    return delivery, actor


def _row(delivery: WebhookDelivery) -> dict[str, Any]:
    """A delivery as lists show it. One that is due is being sent, or will be in a moment."""
    is_pending = delivery.state == DeliveryState.PENDING
    return {
        "delivery": delivery,
        "kind": KINDS[EventType(delivery.event.type)],
        "run": delivery.event.run,
        "next_try_at": delivery.next_try_at if is_pending and delivery.next_try_at > timezone.now() else None,
        "is_pending": is_pending,
    }


def _webhook_page(
    request: PersonRequest, endpoint: WebhookEndpoint, *, form: EndpointChangeForm, rotation: RotationForm | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "endpoint": endpoint,
        "workspace": endpoint.workspace,
        "form": form,
        "rotation": rotation or RotationForm(),
        "old_works_until": endpoint.old_secret_until if endpoint.has_old_secret(timezone.now()) else None,
        "rows": [_row(delivery) for delivery in page_of(deliveries_for(endpoint.workspace, endpoint=endpoint), limit=LATEST).rows],
        "example": example(),
    }
    return render_page(request, "runs/notices/webhook.html", context, status=status)


def _secret_page(request: PersonRequest, endpoint: WebhookEndpoint, secret: str) -> HttpResponse:
    """The one page with the secret. It answers the POST itself: a redirect would have to keep the secret somewhere."""
    context = {
        "endpoint": endpoint,
        "workspace": endpoint.workspace,
        "secret": secret,
        "old_works_until": endpoint.old_secret_until if endpoint.has_old_secret(timezone.now()) else None,
        "example": example(),
    }
    response = render_page(request, "runs/notices/webhook_secret.html", context, status=201)
    add_never_cache_headers(response)
    return response


def example() -> str:
    """The code with which a receiver checks a signature."""
    return inspect.getsource(receiving).partition('"""\n\n')[2].strip()
