"""States and kinds of the catalog."""

from django.db import models


class VersionState(models.TextChoices):
    DRAFT = "draft", "Draft"
    IN_REVIEW = "in_review", "In review"
    QUALIFIED = "qualified", "Qualified"
    ACTIVE = "active", "Active"
    RETIRED = "retired", "Retired"


QUOTABLE = frozenset({VersionState.ACTIVE})


class Grader(models.TextChoices):
    MULTIPLE_CHOICE = "multiple_choice", "Multiple choice"
    EXACT_MATCH = "exact_match", "Exact match"
    REGEX_MATCH = "regex_match", "Regular expression"
    NUMERIC = "numeric", "Number"
    JSON_FIELD_MATCH = "json_field_match", "JSON fields"


class Runner(models.TextChoices):
    BUILTIN = "builtin", "Built in"


class Capability(models.TextChoices):
    """What a benchmark asks of a model."""

    CHAT = "chat", "Chat"


class ExportPolicy(models.TextChoices):
    """What of a sample may leave: everything, everything but the reference answers, or aggregates alone."""

    FULL = "full", "Everything"
    NO_ANSWERS = "no_answers", "Without reference answers"
    AGGREGATE = "aggregate", "Aggregates only"


class RouteState(models.TextChoices):
    ACTIVE = "active", "Active"
    PAUSED = "paused", "Paused"
    RETIRED = "retired", "Retired"


class UsageQuirk(models.TextChoices):
    """How an endpoint counts tokens, where it differs from OpenAI and its own total does not show it."""

    INPUT_EXCLUDES_CACHED = "input_excludes_cached", "Input leaves out cached tokens"
    OUTPUT_EXCLUDES_REASONING = "output_excludes_reasoning", "Output leaves out reasoning tokens"
