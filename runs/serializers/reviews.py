"""What the API takes and answers about samples, and what people say of them."""

from typing import Any

from rest_framework import serializers

from common.serializers import Choice, ListQuery, Strict, Text, WholeNumber
from runs.browsing.filters import LONGEST, ORDERS, REVIEWED, SHOWN, VERDICTS
from runs.enums import Flag, SampleStatus
from runs.models.reviews import LONGEST_NOTE, LONGEST_REASON
from runs.requests import MAX_SUBJECTS
from runs.serializers.results import MetricShape
from runs.serializers.shapes import NoteShape, OverrideShape, SampleShape

MAX_ATTEMPTS = 16
MAX_TOKENS = 999_999_999


class SamplesQuery(ListQuery):
    """Filters are combined. `sort` is the order they were stored in by default."""

    subject = WholeNumber(required=False, min_value=0, max_value=MAX_SUBJECTS - 1, help_text="The index of a model.")
    benchmark = Text(required=False, max_length=LONGEST, help_text="The `profile_id` of one of the run's benchmarks.")
    attempt = WholeNumber(required=False, min_value=1, max_value=MAX_ATTEMPTS)
    status = Choice(choices=SampleStatus.values, required=False)
    error_code = Text(required=False, max_length=40)
    flag = Choice(choices=Flag.values, required=False)
    verdict = Choice(choices=VERDICTS, required=False, help_text="The grader's.")
    group = Text(required=False, max_length=LONGEST)
    min_output_tokens = WholeNumber(required=False, min_value=0, max_value=MAX_TOKENS)
    max_output_tokens = WholeNumber(required=False, min_value=0, max_value=MAX_TOKENS)
    reviewed = Choice(
        choices=REVIEWED,
        required=False,
        help_text="Answers with a `note`, with an `override` (a person's verdict), or with one that is not the grader's (`changed`).",
    )
    show = Choice(
        choices=SHOWN,
        required=False,
        help_text="`failures`: incorrect or an error; `disagreements`: of tasks that one answer got right and another not.",
    )
    q = Text(required=False, max_length=LONGEST, help_text="Part of a task's ID, of what was read from the answer, or of the reason.")
    text = Text(
        required=False,
        max_length=LONGEST,
        help_text="Words in the prompt, the answer or its reasoning, never in references. Each page looks through a bounded part of the "
        "run and says how much: it may hold no sample while `next_cursor` goes on. 422 `search_not_permitted` where the licence lets only "
        "aggregates leave.",
    )
    sort = Choice(choices=tuple(ORDERS), required=False, help_text="Ascending, or descending with `-`.")


class SamplePageShape(serializers.Serializer[Any]):
    """A page of samples."""

    data = SampleShape(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="Null on the last page.")
    searched = serializers.IntegerField(required=False, help_text="With `text` alone: how many samples this page looked through.")


class NoteBody(Strict):
    """A note on an answer."""

    text = Text(max_length=LONGEST_NOTE)


class OverrideBody(Strict):
    """A person's verdict on an answer, beside the grader's."""

    verdict = Choice(choices=VERDICTS)
    reason = Text(max_length=LONGEST_REASON)


def _body(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# As schemas, so that a body is read after what it is about: for a stranger that is not found, whatever the body.
NOTE_BODY = _body(text={"type": "string", "minLength": 1, "maxLength": LONGEST_NOTE})
OVERRIDE_BODY = _body(
    verdict={"type": "string", "enum": list(VERDICTS)}, reason={"type": "string", "minLength": 1, "maxLength": LONGEST_REASON}
)


class ReviewsQuery(ListQuery):
    kind = Choice(choices=("overrides", "notes"), default="overrides")


class ReviewShape(serializers.Serializer[Any]):
    """Something that a person said of an answer of the run: a note or a verdict, the other is null."""

    kind = serializers.ChoiceField(choices=("note", "override"))
    sample_id = serializers.UUIDField(help_text="The run's own sample with that answer.")
    subject_index = serializers.IntegerField()
    benchmark_index = serializers.IntegerField()
    task_id = serializers.CharField()
    position = serializers.IntegerField()
    attempt = serializers.IntegerField()
    correct = serializers.BooleanField(allow_null=True, help_text="The grader's verdict.")
    note = NoteShape(allow_null=True)
    override = OverrideShape(allow_null=True)


class SecondFigureShape(serializers.Serializer[Any]):
    """What a model's score on a benchmark would be with the verdicts that people changed."""

    index = serializers.IntegerField(help_text="Of the model.")
    benchmark_index = serializers.IntegerField()
    label = serializers.CharField()
    profile_id = serializers.CharField()
    changed = serializers.IntegerField(help_text="Verdicts of people that differ from the grader's.")
    made_correct = serializers.IntegerField()
    made_incorrect = serializers.IntegerField()
    confirmed = serializers.IntegerField(help_text="Verdicts of people that agree with the grader.")
    grader = MetricShape()
    reviewed = MetricShape()


class SecondFiguresShape(serializers.Serializer[Any]):
    """The second figures of an ended run. The result itself, its comparison and its exports are by the grader alone."""

    run_id = serializers.UUIDField()
    result_version = serializers.IntegerField()
    data = SecondFigureShape(many=True)
