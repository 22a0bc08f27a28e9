"""Names of this app's tasks. Actions enqueue by name; `tasks.py` gives them bodies."""

WORK = "runs.execute"
SWEEP = "runs.sweep"
FINALIZE = "runs.finalize_run"
GRADE_AGAIN = "runs.grade_again"

HINT_LIFETIME = 30.0
"""Seconds after which a hint is stale: the sweep sends new ones."""
