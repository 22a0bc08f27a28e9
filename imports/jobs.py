"""Names of this app's tasks that the wizard uses. Actions enqueue by name; `tasks.py` gives them bodies."""

CHECK = "imports.check_rows"
EXPIRE_DRAFTS = "imports.expire_drafts"
SWEEP_CHECKS = "imports.sweep_checks"

HINT_LIFETIME = 60.0
"""Seconds after which a hint is stale: the sweep sends new ones."""
