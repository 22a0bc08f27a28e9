"""What the API takes and answers about making private benchmarks."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from catalog.enums import Grader
from catalog.manifests import delivery_of
from catalog.models import BenchmarkVersion
from catalog.queries import manifest_of
from catalog.serializers import PrivateBenchmarkShape, private_benchmark_document
from common.serializers import AnyObject, Choice, Strict, Text, Truth, WholeNumber
from imports.limits import Limits
from imports.manifests import MAX_OUTPUT_TOKENS
from imports.reading.files import FORMATS
from workspaces.models import Workspace

_SOURCE_KEYS = ("source", "source_sha256", "source_bytes", "dry_run")


def _text(limit: int, **options: Any) -> Text:
    """A text that may be left out, kept as it is written."""
    given = {"required": False, "allow_null": True, "allow_blank": True, **options}
    return Text(max_length=limit, trim_whitespace=False, **given)


class PrivateBenchmarkBody(Strict):
    """A manifest with the stored source it is for."""

    dry_run = Truth(default=False, help_text="Check the manifest against every row and create nothing.")
    source = Text(max_length=1300, help_text="`workspace://…` of a completed upload, or `hf://…` or `github://…` of an import's receipt.")
    source_sha256 = _text(64, help_text="Required for `hf://` and `github://`.")
    source_bytes = WholeNumber(required=False, allow_null=True, min_value=0, help_text="Required for `hf://` and `github://`.")
    name = Text(max_length=160)
    description = _text(10_000)
    format = Choice(choices=FORMATS, required=False, allow_null=True, help_text="Otherwise the file's ending says it.")
    task = Choice(choices=Grader.values, help_text="The grader.")
    columns = AnyObject(help_text="Roles and columns. `answer` is required; `id` and `choices` may be lists of columns.")
    prompt_template = _text(100_000, required=True, allow_null=False, allow_blank=False)
    system_prompt = _text(100_000)
    grader_options = AnyObject(required=False, allow_null=True)
    max_output_tokens = WholeNumber(required=False, allow_null=True, min_value=1, max_value=MAX_OUTPUT_TOKENS)
    split = _text(60)
    data_license = _text(80, help_text="Kept as it was verified where the source is `hf://`.")
    rights_attestation = Truth(help_text="Must be true: the workspace may use the data and send its rows to the providers of models.")
    answer_pattern = _text(1000, help_text="An RE2 pattern whose group `answer`, else only group, is the reference.")
    header = Truth(required=False, allow_null=True, help_text="False where the first row of a CSV is data; columns are `column_1` …")
    delimiter = _text(1)
    encoding = _text(40)
    leave_out_leaking_rows = Truth(
        required=False, allow_null=True, help_text="Leave out, and list, rows whose prompt would hold their own answer."
    )

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and "data" in data:
            message = "It names a file of your machine. Upload the file (POST /v1/benchmark-uploads) and name it as source."
            raise serializers.ValidationError({"data": [message]})
        return super().to_internal_value(data)


class WarningShape(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    rows = serializers.ListField(child=serializers.IntegerField(), required=False, help_text="Some of the rows it is about.")


class MessageShape(serializers.Serializer[Any]):
    role = serializers.CharField()
    content = serializers.CharField()


class PreviewShape(serializers.Serializer[Any]):
    row = serializers.IntegerField()
    task_id = serializers.CharField()
    messages = MessageShape(many=True)


class LeftOutRowShape(serializers.Serializer[Any]):
    row = serializers.IntegerField()
    task_id = serializers.CharField()
    column = serializers.CharField(allow_null=True)
    message = serializers.CharField()


class LeftOutShape(serializers.Serializer[Any]):
    """Rows that the manifest leaves out: the numbers of all, and the first ones in words."""

    reason = serializers.CharField()
    count = serializers.IntegerField()
    rows = serializers.ListField(child=serializers.IntegerField())
    listed = LeftOutRowShape(many=True, required=False)


class DeliveryShape(serializers.Serializer[Any]):
    """What the model receives of each row, what it never receives, how an answer is graded, and how a row is run."""

    receives = serializers.ListField(child=serializers.CharField())
    never_receives = serializers.ListField(child=serializers.CharField())
    grader = serializers.CharField()
    output_limit = serializers.IntegerField(help_text="Tokens at which an answer is cut.")
    few_shot = serializers.IntegerField(help_text="Examples shown before the row.")
    attempts = serializers.IntegerField(help_text="Of each row.")


class PrivateBenchmarkReportShape(serializers.Serializer[Any]):
    """What a dry run found."""

    rows = serializers.IntegerField()
    delivery = DeliveryShape()
    preview = PreviewShape(many=True, help_text="The first three rows as the model receives them; credentials are hidden here alone.")
    warnings = WarningShape(many=True)
    source = AnyObject(help_text="How the file was read.")
    left_out = LeftOutShape(allow_null=True)


class PrivateBenchmarkCreatedShape(PrivateBenchmarkShape):
    rows = serializers.IntegerField()
    delivery = DeliveryShape()
    warnings = WarningShape(many=True)
    source = AnyObject(help_text="How the file was read.")
    left_out = LeftOutShape(allow_null=True)


class LimitsShape(serializers.Serializer[Any]):
    max_file_bytes = serializers.IntegerField()
    max_benchmark_bytes = serializers.IntegerField()
    max_rows = serializers.IntegerField()
    max_files = serializers.IntegerField()


class CapabilitiesShape(serializers.Serializer[Any]):
    workspace_id = serializers.UUIDField()
    github = serializers.BooleanField()
    huggingface = serializers.BooleanField()
    limits = LimitsShape()


def split_body(body: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifest's keys, and those about the source."""
    manifest = {key: value for key, value in body.items() if key not in _SOURCE_KEYS}
    return manifest, {key: body.get(key) for key in _SOURCE_KEYS}


def created_document(version: BenchmarkVersion) -> dict[str, Any]:
    manifest = manifest_of(version)
    source = manifest["source"]
    return {
        **private_benchmark_document(version.benchmark, version, [version]),
        "rows": version.task_count,
        "delivery": delivery_of(manifest),
        "warnings": source["warnings"],
        "source": source,
        "left_out": source.get("left_out"),
    }


def capabilities_document(workspace: Workspace, limits: Limits, *, github: bool, huggingface: bool) -> dict[str, Any]:
    shown = {name: getattr(limits, name) for name in ("max_file_bytes", "max_benchmark_bytes", "max_rows", "max_files")}
    return {"workspace_id": workspace.public_id, "github": github, "huggingface": huggingface, "limits": shown}
