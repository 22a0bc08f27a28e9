"""Staff's view of quotes, runs and what hangs on them. Read only: the engine and the actions write these rows."""

from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from unfold.decorators import display

from common.admin import LargeReadOnlyAdmin, ReadOnlyAdmin, ReadOnlyInline
from common.ids import parse_uuid
from common.money import format_usd
from runs.attention import lost_leases, standing_still, went_wrong
from runs.models import Event, Quote, ResultVersion, Run, RunBenchmark, Sample, Shard, Subject
from runs.sharing import admin as _sharing  # noqa: F401  (its lists)


class RunBenchmarkInline(ReadOnlyInline):
    model = RunBenchmark
    fields = ["index", "version", "task_count", "output_limit", "task_list_sha256"]
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[RunBenchmark]:
        return super().get_queryset(request).select_related("version__benchmark")  # type: ignore[no-any-return]


class SubjectInline(ReadOnlyInline):
    model = Subject
    fields = ["index", "label", "kind", "status", "stopped_code", "planned", "processed", "graded", "correct", "errors", "concurrency"]
    readonly_fields = fields


@admin.register(Quote)
class QuoteAdmin(ReadOnlyAdmin):
    list_display = ["public_id", "workspace", "name", "status", "shown_cap", "shown_ceiling", "created_at", "expires_at"]
    list_filter = ["status", "created_at"]
    list_select_related = ["workspace"]
    search_fields = ["public_id", "name", "workspace__name"]
    ordering = ["-id"]
    readonly_fields = ["public_id"]

    @display(description="Cap", ordering="cap_microusd")
    def shown_cap(self, quote: Quote) -> str:
        return "none" if quote.cap_microusd is None else format_usd(quote.cap_microusd)

    @display(description="Ceiling", ordering="ceiling_microusd")
    def shown_ceiling(self, quote: Quote) -> str:
        return format_usd(quote.ceiling_microusd)


