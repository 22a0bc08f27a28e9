"""What people say of samples: notes, and verdicts of their own beside the grader's. Neither changes a sample, a result or an export.

Both are about an *answer*, which is the sample that was answered first: a copy of it in a continuation (`Sample.origin`) is the same
answer, so what was said of one is shown at all of them, with the run in which it was said.
"""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from common.ids import new_id
from workspaces.models import ApiKey, User, Workspace

LONGEST_NOTE = 4_000
LONGEST_REASON = 1_000
"""Characters."""


class Said(models.Model):
    """Who said something of which answer, and where."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="+", db_index=False)
    """The run that was looked at, the answer's own or one that took the answer over."""
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    api_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, related_name="+")
    author_label = models.CharField(max_length=260)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True
        ordering = ["-id"]


class Note(Said):
    """A person's words on an answer. Changed by its author, deleted by its author or an admin; a deleted note is gone."""

    answer = models.ForeignKey("runs.Sample", on_delete=models.CASCADE, related_name="notes")
    text = models.TextField(max_length=LONGEST_NOTE)
    edited_at = models.DateTimeField(null=True)

    class Meta(Said.Meta):
        indexes = [models.Index(fields=["workspace", "-id"], name="notes_newest")]

    def __str__(self) -> str:
        return f"note of {self.author_label}"


class VerdictOverride(Said):
    """A person's verdict on an answer, with its reason. Rows are only added: the current one counts, the others are how it came about."""

    answer = models.ForeignKey("runs.Sample", on_delete=models.CASCADE, related_name="overrides")
    correct = models.BooleanField()
    score = models.FloatField()
    """What the verdict counts in place of the grader's score."""
    reason = models.CharField(max_length=LONGEST_REASON)
    is_current = models.BooleanField(default=True)
    withdrawn_at = models.DateTimeField(null=True)
    """Null where it counts, and where a later one took its place."""
    withdrawn_by_label = models.CharField(max_length=260, blank=True)

    class Meta(Said.Meta):
        constraints = [
            models.UniqueConstraint(fields=["answer"], condition=Q(is_current=True), name="override_current_once"),
            models.CheckConstraint(condition=~Q(reason=""), name="override_has_reason"),
        ]
        indexes = [models.Index(fields=["workspace", "-id"], name="overrides_newest")]

    def __str__(self) -> str:
        return f"verdict of {self.author_label}"
