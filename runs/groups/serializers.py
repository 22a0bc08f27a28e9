"""What the API takes and answers for groups of results and for comparisons under a policy."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.serializers import AnyObject, Choice, Id, ListQuery, Money, Query, Strict, Text, Truth, WholeNumber
from runs.enums import Decision, GroupKind, RunStatus, SubjectKind
from runs.groups.policy import Policy
from runs.groups.resolving import MOST, Reference
from runs.serializers.results import CompareShape, CountsShape, IntervalShape, LatencyShape, MetricShape, PairShape, RankShape

GROUP_EXPORT_FORMATS = ("json", "csv")
KINDS = (GroupKind.RESULTS.value, GroupKind.STARTED.value)
STATUSES = ("ready", "pending", "changed")
OUTCOMES = ("pass", "fail", "cannot_tell")

_REFERENCE = {
    "type": "object",
    "properties": {
        "run_id": {"type": "string", "format": "uuid"},
        "version": {"type": "integer", "minimum": 1, "description": "The result's version; the newest without it."},
        "subject_index": {"type": "integer", "minimum": 0, "maximum": MOST - 1},
        "profile_id": {"type": "string", "description": "The benchmark version, where the run has several."},
    },
    "required": ["run_id"],
    "additionalProperties": False,
}
_NAMED = [{"type": "string", "format": "uuid", "description": "A run: all results of its newest version."}, _REFERENCE]


class ReferenceBody(Strict):
    run_id = Id()
    version = WholeNumber(required=False, allow_null=True, default=None, min_value=1, max_value=10**6)
    subject_index = WholeNumber(required=False, allow_null=True, default=None, min_value=0, max_value=99)
    profile_id = Text(required=False, allow_null=True, default=None, max_length=200)


@extend_schema_field({"oneOf": _NAMED})
class ResultReference(serializers.Field[Reference, Any, Any, Any]):
    """A run's ID as text, or an object that names one result of it."""

    default_error_messages: ClassVar[dict[str, str]] = {"invalid": "A run's ID, or an object with run_id."}

    def to_internal_value(self, data: Any) -> Reference:
        given = {"run_id": data} if isinstance(data, str) else data
        if not isinstance(given, Mapping):
            self.fail("invalid")
        reader = ReferenceBody(data=given)
        reader.is_valid(raise_exception=True)
        return Reference(**reader.validated_data)


@extend_schema_field({"oneOf": [*_NAMED, {"type": "integer", "minimum": 0, "description": "A place in `runs`."}]})
class BaselineReference(ResultReference):
    """As a reference, or the place of one in the list."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, int) and not isinstance(data, bool):
            return data
        return super().to_internal_value(data)


@extend_schema_field({"type": ["number", "null"], "minimum": 0, "maximum": 1})
class Share(serializers.FloatField):
    """A number from 0 to 1, and no text that only looks like one."""

    def __init__(self, **more: Any) -> None:
        super().__init__(min_value=0, max_value=1, required=False, allow_null=True, default=None, **more)

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float) or data != data:
            self.fail("invalid")
        return float(data)


class PolicyBody(Strict):
    """Checks; what is left out or null is not checked."""

    min_score = Share(help_text="Least score of each candidate: its whole 95% interval must reach it.")
    max_drop = Share(help_text="Largest drop against the baseline that the 95% interval of the paired difference may still hold.")
    min_coverage = Share(help_text="Least share of the planned answers that were graded.")

    def validate(self, attrs: dict[str, Any]) -> Any:
        return Policy(**attrs)


class ResultGroupBody(Strict):
    """Two to eight results."""

    name = Text(required=False, default="", max_length=160, allow_blank=True)
    runs = serializers.ListField(child=ResultReference(), min_length=1, max_length=MOST)
    baseline = BaselineReference(required=False, allow_null=True, default=None, help_text="The first of `runs` without it.")
    policy = PolicyBody(required=False, allow_null=True, default=None)


class ComparisonBody(Strict):
    """A baseline and one to seven candidates."""

    name = Text(required=False, default="", max_length=160, allow_blank=True)
    baseline = ResultReference()
    candidates = serializers.ListField(child=ResultReference(), min_length=1, max_length=MOST - 1)
    policy = PolicyBody(required=False, allow_null=True, default=None)


class GroupsQuery(ListQuery):
    kind = Choice(choices=KINDS, required=False)


class GroupQuery(Query):
    rank = Truth(default=False, help_text="Members in the order of score, then cost, instead of the order they were named in.")


class GroupExportQuery(Query):
    format = Text(default="json", max_length=20, help_text=f"One of {', '.join(GROUP_EXPORT_FORMATS)}.")


# Answers


class GroupRowShape(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="Of a group that was started together the ID of its run.")
    kind = serializers.ChoiceField(choices=GroupKind.values)
    name = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    report_url = serializers.CharField()
    status = serializers.ChoiceField(choices=STATUSES, help_text="`changed`: a result is gone, or not the one that was frozen.")
    decision = serializers.ChoiceField(choices=Decision.values, allow_null=True)
    baseline = serializers.IntegerField(allow_null=True, help_text="A place in `members`.")
    labels = serializers.ListField(child=serializers.CharField())
    profile_ids = serializers.ListField(child=serializers.CharField())


class GroupMemberShape(serializers.Serializer[Any]):
    """One result, exactly. What is null of a run that has not ended is not known yet."""

    index = serializers.IntegerField()
    run_id = serializers.UUIDField()
    run_name = serializers.CharField(allow_null=True)
    run_status = serializers.ChoiceField(choices=RunStatus.values)
    version = serializers.IntegerField(allow_null=True)
    sha256 = serializers.CharField(allow_null=True)
    subject_index = serializers.IntegerField()
    benchmark_index = serializers.IntegerField(allow_null=True)
    profile_id = serializers.CharField(allow_null=True)
    label = serializers.CharField()
    kind = serializers.ChoiceField(choices=SubjectKind.values, allow_null=True)
    stopped = serializers.CharField(allow_null=True)
    headline = MetricShape(allow_null=True)
    counts = CountsShape(allow_null=True)
    coverage = serializers.FloatField(allow_null=True, help_text="Graded of planned answers.")
    latency_ms = LatencyShape(allow_null=True)
    charge_microusd = Money(allow_null=True)
    answers_charge_microusd = Money(allow_null=True)
    protocol = AnyObject(allow_null=True)
    rank_label = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=("unchanged", "changed", "gone", "pending"))


class GroupRankShape(RankShape):
    """As in a run's comparison; `subject_index` and `member` are the place in `members`."""

    member = serializers.IntegerField()
    run_id = serializers.UUIDField()
    version = serializers.IntegerField()
    best = serializers.BooleanField()


