"""Accounts and workspaces: making and naming them."""

from allauth.account.models import EmailAddress
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone

from common.errors import Conflict, Refused
from workspaces import audit
from workspaces.actors import SYSTEM, Actor, actor_of_user
from workspaces.enums import Density, Role
from workspaces.models import Membership, User, Workspace
from workspaces.permissions import can_manage_workspace, require
from workspaces.queries import has_verified_address
from workspaces.signals import workspace_created

MAX_NAME = 120
MAX_WORKSPACES = 20
"""Workspaces one person may make."""


def create_workspace(user: User, *, actor: Actor, name: str) -> Workspace:
    """Make a workspace with the person as its owner, and announce it. Raises Refused (`name_required`, `too_many_workspaces`)."""
    require(actor == SYSTEM or actor.user == user)
    name = _checked_name(name)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        if Workspace.objects.filter(created_by=user).count() >= MAX_WORKSPACES:
            raise Refused("too_many_workspaces", f"One person may make {MAX_WORKSPACES} workspaces; use one that you have.")
        return _make_workspace(user, actor=actor, name=name)


def create_first_workspace(user: User, *, actor: Actor) -> Workspace | None:
    """A person's first workspace, made once, when their address is verified; None where they have made one before or it is not verified.

    The lock on the person makes two confirmations at the same moment one workspace.
    """
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        if Workspace.objects.filter(created_by=user).exists() or not has_verified_address(user):
            return None
        return _make_workspace(user, actor=actor, name=f"{user.get_short_name()}’s workspace"[:MAX_NAME])


def create_account(email: str, *, actor: Actor, password: str, workspace_name: str) -> tuple[User, Workspace]:
    """A person with a verified address and their workspace, for operators and scripts.

    Raises ValidationError for an address that is none, and Conflict (`account_exists`).
    """
    require(actor == SYSTEM)
    email = email.strip().lower()
    validate_email(email)
    name = _checked_name(workspace_name)
    try:
        with transaction.atomic():
            user = User.objects.create_user(email, password)
            EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
            workspace = _make_workspace(user, actor=actor_of_user(user), name=name)
            audit.record(actor, "account.create", user.public_id, workspace=workspace, email=user.email)
    except IntegrityError:
        if not User.objects.filter(email__iexact=email).exists():
            raise
        raise Conflict("account_exists", f"There is an account of {email} already.") from None
    return user, workspace


def rename_workspace(workspace: Workspace, *, actor: Actor, name: str) -> Workspace:
    """Give the workspace another name. Raises Refused (`name_required`)."""
    require(can_manage_workspace(actor, workspace))
    name = _checked_name(name)
    with transaction.atomic():
        row = Workspace.objects.select_for_update().get(pk=workspace.pk)
        if row.name != name:
            audit.record(actor, "workspace.rename", row.public_id, workspace=row, before=row.name, after=name)
            row.name = name
            row.save(update_fields=["name"])
    return row


def change_name(user: User, *, actor: Actor, name: str) -> User:
    """Change what the person is called; empty for the part of the address before the @."""
    require(actor.user == user)
    user.name = " ".join(name.split())[:MAX_NAME]
    user.save(update_fields=["name"])
    return user


def choose_density(user: User, *, actor: Actor, density: str) -> User:
    """Remember how close the rows of long tables lie. Raises Refused (`unknown_density`)."""
    require(actor.user == user)
    if density not in Density.values:
        raise Refused("unknown_density", "Tables are comfortable or compact; choose one of them.")
    if user.table_density != density:
        user.table_density = density
        user.save(update_fields=["table_density"])
    return user


def close_onboarding(user: User, *, actor: Actor) -> User:
    """Close "Getting started" for good; closing it again keeps the first time."""
    require(actor.user == user)
    User.objects.filter(pk=user.pk, onboarding_closed_at=None).update(onboarding_closed_at=timezone.now())
    user.refresh_from_db(fields=["onboarding_closed_at"])
    return user


def _make_workspace(user: User, *, actor: Actor, name: str) -> Workspace:
    workspace = Workspace.objects.create(name=name, created_by=user)
    Membership.objects.create(workspace=workspace, user=user, role=Role.OWNER)
    audit.record(actor, "workspace.create", workspace.public_id, workspace=workspace, name=name)
    workspace_created.send(Workspace, workspace=workspace, user=user)
    return workspace


def _checked_name(name: str) -> str:
    name = " ".join(name.split())[:MAX_NAME]
    if not name:
        raise Refused("name_required", "Give the workspace a name.")
    return name
