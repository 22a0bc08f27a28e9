"""Links that show a result to whoever holds them, and results published on a benchmark's page."""

from datetime import datetime
from typing import Any

import orjson
from django.db import models
from django.db.models import Q
from django.utils import timezone

from catalog.models import BenchmarkVersion
from common.ids import new_id
from workspaces.models import User, Workspace


class Share(models.Model):
    """A read-only link to one result version. It never shows another version, and nothing that was not chosen when it was made.

    The link's token is kept twice: hashed, to find the link by, and encrypted, so that members can copy it again. Who has the database
    alone has no link.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="shares")
    result = models.ForeignKey("runs.ResultVersion", on_delete=models.PROTECT, related_name="+")
    token_sha256 = models.CharField(max_length=64, unique=True)
    secret = models.TextField()
    """The token, encrypted by `common.crypto`."""
    title = models.CharField(max_length=160, blank=True)
    """What the page is called; the benchmark's name where it is empty. Never the run's own name."""
    labels = models.JSONField(default=dict)
    """Subject index (as text) to the name shown for an own endpoint or recorded answers; the others have public names."""
    shows_samples = models.BooleanField(default=False)
    shows_cost = models.BooleanField(default=False)
    shows_workspace = models.BooleanField(default=False)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_by_label = models.CharField(max_length=260)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by_label = models.CharField(max_length=260, blank=True)
    opened_count = models.PositiveIntegerField(default=0)
    last_opened_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.public_id)

    def state_at(self, now: datetime) -> str:
        """`live`, `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "live"


class Publication(models.Model):
    """One model's figures on one benchmark version, as an owner published them on the benchmark's page.

    Everything the leaderboard shows or computes with is copied here from the frozen result, so that it never reads another workspace's
    runs. Only withdrawing and hiding change it.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="publications")
    result = models.ForeignKey("runs.ResultVersion", on_delete=models.PROTECT, related_name="publications")
    subject = models.ForeignKey("runs.Subject", on_delete=models.PROTECT, related_name="+")
    version = models.ForeignKey(BenchmarkVersion, on_delete=models.PROTECT, related_name="publications")
    publisher = models.CharField(max_length=120)
    """The workspace's name when its owner agreed to have it shown."""
    label = models.CharField(max_length=200)
    model = models.CharField(max_length=300)
    """What makes two entries the same model: the route with its reasoning setting, or the baseline."""
    protocol = models.TextField()
    """`runs.sharing.protocols.protocol_of` as canonical JSON: what must be alike for scores to be compared."""
    protocol_sha256 = models.CharField(max_length=64)
    figures = models.JSONField()
    """The subject's part of the result as the leaderboard shows it."""
    scores = models.BinaryField()
    """The score of each task in the version's order: `runs.sharing.protocols.pack_scores`."""
    published_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    published_by_label = models.CharField(max_length=260)
    published_at = models.DateTimeField(default=timezone.now)
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_by_label = models.CharField(max_length=260, blank=True)
    hidden_at = models.DateTimeField(null=True)
    hidden_by_label = models.CharField(max_length=260, blank=True)
    hidden_reason = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["result", "subject", "version"], condition=Q(withdrawn_at__isnull=True), name="published_once")
        ]
        indexes = [
            models.Index(
                fields=["version", "-id"], condition=Q(withdrawn_at__isnull=True, hidden_at__isnull=True), name="publication_shown"
            )
        ]

    def __str__(self) -> str:
        return f"{self.label} by {self.publisher}"

    @property
    def protocol_document(self) -> dict[str, Any]:
        document: dict[str, Any] = orjson.loads(self.protocol)
        return document
