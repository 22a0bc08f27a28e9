"""Groups of frozen results, and comparisons under a policy."""

from typing import Any

import orjson
from django.db import models
from django.utils import timezone

from common.ids import new_id
from runs.enums import GroupKind
from workspaces.models import ApiKey, User, Workspace


class ResultGroup(models.Model):
    """Two to eight frozen results side by side, one of them the baseline. Written once: what it compares never changes again."""

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="result_groups")
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    api_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, related_name="+")
    kind = models.CharField(max_length=20, choices=GroupKind.choices)
    name = models.CharField(max_length=160, blank=True)
    baseline = models.PositiveSmallIntegerField(default=0)
    """The index of the member that the others are compared with."""
    decision = models.CharField(max_length=12, blank=True)
    """`pass`, `fail` or `inconclusive`; empty without checks."""
    document = models.TextField()
    """What was compared and what came out (`runs.groups.comparing`), canonical JSON."""
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["workspace", "-id"], name="result_group_newest")]

    def __str__(self) -> str:
        return str(self.public_id)

    @property
    def frozen(self) -> dict[str, Any]:
        document: dict[str, Any] = orjson.loads(self.document)
        return document


class GroupMember(models.Model):
    """One result of a group. What names it is kept beside the reference, so that a result that is gone can still be named."""

    group = models.ForeignKey(ResultGroup, on_delete=models.CASCADE, related_name="members")
    index = models.PositiveSmallIntegerField()
    result = models.ForeignKey("runs.ResultVersion", on_delete=models.SET_NULL, null=True, related_name="+")
    result_sha256 = models.CharField(max_length=64)
    """As it was when the group was made."""
    label = models.CharField(max_length=240)
    profile_id = models.CharField(max_length=200)

    class Meta:
        ordering = ["group_id", "index"]
        constraints = [models.UniqueConstraint(fields=["group", "index"], name="group_member_once")]

    def __str__(self) -> str:
        return f"{self.group_id} {self.label}"
