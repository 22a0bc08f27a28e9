"""What the API takes and answers about imports from Hugging Face. A token goes in, and never comes out."""

import json
from typing import Any

from rest_framework import serializers

from catalog.enums import Grader
from common.serializers import AnyObject, Choice, Strict, Text
from imports.actions.fetching import Fetched
from imports.models import SourceImport


class ShortMappingBody(Strict):
    """What the one selected file's columns are for. Its rows are checked, and the answer has a manifest for them."""

    grader = Choice(choices=Grader.values)
    prompt_field = Text(max_length=500, help_text="The column that asks.")
    answer_field = Text(max_length=500, help_text="The column with the reference answer.")
    choices_field = Text(required=False, allow_null=True, max_length=500, help_text="For `multiple_choice`: the column with the list.")
    grader_options = AnyObject(required=False, help_text='As in the manifest, such as `{"answer_format": "index"}`.')


class HuggingFaceImportBody(Strict):
    source = Text(max_length=500, help_text="`hf://owner/name@revision`: a branch, a tag or a full commit.")
    config = Text(required=False, allow_null=True, max_length=200, help_text="Where the dataset has several.")
    split = Text(required=False, allow_null=True, max_length=200, help_text="Required where no files are named.")
    files = serializers.ListField(
        child=Text(max_length=1000),
        required=False,
        allow_null=True,
        max_length=1000,
        help_text="Paths in the repository; a `*` matches within one folder.",
    )
    token = Text(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=500,
        help_text="A Hugging Face token that can read a gated or private dataset. It is used for this import alone and not kept.",
    )
    mapping = ShortMappingBody(required=False, allow_null=True)


class HubReceiptFileShape(serializers.Serializer[Any]):
    path = serializers.CharField()
    source = serializers.CharField(help_text="What a manifest names it by.")
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    verified_by = serializers.ChoiceField(choices=["lfs_sha256", "git_blob"], help_text="Which hash of the Hub its content has.")


class HubReceiptShape(serializers.Serializer[Any]):
    """What was taken, from where. It never changes."""

    schema = serializers.CharField()
    kind = serializers.CharField()
    source = serializers.CharField(help_text="The dataset at the commit.")
    repository = serializers.CharField()
    revision = serializers.CharField(help_text="As it was asked for when this selection was first imported.")
    commit = serializers.CharField()
    config = serializers.CharField(allow_null=True)
    split = serializers.CharField(allow_null=True)
    license = serializers.CharField(help_text="As the dataset's card stated it at that commit.")
    gated = serializers.BooleanField()
    private = serializers.BooleanField()
    files = HubReceiptFileShape(many=True)
    fetched_at = serializers.DateTimeField()


class HuggingFaceImportShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    receipt = HubReceiptShape()
    receipt_sha256 = serializers.CharField(help_text="Of the receipt as canonical JSON.")
    declaration = AnyObject(allow_null=True, help_text="With a mapping: the manifest but for `name` and `rights_attestation`.")


def import_document(fetched: Fetched) -> dict[str, Any]:
    """The answer to an import."""
    made: SourceImport = fetched.source_import
    return {
        "id": made.public_id,
        "created_at": made.created_at,
        "receipt": json.loads(made.receipt),
        "receipt_sha256": made.sha256,
        "declaration": fetched.declaration,
    }
