"""What this app does when allauth says that a person has shown who they are."""

from typing import Any

from allauth.account.models import EmailAddress
from allauth.account.signals import email_confirmed, user_logged_in
from django.dispatch import receiver

from workspaces.actions import create_first_workspace
from workspaces.actors import actor_of_user
from workspaces.models import User


@receiver(email_confirmed)
def begin(sender: type[EmailAddress], *, email_address: EmailAddress, **_: Any) -> None:
    """The first workspace, with its welcome credit, when the first address is confirmed."""
    create_first_workspace(email_address.user, actor=actor_of_user(email_address.user))


@receiver(user_logged_in)
def begin_late(sender: type[User], *, user: User, **_: Any) -> None:
    """The same at sign-in, for an address that was verified in another way, or where the confirmation broke off half-way."""
    create_first_workspace(user, actor=actor_of_user(user))
