"""Every read of the catalog. What a workspace sees: everything public, and its own."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Case, F, IntegerField, OuterRef, Prefetch, Q, QuerySet, Subquery, TextField, When
from django.db.models.functions import Cast
from django.utils import timezone

from catalog.enums import Grader, RouteState, VersionState
from catalog.models import Benchmark, BenchmarkVersion, ModelRoute, RouteRate, Task
from common.searching import holds
from workspaces.models import Membership, User, Workspace

PUBLISHED = (VersionState.ACTIVE, VersionState.RETIRED)
"""States in which a version is shown; the earlier ones are the reviewers' business."""
EVAL_PROVIDER = "evalrouter"
EVAL_PROVIDER_PRIVATE = "workspace"

# ── Benchmarks and their versions ───────────────────────────────────────────────────────────────────────────────────


def known_benchmarks(workspace: Workspace | None) -> QuerySet[Benchmark]:
    """All public benchmarks and the workspace's own, archived ones too."""
    owned_by = Q(workspace__isnull=True)
    return Benchmark.objects.filter(owned_by | Q(workspace=workspace) if workspace is not None else owned_by)


def visible_benchmarks(workspace: Workspace | None) -> QuerySet[Benchmark]:
    """What the catalog lists: public and own benchmarks that are not archived."""
    return known_benchmarks(workspace).filter(archived_at__isnull=True)


def catalog_entries(
    workspace: Workspace | None,
    *,
    q: str = "",
    category: str = "",
    capability: str = "",
    runner: str = "",
    license: str = "",
    status: str = "",
    grader: str = "",
    private_only: bool = False,
    source: str = "",
    created_by: User | None = None,
) -> QuerySet[Benchmark]:
    """The catalog's benchmarks, each with its latest version's columns as `latest_…` (number, state, task_count, grader, …).

    The latest is the highest active one, else the highest retired one; a benchmark without either is not listed. With the source `mine`
    the list holds the private ones that `created_by` made.
    """
    latest = (
        BenchmarkVersion.objects.filter(benchmark=OuterRef("pk"), state__in=PUBLISHED)
        .annotate(rank=Case(When(state=VersionState.ACTIVE, then=0), default=1, output_field=IntegerField()))
        .order_by("rank", "-number")
        .values("pk")[:1]
    )
    fields = ("number", "state", "task_count", "capability", "runner", "license", "grader", "export_policy", "sha256", "published_at")
    entries = (
        visible_benchmarks(workspace)
        .annotate(latest_id=Subquery(latest))
        .filter(versions__pk=F("latest_id"))
        .annotate(**{f"latest_{field}": F(f"versions__{field}") for field in fields})
    )
    wanted = {
        "category": category,
        "latest_capability": capability,
        "latest_runner": runner,
        "latest_license": license,
        "latest_state": status,
        "latest_grader": grader,
    }
    entries = entries.filter(**{field: value for field, value in wanted.items() if value})
    if private_only or source in {"private", "mine"}:
        entries = entries.filter(workspace__isnull=False)
    if source == "mine":
        entries = entries.filter(created_by=created_by, created_by__isnull=False)
    elif source == "public":
        entries = entries.filter(workspace__isnull=True)
    for word in q.split()[:10]:
        entries = entries.filter(holds(word, "slug", "name", "description", "category"))
    return entries.select_related("created_by")


def facets(workspace: Workspace | None) -> dict[str, list[tuple[str, int]]]:
    """How many catalog entries have each category, capability, runner, licence and grader, in the values' order."""
    names = ("category", "latest_capability", "latest_runner", "latest_license", "latest_grader")
    rows = catalog_entries(workspace).order_by().values_list(*names)
    counted: dict[str, list[tuple[str, int]]] = {}
    for name, values in zip(names, zip(*rows, strict=True) if rows else ((),) * len(names), strict=True):
        counted[name.removeprefix("latest_")] = sorted((value, count) for value, count in Counter(values).items() if value)
    return counted


