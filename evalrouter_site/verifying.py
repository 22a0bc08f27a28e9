"""Checking a bundle: for whoever was given one, with or without an account."""

from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_http_methods, require_safe

from common.signing import encoded, public_keys
from common.web import public_page, render_page
from evalrouter_site.api.throttling import ApiThrottle
from runs.bundles import MAX_BYTES, BadBundle, check_bundle

RATE = "30/hour"
FORM_BYTES = 64 * 1024
"""What a form has around its file."""
SCRIPT = Path(settings.BASE_DIR) / "docs" / "ci" / "verify_bundle.py"


@require_http_methods(["GET", "HEAD", "POST"])
@public_page
def verify(request: HttpRequest) -> HttpResponse:
    """The form, and what came of the bundle that was given to it. Nothing of it is kept."""
    if request.method != "POST":
        return _page(request)
    throttle = ApiThrottle()
    if not throttle.is_within(RATE, "verify", throttle.get_ident(request)):  # type: ignore[arg-type]
        return _page(request, error="You have checked many bundles in this hour. Try again in the next, or use the script.", status=429)
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length.isdigit() or int(length) > MAX_BYTES + FORM_BYTES:
        return _page(request, error="A bundle that is checked here has at most 64 MiB. Check a larger one with the script.", status=413)
    bundle = request.FILES.get("bundle")
    if bundle is None:
        return _page(request, error="Choose the ZIP that was exported as a bundle.", status=422)
    try:
        check = check_bundle(bundle, public_keys())  # type: ignore[arg-type]
    except BadBundle as refused:
        return _page(request, error=str(refused), status=422)
    return _page(request, check=check, name=bundle.name)


def _page(request: HttpRequest, *, status: int = 200, **context: object) -> HttpResponse:
    return render_page(request, "verify.html", context, status=status)


@require_safe
def script(_request: HttpRequest) -> HttpResponse:
    """The script that checks a bundle without us."""
    headers = {"Content-Disposition": f'attachment; filename="{SCRIPT.name}"'}
    return HttpResponse(SCRIPT.read_bytes(), content_type="text/x-python; charset=utf-8", headers=headers)


@require_safe
def keys(_request: HttpRequest) -> JsonResponse:
    """The public keys whose signatures are this deployment's, the one that signs now first."""
    found = [{"id": name, "algorithm": "Ed25519", "public_key": encoded(key)} for name, key in public_keys().items()]
    return JsonResponse({"keys": found})
