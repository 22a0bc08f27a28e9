"""The history of evaluations, and what a workspace has found out about one benchmark."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from catalog.queries import get_benchmark_of_member, latest_of, versions_of
from common.pages import page_of
from common.web import page, render_page
from runs import queries
from runs.enums import RunStatus
from runs.health import item_health
from runs.standings import standings_on
from workspaces.actors import actor_of_user
from workspaces.permissions import can_run
from workspaces.queries import required_workspace
from workspaces.requests import PersonRequest

RUNS_A_PAGE = 25
ORDERS = {"started": "id", "-started": "-id"}
"""What the list can be sorted by: a run's key grows with the time it was started, and pages follow it."""


@page
@require_safe
def history(request: PersonRequest) -> HttpResponse:
    """The workspace's runs, the newest first, filtered by status, benchmark and model."""
    workspace = required_workspace(request)
    filters = {key: request.GET.get(key, "").strip()[:200] for key in ("status", "benchmark", "model")}
    found = queries.filter_runs(queries.runs_listed(workspace), **filters)
    sort = request.GET.get("sort", "") if request.GET.get("sort") in ORDERS else ""
    listed = page_of(found, order=ORDERS.get(sort, "-id"), cursor=request.GET.get("cursor"), limit=RUNS_A_PAGE)
    context = {
        "runs": listed.rows,
        "next_cursor": listed.next_cursor,
        "cursor": request.GET.get("cursor"),
        "filters": filters,
        "is_filtered": any(filters.values()),
        "statuses": RunStatus.choices,
        "benchmarks": _with_chosen(queries.run_benchmarks(workspace), filters["benchmark"]),
        "models": _with_chosen([(label, label) for label in queries.run_models(workspace)], filters["model"]),
        "sort": sort,
        "can_run": can_run(actor_of_user(request.user), workspace),
    }
    return render_page(request, "runs/history.html", context, partial="list")


def _with_chosen(options: list[tuple[str, str]], chosen: str) -> list[tuple[str, str]]:
    """The options of a filter, and what the address asks for where it is none of them (`gsm8k@1`, say), so that it is seen."""
    return options if not chosen or chosen in dict(options) else [(chosen, chosen), *options]


@page
@require_safe
def benchmark_results(request: PersonRequest, slug: str) -> HttpResponse:
    """The workspace's results on a benchmark so far: the newest of each model and version. The benchmark's page fetches it as a part.

    A private benchmark's are those of its own workspace, whichever the session picked.
    """
    benchmark = get_benchmark_of_member(request.user, slug)
    workspace = benchmark.workspace or required_workspace(request)
    context = {"benchmark": benchmark, "of_workspace": workspace, "rows": standings_on(workspace, slug)}
    return render_page(request, "runs/benchmark_results.html", context, partial="list")


@page
@require_safe
def benchmark_health(request: PersonRequest, slug: str) -> HttpResponse:
    """What the workspace's own runs say about the tasks of a version. The benchmark's page fetches it as a part."""
    benchmark = get_benchmark_of_member(request.user, slug)
    workspace = benchmark.workspace or required_workspace(request)
    versions = list(versions_of(benchmark))
    wanted = request.GET.get("version", "")
    version = next((each for each in versions if str(each.number) == wanted), None) or latest_of(versions)
    health = item_health(workspace, version) if version is not None else None
    context = {"benchmark": benchmark, "of_workspace": workspace, "version": version, "health": health}
    return render_page(request, "runs/benchmark_health.html", context, partial="health")
