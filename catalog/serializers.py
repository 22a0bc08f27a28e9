"""What the API takes and answers about benchmarks, their versions and tasks. Prompts and references are never listed."""

from collections.abc import Iterable, Mapping
from typing import Any

from rest_framework import serializers

from catalog.enums import Capability, ExportPolicy, Grader, Runner, VersionState
from catalog.models import Benchmark, BenchmarkVersion, Task
from catalog.queries import eval_reference, manifest_of
from common.pages import DEFAULT_LIMIT, MAX_LIMIT
from common.serializers import AnyObject, Choice, ListQuery, Query, Text, Truth, WholeNumber

OUTPUT_FORMATS = ["default"]


class MetricNameShape(serializers.Serializer[Any]):
    metric = serializers.CharField()
    name = serializers.CharField()


class BenchmarkShape(serializers.Serializer[Any]):
    """A benchmark, with what its latest version is."""

    slug = serializers.CharField()
    name = serializers.CharField()
    category = serializers.CharField(allow_blank=True)
    description = serializers.CharField(allow_blank=True)
    status = serializers.ChoiceField(choices=VersionState.values)
    latest_version = serializers.IntegerField(allow_null=True)
    task_count = serializers.IntegerField()
    capability = serializers.ChoiceField(choices=Capability.values)
    runner = serializers.ChoiceField(choices=Runner.values)
    metrics = MetricNameShape(many=True)
    license = serializers.CharField()
    private = serializers.BooleanField()


class AvailabilityShape(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("ready_for_quote", "retired", "archived"))


class VersionShape(serializers.Serializer[Any]):
    """One frozen version. Its manifest is what its SHA-256 is of."""

    profile_id = serializers.CharField(help_text="What quotes name: `slug@number`.")
    eval = serializers.CharField(help_text="Its name among evaluations: `eval://provider/name/version`.")
    version = serializers.IntegerField()
    status = serializers.ChoiceField(choices=VersionState.values)
    manifest = AnyObject()
    sha256 = serializers.CharField()
    source = AnyObject(allow_null=True)
    rights = AnyObject(allow_null=True)
    license = serializers.CharField()
    licenses = serializers.ListField(child=serializers.CharField())
    grader = serializers.ChoiceField(choices=Grader.values)
    capability = serializers.ChoiceField(choices=Capability.values)
    runner = serializers.ChoiceField(choices=Runner.values)
    metrics = MetricNameShape(many=True)
    task_count = serializers.IntegerField()
    has_groups = serializers.BooleanField()
    max_output_tokens = serializers.IntegerField()
    output_formats = serializers.ListField(child=serializers.CharField())
    export_policy = serializers.ChoiceField(choices=ExportPolicy.values)
    published_at = serializers.DateTimeField(allow_null=True)
    quote_availability = AvailabilityShape()


class BenchmarkDetailShape(BenchmarkShape):
    """A benchmark with its published versions, newest first."""

    versions = VersionShape(many=True)


class EvalShape(VersionShape):
    """A version with what its benchmark says of it."""

    slug = serializers.CharField()
    name = serializers.CharField()
    category = serializers.CharField(allow_blank=True)
    description = serializers.CharField(allow_blank=True)
    private = serializers.BooleanField()
    created_by = serializers.UUIDField(allow_null=True, help_text="Of private ones: who imported it, where known.")
    created_at = serializers.DateTimeField(allow_null=True, help_text="Of private ones.")


class PrivateBenchmarkShape(BenchmarkDetailShape):
    id = serializers.CharField(help_text="The latest version's ID, `byob-…@1`.")
    created_by = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)


class TaskShape(serializers.Serializer[Any]):
    task_id = serializers.CharField()
    ordinal = serializers.IntegerField()
    group = serializers.CharField(allow_null=True)
    metadata = AnyObject()


class TaskListShape(serializers.Serializer[Any]):
    data = TaskShape(many=True)
    total = serializers.IntegerField()


class BenchmarksQuery(ListQuery):
    q = Text(required=False, max_length=200)
    category = Text(required=False, max_length=60)
    capability = Text(required=False, max_length=30)
    runner = Text(required=False, max_length=20)
    license = Text(required=False, max_length=80)
    status = Choice(choices=(VersionState.ACTIVE.value, VersionState.RETIRED.value), required=False)


