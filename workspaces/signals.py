"""What this app announces, inside the transaction in which it happened. `docs/signals.md` lists who listens."""

from enum import Enum
from typing import Literal

from django.dispatch import Signal


class Unset(Enum):
    """The one value that says "leave it as it is", where None means "none"."""

    UNSET = "unset"


UNSET: Literal[Unset.UNSET] = Unset.UNSET

workspace_created = Signal()
"""Sent with `workspace` and `user` (its first owner). Sender: the Workspace class."""

api_key_created = Signal()
"""Sent with `key`, `actor` and `spend_ceiling_microusd`: what its lineage may spend in all, or None. Sender: the ApiKey class."""

api_key_changed = Signal()
"""Sent with `key`, `spend_ceiling_microusd` (an amount, None to lift it, UNSET where it stays) and `actor`. Sender: the ApiKey class."""

api_key_rolled = Signal()
"""Sent with `key` (the new one), `rolled_from` (the old one, of the same lineage and ceiling) and `actor`. Sender: the ApiKey class.

Whoever knows of ceilings refuses here what a key may not take over: rolling another key hands out what that key may spend.
"""
