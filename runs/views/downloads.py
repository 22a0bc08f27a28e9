"""A result as files: which there are, and each of them."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from common.web import page, render_page
from runs import queries
from runs.exports.formats import FORMATS
from runs.exports.offering import offers_of
from runs.exports.serving import export_response
from runs.models import ResultVersion, Run
from workspaces.requests import PersonRequest


@page
@require_safe
def export(request: PersonRequest, run_id: UUID, wanted: str) -> HttpResponseBase:
    """A result in one of FORMATS: the newest, or the version that `?version=` names."""
    run = queries.get_run_of_member(request.user, run_id)
    if wanted not in FORMATS:
        raise Http404
    return export_response(request, run, _result(request, run), wanted)


@page
@require_safe
def exports(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """The files of a result: what each holds, and size and checksum of those that were made already."""
    run = queries.get_run_of_member(request.user, run_id)
    result = _result(request, run)
    context: dict[str, Any] = {
        "run": run,
        "result": result,
        "versions": [each.number for each in run.results.all()],
        **offers_of(run, result),
    }
    return render_page(request, "runs/exports.html", context, partial="exports")


def _result(request: PersonRequest, run: Run) -> ResultVersion:
    """Raises Http404 for a version that is not there, and for what is no version."""
    wanted = request.GET.get("version", "")
    if not wanted:
        return queries.get_result(run)
    if not wanted.isdecimal() or len(wanted) > 6:
        raise Http404
    return queries.get_result(run, int(wanted))
