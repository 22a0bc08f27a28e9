"""Gradings after the first: other verdicts on the same answers."""

from django.db import models
from django.utils import timezone

from common.ids import new_id


class Grading(models.Model):
    """One more reading of a run's answers, which never change. The verdicts on the samples' own rows are grading 1, and stay.

    It is worked under a claim, in the background; `ended_at` says that it is over, `problem` that it came to nothing and why.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="gradings")
    number = models.PositiveIntegerField()
    created_by = models.ForeignKey("workspaces.User", on_delete=models.SET_NULL, null=True, related_name="+")
    created_by_label = models.CharField(max_length=260)
    created_at = models.DateTimeField(default=timezone.now)
    versions = models.JSONField()
    """The ID of the version whose grader and references judge each benchmark, by the benchmark's index."""
    claimed_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=400, blank=True)
    graded = models.PositiveIntegerField(default=0)
    flips = models.PositiveIntegerField(default=0)
    """Answers whose verdict is another one now."""
    moves_ranking = models.BooleanField(null=True)
    """Whether the order of the models or what is told apart is another one; null where nothing is ranked."""
    document = models.TextField(blank=True)
    """The result by this grading, frozen: canonical JSON."""
    sha256 = models.CharField(max_length=64, blank=True)
    comparison = models.TextField(blank=True)

    class Meta:
        ordering = ["run_id", "number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="grading_once")]

    def __str__(self) -> str:
        return f"{self.run_id} grading {self.number}"


class Regrade(models.Model):
    """A sample's verdict in a later grading, where it is not what grading 1 says of it."""

    grading = models.ForeignKey(Grading, on_delete=models.CASCADE, related_name="regrades")
    sample = models.ForeignKey("runs.Sample", on_delete=models.CASCADE, related_name="regrades")
    correct = models.BooleanField(null=True)
    score = models.FloatField(null=True)
    extracted = models.CharField(max_length=500, blank=True)
    reason = models.CharField(max_length=200, blank=True)
    is_unreadable = models.BooleanField(default=False)
    is_flip = models.BooleanField(default=False)
    """The verdict itself changed, and not only what was read or why."""

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["grading", "sample"], name="regrade_once")]
        indexes = [models.Index(fields=["grading", "id"], condition=models.Q(is_flip=True), name="regrade_flips")]

    def __str__(self) -> str:
        return f"{self.grading_id} {self.sample_id}"
