"""Every write of the catalog. Public benchmarks and routes are the platform's; private benchmarks are their workspace's."""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.text import slugify

from catalog.enums import Capability, UsageQuirk, VersionState
from catalog.manifests import TaskRow, digest_of
from catalog.models import Benchmark, BenchmarkVersion, DataFile, ModelRoute, Provider, RouteRate, RouteRateTier
from catalog.queries import current_rate
from catalog.rates import StatedTier, microusd_rates, tier_columns
from catalog.routes import check_route
from catalog.writing import PreparedRows
from common.canonical import freeze
from common.errors import Conflict, Refused
from common.ids import new_private_slug
from workspaces.actors import Actor
from workspaces.audit import record
from workspaces.models import Workspace
from workspaces.permissions import can_import, is_platform_staff, require

__all__ = [
    "TaskRow",
    "archive_benchmark",
    "create_benchmark",
    "describe_benchmark",
    "keep_published",
    "publish_version",
    "retire_version",
    "save_route",
    "set_route_terms",
    "set_usage_quirks",
]


def _require_writer(actor: Actor, workspace: Workspace | None) -> None:
    require(is_platform_staff(actor) if workspace is None else can_import(actor, workspace))


def create_benchmark(
    workspace: Workspace | None, *, actor: Actor, name: str, slug: str | None = None, category: str = "", description: str = ""
) -> Benchmark:
    """A benchmark without versions. A private one gets a random slug; a public one needs its own.

    Raises Refused `invalid_slug`, `slug_taken`.
    """
    _require_writer(actor, workspace)
    slug = (slug or new_private_slug()) if workspace is not None else slug
    if not slug or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug) or len(slug) > 80:
        raise Refused("invalid_slug", "A slug is made of lower-case letters, digits and single hyphens.")
    if slug.startswith("byob-") != (workspace is not None):
        raise Refused("invalid_slug", "The slugs of private benchmarks, and only theirs, begin with byob-.")
    with transaction.atomic():
        if Benchmark.objects.filter(slug=slug).exists():
            raise Conflict("slug_taken", f"There is a benchmark {slug} already.")
        benchmark = Benchmark.objects.create(
            slug=slug, workspace=workspace, name=name, category=category, description=description, created_by=actor.user
        )
        record(actor, "benchmark.created", slug, workspace=workspace, name=name)
    return benchmark


def publish_version(
    benchmark: Benchmark,
    *,
    actor: Actor,
    manifest: dict[str, Any],
    rows: Iterable[TaskRow] | PreparedRows,
    source_file: DataFile | None = None,
) -> BenchmarkVersion:
    """Store the rows, freeze the manifest and make the version active, under the next number, all or nothing.

    Rows are taken as a stream before anything is locked; who calls this in a transaction of their own prepares them before it begins. The
    versions before stay as they are. Raises Refused `no_rows`, `duplicate_task_id`, `benchmark_archived`, and whatever the stream raises.
    """
    _require_writer(actor, benchmark.workspace)
    with rows if isinstance(rows, PreparedRows) else PreparedRows(manifest, rows) as prepared, transaction.atomic():
        # The lock makes numbers unique and in order; a second publisher waits here.
        benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        if benchmark.archived_at is not None:
            raise Conflict("benchmark_archived", f"{benchmark.slug} is archived.")
        number = (benchmark.versions.aggregate(last=Max("number"))["last"] or 0) + 1
        version = BenchmarkVersion.objects.create(
            benchmark=benchmark,
            number=number,
            runner=manifest["runner"],
            capability=manifest["capability"],
            grader=manifest["grader"],
            max_output_tokens=manifest["max_output_tokens"],
            license=manifest["license"],
            export_policy=manifest["export_policy"],
            source_file=source_file,
            task_count=prepared.count,
            longest_prompt_bytes=prepared.longest_prompt_bytes,
            has_groups=prepared.has_groups,
            has_clusters=prepared.has_clusters,
        )
        prepared.write(version)
        version.manifest, version.sha256 = freeze({**manifest, "tasks": prepared.document()})
        version.state, version.published_at = VersionState.ACTIVE, timezone.now()
        version.save(update_fields=["manifest", "sha256", "state", "published_at"])
        record(
            actor, "version.published", version.profile_id, workspace=benchmark.workspace, sha256=version.sha256, tasks=version.task_count
        )
    return version


