"""What belongs to no app: the schema, and the answer at an address that does not exist."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from evalrouter_site.api.errors import plain_error
from evalrouter_site.api.schema import openapi_text


@require_safe
def openapi(_request: HttpRequest) -> HttpResponse:
    """The OpenAPI document."""
    headers = {"Cache-Control": "public, max-age=300", "Access-Control-Allow-Origin": "*"}
    return HttpResponse(openapi_text(), content_type="application/json", headers=headers)


@csrf_exempt
def unknown(request: HttpRequest) -> HttpResponse:
    """Every address under /v1/ that nothing else takes, whatever the verb."""
    return plain_error(request, 404)
