"""Connecting a workspace to an account of GitHub through the deployment's App, and disconnecting it.

An installation's number is no secret: whoever brings one must show, by a code of GitHub for themselves, that it is theirs to connect.
"""

import secrets

from django.core import signing
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from common.errors import Conflict, Refused
from imports.models import GithubInstallation
from imports.queries.capabilities import may_use_private_github
from imports.queries.github import LOOK_SECONDS
from imports.sources import github_app
from imports.sources.bounded import within
from workspaces.actors import Actor
from workspaces.audit import record
from workspaces.models import Workspace
from workspaces.permissions import can_manage_workspace, require
from workspaces.queries import get_workspace_of

STATE_SECONDS = 30 * 60
NOT_ADMIN = "Owners and admins connect accounts. Ask one of this workspace."
_SALT = "imports.github.connect"


def begin_connection(workspace: Workspace, *, actor: Actor) -> tuple[str, str]:
    """Where to send the person, and the secret that their session keeps until they are back. Raises `Forbidden`, and `Refused`
    `github_app_not_set_up`.
    """
    require(can_manage_workspace(actor, workspace), NOT_ADMIN)
    _require_app(workspace)
    nonce = secrets.token_urlsafe(24)
    state = signing.dumps({"nonce": nonce, "user": str(actor.public_id), "workspace": str(workspace.public_id)}, salt=_SALT)
    return github_app.install_address(state), nonce


def finish_connection(*, actor: Actor, state: str, nonce: str, installation_id: int, code: str) -> GithubInstallation:
    """Connect the installation that GitHub confirms, to the workspace that the state was made for. A state counts once, for its person,
    in the session that keeps its nonce. It waits for a network: call it outside of transactions.

    Raises `Forbidden`, `Conflict` `github_state_refused`, and `Refused`: `github_not_confirmed`, `github_unavailable` (502).
    """
    workspace = _workspace_of(state, nonce, actor)
    require(can_manage_workspace(actor, workspace), NOT_ADMIN)
    _require_app(workspace)
    with within(LOOK_SECONDS):
        confirmed = github_app.confirmed_installation(installation_id, code)
    with transaction.atomic():
        workspace = Workspace.objects.select_for_update().get(pk=workspace.pk)
        made, is_new = GithubInstallation.objects.get_or_create(
            workspace=workspace,
            installation_id=confirmed.id,
            removed_at=None,
            defaults={"account": confirmed.account, "created_by": actor.user},
        )
        if is_new:
            record(actor, "github.connected", confirmed.account, workspace=workspace, installation_id=confirmed.id)
    return made


def _workspace_of(state: str, nonce: str, actor: Actor) -> Workspace:
    refused = Conflict("github_state_refused", "This connection was begun elsewhere, too long ago, or is used already. Begin again here.")
    try:
        told = signing.loads(state, salt=_SALT, max_age=STATE_SECONDS)
    except signing.BadSignature:
        raise refused from None
    is_same = bool(nonce) and constant_time_compare(told["nonce"], nonce) and told["user"] == str(actor.public_id)
    # The session gives its nonce up, and of two requests at the same moment one is first here.
    if actor.user is None or not is_same or not cache.add(f"github-state:{told['nonce']}", 1, STATE_SECONDS * 2):
        raise refused
    return get_workspace_of(actor.user, told["workspace"])


def disconnect(connection: GithubInstallation, *, actor: Actor) -> GithubInstallation:
    """Read no more through the connection; what was imported stays. The App stays installed on GitHub. Raises `Forbidden`."""
    require(can_manage_workspace(actor, connection.workspace), NOT_ADMIN)
    with transaction.atomic():
        locked = GithubInstallation.objects.select_for_update().get(pk=connection.pk)
        if locked.removed_at is None:
            locked.removed_at = timezone.now()
            locked.save(update_fields=["removed_at"])
            record(actor, "github.disconnected", locked.account, workspace=connection.workspace, installation_id=locked.installation_id)
    return locked


def _require_app(workspace: Workspace) -> None:
    if not may_use_private_github(workspace):
        raise Refused("github_app_not_set_up", "Private repositories are not set up here. Public ones need no connection.")
