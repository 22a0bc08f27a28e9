"""Every error of the API as one envelope with a stable code, also where no view was reached."""

from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response

from common.encoding import encode_json
from common.errors import Refused
from common.redaction import redact

log = structlog.get_logger(__name__)

NOT_FOUND = "There is nothing here, or it is not yours."
INVALID = "Check the request fields."
FAILED = "The request could not be completed. It was recorded; report it with its request_id if it happens again."


def envelope(request_id: str, code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The body of every error answer."""
    feedback = {
        "url": "/v1/feedback",
        "method": "POST",
        "request_id": request_id,
        "docs": f"{settings.SITE_URL}/developers/docs/feedback",
    }
    return {"error": {"code": code, "message": redact(message), "details": details or {}, "request_id": request_id, "feedback": feedback}}


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """What an exception of a view is answered with. An unforeseen one is logged and answered without its words."""
    request = context["request"]
    status, code, message, details, headers = _answer(error)
    if status == 405:
        headers = {"Allow": ", ".join(context["view"].allowed_methods)}
    if status >= 500 and not isinstance(error, Refused):  # what another service failed at is refused in words, and no failure of ours
        log.error("api.failed", path=request.path, method=request.method, exc_info=error)
        got_request_exception.send(sender=type(context["view"]), request=request._request)
    return Response(envelope(request_id_of(request), code, message, details), status=status, headers=headers)


def _answer(error: Exception) -> tuple[int, str, str, dict[str, Any], dict[str, str]]:
    match error:
        case Refused():
            retry = {"Retry-After": "1"} if error.code == "idempotency_key_in_use" else {}
            return error.status, error.code, error.message, error.details, retry
        case exceptions.ValidationError():
            return 422, "validation_error", INVALID, fields_of(error.detail), {}
        case exceptions.ParseError():
            code = error.get_codes()
            return 400, code if isinstance(code, str) and code != "parse_error" else "malformed_request", str(error.detail), {}, {}
        case exceptions.AuthenticationFailed() | exceptions.NotAuthenticated():
            challenge = {"WWW-Authenticate": str(getattr(error, "auth_header", "Bearer"))}
            return 401, "unauthenticated", str(error.detail), {}, challenge
        case exceptions.PermissionDenied():
            return 403, "forbidden", str(error.detail), {}, {}
        case PermissionDenied():
            return 403, "forbidden", "Your role or key does not allow this.", {}, {}
        case Http404() | ObjectDoesNotExist() | exceptions.NotFound():
            return 404, "not_found", NOT_FOUND, {}, {}
        case exceptions.MethodNotAllowed():
            return 405, "method_not_allowed", "This address does not take that method.", {}, {}
        case exceptions.UnsupportedMediaType():
            return 415, "unsupported_media_type", "Send JSON, with `Content-Type: application/json`.", {}, {}
        case exceptions.Throttled():
            wait = max(1, int(getattr(error, "wait", None) or 1))
            return 429, "rate_limited", f"Too many requests; try again in {wait} s.", {}, {"Retry-After": str(wait)}
        case RequestDataTooBig():
            limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            return 413, "request_too_large", f"A request body has no more than {limit} bytes.", {"limit_bytes": limit}, {}
        case SuspiciousOperation() | UnreadablePostError():
            return 400, "malformed_request", "The request cannot be read.", {}, {}
        case _:
            return 500, "internal_error", FAILED, {}, {}


def fields_of(detail: Any) -> dict[str, list[str]]:
    """Messages by field, a field of a field by its path: {"coverage.sample_count": ["…"]}."""
    found: dict[str, list[str]] = {}
    _flatten(detail, "", found)
    return found


def _flatten(detail: Any, where: str, found: dict[str, list[str]]) -> None:
    if isinstance(detail, dict):
        for name, each in detail.items():
            inner = where if name == "non_field_errors" else f"{where}.{name}".lstrip(".")
            _flatten(each, inner, found)
    elif isinstance(detail, list):
        for index, each in enumerate(detail):
            if isinstance(each, (dict, list)):
                _flatten(each, f"{where}.{index}".lstrip("."), found)
            else:
                found.setdefault(where or "body", []).append(str(each))
    else:
        found.setdefault(where or "body", []).append(str(detail))


def request_id_of(request: Any) -> str:
    """The ID that the middleware gave the request."""
    return str(getattr(getattr(request, "_request", request), "request_id", ""))


def is_api_request(request: HttpRequest) -> bool:
    return request.path.startswith("/v1/") or request.path == "/v1"


def plain_error(request: HttpRequest, status: int) -> HttpResponse:
    """The envelope where no view of the API was reached: a host that is not ours, a failure in middleware."""
    code, message = {
        400: ("malformed_request", "The request cannot be read."),
        403: ("forbidden", "Your role or key does not allow this."),
        404: ("not_found", NOT_FOUND),
    }.get(status, ("internal_error", FAILED))
    body = encode_json(envelope(request_id_of(request), code, message))
    return HttpResponse(body, status=status, content_type="application/json", headers={"Cache-Control": "no-store"})