class AttentionFilter(admin.SimpleListFilter):
    """Runs that somebody should look at; the dashboard counts the same."""

    title = "what needs a look"
    parameter_name = "attention"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [("wrong", "Failed or interrupted within a day"), ("still", "Live, and nothing for an hour")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        narrowed = {"wrong": went_wrong, "still": standing_still}.get(self.value() or "")
        return narrowed(queryset, timezone.now()) if narrowed else queryset


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ["shown_run", "workspace", "shown_status", "shown_progress", "errors", "shown_spend", "created_at", "ended_at"]
    list_filter = [AttentionFilter, "status", "phase", "created_at"]
    list_select_related = ["workspace"]
    search_fields = ["public_id", "name", "workspace__name"]
    search_help_text = "An ID, or part of a run's or a workspace's name"
    ordering = ["-id"]
    readonly_fields = ["public_id"]
    inlines = [RunBenchmarkInline, SubjectInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        of_runs = RunBenchmark.objects.select_related("version__benchmark").defer("version__manifest", "task_ordinals")
        return super().get_queryset(request).prefetch_related(Prefetch("benchmarks", of_runs))  # type: ignore[no-any-return]

    @display(description="Run", header=True)
    def shown_run(self, run: Run) -> list[str]:
        """Its name, or its benchmark's, over its ID."""
        return [run.name or ", ".join(each.version.benchmark.name for each in run.benchmarks.all()), str(run.public_id)]

    @display(
        description="Status",
        ordering="status",
        label={
            "completed": "success",
            "running": "info",
            "queued": "info",
            "partial": "warning",
            "cancelled": "warning",
            "failed": "danger",
        },
    )
    def shown_status(self, run: Run) -> tuple[str, str]:
        return run.status, run.get_status_display()

    @display(description="Progress")
    def shown_progress(self, run: Run) -> str:
        return f"{run.processed:,} of {run.planned:,}"

    @display(description="Spend", ordering="spend_microusd")
    def shown_spend(self, run: Run) -> str:
        return format_usd(run.spend_microusd)

    def view_on_site(self, run: Run) -> str:
        return reverse("runs:report", args=[run.public_id])


@admin.register(Subject)
class SubjectAdmin(LargeReadOnlyAdmin):
    list_display = ["label", "run", "kind", "status", "stopped_code", "planned", "processed", "graded", "correct", "errors", "retry_at"]
    list_filter = ["kind", "status", "stopped_code"]
    list_select_related = ["run"]
    search_fields = ["label", "run__public_id"]
    ordering = ["-id"]


class StuckFilter(admin.SimpleListFilter):
    """Shards that hold a lease nobody renewed, or that wait for money."""

    title = "trouble"
    parameter_name = "trouble"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [("expired", "Lease expired, and not taken back"), ("parked", "Parked for want of budget")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Shard]) -> QuerySet[Shard]:
        if self.value() == "expired":
            return lost_leases(queryset, timezone.now())
        if self.value() == "parked":
            return queryset.filter(parked_need_microusd__isnull=False, is_done=False)
        return queryset


@admin.register(Shard)
class ShardAdmin(LargeReadOnlyAdmin):
    list_display = ["id", "run", "subject", "start", "stop", "is_done", "fence", "lease_owner", "lease_expires_at", "slots", "shown_slice"]
    list_filter = ["is_done", StuckFilter]
    list_select_related = ["run", "subject"]
    search_fields = ["run__public_id"]
    ordering = ["-id"]

    @display(description="Slice", ordering="slice_microusd")
    def shown_slice(self, shard: Shard) -> str:
        return format_usd(shard.slice_microusd)


@admin.register(Sample)
class SampleAdmin(LargeReadOnlyAdmin):
    list_display = [
        "public_id",
        "subject",
        "task",
        "position",
        "status",
        "correct",
        "error_code",
        "shown_flags",
        "shown_charge",
    ]
    list_filter = ["status", "correct", "is_empty", "is_truncated", "is_unreadable"]
    list_select_related = ["subject", "task"]
    search_fields = ["public_id"]
    search_help_text = "A sample's or a run's whole ID"
    ordering = ["-id"]
    readonly_fields = ["public_id"]
    raw_id_fields = ["run_benchmark", "subject", "task", "origin"]

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Sample], search_term: str) -> tuple[QuerySet[Sample], bool]:
        """Only whole IDs: a search by part of one would read every row."""
        if not search_term.strip():
            return queryset, False
        found = parse_uuid(search_term.strip())
        if found is None:
            return queryset.none(), False
        of_run = RunBenchmark.objects.filter(run__public_id=found).values("pk")
        return queryset.filter(run_benchmark__in=of_run) | queryset.filter(public_id=found), False

    @display(description="Flags")
    def shown_flags(self, sample: Sample) -> str:
        return ", ".join(sample.flags) or "none"

    @display(description="Charge", ordering="usage_microusd")
    def shown_charge(self, sample: Sample) -> str:
        return format_usd(sample.charge_microusd)


class EventFamilyFilter(admin.SimpleListFilter):
    """By what an event is about. The types themselves are not listed: that would read the whole table."""

    title = "what it is about"
    parameter_name = "about"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [
            ("run", "The run"),
            ("subject", "A model"),
            ("sample", "A sample"),
            ("capacity", "Providers and workers"),
            ("budget", "Money"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        return queryset.filter(type__startswith=f"{self.value()}.") if self.value() else queryset


@admin.register(Event)
class EventAdmin(LargeReadOnlyAdmin):
    list_display = ["run", "sequence", "type", "data", "created_at"]
    list_filter = [EventFamilyFilter]
    list_select_related = ["run"]
    search_fields = ["run__public_id"]
    ordering = ["-id"]


@admin.register(ResultVersion)
class ResultVersionAdmin(ReadOnlyAdmin):
    list_display = ["run", "number", "sha256", "created_at"]
    list_select_related = ["run"]
    search_fields = ["run__public_id", "sha256"]
    ordering = ["-id"]
