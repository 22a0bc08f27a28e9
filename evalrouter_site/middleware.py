"""Middleware: a request ID on every answer, the admin's own content policy, and refusals as pages."""

import re
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from common.errors import Refused
from common.ids import new_id
from evalrouter_site.problems import problem

GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestIdMiddleware:
    """Gives each request an ID, for its logs and its answer's `X-Request-Id`."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.request_id = str(new_id())  # type: ignore[attr-defined]
        structlog.contextvars.bind_contextvars(request_id=request.request_id)  # type: ignore[attr-defined]
        try:
            response = self.get_response(request)
        finally:
            structlog.contextvars.clear_contextvars()
        response["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        return response


class AdminContentSecurityPolicyMiddleware:
    """The admin's script compiles expressions, so its pages alone get the wider policy."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if re.match(r"/admin(/|$)", request.path):
            response._csp_config = settings.ADMIN_CSP  # type: ignore[attr-defined]
        return response


class RefusalMiddleware:
    """Turns a refusal that an action raised in a page, and no form caught, into its status and words."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Refused):
            return problem(request, exception.status, exception.message, code=exception.code)
        return None
