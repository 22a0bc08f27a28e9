"""Reading endpoints, deliveries and choices. The workspace, or the person, comes first."""

from django.db.models import QuerySet

from common.ids import named_id
from runs.models.notices import NoticeChoice, WebhookDelivery, WebhookEndpoint
from workspaces.models import User, Workspace


def choice_of(user: User) -> NoticeChoice:
    """What the person chose, or the defaults, which are not stored."""
    return NoticeChoice.objects.filter(user=user).first() or NoticeChoice(user=user)


def endpoints_for(workspace: Workspace) -> QuerySet[WebhookEndpoint]:
    """The workspace's endpoints, newest first."""
    return WebhookEndpoint.objects.filter(workspace=workspace).select_related("workspace", "created_by").order_by("-id")


def get_endpoint(workspace: Workspace, endpoint_id: object) -> WebhookEndpoint:
    """Raises `WebhookEndpoint.DoesNotExist`."""
    return endpoints_for(workspace).get(public_id=named_id(endpoint_id))


def get_endpoint_of_member(user: User, endpoint_id: object) -> WebhookEndpoint:
    """An endpoint of any of the person's workspaces. Raises `WebhookEndpoint.DoesNotExist`."""
    endpoints = WebhookEndpoint.objects.filter(workspace__memberships__user=user).select_related("workspace", "created_by")
    return endpoints.get(public_id=named_id(endpoint_id))


def deliveries_for(workspace: Workspace, *, endpoint: WebhookEndpoint | None = None, state: str = "") -> QuerySet[WebhookDelivery]:
    """The workspace's deliveries, newest first, with their events, runs and endpoints."""
    deliveries = WebhookDelivery.objects.filter(workspace=workspace).select_related("event__run", "endpoint").order_by("-id")
    if endpoint is not None:
        deliveries = deliveries.filter(endpoint=endpoint)
    if state:
        deliveries = deliveries.filter(state=state)
    return deliveries


def get_delivery(workspace: Workspace, delivery_id: object) -> WebhookDelivery:
    """Raises `WebhookDelivery.DoesNotExist`."""
    return deliveries_for(workspace).select_related("workspace").get(public_id=named_id(delivery_id))


def get_delivery_of_member(user: User, delivery_id: object) -> WebhookDelivery:
    """A delivery of any of the person's workspaces. Raises `WebhookDelivery.DoesNotExist`."""
    deliveries = WebhookDelivery.objects.filter(workspace__memberships__user=user)
    return deliveries.select_related("event__run", "endpoint", "workspace").get(public_id=named_id(delivery_id))
