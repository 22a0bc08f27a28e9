"""Names of the tasks of notices."""

DELIVER = "runs.deliver_webhooks"
MAIL = "runs.mail_notices"
SWEEP = "runs.sweep_notices"

HINT_LIFETIME = 30.0
"""Seconds after which a hint is stale: the sweep sends new ones."""
