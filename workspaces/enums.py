"""Roles, scopes and kinds of actors."""

from django.db import models


class Role(models.TextChoices):
    """What a member may do in a workspace, from least to most."""

    VIEWER = "viewer", "Viewer"
    MEMBER = "member", "Member"
    ADMIN = "admin", "Admin"
    OWNER = "owner", "Owner"


RANK = {Role.VIEWER: 0, Role.MEMBER: 1, Role.ADMIN: 2, Role.OWNER: 3}


class Density(models.TextChoices):
    """How close the rows of long tables lie for a person."""

    COMFORTABLE = "comfortable", "Comfortable"
    COMPACT = "compact", "Compact"


class Scope(models.TextChoices):
    """What an API key may do. A key acts by its scopes alone, never by its creator's role."""

    EVAL_READ = "eval:read", "Read benchmarks, quotes, runs and results"
    EVAL_WRITE = "eval:write", "Quote, start, cancel and continue runs"
    BENCHMARKS_SUBMIT = "benchmarks:submit", "Import private benchmarks"
    BILLING_READ = "billing:read", "Read the wallet and its ledger"
    KEYS_MANAGE = "keys:manage", "Manage API keys, connections and webhooks"


class ActorKind(models.TextChoices):
    USER = "user", "Person"
    API_KEY = "api_key", "API key"
    SYSTEM = "system", "EvalRouter"