class EvalsQuery(ListQuery):
    include_private = Truth(default=True, help_text="Whether the workspace's own are listed too, where credentials are given.")
    private_only = Truth(default=False)
    catalog_view = Truth(default=True, help_text="Changes nothing; there is one view.")


class TasksQuery(Query):
    source_ref = Text(max_length=300, help_text="A version's ID, or its `eval://` reference.")
    q = Text(required=False, max_length=200, help_text="Part of an ID or a group.")
    limit = WholeNumber(default=DEFAULT_LIMIT, min_value=1, max_value=MAX_LIMIT)
    offset = WholeNumber(default=0, min_value=0, max_value=10**9)


def benchmark_document(entry: Any, metrics: Mapping[int, Any]) -> dict[str, Any]:
    """A row of `catalog.queries.catalog_entries`; `metrics` are the latest versions', by their key."""
    return {
        "slug": entry.slug,
        "name": entry.name,
        "category": entry.category,
        "description": entry.description,
        "status": entry.latest_state,
        "latest_version": entry.latest_number,
        "task_count": entry.latest_task_count,
        "capability": entry.latest_capability,
        "runner": entry.latest_runner,
        "metrics": metrics[entry.latest_id],
        "license": entry.latest_license,
        "private": entry.is_private,
    }


def version_document(version: BenchmarkVersion) -> dict[str, Any]:
    manifest = manifest_of(version)
    is_archived = version.benchmark.archived_at is not None
    availability = "archived" if is_archived else "ready_for_quote" if version.state == VersionState.ACTIVE else "retired"
    return {
        "profile_id": version.profile_id,
        "eval": eval_reference(version),
        "version": version.number,
        "status": version.state,
        "manifest": manifest,
        "sha256": version.sha256,
        "source": manifest.get("source"),
        "rights": manifest.get("rights"),
        "license": version.license,
        "licenses": [version.license],
        "grader": version.grader,
        "capability": version.capability,
        "runner": version.runner,
        "metrics": manifest["metrics"],
        "task_count": version.task_count,
        "has_groups": version.has_groups,
        "max_output_tokens": version.max_output_tokens,
        "output_formats": OUTPUT_FORMATS,
        "export_policy": version.export_policy,
        "published_at": version.published_at,
        "quote_availability": {"status": availability},
    }


def benchmark_detail_document(benchmark: Benchmark, latest: BenchmarkVersion, versions: Iterable[BenchmarkVersion]) -> dict[str, Any]:
    return {
        "slug": benchmark.slug,
        "name": benchmark.name,
        "category": benchmark.category,
        "description": benchmark.description,
        "status": latest.state,
        "latest_version": latest.number,
        "task_count": latest.task_count,
        "capability": latest.capability,
        "runner": latest.runner,
        "metrics": manifest_of(latest)["metrics"],
        "license": latest.license,
        "private": benchmark.is_private,
        "versions": [version_document(version) for version in versions],
    }


def eval_document(version: BenchmarkVersion) -> dict[str, Any]:
    benchmark = version.benchmark
    author = benchmark.created_by if benchmark.is_private else None
    return {
        **version_document(version),
        "slug": benchmark.slug,
        "name": benchmark.name,
        "category": benchmark.category,
        "description": benchmark.description,
        "private": benchmark.is_private,
        "created_by": author.public_id if author else None,
        "created_at": benchmark.created_at if benchmark.is_private else None,
    }


def private_benchmark_document(benchmark: Benchmark, latest: BenchmarkVersion, versions: Iterable[BenchmarkVersion]) -> dict[str, Any]:
    return {
        "id": latest.profile_id,
        **benchmark_detail_document(benchmark, latest, versions),
        "created_by": benchmark.created_by.public_id if benchmark.created_by else None,
        "created_at": benchmark.created_at,
        "archived_at": benchmark.archived_at,
    }


def task_document(task: Task) -> dict[str, Any]:
    return {"task_id": task.task_id, "ordinal": task.ordinal, "group": task.group or None, "metadata": task.metadata}
