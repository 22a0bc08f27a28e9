"""The workspace's webhooks over HTTP: endpoints, and what was delivered to them."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from rest_framework.response import Response

from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from runs.notices.actions import change_endpoint, create_endpoint, delete_endpoint, redeliver, rotate_secret, try_endpoint
from runs.notices.queries import deliveries_for, endpoints_for, get_delivery, get_endpoint
from runs.permissions import can_manage_webhooks
from runs.serializers.notices import (
    DeliveriesQuery,
    NewWebhookEndpointShape,
    WebhookDeliveryDetailShape,
    WebhookDeliveryShape,
    WebhookEndpointChangeBody,
    WebhookEndpointCreateBody,
    WebhookEndpointShape,
    WebhookSecretBody,
    delivery_detail_document,
    delivery_document,
    endpoint_document,
)
from workspaces.api_base import ApiView, operation, page_document


class WebhookEndpointList(ApiView):
    tag = "webhooks"

    @operation(
        "list_webhook_endpoints",
        "Endpoints of the workspace, newest first",
        needs=can_manage_webhooks,
        query=ListQuery,
        answers={200: page_of_shape(WebhookEndpointShape)},
    )
    def get(self) -> dict[str, Any]:
        page = page_of(endpoints_for(self.workspace), cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, endpoint_document)

    @operation(
        "create_webhook_endpoint",
        "Add an endpoint; its secret is shown once",
        needs=can_manage_webhooks,
        body=WebhookEndpointCreateBody,
        answers={201: NewWebhookEndpointShape},
        bears_secret=True,
    )
    def post(self) -> dict[str, Any]:
        """It is told of what happens from now on. Nothing is sent yet; send a test to see that it answers."""
        endpoint, secret = create_endpoint(self.workspace, actor=self.actor, **self.body)
        return {**endpoint_document(endpoint), "secret": secret}


class WebhookEndpointDetail(ApiView):
    tag = "webhooks"

    @operation("get_webhook_endpoint", "One endpoint", needs=can_manage_webhooks, answers={200: WebhookEndpointShape})
    def get(self, endpoint_id: UUID) -> dict[str, Any]:
        return endpoint_document(get_endpoint(self.workspace, endpoint_id))

    @operation(
        "change_webhook_endpoint",
        "Change what is given",
        needs=can_manage_webhooks,
        body=WebhookEndpointChangeBody,
        answers={200: WebhookEndpointShape},
    )
    def patch(self, endpoint_id: UUID) -> dict[str, Any]:
        return endpoint_document(change_endpoint(get_endpoint(self.workspace, endpoint_id), actor=self.actor, **self.body))

    @operation("delete_webhook_endpoint", "Delete an endpoint with its deliveries", needs=can_manage_webhooks, answers={204: None})
    def delete(self, endpoint_id: UUID) -> Response:
        delete_endpoint(get_endpoint(self.workspace, endpoint_id), actor=self.actor)
        return Response(status=204)


class WebhookEndpointSecret(ApiView):
    tag = "webhooks"

    @operation(
        "rotate_webhook_secret",
        "Replace the secret; the new one is shown once",
        needs=can_manage_webhooks,
        body=WebhookSecretBody,
        answers={201: NewWebhookEndpointShape},
        bears_secret=True,
    )
    def post(self, endpoint_id: UUID) -> dict[str, Any]:
        """Until the overlap is over, each delivery bears a signature under both."""
        overlap = timedelta(hours=self.body["overlap_hours"])
        endpoint, secret = rotate_secret(get_endpoint(self.workspace, endpoint_id), actor=self.actor, overlap=overlap)
        return {**endpoint_document(endpoint), "secret": secret}


class WebhookEndpointTest(ApiView):
    tag = "webhooks"

    @operation(
        "test_webhook_endpoint",
        "Send a test, and answer what came of it",
        needs=can_manage_webhooks,
        answers={200: WebhookDeliveryDetailShape},
        in_transaction=False,
    )
    def post(self, endpoint_id: UUID) -> dict[str, Any]:
        """It is tried once, also where the endpoint is turned off. Five a minute are taken, then 409 `too_many_tests`."""
        return delivery_detail_document(try_endpoint(get_endpoint(self.workspace, endpoint_id), actor=self.actor))


class WebhookDeliveryList(ApiView):
    tag = "webhooks"

    @operation(
        "list_webhook_deliveries",
        "What endpoints were told, newest first",
        needs=can_manage_webhooks,
        query=DeliveriesQuery,
        answers={200: page_of_shape(WebhookDeliveryShape)},
    )
    def get(self) -> dict[str, Any]:
        """They are kept for some weeks."""
        named = self.query.get("endpoint_id")
        endpoint = get_endpoint(self.workspace, named) if named else None
        found = deliveries_for(self.workspace, endpoint=endpoint, state=self.query.get("state", ""))
        return page_document(page_of(found, cursor=self.query.get("cursor"), limit=self.query["limit"]), delivery_document)


class WebhookDeliveryDetail(ApiView):
    tag = "webhooks"

    @operation(
        "get_webhook_delivery",
        "One delivery with its tries and its body",
        needs=can_manage_webhooks,
        answers={200: WebhookDeliveryDetailShape},
    )
    def get(self, delivery_id: UUID) -> dict[str, Any]:
        return delivery_detail_document(get_delivery(self.workspace, delivery_id))


class WebhookRedelivery(ApiView):
    tag = "webhooks"

    @operation("redeliver_webhook", "Deliver it again", needs=can_manage_webhooks, answers={200: WebhookDeliveryDetailShape})
    def post(self, delivery_id: UUID) -> dict[str, Any]:
        """From the first try on, under the same `webhook-id`. 409 `still_pending`, `endpoint_off` or `is_a_test` where it cannot be."""
        return delivery_detail_document(redeliver(get_delivery(self.workspace, delivery_id), actor=self.actor))
