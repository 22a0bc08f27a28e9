"""An export as an HTTP answer, the same from the API and from the report."""

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from common.encoding import encode_json
from runs.bundles import bundle_parts
from runs.exporting import csv_parts, json_parts, summary_document
from runs.models import ResultVersion, Run


def export_response(run: Run, result: ResultVersion, wanted: str) -> HttpResponseBase:
    """The file in one of EXPORT_FORMATS. Raises Refused where the version's export policy does not let it leave."""
    name = f"evalrouter-{run.public_id}-v{result.number}"
    if wanted == "summary":
        return _file(HttpResponse(encode_json(summary_document(run, result))), f"{name}-summary.json", "application/json")
    if wanted == "csv":
        return _file(StreamingHttpResponse(csv_parts(run)), f"{name}.csv", "text/csv; charset=utf-8")
    if wanted == "bundle":
        return _file(StreamingHttpResponse(bundle_parts(run, result, site_url=settings.SITE_URL)), f"{name}.zip", "application/zip")
    return _file(StreamingHttpResponse(json_parts(run, result)), f"{name}.json", "application/json")


def _file(response: HttpResponseBase, name: str, content_type: str) -> HttpResponseBase:
    response["Content-Type"] = content_type
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
