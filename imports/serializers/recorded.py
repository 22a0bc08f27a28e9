"""What the API takes and answers about recorded models."""

from typing import Any, ClassVar

from rest_framework import serializers

from catalog.enums import Grader
from common.serializers import AnyObject, Choice, ListQuery, Strict, Text, Truth, WholeNumber
from gateway.enums import Agreement
from gateway.models import RecordedAnswer, RecordedModel
from imports.manifests import MAX_OUTPUT_TOKENS
from imports.queries.recorded import agreement_of_model
from imports.recorded.predictions import ROLES
from imports.recorded.understanding import FORMATS

MAX_FILES = 8


class RecordedModelsBody(Strict):
    """Files of an old evaluation, and what is to become of them."""

    sources = serializers.ListField(
        child=Text(max_length=1300),
        min_length=1,
        max_length=MAX_FILES,
        help_text="`workspace://…` of each file: of a definition and its items, or of several logs of one task.",
    )
    format = Choice(choices=FORMATS, required=False, allow_null=True, help_text="Otherwise the files' content says it.")
    benchmark = Text(
        required=False,
        allow_null=True,
        max_length=200,
        help_text="A version's ID whose tasks are answered. Without it the rows become a private benchmark.",
    )
    columns = AnyObject(
        required=False, allow_null=True, help_text=f"Of predictions: columns by role ({', '.join(ROLES)}), dotted for a part."
    )
    model = Text(required=False, allow_null=True, max_length=120, help_text="Of predictions without a column for it: the model's name.")
    filter = Text(required=False, allow_null=True, max_length=120, help_text="Of a sample log: whose verdicts are taken; else the first.")
    scorer = Text(required=False, allow_null=True, max_length=120, help_text="Of an Inspect log: whose verdicts are taken; else the first.")
    name = Text(required=False, allow_null=True, max_length=160, help_text="Of the new benchmark; else as the files call it.")
    task = Choice(choices=Grader.values, required=False, allow_null=True, help_text="The new benchmark's grader; else as the old one's.")
    grader_options = AnyObject(required=False, allow_null=True)
    max_output_tokens = WholeNumber(required=False, allow_null=True, min_value=1, max_value=MAX_OUTPUT_TOKENS)
    data_license = Text(required=False, allow_null=True, max_length=80)
    rights_attestation = Truth(default=False, help_text="Must be true to create: the workspace may use these rows and answers.")
    dry_run = Truth(default=False, help_text="Say what was understood and create nothing.")

    default_error_messages: ClassVar[dict[str, str]] = {"columns": "Name columns by role, each as text. The roles are {roles}."}

    def validate_columns(self, value: Any) -> Any:
        if value is not None and not all(role in ROLES and isinstance(column, str) and column for role, column in value.items()):
            self.fail("columns", roles=", ".join(ROLES))
        return value


class AgreementCountsShape(serializers.Serializer[Any]):
    counts = serializers.DictField(child=serializers.IntegerField(), help_text=f"By {', '.join(Agreement.values)}.")
    compared = serializers.IntegerField(help_text="Answers with an old verdict.")
    agreeing = serializers.IntegerField(help_text="Of those, where both say right or neither does.")
    ours_right = serializers.IntegerField()
    theirs_right = serializers.IntegerField()


class RecordedModelShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    profile_id = serializers.CharField(help_text="The only version that it can be run on.")
    answers = serializers.IntegerField()
    format = serializers.CharField(allow_null=True)
    file = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)


class RecordedModelDetailShape(RecordedModelShape):
    agreement = AgreementCountsShape()


class RecordedMappingShape(serializers.Serializer[Any]):
    task = serializers.ChoiceField(choices=Grader.values)
    grader_options = AnyObject()


class RecordedGraderShape(serializers.Serializer[Any]):
    """A grader as the files name it."""

    name = serializers.CharField()
    answers = serializers.IntegerField(help_text="How many answers it graded.")
    mapped = RecordedMappingShape(allow_null=True, help_text="Ours that does the same; null where none does.")
    note = serializers.CharField(allow_null=True)
    examples = serializers.ListField(child=serializers.CharField(), help_text="IDs of some of the rows that it graded.")


class RecordedCountShape(serializers.Serializer[Any]):
    name = serializers.CharField()
    answers = serializers.IntegerField()


class RecordedLeftOutShape(serializers.Serializer[Any]):
    reason = serializers.CharField()
    count = serializers.IntegerField()
    message = serializers.CharField()


class RecordedReportShape(serializers.Serializer[Any]):
    """What was understood of the files, with `dry_run`."""

    format = serializers.ChoiceField(choices=FORMATS)
    name = serializers.CharField(allow_blank=True)
    rows = serializers.IntegerField(allow_null=True, help_text="Null for predictions, which hold no questions.")
    models = RecordedCountShape(many=True)
    graders = RecordedGraderShape(many=True)
    left_out = RecordedLeftOutShape(many=True)
    notes = serializers.ListField(child=serializers.CharField())
    grader = RecordedMappingShape(allow_null=True, help_text="What answers are graded with here; null where one must be named.")
    benchmark = AnyObject(allow_null=True, help_text="Of a new benchmark: as a dry run of private benchmarks answers.")
    unknown_tasks = serializers.IntegerField(allow_null=True, help_text="Of a named benchmark: answered IDs that it does not have.")


class RecordedCreatedShape(serializers.Serializer[Any]):
    profile_id = serializers.CharField()
    recorded_models = RecordedModelShape(many=True)


class RecordedModelsQuery(ListQuery):
    benchmark = Text(required=False, max_length=200, help_text="A version's ID.")
    archived = Truth(default=False, help_text="Those that are archived too.")


class AgreementQuery(ListQuery):
    agreement = Choice(choices=Agreement.values, required=False)
    q = Text(required=False, max_length=200, help_text="Part of a task's ID.")


class RecordedAnswerShape(serializers.Serializer[Any]):
    task_id = serializers.CharField()
    agreement = serializers.ChoiceField(choices=Agreement.values)
    was_correct = serializers.BooleanField(allow_null=True, help_text="The old verdict.")
    old_extracted = serializers.CharField(allow_null=True)
    correct = serializers.BooleanField(help_text="Ours.")
    extracted = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_blank=True)
    finish_reason = serializers.CharField(allow_null=True)


def recorded_document(model: RecordedModel) -> dict[str, Any]:
    """A recorded model. Reads its `version`."""
    return {
        "id": str(model.public_id),
        "name": model.name,
        "profile_id": model.version.profile_id,
        "answers": model.answer_count,
        "format": model.source.get("format"),
        "file": model.source.get("file"),
        "created_at": model.created_at,
        "archived_at": model.archived_at,
    }


def recorded_detail(model: RecordedModel) -> dict[str, Any]:
    """The same with how its verdicts agree."""
    return {**recorded_document(model), "agreement": agreement_of_model(model).document()}


def answer_document(answer: RecordedAnswer) -> dict[str, Any]:
    """One answer with both verdicts. Reads its `task`."""
    return {
        "task_id": answer.task.task_id,
        "agreement": answer.agreement,
        "was_correct": answer.was_correct,
        "old_extracted": answer.old_extracted or None,
        "correct": answer.correct,
        "extracted": answer.extracted or None,
        "text": answer.text,
        "finish_reason": answer.finish_reason or None,
    }
