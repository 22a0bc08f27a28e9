"""Exports as they were first made: a result version in one format, kept so that it never changes."""

from django.db import models
from django.utils import timezone

from common.ids import new_id


class Export(models.Model):
    """A result version in one format. A row without `made_at` is being made by whoever holds its claim.

    A claim that is not renewed in time is taken over, and its old holder's file is thrown away: two never make one export.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    result = models.ForeignKey("runs.ResultVersion", on_delete=models.CASCADE, related_name="exports")
    format = models.CharField(max_length=12)
    has_answers = models.BooleanField()
    """It holds what models said, and is deleted when that is; what is made in its place then says that it does not."""
    storage_key = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64, blank=True)
    bytes = models.PositiveBigIntegerField(default=0)
    claim = models.UUIDField(default=new_id)
    claimed_until = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)
    made_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["result", "format"], name="export_once")]

    def __str__(self) -> str:
        return f"{self.result_id} {self.format}"
