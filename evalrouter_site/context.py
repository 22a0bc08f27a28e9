"""What every page's template may read. All of it is looked up only where a template asks, so a fragment pays for nothing."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from billing.queries import get_wallet
from workspaces.models import Workspace
from workspaces.queries import current_workspace, memberships_of_request


def site(request: HttpRequest) -> dict[str, Any]:
    """`current_workspace`: the one the session works in, or None; `memberships`: all of the person's; `credit`: its available micro-USD;
    `welcome_credit`: what a new account gets, in micro-USD."""
    return {
        "current_workspace": lambda: current_workspace(request),
        "memberships": SimpleLazyObject(lambda: memberships_of_request(request)),
        "credit": lambda: _credit(current_workspace(request)),
        "welcome_credit": settings.WELCOME_CREDIT_MICROUSD,
    }


def _credit(workspace: Workspace | None) -> int | None:
    return get_wallet(workspace).available_microusd if workspace else None
