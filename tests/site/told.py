"""Webhooks for the gallery: one that accepts, one that fails, and what they were told."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone

from runs.models.notices import WebhookDelivery, WebhookEndpoint
from runs.notices.actions import create_endpoint, try_endpoint
from runs.notices.delivering import deliver_due
from runs.notices.enums import CHOOSABLE, EventType
from tests.standins.http import Reply
from tests.standins.webhooks import Receiver
from workspaces.actors import Actor
from workspaces.models import Workspace

ADDRESSES = ("https://hooks.example.org/t/9f31c2", "https://ci.example.org/evaluations")


@contextmanager
def told_of_runs(workspace: Workspace, actor: Actor) -> Iterator[dict[str, str]]:
    """Runs that end meanwhile are told to both; afterwards there are the IDs of an endpoint and of deliveries in the dictionary."""
    ids: dict[str, str] = {}
    with Receiver() as good, Receiver(lambda asked, number: Reply(502, b"<h1>Bad gateway</h1>")) as bad:
        first, _ = create_endpoint(workspace, actor=actor, url=good.url, events=CHOOSABLE, description="The team's chat")
        create_endpoint(workspace, actor=actor, url=bad.url, events=[EventType.ENDED], description="Gate of the release")
        yield ids
        for _ in range(2):
            deliver_due()
            WebhookDelivery.objects.filter(workspace=workspace, tries=1, state="pending").update(next_try_at=timezone.now())
        deliver_due()
        try_endpoint(first, actor=actor)
    for endpoint, address in zip(WebhookEndpoint.objects.filter(workspace=workspace).order_by("id"), ADDRESSES, strict=True):
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(url=address)
    failing = WebhookDelivery.objects.filter(workspace=workspace, tries=2).earliest("id")
    ids |= {"webhook": str(first.public_id), "delivery": str(failing.public_id)}
