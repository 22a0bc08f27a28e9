"""Results, comparisons, exports and receipts."""

from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase

from common.errors import Conflict, Refused
from runs import queries
from runs.comparison.files import csv_response
from runs.comparison.queries import comparison_of
from runs.differences import differences_to_previous
from runs.documents import chain_document, receipt_document, result_document
from runs.exports.serving import export_response
from runs.models import ResultVersion, Run
from runs.serializers.comparing import CompareQuery
from runs.serializers.requests import EXPORT_FORMATS, ExportQuery, ResultsQuery
from runs.serializers.results import CompareShape, ExportShape, ReceiptShape, ResultShape
from workspaces.api_base import ApiView, operation
from workspaces.permissions import can_read


class RunResults(ApiView):
    tag = "results"

    @operation("get_results", "The frozen result of an ended run", needs=can_read, query=ResultsQuery, answers={200: ResultShape})
    def get(self, run_id: UUID) -> dict[str, Any]:
        """409 `result_not_ready` before the end."""
        run, result = _result(self, run_id)
        document = result_document(result)
        if self.query["include_resumed"] and run.continued_from is not None:
            document["chain"] = chain_document(run)
        return {**document, "diff": differences_to_previous(run, document)} if self.query.get("diff") else document


class RunCompare(ApiView):
    tag = "results"

    @operation(
        "compare_run",
        "Which models are ahead of which",
        needs=can_read,
        query=CompareQuery,
        answers={(200, "application/json"): CompareShape, (200, "text/csv"): {"type": "string"}},
    )
    def get(self, run_id: UUID) -> dict[str, Any] | HttpResponseBase:
        """Follows `continued_by`, and names the run that was compared. As `csv` one of its tables: `ranking`, `pairs` or `groups`."""
        run = queries.newest_continuation(queries.get_run(self.workspace, run_id))
        _require_result(run)
        profile_ids = [benchmark.version.profile_id for benchmark in run.benchmarks.all()]
        if "profile_id" not in self.query and len(profile_ids) > 1:
            raise Refused(
                "profile_id_required",
                f"The run has {len(profile_ids)} benchmarks, each compared by itself. Say which as `profile_id`.",
                details={"profile_ids": profile_ids},
            )
        found = comparison_of(run, self.query.get("profile_id", ""))
        return dict(found.document) if self.query["format"] == "json" else csv_response(found, self.query["table"])


class RunExport(ApiView):
    tag = "results"

    @operation(
        "export_run",
        "A result as a file",
        needs=can_read,
        query=ExportQuery,
        answers={
            (200, "application/json"): ExportShape,
            (200, "text/csv"): {"type": "string"},
            (200, "text/html"): {"type": "string"},
            (200, "application/zip"): {"type": "string", "format": "binary"},
        },
    )
    def get(self, run_id: UUID) -> HttpResponseBase:
        """`json` with every sample, `csv` one line a sample, `figures` one line a figure, `html` one page to read and print, `summary`
        without samples, `bundle` all of it as a signed ZIP, `inspect` and `lm-eval` as those tools write their logs.

        A file is made once: the same version in the same format has the same bytes, and their SHA-256 in `ETag` and `Repr-Digest`. What
        may leave is each version's export policy. When the run's retention ends, files with answers are deleted, and what is made after
        that has none and says so.
        """
        wanted = self.query["format"]
        if wanted not in EXPORT_FORMATS:
            raise Refused(
                "format_unsupported",
                f"There is no export as {wanted!r}; there are {', '.join(EXPORT_FORMATS)}.",
                details={"supported": list(EXPORT_FORMATS)},
            )
        return export_response(self.request._request, *_result(self, run_id), wanted)


class RunReceipt(ApiView):
    tag = "results"

    @operation("get_receipt", "What was quoted, used and charged", needs=can_read, answers={200: ReceiptShape})
    def get(self, run_id: UUID) -> dict[str, Any]:
        return receipt_document(queries.get_run(self.workspace, run_id))


def _result(view: ApiView, run_id: UUID) -> tuple[Run, ResultVersion]:
    """The run and the result version that are asked for: with `include_resumed`, of the newest run that continues it."""
    run = queries.get_run(view.workspace, run_id)
    if view.query["include_resumed"]:
        newest = queries.newest_continuation(run)
        run = run if newest.pk == run.pk else queries.get_run(view.workspace, newest.public_id)
    _require_result(run)
    return run, queries.get_result(run, view.query.get("version"))


def _require_result(run: Run) -> None:
    if queries.latest_result(run) is None:
        raise Conflict("result_not_ready", "The run has not ended yet; its result is written when it does.", details={"status": run.status})
