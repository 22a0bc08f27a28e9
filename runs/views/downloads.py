"""A result as a file, from its report."""

from uuid import UUID

from django.http import Http404
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from common.web import page
from runs import queries
from runs.exports.formats import FORMATS
from runs.exports.serving import export_response
from workspaces.requests import PersonRequest


@page
@require_safe
def export(request: PersonRequest, run_id: UUID, wanted: str) -> HttpResponseBase:
    """The newest result in one of FORMATS."""
    run = queries.get_run_of_member(request.user, run_id)
    if wanted not in FORMATS:
        raise Http404
    return export_response(request, run, queries.get_result(run), wanted)
