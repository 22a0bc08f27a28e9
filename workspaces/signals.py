"""What this app announces, inside the transaction in which it happened. `docs/signals.md` lists who listens."""

from django.dispatch import Signal

workspace_created = Signal()
"""Sent with `workspace` and `user` (its first owner). Sender: the Workspace class."""
