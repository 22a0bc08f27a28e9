"""What every page does the same way: a whole page for a browser, one partial of it for htmx, and 422 for a form that did not hold."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def is_fragment_request(request: HttpRequest) -> bool:
    """Whether htmx asked for a part of the page: its own request, and not a boosted link."""
    htmx = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.boosted


def render_page(request: HttpRequest, template: str, context: dict[str, Any], *, partial: str = "", status: int = 200) -> HttpResponse:
    """The page, or `template#partial` with the same context where htmx asked for a part. A page without a partial is always whole."""
    name = f"{template}#{partial}" if partial and is_fragment_request(request) else template
    response = render(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response