class GroupComparisonShape(CompareShape):
    """Results that are alike, compared as the models of a run are. Places in `members` are named in place of subjects."""

    run_id = None  # type: ignore[assignment]  # no field: it is of several runs
    members = serializers.ListField(child=serializers.IntegerField())
    ranking = GroupRankShape(many=True)


class UnlikeDifferenceShape(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    baseline = serializers.CharField()
    other = serializers.CharField()


class UnlikeShape(serializers.Serializer[Any]):
    member = serializers.IntegerField()
    differences = UnlikeDifferenceShape(many=True)


class AgainstBaselineShape(serializers.Serializer[Any]):
    """Candidate − baseline on the tasks of both; null where they are unlike."""

    member = serializers.IntegerField()
    difference = serializers.FloatField(allow_null=True)
    interval = IntervalShape(allow_null=True)
    p_holm = serializers.FloatField(allow_null=True)
    separable = serializers.BooleanField(allow_null=True)


class PolicyShape(serializers.Serializer[Any]):
    min_score = serializers.FloatField(allow_null=True)
    max_drop = serializers.FloatField(allow_null=True)
    min_coverage = serializers.FloatField(allow_null=True)


class PolicyCheckShape(serializers.Serializer[Any]):
    member = serializers.IntegerField()
    check = serializers.ChoiceField(choices=("min_score", "max_drop", "min_coverage"))
    outcome = serializers.ChoiceField(choices=OUTCOMES)
    code = serializers.CharField()
    message = serializers.CharField()
    threshold = serializers.FloatField()
    value = serializers.FloatField(allow_null=True)
    interval = IntervalShape(allow_null=True)


class ReasonShape(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    member = serializers.IntegerField()
    check = serializers.CharField(allow_null=True)


class ResultGroupShape(GroupRowShape):
    sha256 = serializers.CharField(
        allow_null=True, help_text="Of the canonical JSON of what was frozen, which the export holds; null for a run's own group."
    )
    members = GroupMemberShape(many=True)
    unlike = UnlikeShape(many=True)
    ranking = GroupRankShape(many=True)
    pairs = PairShape(many=True)
    against_baseline = AgainstBaselineShape(many=True)
    comparisons = GroupComparisonShape(many=True)
    summary = serializers.CharField()
    policy = PolicyShape(allow_null=True)
    checks = PolicyCheckShape(many=True)
    reasons = ReasonShape(many=True)


class GroupExportShape(serializers.Serializer[Any]):
    schema = serializers.CharField()
    group = GroupRowShape()
    sha256 = serializers.CharField(allow_null=True)
    frozen = AnyObject()
