"""What billing does when something happened elsewhere."""

from typing import Any

from django.db import transaction
from django.dispatch import receiver

from billing.actions import grant_welcome_credit
from billing.ledger import wallet_id_of
from billing.limits import adopt_key, key_left, set_key_ceiling
from billing.models import Wallet
from billing.payments.taking_back import collect_shortfalls
from billing.signals import credit_returned
from common.errors import Refused
from workspaces.actors import Actor
from workspaces.models import ApiKey, User, Workspace
from workspaces.signals import Unset, api_key_changed, api_key_created, api_key_rolled, workspace_created


@receiver(workspace_created)
def welcome(sender: type[Workspace], *, workspace: Workspace, user: User, **_: Any) -> None:
    """Every workspace has a wallet, and a person's first one gets the welcome credit, once for the person."""
    wallet_id_of(workspace)
    grant_welcome_credit(workspace, user=user)


@receiver(api_key_created)
def set_ceiling(sender: type[ApiKey], *, key: ApiKey, spend_ceiling_microusd: int | None, actor: Actor, **_: Any) -> None:
    """A new key's ceiling. One that a key makes is checked also where it asks for none, since its maker may have one."""
    adopt_key(key, actor=actor)
    if spend_ceiling_microusd is not None or actor.api_key is not None:
        set_key_ceiling(key, actor=actor, ceiling_microusd=spend_ceiling_microusd)


@receiver(api_key_changed)
def change_ceiling(sender: type[ApiKey], *, key: ApiKey, spend_ceiling_microusd: int | Unset | None, actor: Actor, **_: Any) -> None:
    if not isinstance(spend_ceiling_microusd, Unset):
        set_key_ceiling(key, actor=actor, ceiling_microusd=spend_ceiling_microusd)


@receiver(api_key_rolled)
def check_roll(sender: type[ApiKey], *, key: ApiKey, rolled_from: ApiKey, actor: Actor, **_: Any) -> None:
    """A key that rolls another is handed what that one may spend, so it may be no more than its own ceiling has left."""
    if actor.api_key is None or actor.api_key.lineage == rolled_from.lineage:
        return
    own = key_left(key.workspace, str(actor.api_key.lineage))
    other = key_left(key.workspace, str(rolled_from.lineage))
    if own is not None and (other is None or other > own):
        raise Refused("ceiling_exceeded", "A key rolls only keys that may spend no more than its own ceiling has left.")


@receiver(credit_returned)
def collect(sender: type[Wallet], *, workspace_id: int, **_: Any) -> None:
    """Credit that comes in, or that nothing holds any more, is first taken for refunds that found too little. The sweep does it, too."""
    transaction.on_commit(lambda: collect_shortfalls(workspace_id), robust=True)
