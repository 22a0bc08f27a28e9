"""Pages of the catalog. Anyone may read what is public; private benchmarks show in their own workspace."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from catalog import actions, queries
from catalog.enums import Grader, RouteState, VersionState
from catalog.models import Benchmark, ModelRoute, RouteRate
from common.pages import page_of
from common.web import page, public_page, redirect_to, render_page
from workspaces.actors import actor_of_user
from workspaces.models import User, Workspace
from workspaces.permissions import can_import, can_run, require
from workspaces.queries import current_workspace
from workspaces.requests import PersonRequest

BENCHMARKS_A_PAGE = 60
TASKS_A_PAGE = 20
FILTERS = ("q", "category", "grader", "source")

type Priced = tuple[ModelRoute, RouteRate | None]
ROUTE_KEYS: dict[str, Callable[[Priced], Any]] = {
    "name": lambda row: row[0].name.lower(),
    "provider": lambda row: row[0].provider.name.lower(),
    "input": lambda row: row[1] and row[1].input_microusd_per_mtok,
    "cached": lambda row: row[1] and row[1].cached_input_microusd_per_mtok,
    "output": lambda row: row[1] and row[1].output_microusd_per_mtok,
    "context": lambda row: row[0].context_limit,
    "answer": lambda row: row[0].max_output_tokens,
}
"""What the list of models can be sorted by."""


@public_page
@require_safe
def benchmarks(request: HttpRequest) -> HttpResponse:
    """The catalog: search, and facets with their counts."""
    workspace = current_workspace(request)
    filters = {key: request.GET.get(key, "").strip()[:100] for key in FILTERS}
    user = request.user if request.user.is_authenticated else None
    if filters["source"] not in {"private", "public"} | ({"mine"} if user is not None else set()):
        filters["source"] = ""
    found = queries.catalog_entries(
        workspace,
        q=filters["q"],
        category=filters["category"],
        grader=filters["grader"],
        source=filters["source"],
        created_by=user,
    )
    listed = page_of(found, order="slug", cursor=request.GET.get("cursor"), limit=BENCHMARKS_A_PAGE)
    context = {
        "benchmarks": listed.rows,
        "next_cursor": listed.next_cursor,
        "cursor": request.GET.get("cursor"),
        "filters": filters,
        "is_filtered": any(filters.values()),
        "facets": _facets(request, workspace, filters),
        "can_import": request.user.is_authenticated and workspace is not None and can_import(actor_of_user(request.user), workspace),
        "kept": [(key, value) for key, value in filters.items() if value and key != "q"],
    }
    return render_page(request, "catalog/benchmarks.html", context, partial="list")


def _facets(request: HttpRequest, workspace: Workspace | None, filters: dict[str, str]) -> list[dict[str, Any]]:
    """Each facet's values with how many entries they would leave beside the other filters, as links that put them on or take them off."""
    counts = queries.facet_counts(workspace, **filters, created_by=request.user if request.user.is_authenticated else None)
    words: dict[str, tuple[str, Callable[[str], str]]] = {
        "category": ("Category", lambda value: value[:1].upper() + value[1:]),
        "grader": ("Answers", lambda value: Grader(value).label),
        "source": ("Source", lambda value: _source_words(value, workspace)),
    }
    found = []
    for key, (label, say) in words.items():
        options = []
        for value, count in counts[key]:
            query = QueryDict(mutable=True)
            query.update({name: each for name, each in filters.items() if each})
            query[key] = value
            if filters[key] == value:
                del query[key]
            options.append({"label": say(value), "count": count, "is_chosen": filters[key] == value, "href": f"?{query.urlencode()}"})
        found.append({"key": key, "label": label, "options": options})
    return found


def _source_words(source: str, workspace: Workspace | None) -> str:
    if source == "mine":
        return "Created by me"
    return f"Private to {workspace.name}" if workspace and source == "private" else "Public"


