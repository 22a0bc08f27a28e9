"""What this app announces, inside the transaction in which it happened. `docs/signals.md` lists who listens."""

from django.dispatch import Signal

credit_returned = Signal()
"""Sent with `workspace_id` (the database key) when a workspace may spend more than before. Sender: the Wallet class.

Credit came into its wallet, a hold was released, or a limit was raised. The wallet is locked then, last of all locks: a listener that
wants others takes them after the commit.
"""
