"""The workspace's own endpoints, and every call to a model. Money lives on calls: every other figure is a sum of them."""

from django.db import models
from django.utils import timezone

from catalog.models import BenchmarkVersion, RouteRate, Task
from common.ids import new_id
from gateway.enums import Agreement, Outcome, Protocol, Purpose
from workspaces.models import User, Workspace


class Connection(models.Model):
    """A workspace's own endpoint. The credential is encrypted and never shown; `revision` rises with every change of what is called."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="connections")
    name = models.CharField(max_length=80)
    protocol = models.CharField(max_length=20, choices=Protocol.choices, default=Protocol.OPENAI)
    endpoint = models.URLField(max_length=500)
    model = models.CharField(max_length=200)
    secret = models.TextField(blank=True)
    """MultiFernet token; empty where the endpoint takes no key."""
    revision = models.PositiveIntegerField(default=1)
    quirks = models.JSONField(default=dict, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    """When the present revision answered; null until it has."""
    check_error = models.CharField(max_length=300, blank=True)
    served_model = models.CharField(max_length=200, blank=True)
    check_latency_ms = models.PositiveIntegerField(null=True, blank=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], condition=models.Q(deleted_at__isnull=True), name="connection_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class Call(models.Model):
    """One call to a model: what it reserved, used and cost. `source_id` names the sample it was made for, opaque to this app."""

    public_id = models.UUIDField(default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    source_id = models.UUIDField(db_index=True)
    purpose = models.CharField(max_length=10, choices=Purpose.choices, default=Purpose.SUBJECT)
    kind = models.CharField(max_length=24, default="chat")
    rate = models.ForeignKey(RouteRate, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    """The frozen price; null for connections and baselines."""
    fee_percent = models.DecimalField(max_digits=6, decimal_places=3, default=0)
    reserved_microusd = models.BigIntegerField(default=0)
    usage_microusd = models.BigIntegerField(default=0)
    fee_microusd = models.BigIntegerField(default=0)
    absorbed_microusd = models.BigIntegerField(default=0)
    """What the real usage would have cost above the reservation; never charged, kept for staff."""
    input_tokens = models.PositiveIntegerField(default=0)
    cached_input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    is_estimated = models.BooleanField(default=False)
    tries = models.PositiveSmallIntegerField(default=1)
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    error_code = models.CharField(max_length=40, blank=True)
    provider_status = models.PositiveSmallIntegerField(null=True)
    finish_reason = models.CharField(max_length=30, blank=True)
    served_model = models.CharField(max_length=200, blank=True)
    latency_ms = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.purpose} call {self.public_id}"

    @property
    def charge_microusd(self) -> int:
        return self.usage_microusd + self.fee_microusd


class CallContent(models.Model):
    """What a call said. Deleted when its retention ends; the call and its figures stay."""

    call = models.OneToOneField(Call, on_delete=models.CASCADE, primary_key=True, related_name="content")
    response = models.TextField(blank=True)
    reasoning = models.TextField(blank=True)
    parameters = models.JSONField(default=dict)
    """Generation settings as sent, such as {"max_tokens": 256, "temperature": 0}; the messages are rendered from the frozen version."""
    error_message = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"content of call {self.call_id}"


class RecordedModel(models.Model):
    """Answers that a model once gave to the tasks of one version, brought in from elsewhere. As a subject of a run it gives them again,
    at no cost and without a call.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="recorded_models")
    version = models.ForeignKey(BenchmarkVersion, on_delete=models.PROTECT, related_name="recorded_models")
    name = models.CharField(max_length=120)
    source = models.JSONField(default=dict)
    """Where the answers are from: {"format", "file", "sha256", …}."""
    answer_count = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "version", "name"], condition=models.Q(archived_at__isnull=True), name="recorded_model_once"
            )
        ]

    def __str__(self) -> str:
        return self.name


class RecordedAnswer(models.Model):
    """One recorded answer, with the verdict that it had where it came from."""

    model = models.ForeignKey(RecordedModel, on_delete=models.CASCADE, related_name="answers", db_index=False)
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="+")
    text = models.TextField(blank=True)
    reasoning = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=30, blank=True)
    was_correct = models.BooleanField(null=True)
    """The old verdict; null where the source has none."""
    old_extracted = models.TextField(blank=True)
    """What the old grader read out of the answer, where the source says so."""
    correct = models.BooleanField(default=False)
    """Our verdict, by the version's grader when the answer was brought in."""
    extracted = models.CharField(max_length=500, blank=True)
    agreement = models.CharField(max_length=16, choices=Agreement.choices, default=Agreement.NO_OLD_VERDICT)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["model", "task"], name="recorded_answer_once")]
        indexes = [
            models.Index(fields=["model", "id"], name="recorded_answers_in_order"),
            models.Index(fields=["model", "agreement", "id"], name="recorded_answers_agreeing"),
        ]

    def __str__(self) -> str:
        return f"answer to task {self.task_id}"
