"""What the API takes and answers about comparisons and the tasks on which models disagree."""

from typing import Any

from rest_framework import serializers

from common.serializers import Choice, ListQuery, Query, Text, WholeNumber
from runs.comparison.verdicts import SHOWN
from runs.requests import MAX_SUBJECTS

TABLES = ("ranking", "pairs", "groups")
VERDICTS = ("right", "wrong", "mixed", "error", "unfinished")


class CompareQuery(Query):
    profile_id = Text(required=False, max_length=200, help_text="Which benchmark; needed where the run has several.")
    format = Choice(choices=("json", "csv"), default="json")
    table = Choice(choices=TABLES, default="ranking", help_text="Which table, as `csv`.")


class DisagreementsQuery(ListQuery):
    profile_id = Text(required=False, max_length=200, help_text="A version of the run; its first without it.")
    a = WholeNumber(required=False, min_value=0, max_value=MAX_SUBJECTS - 1, help_text="Index of model A; the first without it.")
    b = WholeNumber(required=False, min_value=0, max_value=MAX_SUBJECTS - 1, help_text="Index of model B; the next other one without it.")
    show = Choice(choices=SHOWN, default="any", help_text="`any` two models differ; `a_only` and `b_only` look at A and B alone.")
    group = Text(required=False, max_length=200)
    q = Text(required=False, max_length=200, help_text="Part of a task's ID.")


class VerdictShape(serializers.Serializer[Any]):
    subject_index = serializers.IntegerField()
    verdict = serializers.ChoiceField(choices=VERDICTS, help_text="`mixed` where several attempts, or a grade, came to a score between.")
    score = serializers.FloatField(allow_null=True, help_text="The mean of the attempts; null unless each of them is graded.")


class DisagreementShape(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    task_id = serializers.CharField()
    ordinal = serializers.IntegerField()
    group = serializers.CharField(allow_null=True)
    answers = VerdictShape(many=True)


class DisagreementCountsShape(serializers.Serializer[Any]):
    """Tasks of each kind under the same group and text."""

    any = serializers.IntegerField()
    a_only = serializers.IntegerField()
    b_only = serializers.IntegerField()
    all_wrong = serializers.IntegerField()
    all_right = serializers.IntegerField()
    errors = serializers.IntegerField()


class DisagreementsShape(serializers.Serializer[Any]):
    data = DisagreementShape(many=True)
    next_cursor = serializers.CharField(allow_null=True)
    counts = DisagreementCountsShape()