def keep_published(slug: str, *, actor: Actor, manifest: dict[str, Any], rows: Sequence[TaskRow]) -> tuple[BenchmarkVersion, bool]:
    """Make the public benchmark's newest version be exactly this; gives that version and whether it is new.

    The same content is published once; anything else is the next version, and a changed name or description is the benchmark's too.
    A benchmark or version that staff archived or retired stays so.
    """
    _require_writer(actor, None)
    sha256 = freeze({**manifest, "tasks": digest_of(rows)})[1]
    shown = {key: manifest[key] for key in ("name", "category", "description")}
    with transaction.atomic():
        benchmark = Benchmark.objects.select_for_update().filter(slug=slug, workspace__isnull=True).first()
        if benchmark is None:
            benchmark = create_benchmark(None, actor=actor, slug=slug, **shown)
        newest = benchmark.versions.select_related("benchmark").order_by("-number").first()
        if newest is not None and (newest.sha256 == sha256 or benchmark.archived_at is not None):
            return newest, False
        if any(getattr(benchmark, key) != value for key, value in shown.items()):
            for key, value in shown.items():
                setattr(benchmark, key, value)
            benchmark.save(update_fields=list(shown))
        return publish_version(benchmark, actor=actor, manifest=manifest, rows=rows), True


def retire_version(version: BenchmarkVersion, *, actor: Actor) -> BenchmarkVersion:
    """Stop new quotes of the version; runs and results stay. Retiring a retired one changes nothing."""
    _require_writer(actor, version.benchmark.workspace)
    with transaction.atomic():
        version = BenchmarkVersion.objects.select_for_update(of=("self",)).select_related("benchmark__workspace").get(pk=version.pk)
        if version.state != VersionState.RETIRED:
            version.state = VersionState.RETIRED
            version.save(update_fields=["state"])
            record(actor, "version.retired", version.profile_id, workspace=version.benchmark.workspace)
    return version


def archive_benchmark(benchmark: Benchmark, *, actor: Actor) -> Benchmark:
    """Take the benchmark out of the catalog and stop new runs; earlier runs and results stay. Archiving twice changes nothing."""
    _require_writer(actor, benchmark.workspace)
    with transaction.atomic():
        benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        if benchmark.archived_at is None:
            benchmark.archived_at = timezone.now()
            benchmark.save(update_fields=["archived_at"])
            record(actor, "benchmark.archived", benchmark.slug, workspace=benchmark.workspace)
    return benchmark


def save_route(
    route_id: str,
    *,
    actor: Actor,
    endpoint: str,
    model: str,
    input_usd_per_mtok: Decimal,
    output_usd_per_mtok: Decimal,
    cached: Decimal | None = None,
    key_env: str = "",
    context_limit: int | None = None,
    max_output_tokens: int | None = None,
    name: str | None = None,
    tiers: Sequence[StatedTier] = (),
) -> ModelRoute:
    """Make a managed route or change it. A changed price is a new dated rate, an unchanged one none; prices of 0 make it free.

    Prices are USD a million tokens; cached input costs as input where `cached` is None, and no tiers means that every call costs the same.
    Limits and name that are None stay as they are. The address may be private: operators name it. Raises Refused `invalid_route`,
    `invalid_endpoint` or `invalid_rate`.
    """
    require(is_platform_staff(actor), "Only platform staff sets routes and rates.")
    check_route(route_id, endpoint, model, key_env, context_limit, max_output_tokens)
    rates = microusd_rates(input_usd_per_mtok, output_usd_per_mtok, cached)
    steps = tier_columns(tiers, rates)
    stated = {"context_limit": context_limit, "max_output_tokens": max_output_tokens, "name": name}
    fields = {"endpoint": endpoint, "upstream_model": model, "key_env": key_env, **{key: value for key, value in stated.items() if value}}
    with transaction.atomic():
        provider = _provider_of(route_id)
        defaults = {"provider": provider, "name": route_id.rpartition("/")[2], "capabilities": [Capability.CHAT], **fields}
        route, is_new = ModelRoute.objects.select_for_update().get_or_create(route_id=route_id, defaults=defaults)
        changed = [key for key, value in fields.items() if getattr(route, key) != value]
        if changed:
            for key in changed:
                setattr(route, key, fields[key])
            if {"endpoint", "upstream_model"} & set(changed):
                route.quirks = {}  # what another endpoint refused says nothing of this one
                changed.append("quirks")
            route.save(update_fields=changed)
        if is_new or changed:
            record(actor, "route.created" if is_new else "route.changed", route_id, workspace=None, fields=sorted(changed))
        held = current_rate(route, timezone.now())
        if held is None or not _is_price(held, rates, steps):
            rate = RouteRate.objects.create(route=route, created_by=actor.user, **rates)
            RouteRateTier.objects.bulk_create(RouteRateTier(rate=rate, **step) for step in steps)
            noted: dict[str, Any] = {key: str(value) for key, value in rates.items()}
            if steps:
                noted["tiers"] = [{key: str(value) for key, value in step.items()} for step in steps]
            record(actor, "route.priced", route_id, workspace=None, **noted)
    return route


