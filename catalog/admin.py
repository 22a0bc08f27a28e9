"""Staff's view of the catalog: benchmarks and their frozen versions, tasks, files, and the routes with their prices."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from simple_history.admin import SimpleHistoryAdmin
from unfold.decorators import display

from catalog import actions, queries
from catalog.forms import RouteForm
from catalog.models import Benchmark, BenchmarkVersion, DataFile, ModelRoute, Provider, RouteRate, Task, TaskContent
from catalog.rates import RATES, written_tier
from common.admin import LargeReadOnlyAdmin, PlainAdmin, ReadOnlyAdmin, ReadOnlyInline
from common.money import format_usd
from workspaces.actors import Actor, actor_of_user
from workspaces.audit import record

STATE_LABELS = {"active": "success", "qualified": "info", "in_review": "info", "draft": "info", "retired": "warning"}


class VersionInline(ReadOnlyInline):
    model = BenchmarkVersion
    fields = ["number", "state", "grader", "task_count", "license", "export_policy", "published_at"]
    readonly_fields = fields


@admin.register(Benchmark)
class BenchmarkAdmin(SimpleHistoryAdmin, PlainAdmin):  # type: ignore[misc]
    """The words may be changed here; versions are published by commands and imports, and never change."""

    list_display = ["slug", "name", "category", "workspace", "shown_versions", "created_at", "archived_at"]
    list_filter = [("workspace", admin.EmptyFieldListFilter), ("archived_at", admin.EmptyFieldListFilter), "category"]
    list_select_related = ["workspace"]
    search_fields = ["slug", "name", "workspace__name"]
    fields = ["slug", "name", "category", "description", "workspace", "created_by", "created_at", "archived_at"]
    readonly_fields = ["slug", "workspace", "created_by", "created_at", "archived_at"]
    inlines = [VersionInline]
    actions = ["archive"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Benchmark]:
        return super().get_queryset(request).annotate(version_count=Count("versions"))  # type: ignore[no-any-return]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Benchmark, form: forms.Form, change: bool) -> None:
        actions.describe_benchmark(obj, actor=_actor(request), name=obj.name, category=obj.category, description=obj.description)

    def view_on_site(self, benchmark: Benchmark) -> str:
        return reverse("catalog:benchmark", args=[benchmark.slug])

    @display(description="Versions", ordering="version_count")
    def shown_versions(self, benchmark: Benchmark) -> int:
        return benchmark.version_count  # type: ignore[attr-defined,no-any-return]

    @admin.action(description="Archive: take no new runs, keep the results", permissions=["change"])
    def archive(self, request: HttpRequest, chosen: QuerySet[Benchmark]) -> None:
        for benchmark in chosen:
            actions.archive_benchmark(benchmark, actor=_actor(request))
        messages.success(request, f"{len(chosen)} archived.")


@admin.register(BenchmarkVersion)
class BenchmarkVersionAdmin(SimpleHistoryAdmin, ReadOnlyAdmin):  # type: ignore[misc]
    """Frozen: nothing changes but the state, and that by an action."""

    list_display = ["shown_version", "workspace", "shown_state", "grader", "task_count", "license", "export_policy", "published_at"]
    list_filter = ["state", "grader", "license", "export_policy", ("benchmark__workspace", admin.EmptyFieldListFilter)]
    list_select_related = ["benchmark__workspace"]
    search_fields = ["benchmark__slug", "benchmark__name", "benchmark__workspace__name", "sha256"]
    ordering = ["-id"]
    actions = ["retire"]

    @display(description="Version", ordering="benchmark__slug", header=True)
    def shown_version(self, version: BenchmarkVersion) -> list[str]:
        return [version.profile_id, version.benchmark.name]

    @display(description="Workspace", ordering="benchmark__workspace__name", empty_value="Public")
    def workspace(self, version: BenchmarkVersion) -> str | None:
        return version.benchmark.workspace.name if version.benchmark.workspace else None

    @display(description="State", ordering="state", label=STATE_LABELS)
    def shown_state(self, version: BenchmarkVersion) -> tuple[str, str]:
        return version.state, version.get_state_display()

    def has_retire_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("catalog.change_benchmarkversion"))

    @admin.action(description="Retire: take no new quotes, keep the results", permissions=["retire"])
    def retire(self, request: HttpRequest, chosen: QuerySet[BenchmarkVersion]) -> None:
        for version in chosen.select_related("benchmark"):
            actions.retire_version(version, actor=_actor(request))
        messages.success(request, f"{len(chosen)} retired.")


class ContentInline(ReadOnlyInline):
    model = TaskContent
    fields = ["values", "reference"]
    readonly_fields = fields


@admin.register(Task)
class TaskAdmin(LargeReadOnlyAdmin):
    list_display = ["task_id", "version", "ordinal", "group", "cluster", "prompt_bytes"]
    list_select_related = ["version__benchmark"]
    search_fields = ["=task_id", "=version__benchmark__slug"]
    search_help_text = "A whole task ID, or a benchmark's slug"
    ordering = ["-id"]
    inlines = [ContentInline]


@admin.register(DataFile)
class DataFileAdmin(ReadOnlyAdmin):
    list_display = ["name", "sha256", "bytes", "workspace", "created_at"]
    list_filter = [("workspace", admin.EmptyFieldListFilter)]
    list_select_related = ["workspace"]
    search_fields = ["name", "sha256", "workspace__name"]
    ordering = ["-id"]


@admin.register(Provider)
class ProviderAdmin(SimpleHistoryAdmin, PlainAdmin):  # type: ignore[misc]
    list_display = ["slug", "name", "url", "shown_routes"]
    search_fields = ["slug", "name"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Provider]:
        return super().get_queryset(request).annotate(route_count=Count("routes"))  # type: ignore[no-any-return]

    def save_model(self, request: HttpRequest, obj: Provider, form: forms.ModelForm, change: bool) -> None:  # type: ignore[type-arg]
        super().save_model(request, obj, form, change)
        word = "provider.changed" if change else "provider.created"
        record(_actor(request), word, obj.slug, workspace=None, fields=form.changed_data)

    @display(description="Routes", ordering="route_count")
    def shown_routes(self, provider: Provider) -> int:
        return provider.route_count  # type: ignore[attr-defined,no-any-return]


def _actor(request: HttpRequest) -> Actor:
    """The member of staff, as actions take them."""
    return actor_of_user(request.user)  # type: ignore[arg-type]


def _usd(column: str, description: str) -> Any:
    """A column that shows a rate in USD and sorts by it."""

    @display(description=description, ordering=f"{column}_microusd_per_mtok")
    def shown(row: RouteRate) -> str:
        return format_usd(int(getattr(row, f"{column}_microusd_per_mtok")))

    return shown


INPUT, CACHED, OUTPUT = _usd("input", "Input"), _usd("cached_input", "Cached input"), _usd("output", "Output")


@display(description="Above input tokens: input / cached / output")
def shown_tiers(row: RouteRate) -> str:
    return "; ".join(
        f"{tier.above_input_tokens:,}: {' / '.join(format_usd(int(getattr(tier, name))) for name in RATES)}" for tier in row.tiers.all()
    )


class RateInline(ReadOnlyInline):
    model = RouteRate
    fields = ["effective_at", INPUT, CACHED, OUTPUT, shown_tiers, "created_by"]
    readonly_fields = fields
    ordering = ["-effective_at", "-id"]
    verbose_name_plural = "prices so far, USD a million tokens"

    def get_queryset(self, request: HttpRequest) -> QuerySet[RouteRate]:
        return super().get_queryset(request).select_related("created_by", "route").prefetch_related("tiers")  # type: ignore[no-any-return]


@admin.register(ModelRoute)
class ModelRouteAdmin(SimpleHistoryAdmin, PlainAdmin):  # type: ignore[misc]
    """Routes are saved by the action that dates their prices. A route that is not wanted any more is retired, never deleted."""

    form = RouteForm
    list_display = ["route_id", "name", "provider", "shown_state", "shown_price", "context_limit", "max_output_tokens", "key_env"]
    list_filter = ["state", "provider"]
    list_select_related = ["provider"]
    search_fields = ["route_id", "name", "upstream_model"]
    fieldsets = [
        (None, {"fields": ["route_id", "name", "state"]}),
        ("Price, USD a million tokens", {"fields": ["input_usd_per_mtok", "cached_usd_per_mtok", "output_usd_per_mtok", "tiers"]}),
        ("What is called", {"fields": ["endpoint", "upstream_model", "key_env"]}),
        ("What it takes", {"fields": ["context_limit", "max_output_tokens", "reasoning_efforts", "takes_reasoning_budget"]}),
        ("How it counts", {"fields": ["usage_quirks"]}),
    ]
    inlines = [RateInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ModelRoute]:
        return super().get_queryset(request).prefetch_related(queries.known_rates())  # type: ignore[no-any-return]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["route_id"] if obj else []

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.base_fields["usage_quirks"].initial = obj.usage_quirks if obj is not None else []
        if obj is not None and (rate := queries.current_rate(obj, timezone.now())) is not None:
            columns = {"input_usd_per_mtok": "input", "cached_usd_per_mtok": "cached_input", "output_usd_per_mtok": "output"}
            for field, column in columns.items():
                form.base_fields[field].initial = (getattr(rate, f"{column}_microusd_per_mtok") / Decimal(1_000_000)).normalize()
            form.base_fields["tiers"].initial = "\n".join(written_tier(tier) for tier in rate.tiers.all())
        return form

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ModelRoute, form: forms.ModelForm, change: bool) -> None:  # type: ignore[type-arg]
        given = form.cleaned_data
        actor = _actor(request)
        saved = actions.save_route(
            obj.route_id,
            actor=actor,
            endpoint=given["endpoint"],
            model=given["upstream_model"],
            input_usd_per_mtok=given["input_usd_per_mtok"],
            output_usd_per_mtok=given["output_usd_per_mtok"],
            cached=given["cached_usd_per_mtok"],
            key_env=given["key_env"],
            context_limit=given["context_limit"],
            max_output_tokens=given["max_output_tokens"],
            name=given["name"],
            tiers=given["tiers"],
        )
        actions.set_route_terms(
            saved,
            actor=actor,
            state=given["state"],
            reasoning_efforts=given["reasoning_efforts"],
            takes_reasoning_budget=given["takes_reasoning_budget"],
        )
        actions.set_usage_quirks(saved, actor=actor, names=given["usage_quirks"])
        obj.pk = saved.pk

    def view_on_site(self, route: ModelRoute) -> str:
        return reverse("catalog:model", args=[route.route_id])

    @display(description="State", ordering="state", label={"active": "success", "paused": "warning", "retired": "danger"})
    def shown_state(self, route: ModelRoute) -> tuple[str, str]:
        return route.state, route.get_state_display()

    @display(description="Price in / out, a million tokens")
    def shown_price(self, route: ModelRoute) -> str:
        rate = queries.current_rate(route, timezone.now())
        if rate is None:
            return "none yet"
        return f"{format_usd(int(rate.input_microusd_per_mtok))} / {format_usd(int(rate.output_microusd_per_mtok))}"


@admin.register(RouteRate)
class RouteRateAdmin(ReadOnlyAdmin):
    list_display = ["route", "effective_at", INPUT, CACHED, OUTPUT, shown_tiers, "created_by"]
    list_select_related = ["route", "created_by"]
    search_fields = ["route__route_id"]
    ordering = ["-effective_at", "-id"]
    readonly_fields = ["public_id", shown_tiers]

    def get_queryset(self, request: HttpRequest) -> QuerySet[RouteRate]:
        return super().get_queryset(request).prefetch_related("tiers")  # type: ignore[no-any-return]
