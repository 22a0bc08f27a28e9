"""What runs announce, inside the transaction in which it happens."""

from django.dispatch import Signal

run_ended = Signal()
"""A run has its end state and its first result: `run`, `result`."""