def _is_price(held: RouteRate, rates: dict[str, Decimal], steps: list[dict[str, Any]]) -> bool:
    """Whether the rate is exactly this price."""
    if any(getattr(held, key) != value for key, value in rates.items()):
        return False
    return [[tier.above_input_tokens, *(getattr(tier, key) for key in rates)] for tier in held.tiers.all()] == [
        [step["above_input_tokens"], *(step[key] for key in rates)] for step in steps
    ]


def describe_benchmark(benchmark: Benchmark, *, actor: Actor, name: str, category: str, description: str) -> Benchmark:
    """Change the words that people find a benchmark by. Its versions keep theirs."""
    _require_writer(actor, benchmark.workspace)
    given = {"name": name, "category": category, "description": description}
    with transaction.atomic():
        benchmark = Benchmark.objects.select_for_update(of=("self",)).select_related("workspace").get(pk=benchmark.pk)
        changed = [field for field, value in given.items() if getattr(benchmark, field) != value]
        if changed:
            for field in changed:
                setattr(benchmark, field, given[field])
            benchmark.save(update_fields=changed)
            record(actor, "benchmark.changed", benchmark.slug, workspace=benchmark.workspace, fields=changed)
    return benchmark


def set_route_terms(
    route: ModelRoute, *, actor: Actor, state: str, reasoning_efforts: list[str], takes_reasoning_budget: bool
) -> ModelRoute:
    """Say whether the route takes new quotes, and which reasoning controls it has. Quotes and runs that exist keep what they froze."""
    require(is_platform_staff(actor), "Only platform staff sets routes and rates.")
    given = {"state": state, "reasoning_efforts": reasoning_efforts, "takes_reasoning_budget": takes_reasoning_budget}
    with transaction.atomic():
        route = ModelRoute.objects.select_for_update().get(pk=route.pk)
        changed = {field: value for field, value in given.items() if getattr(route, field) != value}
        if changed:
            for field, value in changed.items():
                setattr(route, field, value)
            route.save(update_fields=list(changed))
            record(actor, "route.changed", route.route_id, workspace=None, **changed)
    return route


def set_usage_quirks(route: ModelRoute, *, actor: Actor, names: Collection[str]) -> ModelRoute:
    """Say how the route's endpoint counts tokens where it differs from OpenAI (`UsageQuirk`); none: as OpenAI does.

    It holds for calls that begin from now on, also of runs that exist. Raises Refused `invalid_usage_quirk`.
    """
    require(is_platform_staff(actor), "Only platform staff sets routes and rates.")
    if unknown := sorted(set(names) - set(UsageQuirk.values)):
        raise Refused("invalid_usage_quirk", f"{unknown[0]!r} is none of {', '.join(UsageQuirk.values)}.")
    with transaction.atomic():
        route = ModelRoute.objects.select_for_update().get(pk=route.pk)
        if set(route.usage_quirks) != set(names):
            route.quirks = {**route.quirks, "usage": dict.fromkeys(sorted(names), True)}
            route.save(update_fields=["quirks"])
            record(actor, "route.changed", route.route_id, workspace=None, usage_quirks=sorted(names))
    return route


def _provider_of(route_id: str) -> Provider:
    """The provider that the ID names before its first slash; routes without one are this installation's own."""
    head, slash, _ = route_id.partition("/")
    slug = (slugify(head) if slash else "") or "own"
    provider, _ = Provider.objects.get_or_create(slug=slug[:60], defaults={"name": head if slash else "Own"})
    return provider
