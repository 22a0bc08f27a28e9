"""Making private benchmarks over HTTP, and what can be imported from."""

from typing import Any

from rest_framework.response import Response

from catalog import api as catalog
from catalog.models import BenchmarkVersion
from common.errors import Refused
from imports.actions.benchmarks import check_source, create_from_source
from imports.enums import SourceKind
from imports.limits import limits
from imports.queries.capabilities import may_use_github, may_use_hub
from imports.queries.sources import resolve_source
from imports.serializers.private import (
    CapabilitiesShape,
    PrivateBenchmarkBody,
    PrivateBenchmarkCreatedShape,
    PrivateBenchmarkReportShape,
    capabilities_document,
    created_document,
    split_body,
)
from imports.sources.stored import StoredSource
from workspaces.api_base import ApiView, operation
from workspaces.permissions import can_import

_OWN_CODES = frozenset(
    (
        *("byob_answer_in_input", "private_benchmark_too_large", "upload_row_limit", "private_benchmark_limit", "not_found", "forbidden"),
        *("invalid_source", "source_mismatch", "source_archived", "source_damaged", "upload_not_completed"),
        *("github_imports_disabled", "access_refused", "github_unavailable"),
    )
)
"""Refusals that keep their code; every other one is `invalid_private_benchmark`, with the code in its details."""


class Capabilities(ApiView):
    tag = "benchmark-imports"

    @operation("get_import_capabilities", "What the workspace can import from", needs=can_import, answers={200: CapabilitiesShape})
    def get(self) -> dict[str, Any]:
        github, hub = may_use_github(self.workspace), may_use_hub(self.workspace)
        return capabilities_document(self.workspace, limits(), github=github, huggingface=hub)


class PrivateBenchmarkList(catalog.PrivateBenchmarkList):
    @operation(
        "create_private_benchmark",
        "Check a source against a manifest, or make a benchmark of it",
        needs=can_import,
        body=PrivateBenchmarkBody,
        answers={201: PrivateBenchmarkCreatedShape, 200: PrivateBenchmarkReportShape},
        refusals=(502,),
        in_transaction=False,
    )
    def post(self) -> Response:
        """With `dry_run` every row is checked and nothing is created (200). Without, a benchmark with one frozen version is made (201).
        A row that cannot be used is refused with its number and the reason. The repository of a `github://` source must be readable now.
        """
        manifest, given = split_body(self.body)
        source: StoredSource | None = None
        try:
            source = self._source(given)
            if given["dry_run"]:
                report = check_source(self.workspace, actor=self.actor, source=source, manifest=manifest)
                return Response(report.document(), status=200)
            return Response(self._create(source, manifest), status=201)
        except Refused as refused:
            raise _told(refused, source) from None

    def _source(self, given: dict[str, Any]) -> StoredSource:
        sha256, size = (given["source_sha256"] or "").lower(), given["source_bytes"]
        if given["source"].startswith(("hf://", "github://")) and (not sha256 or size is None):
            message = "State source_sha256 and source_bytes, as the import's receipt does, so that no other content is taken."
            raise Refused("source_not_pinned", message, details={"keys": ["source_sha256", "source_bytes"]})
        return resolve_source(self.workspace, given["source"], sha256=sha256, size=size)

    def _create(self, source: StoredSource, manifest: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = {}

        def finish(version: BenchmarkVersion) -> None:
            """The answer is kept in the transaction that makes the version: a second request under the key finds both or neither."""
            answer.update(created_document(version))
            self.keep_answer(answer, 201)

        create_from_source(self.workspace, actor=self.actor, source=source, manifest=manifest, finish=finish)
        return answer


def _told(refused: Refused, source: StoredSource | None) -> Refused:
    """The refusal under the code by which the API knows it."""
    if refused.code == "upload_row_limit" and source is not None and source.kind != SourceKind.UPLOAD:
        return Refused("import_row_limit", refused.message, status=refused.status, details=refused.details)
    if refused.code in _OWN_CODES:
        return refused
    return Refused("invalid_private_benchmark", refused.message, details={**refused.details, "code": refused.code})