def facet_counts(
    workspace: Workspace | None,
    *,
    q: str = "",
    category: str = "",
    grader: str = "",
    source: str = "",
    created_by: User | None = None,
) -> dict[str, list[tuple[str, int]]]:
    """How many entries each category, grader and source (`private`, `public`) has among those that `q` and the other two leave.

    The source `mine` counts those private ones that `created_by` made.

    The most frequent first; a chosen value is listed even where it has none. One query.
    """
    names = ("category", "latest_grader", "workspace_id", "created_by_id")
    own = created_by.pk if created_by is not None else None
    wanted = {"category": category, "grader": grader, "source": source}
    rows = [
        {
            "category": (each[0],),
            "grader": (each[1],),
            "source": ("private", *(("mine",) if own is not None and each[3] == own else ())) if each[2] else ("public",),
        }
        for each in catalog_entries(workspace, q=q).order_by().values_list(*names)
    ]
    found = {}
    for key, chosen in wanted.items():
        others = {name: value for name, value in wanted.items() if value and name != key}
        left = [row for row in rows if all(value in row[name] for name, value in others.items())]
        counted = Counter(value for row in left for value in row[key] if value)
        if chosen and (key != "grader" or chosen in Grader.values):
            counted.setdefault(chosen, 0)
        found[key] = sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
    return found if source or dict(found["source"]).get("private") else found | {"source": []}


def get_benchmark(workspace: Workspace | None, slug: str) -> Benchmark:
    """The benchmark of that slug, archived or not. Raises `Benchmark.DoesNotExist` also for other workspaces' private ones."""
    return known_benchmarks(workspace).get(slug=slug)


def get_benchmark_of_member(user: User | None, slug: str) -> Benchmark:
    """A public benchmark, or a private one of any of the person's workspaces. Raises `Benchmark.DoesNotExist`."""
    known = Q(workspace__isnull=True)
    if user is not None:
        known |= Q(workspace__in=Membership.objects.filter(user=user).values("workspace"))
    return Benchmark.objects.filter(known).select_related("workspace", "created_by").get(slug=slug)


def versions_of(benchmark: Benchmark) -> QuerySet[BenchmarkVersion]:
    """A benchmark's published versions, newest first."""
    return benchmark.versions.filter(state__in=PUBLISHED).select_related("benchmark").order_by("-number")


def latest_version(benchmark: Benchmark) -> BenchmarkVersion | None:
    """The highest active version, else the highest retired one."""
    return latest_of(versions_of(benchmark))


def latest_of(versions: Iterable[BenchmarkVersion]) -> BenchmarkVersion | None:
    """The highest active one of these, else the highest retired one."""
    return min(versions, key=lambda version: (version.state != VersionState.ACTIVE, -version.number), default=None)


def get_version(workspace: Workspace | None, profile_id: str) -> BenchmarkVersion:
    """The version of that ID, `slug@number`. Raises `BenchmarkVersion.DoesNotExist`."""
    slug, number = split_profile_id(profile_id)
    if number is None:
        raise BenchmarkVersion.DoesNotExist(profile_id)
    return _published(known_benchmarks(workspace)).get(benchmark__slug=slug, number=number)


def find_versions(workspace: Workspace | None, name: str) -> list[BenchmarkVersion]:
    """The versions a name can mean, of benchmarks that are not archived; several where the name is ambiguous.

    A name is an ID (`slug@number`), an eval reference (`eval://provider/slug/number`), a slug or a display name; the latter two mean the
    latest version.
    """
    published = _published(visible_benchmarks(workspace))
    if name.startswith("eval://"):
        found = [version for version in published.filter(benchmark__slug__in=name.split("/")) if eval_reference(version) == name]
        return found[:1]
    slug, number = split_profile_id(name)
    if number is not None:
        return list(published.filter(benchmark__slug=slug, number=number))
    name = name.strip()
    benchmarks = list(visible_benchmarks(workspace).filter(slug=name.lower())) or list(
        visible_benchmarks(workspace).filter(name__iexact=name).order_by("slug")[:20]
    )
    return [version for benchmark in benchmarks if (version := latest_version(benchmark)) is not None]


