"""Pages that belong to no app: the landing page and the health checks."""

from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from common.web import page, public_page, render_page
from evalrouter_site.command import LONGEST_QUERY, Seeker, find
from evalrouter_site.example import example_result
from evalrouter_site.specimens import specimens
from workspaces.enums import Role
from workspaces.queries import current_membership, memberships_of_request
from workspaces.requests import PersonRequest


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    """What the product is, for people who do not know it."""
    return render(request, "landing.html", {"example": example_result()})


@require_safe
@public_page
def command(request: HttpRequest) -> HttpResponse:
    """What is found in the workspace, and the places one may go to; for htmx the results alone, for the command bar."""
    membership = current_membership(request)
    seeker = Seeker(
        workspace=membership.workspace if membership else None,
        role=Role(membership.role) if membership else None,
        is_signed_in=request.user.is_authenticated,
        is_staff=request.user.is_authenticated and request.user.is_staff,
        others=tuple(each.workspace for each in memberships_of_request(request) if each != membership),
        here=request.htmx.current_url_abs_path or "",  # type: ignore[attr-defined]
    )
    q = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_QUERY]
    return render_page(request, "command.html", {"groups": find(seeker, q), "q": q}, partial="results")


@require_safe
@page
def design(request: PersonRequest) -> HttpResponse:
    """Every component in every state, light beside dark, for staff; nobody else finds it."""
    if not request.user.is_staff:
        raise Http404
    return render_page(request, "design.html", specimens())


@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """Whether the web process serves; touches nothing else."""
    return HttpResponse("ok", content_type="text/plain")


@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """Whether requests can be served: the database answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError:
        return HttpResponse("the database does not answer", content_type="text/plain", status=503)
    return HttpResponse("ok", content_type="text/plain")