@page
@require_http_methods(["GET", "HEAD", "POST"])
def archiving(request: PersonRequest, slug: str) -> HttpResponse:
    """Ask, and archive a private benchmark: its ID is typed, because there is no way back."""
    found = queries.get_benchmark_of_member(request.user, slug)
    if found.workspace is None:
        raise Benchmark.DoesNotExist
    actor = actor_of_user(request.user)
    require(can_import(actor, found.workspace), "Members, admins and owners may archive a private benchmark.")
    typed, latest = request.POST.get("confirm", "").strip(), queries.latest_version(found)
    accepted = {found.slug, *([latest.profile_id] if latest else [])}
    if request.method == "POST" and typed.lower() in accepted:
        actions.archive_benchmark(found, actor=actor)
        messages.success(request, f"{found.name} is archived. Its runs and results stay.")
        return redirect_to(request, reverse("catalog:benchmarks"))
    context = {"benchmark": found, "version": latest, "typed": typed, "is_refused": request.method == "POST"}
    return render_page(request, "catalog/archiving.html", context, status=422 if request.method == "POST" else 200)


@public_page
@require_safe
def benchmark(request: HttpRequest, slug: str) -> HttpResponse:
    """One benchmark: what it asks, how it is graded, its versions and the IDs of its tasks. Prompts and references are never listed."""
    user = request.user if request.user.is_authenticated else None
    found = queries.get_benchmark_of_member(user, slug)
    versions = list(queries.versions_of(found))
    wanted = request.GET.get("version", "")
    version = next((each for each in versions if str(each.number) == wanted), None) or queries.latest_of(versions)
    search = request.GET.get("q", "").strip()[:200]
    context: dict[str, Any] = {
        "benchmark": found,
        "versions": versions,
        "version": version,
        "search": search,
        "run_workspace": _runner_workspace(user, found.workspace or current_workspace(request)),
        "can_change": user is not None and found.workspace is not None and can_import(actor_of_user(user), found.workspace),
        "is_runnable": version is not None and version.state == VersionState.ACTIVE and found.archived_at is None,
    }
    if version is not None:
        listed = page_of(queries.tasks_of(version, search), order="ordinal", cursor=request.GET.get("cursor"), limit=TASKS_A_PAGE)
        context |= {
            "manifest": queries.manifest_of(version),
            "tasks": listed.rows,
            "next_cursor": listed.next_cursor,
            "cursor": request.GET.get("cursor"),
        }
    return render_page(request, "catalog/benchmark.html", context, partial="tasks")


def _runner_workspace(user: User | None, workspace: Workspace | None) -> Workspace | None:
    """The workspace if the person may run something in it."""
    return workspace if user is not None and workspace is not None and can_run(actor_of_user(user), workspace) else None


@public_page
@require_safe
def models(request: HttpRequest) -> HttpResponse:
    """The managed routes with their rates and limits."""
    search = request.GET.get("q", "").strip()[:100]
    routes = queries.search_routes(search)
    now = timezone.now()
    sort = request.GET.get("sort", "") if request.GET.get("sort", "").removeprefix("-") in ROUTE_KEYS else ""
    context = {
        "routes": _sorted_routes([(route, queries.current_rate(route, now)) for route in routes], sort),
        "search": search,
        "sort": sort,
    }
    return render_page(request, "catalog/models.html", context, partial="list")


def _sorted_routes(rows: list[Priced], sort: str) -> list[Priced]:
    """The list is whole, so it is sorted here; routes without a figure come last either way."""
    if not sort:
        return rows
    key = ROUTE_KEYS[sort.removeprefix("-")]
    known = [row for row in rows if key(row) is not None]
    return sorted(known, key=key, reverse=sort.startswith("-")) + [row for row in rows if key(row) is None]


@public_page
@require_safe
def model(request: HttpRequest, route_id: str) -> HttpResponse:
    """One managed route: what it takes, and its price now and before."""
    route = queries.get_route(route_id)
    now = timezone.now()
    user = request.user if request.user.is_authenticated else None
    context = {
        "route": route,
        "rate": queries.current_rate(route, now),
        "rates": queries.rates_of(route, now),
        "is_active": route.state == RouteState.ACTIVE,
        "can_run": _runner_workspace(user, current_workspace(request)) is not None,
    }
    return render_page(request, "catalog/model.html", context)
