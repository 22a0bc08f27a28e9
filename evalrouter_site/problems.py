"""Pages for what went wrong: refusals, and Django's handlers for 400, 403, 404, 500 and CSRF.

A browser gets a page. An htmx request gets a notice with the same words, shown on top of the page it came from. No page shows an exception.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from evalrouter_site.api.errors import is_api_request, plain_error

TITLES = {
    400: "That request could not be read",
    402: "This is not covered",
    403: "You may not do this",
    404: "There is nothing here",
    405: "That does not work here",
    409: "That is not possible now",
    413: "That is too large",
    422: "That does not work as asked",
    429: "Too many tries",
}


def problem(request: HttpRequest, status: int, message: str, *, title: str = "", code: str = "") -> HttpResponse:
    """The page of a problem, or its notice for htmx."""
    context = {"title": title or TITLES.get(status, "That did not work"), "message": message, "status": status, "code": code}
    htmx = getattr(request, "htmx", None)
    if htmx and not htmx.boosted:
        response = render(
            request, "components/notice.html", {"title": context["title"], "text": message, "tone": "bad", "alert": True}, status=status
        )
        response["HX-Retarget"] = "#notices"
        response["HX-Reswap"] = "innerHTML show:window:top"
        return response
    return render(request, "problem.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if is_api_request(request):
        return plain_error(request, 400)
    return problem(
        request,
        400,
        "The address or the form holds what EvalRouter cannot read. Go back, reload the page and try again; nothing was changed.",
    )


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if is_api_request(request):
        return plain_error(request, 403)
    return problem(request, 403, "Your role does not allow this. An owner or admin of the workspace can change it.")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if is_api_request(request):
        return plain_error(request, 404)
    message = "The address may be mistyped, or what it named was removed or belongs to a workspace you are not a member of."
    return problem(request, 404, message)


def too_many_requests(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """allauth's answer when one address or person tries too often."""
    return problem(
        request, 429, "This was tried too often in a short time, so it is refused for a while. Wait a few minutes, then try again."
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The answer to a form without a valid token, mostly a page that stood open while the person signed in or out elsewhere."""
    message = "The form had expired, or cookies are turned off. Go back, reload the page and send it again; nothing was changed."
    return problem(request, 403, message, title="The form had expired")


def server_error(request: HttpRequest) -> HttpResponse:
    """Stands alone: no context processor, session or database may be needed to say that something broke."""
    if is_api_request(request):
        return plain_error(request, 500)
    context: dict[str, Any] = {"request_id": getattr(request, "request_id", "")}
    return HttpResponse(render_to_string("500.html", context), status=500)
