"""What the API takes and answers about grading again."""

from typing import Any

from rest_framework import serializers

from common.serializers import Strict, Text
from runs.requests import MAX_BENCHMARKS
from runs.serializers.results import CompareShape, ResultShape


class GradingBody(Strict):
    """Which versions judge."""

    versions = serializers.ListField(
        child=Text(max_length=200),
        required=False,
        max_length=MAX_BENCHMARKS,
        help_text="For each benchmark of the run, in its order, the version whose grader and references judge; its own where left out.",
    )


class GradingShape(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="The verdicts of the run itself are grading 1.")
    state = serializers.ChoiceField(choices=("running", "done", "failed"))
    problem = serializers.CharField(allow_null=True, help_text="Why it came to nothing.")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    created_by = serializers.CharField()
    versions = serializers.ListField(child=serializers.CharField())
    graded = serializers.IntegerField(help_text="Answers that were read again.")
    flips = serializers.IntegerField(help_text="Answers whose verdict is another one.")
    moves_ranking = serializers.BooleanField(allow_null=True, help_text="Null where nothing is ranked.")
    sha256 = serializers.CharField(allow_null=True, help_text="Of its result.")


class GradingDetailShape(GradingShape):
    result = ResultShape(allow_null=True)
    comparisons = CompareShape(many=True, help_text="One for each benchmark.")


class GradedShape(serializers.Serializer[Any]):
    correct = serializers.BooleanField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    extracted = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class FlipShape(serializers.Serializer[Any]):
    sample_id = serializers.UUIDField()
    subject_index = serializers.IntegerField()
    benchmark_index = serializers.IntegerField()
    task_id = serializers.CharField()
    position = serializers.IntegerField()
    attempt = serializers.IntegerField()
    before = GradedShape()
    after = GradedShape()
