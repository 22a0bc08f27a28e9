"""What every page does the same way: a whole page for a browser, one partial of it for htmx, and 404 for what is not there."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render, resolve_url
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect

View = Callable[..., HttpResponseBase]


def is_fragment_request(request: HttpRequest) -> bool:
    """Whether htmx asked for a part of the page: its own request, not a boosted link, and not a step back in the history."""
    htmx = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_page(request: HttpRequest, template: str, context: dict[str, Any], *, partial: str = "", status: int = 200) -> HttpResponse:
    """The page, or `template#partial` with the same context where htmx asked for a part. A page without a partial is always whole."""
    name = f"{template}#{partial}" if partial and is_fragment_request(request) else template
    response = render(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def redirect_to(request: HttpRequest, url: str) -> HttpResponse:
    """A redirect of the whole page, also where htmx asked: it would otherwise follow the redirect and swap the answer in."""
    if is_fragment_request(request):
        return HttpResponseClientRedirect(url)
    return HttpResponseRedirect(url)


def page(view: View) -> View:
    """A page of signed-in people: others are sent to sign in, and what a query does not find is a 404."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            if is_fragment_request(request):
                return HttpResponseClientRedirect(resolve_url(settings.LOGIN_URL))
            return redirect_to_login(request.get_full_path())
        return public_page(view)(request, *args, **kwargs)

    return wrapper


def public_page(view: View) -> View:
    """A page that anyone may read: what a query does not find is a 404."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except ObjectDoesNotExist as missing:
            raise Http404 from missing

    return wrapper
