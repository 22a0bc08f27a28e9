"""What this app announces, inside the transaction in which it happened. `docs/signals.md` lists who listens."""

from django.dispatch import Signal

credit_returned = Signal()
"""Sent with `workspace_id` (the database key) when credit came into a wallet or a hold was released. Sender: the Wallet class."""
