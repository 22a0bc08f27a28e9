"""Quotes, runs and everything that hangs on them. Money is micro-USD.

`position` is a task's place in the run: those of its benchmarks follow one another. Attempts at a task share a position. A *cell* of a
subject is one attempt at one task, and its number is position × attempts + attempt − 1: shards are ranges of such numbers.
"""

from typing import Any

import orjson
from django.db import models
from django.db.models import Q
from django.utils import timezone

from catalog.models import BenchmarkVersion, ModelRoute, RouteRate, Task
from common.ids import new_id
from gateway.models import Connection, RecordedModel
from runs.enums import Phase, QuoteStatus, RunStatus, SampleStatus, SubjectKind, SubjectStatus
from workspaces.models import ApiKey, User, Workspace


class Quote(models.Model):
    """An offer to run: the plan and its price, frozen for half an hour. Started at most once."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="quotes")
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    api_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, related_name="+")
    status = models.CharField(max_length=10, choices=QuoteStatus.choices, default=QuoteStatus.OPEN)
    name = models.CharField(max_length=160, blank=True)
    request = models.TextField()
    """The request as taken, canonical JSON."""
    plan = models.TextField()
    """The public plan (API.md), canonical JSON."""
    sha256 = models.CharField(max_length=64)
    terms = models.TextField()
    """What starting needs and the public plan does not show: `runs.quoting.Terms` as canonical JSON."""
    cap_microusd = models.BigIntegerField(null=True)
    ceiling_microusd = models.BigIntegerField()
    minimum_cap_microusd = models.BigIntegerField()
    price_version = models.CharField(max_length=64)
    retention_days = models.PositiveIntegerField()
    source_run = models.ForeignKey("Run", on_delete=models.PROTECT, null=True, related_name="continuation_quotes")
    """The run that this one continues."""
    reused_run = models.ForeignKey("Run", on_delete=models.PROTECT, null=True, related_name="+")
    """The run whose finished answers are taken over, without continuing it."""
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.public_id)

    @property
    def plan_document(self) -> dict[str, Any]:
        document: dict[str, Any] = orjson.loads(self.plan)
        if "coverage" not in document["benchmarks"][0]:  # of a time when a run had one benchmark: what it has stood only above
            for key in ("coverage", "task_list_sha256", "resolution", "evidence", "delivery"):
                document["benchmarks"][0][key] = document[key]
            document["benchmarks"][0]["output_limit"] = document["delivery"]["output_limit"]
        return document

    @property
    def answers_from(self) -> "Run | None":
        """The run whose finished answers the quote takes over."""
        return self.source_run or self.reused_run

    @property
    def request_document(self) -> dict[str, Any]:
        document: dict[str, Any] = orjson.loads(self.request)
        return document


class Run(models.Model):
    """One started quote. The end states and the interruption are written by finalizing alone, the rest by the engine's store and
    actions.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="runs")
    quote = models.OneToOneField(Quote, on_delete=models.PROTECT, related_name="run")
    name = models.CharField(max_length=160, blank=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    api_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, related_name="+")
    status = models.CharField(max_length=10, choices=RunStatus.choices, default=RunStatus.QUEUED)
    phase = models.CharField(max_length=10, choices=Phase.choices, default=Phase.QUEUED)
    metadata = models.JSONField(default=dict)
    attempts = models.PositiveSmallIntegerField(default=1)
    """How often each subject is asked each task."""
    planned = models.PositiveIntegerField()
    """Cells: tasks × subjects × attempts."""
    processed = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    spend_microusd = models.BigIntegerField(default=0)
    last_sequence = models.PositiveBigIntegerField(default=0)
    interruption = models.JSONField(null=True)
    continued_from = models.OneToOneField("self", on_delete=models.PROTECT, null=True, related_name="continued_by_run")
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField()
    cancel_requested_at = models.DateTimeField(null=True)
    cancelled_by_label = models.CharField(max_length=260, blank=True)
    finalizing_reason = models.CharField(max_length=30, blank=True)
    """Why it ended with cells unfinished, decided under the run's lock when it went to finalizing."""
    finalizing_until = models.DateTimeField(null=True)
    """The claim of whoever writes the result; past it, another may claim."""
    content_expires_at = models.DateTimeField(null=True)
    content_expired_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["workspace", "-id"]),
            models.Index(fields=["phase"], condition=~Q(phase="done"), name="run_live"),
        ]

    def __str__(self) -> str:
        return str(self.public_id)

    @property
    def is_ended(self) -> bool:
        return self.phase == Phase.DONE

    @property
    def budget_source(self) -> str:
        """The name of this run's budget, hold and ledger entries in billing."""
        return f"run:{self.public_id}"