def closest_names(workspace: Workspace | None, name: str, limit: int = 5) -> list[str]:
    """Slugs of catalog benchmarks whose slug or name is most like the one asked for."""
    slugs: dict[str, str] = {}
    for slug, title in visible_benchmarks(workspace).values_list("slug", "name"):
        slugs.setdefault(title.lower(), slug)
        slugs[slug] = slug
    return _closest(name.partition("@")[0], slugs, limit)


def split_profile_id(text: str) -> tuple[str, int | None]:
    """Slug and number of `slug@number`; the number is None where the text is not of that form."""
    match = re.fullmatch(r"\s*([A-Za-z0-9_-]+)@([0-9]{1,9})\s*", text)
    return (match[1].lower(), int(match[2])) if match else (text, None)


def eval_reference(version: BenchmarkVersion) -> str:
    """The version's name among evaluations: `eval://provider/name/version`."""
    provider = EVAL_PROVIDER_PRIVATE if version.benchmark.is_private else EVAL_PROVIDER
    return f"eval://{provider}/{version.benchmark.slug}/{version.number}"


def published_versions(workspace: Workspace | None, *, private_only: bool = False) -> QuerySet[BenchmarkVersion]:
    """All published versions that the workspace may see, of benchmarks that are not archived."""
    benchmarks = visible_benchmarks(workspace)
    if private_only:
        benchmarks = benchmarks.filter(workspace__isnull=False)
    return _published(benchmarks).order_by("benchmark__slug", "number")


def private_benchmarks(workspace: Workspace) -> QuerySet[Benchmark]:
    """The workspace's own benchmarks that are not archived, each with its published versions, newest first, as `known_versions`."""
    published = BenchmarkVersion.objects.filter(state__in=PUBLISHED).select_related("benchmark").order_by("-number")
    owned = visible_benchmarks(workspace).filter(workspace=workspace, versions__state__in=PUBLISHED).distinct()
    return owned.select_related("created_by").prefetch_related(Prefetch("versions", queryset=published, to_attr="known_versions"))


