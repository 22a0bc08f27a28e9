"""The catalog over HTTP. It answers everyone; a key or session that may read adds its workspace's private benchmarks."""

from typing import Any

from django.http import Http404

from catalog.actions import archive_benchmark
from catalog.models import Benchmark, BenchmarkVersion
from catalog.queries import (
    catalog_entries,
    find_versions,
    get_benchmark,
    get_version,
    manifests_of,
    private_benchmarks,
    published_versions,
    split_profile_id,
    tasks_of,
    versions_of,
)
from catalog.serializers import (
    BenchmarkDetailShape,
    BenchmarkShape,
    BenchmarksQuery,
    EvalShape,
    EvalsQuery,
    PrivateBenchmarkShape,
    TaskListShape,
    TasksQuery,
    benchmark_detail_document,
    benchmark_document,
    eval_document,
    private_benchmark_document,
    task_document,
)
from common.errors import Refused
from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from workspaces.api_base import ApiView, PublicView, operation, page_document
from workspaces.permissions import can_import, can_read


class BenchmarkList(PublicView):
    tag = "catalog"

    @operation("list_benchmarks", "Benchmarks of the catalog", query=BenchmarksQuery, answers={200: page_of_shape(BenchmarkShape)})
    def get(self) -> dict[str, Any]:
        cursor, limit = self.query.pop("cursor", None), self.query.pop("limit")
        page = page_of(catalog_entries(self.reader_workspace, **self.query), order="slug", cursor=cursor, limit=limit)
        manifests = manifests_of([entry.latest_id for entry in page.rows])  # type: ignore[attr-defined]  # annotated
        metrics = {key: manifest["metrics"] for key, manifest in manifests.items()}
        return page_document(page, lambda entry: benchmark_document(entry, metrics))


class BenchmarkDetail(PublicView):
    tag = "catalog"

    @operation("get_benchmark", "One benchmark with its versions", answers={200: BenchmarkDetailShape})
    def get(self, slug: str) -> dict[str, Any]:
        benchmark = get_benchmark(self.reader_workspace, slug.lower())
        versions, latest = _versions(benchmark)
        return benchmark_detail_document(benchmark, latest, versions)


class EvalList(PublicView):
    tag = "catalog"

    @operation("list_evals", "Every version by its evaluation name", query=EvalsQuery, answers={200: page_of_shape(EvalShape)})
    def get(self) -> dict[str, Any]:
        workspace = self.reader_workspace if self.query["include_private"] else None
        versions = published_versions(workspace, private_only=self.query["private_only"])
        return page_document(page_of(versions, order="id", cursor=self.query.get("cursor"), limit=self.query["limit"]), eval_document)


class TaskList(PublicView):
    tag = "catalog"

    @operation("list_tasks", "Tasks of a version, without prompts and answers", query=TasksQuery, answers={200: TaskListShape})
    def get(self) -> dict[str, Any]:
        tasks = tasks_of(_version(self, self.query["source_ref"]), self.query.get("q", ""))
        first = self.query["offset"]
        return {"data": [task_document(task) for task in tasks[first : first + self.query["limit"]]], "total": tasks.count()}


class PrivateBenchmarkList(ApiView):
    tag = "private-benchmarks"

    @operation(
        "list_private_benchmarks",
        "The workspace's own benchmarks",
        needs=can_read,
        query=ListQuery,
        answers={200: page_of_shape(PrivateBenchmarkShape)},
    )
    def get(self) -> dict[str, Any]:
        page = page_of(private_benchmarks(self.workspace), cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, _private)


class PrivateBenchmarkDetail(ApiView):
    tag = "private-benchmarks"

    @operation("get_private_benchmark", "One of the workspace's own benchmarks", needs=can_read, answers={200: PrivateBenchmarkShape})
    def get(self, benchmark_id: str) -> dict[str, Any]:
        return _private(_own_benchmark(self, benchmark_id))


class PrivateBenchmarkArchive(ApiView):
    tag = "private-benchmarks"

    @operation("archive_private_benchmark", "Stop new runs of it; results stay", needs=can_import, answers={200: PrivateBenchmarkShape})
    def post(self, benchmark_id: str) -> dict[str, Any]:
        archive_benchmark(_own_benchmark(self, benchmark_id), actor=self.actor)
        return _private(_own_benchmark(self, benchmark_id))


def _own_benchmark(view: ApiView, benchmark_id: str) -> Benchmark:
    """The private benchmark of `byob-…` or `byob-…@1`; raises DoesNotExist also for a version that is not there."""
    slug, number = split_profile_id(benchmark_id)
    if number is not None:
        get_version(view.workspace, benchmark_id)
    benchmark = get_benchmark(view.workspace, slug)
    if not benchmark.is_private:
        raise Http404
    return benchmark


def _private(benchmark: Benchmark) -> dict[str, Any]:
    versions, latest = _versions(benchmark)
    return private_benchmark_document(benchmark, latest, versions)


def _versions(benchmark: Benchmark) -> tuple[list[BenchmarkVersion], BenchmarkVersion]:
    """The published versions, newest first, and the one that new quotes mean; raises Http404 where there is none."""
    versions = getattr(benchmark, "known_versions", None) or list(versions_of(benchmark))
    if not versions:
        raise Http404
    return versions, min(versions, key=lambda version: (version.state != "active", -version.number))


def _version(view: PublicView, source_ref: str) -> BenchmarkVersion:
    found = find_versions(view.reader_workspace, source_ref)
    if not found:
        return get_version(view.reader_workspace, source_ref)  # an archived one's tasks may still be looked up by its ID
    if len(found) > 1:
        candidates = [version.profile_id for version in found]
        message = f"{source_ref!r} names several benchmarks: {', '.join(candidates)}. Name one by its ID."
        raise Refused("ambiguous_benchmark", message, details={"candidates": candidates})
    return found[0]
