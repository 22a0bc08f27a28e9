"""Imports from Hugging Face over HTTP."""

from rest_framework.response import Response

from imports.actions.fetching import fetch_hub
from imports.declaring import ShortMapping
from imports.serializers.hub import HuggingFaceImportBody, HuggingFaceImportShape, import_document
from imports.sources.hub_names import parse_reference
from workspaces.api_base import ApiView, operation
from workspaces.permissions import can_import


class HuggingFaceImport(ApiView):
    tag = "benchmark-imports"

    @operation(
        "import_huggingface",
        "Import files of a Hugging Face dataset",
        needs=can_import,
        body=HuggingFaceImportBody,
        answers={201: HuggingFaceImportShape, 200: HuggingFaceImportShape},
        refusals=(502,),
        in_transaction=False,
    )
    def post(self) -> Response:
        """The revision is resolved to a commit; the licence, and the size and hash of each file, are checked; the files are stored for the
        workspace alone. The same selection at the same commit downloads nothing and answers 200 with the same receipt.
        """
        given = {name: value for name, value in self.body.items() if value is not None}
        mapping = given.pop("mapping", None)
        parse_reference(given["source"], pinned=True)
        fetched = fetch_hub(self.workspace, actor=self.actor, mapping=ShortMapping(**mapping) if mapping else None, **given)
        return Response(import_document(fetched), status=201 if fetched.is_new else 200)