class RunBenchmark(models.Model):
    """A benchmark version in a run, with its frozen task list."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="benchmarks")
    index = models.PositiveSmallIntegerField(default=0)
    version = models.ForeignKey(BenchmarkVersion, on_delete=models.PROTECT, related_name="+")
    coverage = models.JSONField()
    """The plan's coverage object."""
    task_ordinals = models.TextField(blank=True)
    """JSON list of task ordinals in the order they are worked; empty for all tasks in order."""
    task_count = models.PositiveIntegerField()
    task_list_sha256 = models.CharField(max_length=64)
    output_limit = models.PositiveIntegerField()
    first_position = models.PositiveIntegerField(default=0)
    """Of its first task in the run."""

    class Meta:
        ordering = ["run_id", "index"]
        constraints = [models.UniqueConstraint(fields=["run", "index"], name="run_benchmark_once")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.version_id}"

    @property
    def positions(self) -> range:
        """Its tasks' positions in the run."""
        return range(self.first_position, self.first_position + self.task_count)

    def ordinals(self) -> list[int]:
        """The task ordinal of each of its positions, from its first one on."""
        return orjson.loads(self.task_ordinals) if self.task_ordinals else list(range(self.task_count))


class Subject(models.Model):
    """A model as it was quoted, with its running figures. Counters come from inserted samples alone."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="subjects")
    index = models.PositiveSmallIntegerField()
    label = models.CharField(max_length=200)
    kind = models.CharField(max_length=12, choices=SubjectKind.choices)
    route = models.ForeignKey(ModelRoute, on_delete=models.PROTECT, null=True, related_name="+")
    rate = models.ForeignKey(RouteRate, on_delete=models.PROTECT, null=True, related_name="+")
    connection = models.ForeignKey(Connection, on_delete=models.PROTECT, null=True, related_name="+")
    connection_revision = models.PositiveIntegerField(null=True)
    baseline = models.CharField(max_length=40, blank=True)
    seed = models.BigIntegerField(default=0)
    """Of a seeded baseline."""
    recorded_model = models.ForeignKey(RecordedModel, on_delete=models.PROTECT, null=True, related_name="+")
    reasoning = models.JSONField(default=dict)
    concurrency = models.PositiveSmallIntegerField()
    fee_percent = models.DecimalField(max_digits=6, decimal_places=3, default=0)
    status = models.CharField(max_length=10, choices=SubjectStatus.choices, default=SubjectStatus.RUNNING)
    stopped_code = models.CharField(max_length=40, blank=True)
    stopped_message = models.CharField(max_length=400, blank=True)
    retry_at = models.DateTimeField(null=True)
    waiting_since = models.DateTimeField(null=True)
    planned = models.PositiveIntegerField()
    processed = models.PositiveIntegerField(default=0)
    graded = models.PositiveIntegerField(default=0)
    correct = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    inconclusive = models.PositiveIntegerField(default=0)
    truncated = models.PositiveIntegerField(default=0)
    unreadable = models.PositiveIntegerField(default=0)
    empty = models.PositiveIntegerField(default=0)
    tallies = models.JSONField(default=dict)
    """The same counters of each benchmark, by its key as text: what a page shows while the run goes on."""
    usage_microusd = models.BigIntegerField(default=0)
    fee_microusd = models.BigIntegerField(default=0)
    first_answers = models.PositiveSmallIntegerField(default=0)
    first_unusable = models.PositiveSmallIntegerField(default=0)
    """Of the first 20 answers: how many were counted, and how many were empty, or truncated and unreadable."""
    served_models = models.JSONField(default=list)
    notes = models.JSONField(default=list)
    """Codes of notices, such as `possible_duplicate_provider_charge`, and parameters that the provider refused."""

    class Meta:
        ordering = ["run_id", "index"]
        constraints = [models.UniqueConstraint(fields=["run", "index"], name="subject_index_once")]

    def __str__(self) -> str:
        return self.label

    @property
    def spend_microusd(self) -> int:
        return self.usage_microusd + self.fee_microusd


class Shard(models.Model):
    """A range of one subject's cells, whole tasks of one benchmark, worked by at most one lease at a time. `fence` rises at each grant: a
    write names the fence it holds.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="shards")
    run_benchmark = models.ForeignKey(RunBenchmark, on_delete=models.CASCADE, related_name="shards", db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="shards")
    start = models.PositiveIntegerField()
    stop = models.PositiveIntegerField()
    """Cells start ≤ c < stop."""
    is_done = models.BooleanField(default=False)
    fence = models.PositiveIntegerField(default=0)
    lease_owner = models.CharField(max_length=60, blank=True)
    lease_expires_at = models.DateTimeField(null=True)
    slots = models.PositiveSmallIntegerField(default=0)
    slice_microusd = models.BigIntegerField(default=0)
    """Reserved from the run's budget by the live lease."""
    sent_through = models.PositiveIntegerField(default=0)
    """Cells below this may have been sent."""
    suspects = models.JSONField(default=dict)
    """Cell (as text) to the number of leases that died while it may have been on its way."""
    unknown = models.JSONField(default=list)
    """Cells whose outcome is unknown: cancelled while a call was on its way."""
    parked_need_microusd = models.BigIntegerField(null=True)
    """The least that the next attempt needs, where the budget did not cover it; null while it can work."""

    class Meta:
        ordering = ["start", "id"]
        constraints = [models.UniqueConstraint(fields=["subject", "start"], name="shard_once")]
        indexes = [
            models.Index(fields=["run", "start"], condition=Q(is_done=False), name="shard_open"),
            models.Index(fields=["lease_expires_at"], condition=Q(lease_expires_at__isnull=False), name="shard_leased"),
        ]

    def __str__(self) -> str:
        return f"{self.subject_id} [{self.start}, {self.stop})"


