"""What the API takes and answers about links and leaderboards."""

from typing import Any

from rest_framework import serializers

from common.serializers import AnyObject, Moment, Money, Query, Strict, Text, Truth, WholeNumber
from runs.enums import SubjectKind
from runs.serializers.results import CountsShape, MetricShape
from runs.sharing.choices import MAX_LABEL, MAX_TITLE
from runs.sharing.protocols import FULL, PART

STATES = ("live", "expired", "revoked")


class ShownLabelBody(Strict):
    subject_index = WholeNumber(min_value=0, max_value=100)
    label = Text(max_length=MAX_LABEL, allow_blank=True)


class ShareBody(Strict):
    """What is not named is not shown."""

    version = WholeNumber(
        required=False, min_value=1, max_value=10**6, help_text="The result version that the link shows; the newest by default."
    )
    title = Text(default="", max_length=MAX_TITLE, allow_blank=True, help_text="The benchmark's name by default; never the run's.")
    labels = ShownLabelBody(
        many=True, default=list, help_text="Names for own endpoints and recorded answers, whose own ones are not shown."
    )
    shows_samples = Truth(default=False)
    shows_cost = Truth(default=False)
    shows_workspace = Truth(default=False)
    expires_at = Moment(required=False, allow_null=True)

    def validate_labels(self, labels: list[dict[str, Any]]) -> list[dict[str, Any]]:
        indexes = [each["subject_index"] for each in labels]
        if len(labels) > 100 or len(set(indexes)) != len(indexes):
            raise serializers.ValidationError("One name for each model.")
        return labels


class ResultOfShareShape(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    sha256 = serializers.CharField()


class ShownLabelShape(serializers.Serializer[Any]):
    subject_index = serializers.IntegerField()
    label = serializers.CharField()


class ShareShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    run_id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=STATES)
    url = serializers.CharField(allow_null=True, help_text="Told to those who may share, while the link works.")
    result = ResultOfShareShape()
    title = serializers.CharField(allow_null=True)
    labels = ShownLabelShape(many=True)
    shows_samples = serializers.BooleanField()
    shows_cost = serializers.BooleanField()
    shows_workspace = serializers.BooleanField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    opened = serializers.IntegerField(help_text="How often people from outside the workspace opened it.")
    last_opened_at = serializers.DateTimeField(allow_null=True)


class LeaderboardQuery(Query):
    version = WholeNumber(required=False, min_value=1, max_value=10**9, help_text="The benchmark's version; the newest by default.")


class ProtocolShape(serializers.Serializer[Any]):
    """What must be alike for scores to be compared."""

    profile_id = serializers.CharField()
    version_sha256 = serializers.CharField()
    coverage = serializers.ChoiceField(choices=[FULL, PART])
    tasks = serializers.IntegerField()
    population = serializers.IntegerField()
    task_list_sha256 = serializers.CharField()
    output_limit = serializers.IntegerField()
    output_format = serializers.CharField()
    attempts = serializers.IntegerField()
    grading = serializers.IntegerField()


class ProtocolDifferenceShape(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class LeaderboardEntryShape(serializers.Serializer[Any]):
    """A published model. Rank, range and letters are null where nothing is ranked."""

    id = serializers.UUIDField()
    label = serializers.CharField()
    kind = serializers.ChoiceField(choices=SubjectKind.values)
    reasoning = AnyObject()
    publisher = serializers.CharField(help_text="The workspace, by the name its owner agreed to.")
    published_at = serializers.DateTimeField()
    result_sha256 = serializers.CharField(help_text="Of the frozen result it was copied from.")
    rank = serializers.IntegerField(allow_null=True)
    rank_range = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    group = serializers.CharField(allow_null=True, allow_blank=True, help_text="Entries that share a letter cannot be told apart.")
    headline = MetricShape()
    counts = CountsShape()
    cost_per_1000_tasks_microusd = Money(allow_null=True, help_text="Null for baselines.")


class LeaderboardTableShape(serializers.Serializer[Any]):
    """Entries under one protocol, the best first. `differences` says how it is not the version's own."""

    protocol = ProtocolShape()
    differences = ProtocolDifferenceShape(many=True)
    tasks_compared = serializers.IntegerField(allow_null=True)
    summary = serializers.CharField(allow_null=True)
    entries = LeaderboardEntryShape(many=True)


class LeaderboardShape(serializers.Serializer[Any]):
    schema = serializers.CharField()
    profile_id = serializers.CharField(allow_null=True)
    tables = LeaderboardTableShape(many=True)
