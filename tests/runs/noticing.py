"""Rows and moments that tests of notices share."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from runs.models import Run
from runs.models.notices import NoticeEvent, WebhookDelivery, WebhookEndpoint
from runs.notices.actions import create_endpoint
from runs.notices.delivering import deliver_due
from runs.notices.enums import CHOOSABLE
from tests.factories import make_version
from tests.runs.working import start, work
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

BASELINES: list[dict[str, Any]] = [{"kind": "baseline", "name": name} for name in ("random-choice", "most-frequent-answer")]


def add_endpoint(workspace: Workspace, url: str, *events: str) -> tuple[WebhookEndpoint, str]:
    """An endpoint of the workspace that is told of these, of everything by default; and its secret."""
    return create_endpoint(workspace, actor=SYSTEM, url=url, events=events or CHOOSABLE)


def begin_run(workspace: Workspace, actor: Actor, **request: Any) -> Run:
    """A started run of two baselines, which cost nothing, on a benchmark of ten sums."""
    version = make_version(tasks=10)
    wanted = {
        "name": "Nightly",
        "subjects": BASELINES,
        "selection": {"profile_ids": [version.profile_id]},
        "coverage": {"mode": "full"},
        **request,
    }
    return start(workspace, actor, **wanted)


def end_run(workspace: Workspace, actor: Actor, **request: Any) -> Run:
    """A run that ended with every task worked."""
    return work(begin_run(workspace, actor, **request))


def tell(workspace: Workspace, actor: Actor) -> WebhookDelivery:
    """The newest delivery after a run that ended, and was not delivered yet."""
    end_run(workspace, actor)
    return WebhookDelivery.objects.filter(workspace=workspace).latest("id")


def due_again() -> None:
    """Let the time until the next try pass."""
    WebhookDelivery.objects.filter(state="pending").update(next_try_at=timezone.now() - timedelta(seconds=1))


def try_once(delivery: WebhookDelivery) -> WebhookDelivery:
    """The delivery after one more try."""
    due_again()
    deliver_due()
    delivery.refresh_from_db()
    return delivery


def events(run: Run) -> list[str]:
    return list(NoticeEvent.objects.filter(run=run).order_by("id").values_list("type", flat=True))