def manifests_of(version_ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """The manifests of several versions, by the versions' keys, in one query."""
    rows = BenchmarkVersion.objects.filter(pk__in=list(version_ids)).values_list("pk", "manifest")
    return {key: json.loads(manifest) for key, manifest in rows}


def _published(benchmarks: QuerySet[Benchmark]) -> QuerySet[BenchmarkVersion]:
    return BenchmarkVersion.objects.filter(benchmark__in=benchmarks, state__in=PUBLISHED).select_related("benchmark__created_by")


def manifest_of(version: BenchmarkVersion) -> dict[str, Any]:
    """The frozen manifest, in the shape of `catalog.manifests`."""
    manifest: dict[str, Any] = json.loads(version.manifest)
    return manifest


def tasks_of(version: BenchmarkVersion, q: str = "") -> QuerySet[Task]:
    """The version's tasks in order, without their contents; `q` is looked for in IDs and groups."""
    tasks = Task.objects.filter(version=version).order_by("ordinal")
    return tasks.filter(holds(q, "task_id", "group")) if q else tasks


def find_tasks(version: BenchmarkVersion, q: str = "") -> QuerySet[Task]:
    """The version's tasks whose ID, group or metadata hold every word of `q`, in order, without their contents."""
    tasks = Task.objects.filter(version=version).order_by("ordinal")
    if not q:
        return tasks
    tasks = tasks.alias(words=Cast("metadata", TextField()))
    for word in q.split()[:10]:
        tasks = tasks.filter(holds(word, "task_id", "group", json_columns=("words",)))
    return tasks


def tasks_at(version: BenchmarkVersion, ordinals: Iterable[int]) -> dict[int, Task]:
    """The version's tasks by their ordinals; those that it does not have are left out."""
    return {task.ordinal: task for task in Task.objects.filter(version=version, ordinal__in=list(ordinals))}


def ordinals_of(version: BenchmarkVersion, task_ids: Iterable[str]) -> dict[str, int]:
    """The ordinals of tasks by their IDs; IDs that the version does not have are left out."""
    return dict(Task.objects.filter(version=version, task_id__in=list(task_ids)).values_list("task_id", "ordinal"))


# ── Models ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def routes() -> QuerySet[ModelRoute]:
    """All routes that are not retired, each with its price history so far, so that `current_rate` asks nothing more."""
    return ModelRoute.objects.exclude(state=RouteState.RETIRED).select_related("provider").prefetch_related(known_rates())


def known_rates() -> "Prefetch[Any]":
    """What gives routes their price history so far as `known_rates`, each price with its tiers."""
    rates = RouteRate.objects.filter(effective_at__lte=timezone.now()).order_by("-effective_at", "-id").prefetch_related("tiers")
    return Prefetch("rates", queryset=rates, to_attr="known_rates")


def active_routes() -> QuerySet[ModelRoute]:
    """The routes that new quotes may name."""
    return routes().filter(state=RouteState.ACTIVE)


def search_routes(q: str = "") -> QuerySet[ModelRoute]:
    """`routes` whose ID, name or provider holds every word."""
    found = routes()
    for word in q.split()[:10]:
        found = found.filter(holds(word, "route_id", "name", "provider__name"))
    return found


def rates_of(route: ModelRoute, at: datetime) -> QuerySet[RouteRate]:
    """The route's prices up to that time with their tiers, the newest first."""
    return route.rates.filter(effective_at__lte=at).order_by("-effective_at", "-id").prefetch_related("tiers")


def get_route(route_id: str) -> ModelRoute:
    """The route of that ID in any state. Raises `ModelRoute.DoesNotExist`."""
    return ModelRoute.objects.select_related("provider").get(route_id=route_id)


def current_rate(route: ModelRoute, at: datetime) -> RouteRate | None:
    """The price in force at that time: the newest that had begun; None where there was none yet."""
    known: list[RouteRate] | None = getattr(route, "known_rates", None)
    if known is not None:
        return next((rate for rate in known if rate.effective_at <= at), None)
    return route.rates.filter(effective_at__lte=at).order_by("-effective_at", "-id").first()


def find_routes(name: str) -> list[ModelRoute]:
    """The routes a name can mean: the one of that ID, else those of that display name, upstream name or last part of the ID."""
    known = ModelRoute.objects.exclude(state=RouteState.RETIRED).select_related("provider").order_by("route_id")
    exact = list(known.filter(route_id__iexact=name.strip()))
    if exact:
        return exact
    name = name.strip()
    return list(known.filter(Q(name__iexact=name) | Q(upstream_model__iexact=name) | Q(route_id__iendswith=f"/{name}"))[:20])


def closest_routes(name: str, limit: int = 5) -> list[str]:
    """IDs of active routes whose ID or name is most like the one asked for."""
    ids: dict[str, str] = {}
    for route_id, title in ModelRoute.objects.filter(state=RouteState.ACTIVE).values_list("route_id", "name"):
        ids.setdefault(title.lower(), route_id)
        ids.setdefault(route_id.rpartition("/")[2].lower(), route_id)
        ids[route_id.lower()] = route_id
    return _closest(name, ids, limit)


def _closest(name: str, known: dict[str, str], limit: int) -> list[str]:
    """The values whose keys are most like the name, each once, the best first."""
    return _once(known[key] for key in difflib.get_close_matches(name.strip().lower(), known, n=3 * limit, cutoff=0.5))[:limit]


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