class Sample(models.Model):
    """A finished cell. The answer never changes; the verdict columns are grading 1. Content is with the calls of `origin or self`."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    run_benchmark = models.ForeignKey(RunBenchmark, on_delete=models.CASCADE, related_name="samples", db_index=False)
    subject = models.ForeignKey(Subject, on_delete=models.CASCADE, related_name="samples", db_index=False)
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="+", db_index=False)
    position = models.PositiveIntegerField()
    attempt = models.PositiveSmallIntegerField(default=1)
    status = models.CharField(max_length=12, choices=SampleStatus.choices)
    correct = models.BooleanField(null=True)
    score = models.FloatField(null=True)
    extracted = models.CharField(max_length=500, blank=True)
    reason = models.CharField(max_length=200, blank=True)
    error_code = models.CharField(max_length=40, blank=True)
    is_empty = models.BooleanField(default=False)
    is_truncated = models.BooleanField(default=False)
    is_unreadable = models.BooleanField(default=False)
    finish_reason = models.CharField(max_length=30, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    cached_input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    estimated_calls = models.PositiveSmallIntegerField(default=0)
    usage_microusd = models.BigIntegerField(default=0)
    fee_microusd = models.BigIntegerField(default=0)
    latency_ms = models.PositiveIntegerField(default=0)
    origin = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="+")
    """The sample of an earlier run that this one was copied from; it was charged there."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["run_benchmark", "subject", "task", "attempt"], name="sample_once")]
        indexes = [
            models.Index(fields=["subject", "position"]),
            models.Index(fields=["run_benchmark", "id"]),
        ]

    def __str__(self) -> str:
        return str(self.public_id)

    @property
    def charge_microusd(self) -> int:
        return self.usage_microusd + self.fee_microusd

    @property
    def flags(self) -> list[str]:
        named = {"empty": self.is_empty, "truncated": self.is_truncated, "unreadable": self.is_unreadable}
        return [name for name, is_set in named.items() if is_set]


class Event(models.Model):
    """Something that happened in a run. Sequences are without gaps and never appear out of order."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events", db_index=False)
    sequence = models.PositiveBigIntegerField()
    type = models.CharField(max_length=40)
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["sequence"]
        constraints = [models.UniqueConstraint(fields=["run", "sequence"], name="event_once")]

    def __str__(self) -> str:
        return f"{self.sequence} {self.type}"


class ResultVersion(models.Model):
    """A frozen result and its comparisons, one for each benchmark: canonical JSON, served as stored."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="results")
    number = models.PositiveIntegerField()
    document = models.TextField()
    sha256 = models.CharField(max_length=64)
    comparison = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["run_id", "number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="result_once")]

    def __str__(self) -> str:
        return f"{self.run_id} result {self.number}"


class EmptyAnswers(models.Model):
    """How many empty answers of managed routes a workspace was not charged for on a day (UTC)."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "day"], name="empty_answers_once")]

    def __str__(self) -> str:
        return f"{self.workspace_id} {self.day}: {self.count}"
