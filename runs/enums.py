"""States and reasons of runs."""

from django.db import models


class QuoteStatus(models.TextChoices):
    OPEN = "open", "Open"
    STARTED = "started", "Started"


class RunStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    COMPLETED = "completed", "Completed"
    PARTIAL = "partial", "Interrupted"
    CANCELLED = "cancelled", "Cancelled"
    FAILED = "failed", "Failed"


TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.PARTIAL, RunStatus.CANCELLED, RunStatus.FAILED})


class Phase(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    WAITING = "waiting", "Waiting for the provider"
    FINALIZING = "finalizing", "Writing the result"
    DONE = "done", "Done"


class InterruptionReason(models.TextChoices):
    CAP_REACHED = "cap_reached", "The cap was reached"
    CREDIT_EXHAUSTED = "credit_exhausted", "The workspace's credit ran out"
    LIMIT_REACHED = "limit_reached", "A spending limit was reached"
    CANCELLED = "cancelled", "It was cancelled"
    SUBJECT_STOPPED = "subject_stopped", "A model was stopped"
    TIME_LIMIT = "time_limit", "The time limit was reached"


class SubjectKind(models.TextChoices):
    MANAGED = "managed", "Managed route"
    CONNECTION = "connection", "Own endpoint"
    BASELINE = "baseline", "Baseline"
    RECORDED = "recorded", "Recorded answers"


CALLS_NOTHING = frozenset({SubjectKind.BASELINE, SubjectKind.RECORDED})
"""Kinds that answer without a call: nothing is sent, reserved or charged."""


class SubjectStatus(models.TextChoices):
    RUNNING = "running", "Running"
    WAITING = "waiting", "Waiting for the provider"
    STOPPED = "stopped", "Stopped"
    DONE = "done", "Done"


class SampleStatus(models.TextChoices):
    GRADED = "graded", "Graded"
    ERROR = "error", "Error"
    INCONCLUSIVE = "inconclusive", "Inconclusive"


class Flag(models.TextChoices):
    """What a person should know about an answer beside its verdict."""

    EMPTY = "empty", "Empty answer"
    TRUNCATED = "truncated", "Cut at the output limit"
    UNREADABLE = "unreadable", "No answer could be read"


class CoverageMode(models.TextChoices):
    SAMPLE = "sample", "Random sample"
    FULL = "full", "All tasks"
    TASKS = "tasks", "Chosen tasks"


class GroupKind(models.TextChoices):
    STARTED = "started_together", "Started together"
    """A run of several models: it is a group without being stored as one."""
    RESULTS = "from_results", "From results"
    COMPARISON = "comparison", "Comparison over HTTP"


class Decision(models.TextChoices):
    """What the checks of a group say."""

    PASS = "pass", "Passes"
    FAIL = "fail", "Fails"
    INCONCLUSIVE = "inconclusive", "Cannot tell"
