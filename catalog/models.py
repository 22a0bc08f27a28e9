"""Benchmarks and their frozen versions, and the models that managed routes lead to."""

from decimal import Decimal

from django.db import models
from django.utils import timezone
from simple_history.models import HistoricalRecords

from catalog.enums import Capability, ExportPolicy, Grader, RouteState, Runner, VersionState
from common.ids import new_id
from workspaces.models import User, Workspace


class DataFile(models.Model):
    """A stored file, named by its content. Private ones belong to one workspace and are never shared, public ones have none."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, null=True, related_name="+")
    sha256 = models.CharField(max_length=64)
    bytes = models.PositiveBigIntegerField()
    name = models.CharField(max_length=255)
    storage_key = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "sha256"], condition=models.Q(workspace__isnull=False), name="private_file_once"),
            models.UniqueConstraint(fields=["sha256"], condition=models.Q(workspace__isnull=True), name="public_file_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.sha256[:12]}"


class Benchmark(models.Model):
    """What people look for in the catalog. Public without a workspace; a private one's slug is `byob-` and twelve hex digits."""

    slug = models.SlugField(max_length=80, unique=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, null=True, blank=True, related_name="benchmarks")
    name = models.CharField(max_length=160)
    category = models.CharField(max_length=60, blank=True)
    description = models.TextField(blank=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    archived_at = models.DateTimeField(null=True, blank=True)
    history = HistoricalRecords()

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug

    @property
    def is_private(self) -> bool:
        return self.workspace_id is not None


class BenchmarkVersion(models.Model):
    """One frozen form of a benchmark. Once active, nothing of it changes but its state; its ID is `slug@number`.

    `manifest` is canonical JSON text (see `catalog.manifests`) and `sha256` its hash; the columns beside it repeat what lists filter by.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=VersionState.choices, default=VersionState.DRAFT)
    manifest = models.TextField()
    sha256 = models.CharField(max_length=64)
    runner = models.CharField(max_length=20, choices=Runner.choices, default=Runner.BUILTIN)
    capability = models.CharField(max_length=30, choices=Capability.choices, default=Capability.CHAT)
    grader = models.CharField(max_length=30, choices=Grader.choices)
    max_output_tokens = models.PositiveIntegerField(default=256)
    license = models.CharField(max_length=80, default="LicenseRef-Workspace-Private")
    export_policy = models.CharField(max_length=12, choices=ExportPolicy.choices, default=ExportPolicy.FULL)
    task_count = models.PositiveIntegerField(default=0)
    longest_prompt_bytes = models.PositiveIntegerField(default=0)
    has_groups = models.BooleanField(default=False)
    has_clusters = models.BooleanField(default=False)
    source_file = models.ForeignKey(DataFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    published_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    history = HistoricalRecords(excluded_fields=["manifest"])

    class Meta:
        ordering = ["benchmark_id", "number"]
        constraints = [models.UniqueConstraint(fields=["benchmark", "number"], name="version_number_once")]

    def __str__(self) -> str:
        return self.profile_id

    @property
    def profile_id(self) -> str:
        """The ID that quotes and results name, `slug@number`; reads `benchmark`."""
        return f"{self.benchmark.slug}@{self.number}"


class Task(models.Model):
    """One question of a version, as lists may show it. Position 0 is the first row."""

    version = models.ForeignKey(BenchmarkVersion, on_delete=models.CASCADE, related_name="tasks")
    ordinal = models.PositiveIntegerField()
    task_id = models.CharField(max_length=200)
    group = models.CharField(max_length=200, blank=True)
    cluster = models.CharField(max_length=200, blank=True)
    prompt_bytes = models.PositiveIntegerField()
    """UTF-8 bytes of the rendered messages' texts."""
    message_count = models.PositiveSmallIntegerField(default=1)
    metadata = models.JSONField(default=dict)

    class Meta:
        ordering = ["version_id", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["version", "ordinal"], name="task_ordinal_once"),
            models.UniqueConstraint(fields=["version", "task_id"], name="task_id_once"),
        ]

    def __str__(self) -> str:
        return self.task_id


class TaskContent(models.Model):
    """What a task is made of: the values its prompt is rendered from, and the reference. Never listed.

    `values` maps each prompt role to its text (and `choices` to a list); `reference` is what the grader compares with.
    """

    task = models.OneToOneField(Task, on_delete=models.CASCADE, primary_key=True, related_name="content")
    values = models.JSONField()
    reference = models.JSONField()

    def __str__(self) -> str:
        return f"content of task {self.task_id}"


