"""The one table without a domain: answers kept for `Idempotency-Key`."""

from django.db import models


class IdempotentAnswer(models.Model):
    """What a request under an idempotency key was answered with. The scope is opaque: workspace, route and actor of the request."""

    scope = models.CharField(max_length=200)
    key = models.CharField(max_length=200)
    body_sha256 = models.CharField(max_length=64)
    claimed_at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(default="")
    bore_secret = models.BooleanField(default=False)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scope", "key"], name="idempotent_answer_once")]
        indexes = [models.Index(fields=["claimed_at"])]

    def __str__(self) -> str:
        return f"{self.scope} {self.key}"
