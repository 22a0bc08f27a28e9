"""The ledger as a file."""

from django.http import HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from billing.exporting import csv_parts
from billing.forms import LedgerForm
from billing.statements import entries_matching
from billing.views.wallet import wallet_page
from common.web import page
from workspaces.actors import actor_of_user
from workspaces.permissions import can_read_billing, require
from workspaces.queries import required_workspace
from workspaces.requests import PersonRequest


@require_safe
@page
def ledger_file(request: PersonRequest) -> HttpResponse:
    """The entries that the page's filters find, all of them, as CSV."""
    workspace, actor = required_workspace(request), actor_of_user(request.user)
    require(can_read_billing(actor, workspace))
    filters = LedgerForm(request.GET)
    if not filters.is_valid():
        return wallet_page(request, actor, workspace, status=422)
    response = StreamingHttpResponse(csv_parts(entries_matching(workspace, **filters.wanted)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="ledger.csv"'
    return response  # type: ignore[return-value]