class Provider(models.Model):
    """Who serves managed routes, for people to read; addresses and credentials are the routes' own."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    url = models.URLField(blank=True)
    history = HistoricalRecords()

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name


class ModelRoute(models.Model):
    """A managed way to a model: where it is called, by which name, and what it can take. The credential stays in the environment."""

    route_id = models.CharField(max_length=120, unique=True)
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="routes")
    name = models.CharField(max_length=160)
    endpoint = models.URLField(max_length=500)
    upstream_model = models.CharField(max_length=200)
    key_env = models.CharField(max_length=80, blank=True)
    capabilities = models.JSONField(default=list)
    context_limit = models.PositiveIntegerField(default=128_000)
    max_output_tokens = models.PositiveIntegerField(default=16_384)
    reasoning_efforts = models.JSONField(default=list, blank=True)
    """Efforts that the route takes, such as ["low", "medium", "high"]; empty where it takes none."""
    takes_reasoning_budget = models.BooleanField(default=False)
    quirks = models.JSONField(default=dict, blank=True)
    """What the endpoint was seen to refuse, {"limit_name": "max_completion_tokens", "left_out": ["temperature"]}, and how staff know it to
    count tokens, {"usage": {"input_excludes_cached": true, "output_excludes_reasoning": true}}.
    """
    state = models.CharField(max_length=10, choices=RouteState.choices, default=RouteState.ACTIVE)
    created_at = models.DateTimeField(default=timezone.now)
    history = HistoricalRecords(excluded_fields=["quirks"])

    class Meta:
        ordering = ["route_id"]

    def __str__(self) -> str:
        return self.route_id

    @property
    def usage_quirks(self) -> list[str]:
        """The names in `quirks` of how its endpoint counts tokens."""
        usage = self.quirks.get("usage")
        return sorted(name for name, is_so in usage.items() if is_so is True) if isinstance(usage, dict) else []


class RouteRate(models.Model):
    """A dated price of a route, in micro-USD a million tokens, with its tiers. Never changed: a new price is a new row; quotes keep their
    own.
    """

    public_id = models.UUIDField(default=new_id, unique=True, editable=False)
    route = models.ForeignKey(ModelRoute, on_delete=models.PROTECT, related_name="rates")
    input_microusd_per_mtok = models.DecimalField(max_digits=20, decimal_places=6)
    cached_input_microusd_per_mtok = models.DecimalField(max_digits=20, decimal_places=6)
    output_microusd_per_mtok = models.DecimalField(max_digits=20, decimal_places=6)
    effective_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ["route_id", "-effective_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(input_microusd_per_mtok__gte=0)
                & models.Q(cached_input_microusd_per_mtok__gte=0)
                & models.Q(output_microusd_per_mtok__gte=0),
                name="route_rate_not_negative",
            )
        ]

    def __str__(self) -> str:
        return f"{self.route_id} from {self.effective_at:%Y-%m-%d}"

    @property
    def is_free(self) -> bool:
        return not (self.input_microusd_per_mtok or self.cached_input_microusd_per_mtok or self.output_microusd_per_mtok)


class RouteRateTier(models.Model):
    """What a call costs whose input is above so many tokens, cached ones included: the whole call is charged at these rates.

    Made with its rate and never changed, as rates are.
    """

    rate = models.ForeignKey(RouteRate, on_delete=models.PROTECT, related_name="tiers")
    above_input_tokens = models.PositiveIntegerField()
    input_microusd_per_mtok = models.DecimalField(max_digits=20, decimal_places=6)
    cached_input_microusd_per_mtok = models.DecimalField(max_digits=20, decimal_places=6)
    output_microusd_per_mtok = models.DecimalField(max_digits=20, decimal_places=6)

    class Meta:
        ordering = ["rate_id", "above_input_tokens"]
        constraints = [
            models.UniqueConstraint(fields=["rate", "above_input_tokens"], name="route_rate_tier_once"),
            models.CheckConstraint(
                condition=models.Q(above_input_tokens__gt=0)
                & models.Q(input_microusd_per_mtok__gte=0)
                & models.Q(cached_input_microusd_per_mtok__gte=0)
                & models.Q(output_microusd_per_mtok__gte=0),
                name="route_rate_tier_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"above {self.above_input_tokens} input tokens"


ZERO_RATE = Decimal(0)
