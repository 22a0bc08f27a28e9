"""The health of a benchmark, a part of its page."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from catalog.queries import get_benchmark_of_member, latest_of, versions_of
from common.web import public_page, render_page
from imports.queries.health import health_of


@public_page
@require_safe
def health(request: HttpRequest, slug: str) -> HttpResponse:
    """What the rows of a version say about it as a measure. The benchmark's page fetches it as a part."""
    user = request.user if request.user.is_authenticated else None
    benchmark = get_benchmark_of_member(user, slug)
    versions = list(versions_of(benchmark))
    wanted = request.GET.get("version", "")
    version = next((each for each in versions if str(each.number) == wanted), None) or latest_of(versions)
    context = {"benchmark": benchmark, "version": version, "health": health_of(version) if version is not None else None}
    return render_page(request, "imports/health.html", context, partial="health")
