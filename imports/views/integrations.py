"""Settings → Integrations: the accounts of GitHub whose repositories the workspace may read."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from common.errors import Forbidden, Refused
from common.web import page, render_page
from imports.actions.connecting import begin_connection, disconnect, finish_connection
from imports.queries.capabilities import may_use_github, may_use_hub, may_use_private_github
from imports.queries.github import connections_of, get_connection
from imports.views.frame import actor_of
from workspaces.permissions import can_manage_workspace
from workspaces.queries import get_workspace_of, required_workspace
from workspaces.requests import PersonRequest

NONCE = "github_connecting"


@page
@never_cache
@require_http_methods(["GET", "HEAD"])
def integrations(request: PersonRequest) -> HttpResponse:
    """What the workspace is connected to."""
    workspace = required_workspace(request)
    context = {
        "workspace": workspace,
        "has_github": may_use_github(workspace),
        "has_app": may_use_private_github(workspace),
        "has_hub": may_use_hub(workspace),
        "can_manage": can_manage_workspace(actor_of(request), workspace),
        "connections": connections_of(workspace),
    }
    return render_page(request, "imports/integrations.html", context)


@page
@require_POST
def connect(request: PersonRequest) -> HttpResponse:
    """Go to GitHub, to install the App on an account and choose its repositories."""
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    try:
        address, nonce = begin_connection(workspace, actor=actor_of(request))
    except Forbidden:
        raise
    except Refused as refusal:
        messages.error(request, refusal.message)
        return redirect("imports:integrations")
    request.session[NONCE] = nonce
    return HttpResponseRedirect(address)


@page
@never_cache
@require_http_methods(["GET"])
@sensitive_variables("code")
def returned(request: PersonRequest) -> HttpResponse:
    """Back from GitHub. The state is used up, whatever comes of it, and its address with the code is left at once."""
    nonce = str(request.session.pop(NONCE, ""))
    number, code, state = (request.GET.get(name, "") for name in ("installation_id", "code", "state"))
    if not state:
        messages.error(request, "GitHub did not say what this answers. Begin again here.")
    elif not number or not code:
        messages.info(request, _missing(request.GET.get("setup_action", "")))
    elif not (number.isascii() and number.isdecimal() and len(number) < 16):
        messages.error(request, "GitHub named no installation. Begin again here.")
    else:
        try:
            made = finish_connection(actor=actor_of(request), state=state, nonce=nonce, installation_id=int(number), code=code[:200])
        except Forbidden:
            raise
        except Refused as refusal:
            messages.error(request, refusal.message)
        else:
            messages.success(request, f"{made.account} is connected to {made.workspace.name}.")
    return redirect("imports:integrations")


def _missing(action: str) -> str:
    if action == "request":
        return "GitHub has asked an owner of the account to approve the App. Connect it here once they have."
    return "GitHub named no installation that you confirm. Begin again, and save the App's installation on GitHub."


@page
@require_POST
def disconnection(request: PersonRequest, github_id: UUID) -> HttpResponse:
    """Read no more through a connection."""
    workspace = get_workspace_of(request.user, request.POST.get("workspace", ""))
    connection = get_connection(workspace, github_id)
    disconnect(connection, actor=actor_of(request))
    messages.success(request, f"{connection.account} is disconnected.")
    return redirect("imports:integrations")
