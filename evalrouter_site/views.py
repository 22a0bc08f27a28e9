"""Pages that belong to no app: the landing page and the health checks."""

from django.http import HttpRequest, HttpResponse


def healthz(_request: HttpRequest) -> HttpResponse:
    """Whether the web process serves; touches nothing else."""
    return HttpResponse("ok", content_type="text/plain")
