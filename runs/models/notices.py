"""Who is told when a run ends, and what became of telling them."""

from datetime import datetime
from typing import Any

import orjson
from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.ids import new_id
from runs.notices.enums import DeliveryState, EndedMail, EventType, MailState, OffReason
from workspaces.models import User, Workspace


class NoticeChoice(models.Model):
    """What a person wants mail about, of the runs that they started. Without a row the defaults hold."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="+")
    ended = models.CharField(max_length=10, choices=EndedMail.choices, default=EndedMail.LONG)
    interrupted = models.BooleanField(default=True)
    waiting = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"notices of {self.user_id}"


class WebhookEndpoint(models.Model):
    """An address of a workspace's own that is told what becomes of its runs."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="webhook_endpoints")
    url = models.CharField(max_length=500)
    description = models.CharField(max_length=200, blank=True)
    events = models.JSONField(default=list)
    is_enabled = models.BooleanField(default=True)
    off_reason = models.CharField(max_length=10, choices=OffReason.choices, blank=True)
    off_told_at = models.DateTimeField(null=True)
    """When the admins were told that it was turned off by itself."""
    secret = models.TextField()
    """MultiFernet token of the present secret."""
    old_secret = models.TextField(blank=True)
    """Of the one before, while receivers may still know only that."""
    old_secret_until = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    """The first failed try since it last accepted something."""
    last_delivered_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.public_id)

    def has_old_secret(self, now: datetime) -> bool:
        """Whether the secret before is still signed with."""
        return bool(self.old_secret) and self.old_secret_until is not None and self.old_secret_until > now


class NoticeEvent(models.Model):
    """Something to be told, written in the transaction in which it happened. `body` is the very text that webhooks send."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, null=True, related_name="+", db_index=False)
    type = models.CharField(max_length=20, choices=EventType.choices)
    number = models.PositiveIntegerField(default=1)
    """Counts the spells of waiting of a run; 1 for all else."""
    body = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["run", "type", "number"], name="notice_event_once")]

    def __str__(self) -> str:
        return f"{self.type} {self.public_id}"

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.body)
        return found


class WebhookDelivery(models.Model):
    """One event for one endpoint. Its ID is the `webhook-id` of every try, so that a receiver can tell a repeat."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+", db_index=False)
    event = models.ForeignKey(NoticeEvent, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.PENDING)
    tries = models.PositiveIntegerField(default=0)
    """All that were begun. It rises with each claim, so only the newest claim of a delivery can write what came of it."""
    tries_before = models.PositiveIntegerField(default=0)
    """Those before somebody asked to deliver it again."""
    next_try_at = models.DateTimeField(default=timezone.now)
    """When it is due; while it is being sent, when the sender must have died."""
    last_status = models.PositiveSmallIntegerField(null=True)
    last_error = models.CharField(max_length=300, blank=True)
    last_excerpt = models.CharField(max_length=500, blank=True)
    """The beginning of what was answered, redacted."""
    latency_ms = models.PositiveIntegerField(null=True)
    history = models.JSONField(default=list)
    """The last tries: {"at", "status", "error", "latency_ms"}."""
    delivered_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["event", "endpoint"], name="webhook_delivery_once")]
        indexes = [
            models.Index(fields=["workspace", "-id"], name="webhook_deliveries_listed"),
            models.Index(fields=["endpoint", "-id"], name="webhook_deliveries_of"),
            models.Index(fields=["next_try_at"], condition=Q(state="pending"), name="webhook_deliveries_due"),
        ]

    def __str__(self) -> str:
        return str(self.public_id)

    @property
    def is_test(self) -> bool:
        return self.event.type == EventType.TEST


class NoticeMail(models.Model):
    """One event for one person."""

    event = models.ForeignKey(NoticeEvent, on_delete=models.CASCADE, related_name="mails", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=MailState.choices, default=MailState.PENDING)
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(default=timezone.now)
    last_error = models.CharField(max_length=120, blank=True)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["event", "user"], name="notice_mail_once")]
        indexes = [models.Index(fields=["next_try_at"], condition=Q(state="pending"), name="notice_mails_due")]

    def __str__(self) -> str:
        return f"mail of {self.event_id} to {self.user_id}"
