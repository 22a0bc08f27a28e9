"""Pages that belong to no app: the landing page and the health checks."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalrouter_site.example import example_result


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    """What the product is, for people who do not know it."""
    return render(request, "landing.html", {"example": example_result()})


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
