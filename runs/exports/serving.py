"""An export as an HTTP answer, the same from the API and from the report."""

import base64
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

from runs.exports import queries
from runs.exports.formats import FORMATS
from runs.exports.source import lets_samples_leave
from runs.exports.storing import chunks_of, kept_export
from runs.models import Export, ResultVersion, Run


def export_response(request: HttpRequest, run: Run, result: ResultVersion, wanted: str) -> HttpResponseBase:
    """The file in one of FORMATS, with its checksum in `ETag` and `Repr-Digest`; 304 for who has it. Raises what `kept_export` does."""
    export = kept_export(run, result, wanted)
    headers = _headers(run, result, export)
    unchanged: Any = get_conditional_response(request, etag=headers["ETag"], response=None)
    if unchanged is not None:
        return HttpResponse(status=unchanged.status_code, headers={name: headers[name] for name in ("ETag", "Cache-Control")})
    return StreamingHttpResponse(chunks_of(export), headers=headers)


def file_name(run: Run, result: ResultVersion, export: Export) -> str:
    """What the file is called. One that was made after the answers were deleted has another name than the one that had them."""
    format = FORMATS[export.format]
    could = format.has_samples and any(map(lets_samples_leave, queries.benchmarks_of(run)))
    over = "-without-answers" if could and not export.has_answers else ""
    return f"evalrouter-{run.public_id}-v{result.number}{over}{format.suffix}"


def _headers(run: Run, result: ResultVersion, export: Export) -> dict[str, str]:
    digest = base64.b64encode(bytes.fromhex(export.sha256)).decode()
    return {
        "Content-Type": FORMATS[export.format].content_type,
        "Content-Length": str(export.bytes),
        "Content-Disposition": f'attachment; filename="{file_name(run, result, export)}"',
        "ETag": f'"{export.sha256}"',
        "Repr-Digest": f"sha-256=:{digest}:",
        "Cache-Control": "private, no-cache",
    }
