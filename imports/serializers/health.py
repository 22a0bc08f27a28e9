"""Shapes of a benchmark's health."""

from typing import Any

from rest_framework import serializers

from common.serializers import AnyObject, Query, WholeNumber


class HealthQuery(Query):
    version = WholeNumber(required=False, min_value=1, max_value=10**9, help_text="The number of a version; without it the latest.")


class FloorShape(serializers.Serializer[Any]):
    random_choice = serializers.FloatField(help_text="The score to expect of a random choice, from 0 to 1.")
    most_frequent_answer = serializers.FloatField(help_text="The score of always giving the commonest answer, from 0 to 1.")


class FindingShape(serializers.Serializer[Any]):
    code = serializers.CharField()
    severity = serializers.ChoiceField(choices=("high", "medium", "low"))
    title = serializers.CharField()
    text = serializers.CharField()
    count = serializers.IntegerField(help_text="How many tasks it is about.")
    tasks = serializers.ListField(child=serializers.CharField(), help_text="IDs of up to ten of them.")


class HealthDocumentShape(serializers.Serializer[Any]):
    schema = serializers.CharField()
    tasks = serializers.IntegerField()
    floor = FloorShape()
    answers = AnyObject(
        help_text="How many different answers there are, and the share of the commonest; of letters how often each is right."
    )
    duplicates = AnyObject()
    prompts = AnyObject(help_text="Bytes of the prompts: least, median, 95th percentile, most.")
    left_out = AnyObject(allow_null=True)
    findings = FindingShape(many=True, help_text="The gravest first.")


class HealthShape(serializers.Serializer[Any]):
    profile_id = serializers.CharField()
    health = HealthDocumentShape(allow_null=True, help_text="Null while it is not computed yet.")
