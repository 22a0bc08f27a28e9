"""The groups and clusters of a run's tasks, which its figures are divided and its intervals widened by."""

from catalog.models import Task
from runs.models import RunBenchmark


def strata(benchmark: RunBenchmark) -> tuple[list[str], list[str]]:
    """Group and cluster of each planned task, by position; empty where the version has none."""
    version = benchmark.version
    if not (version.has_groups or version.has_clusters):
        return [], []
    tasks = Task.objects.filter(version=version).values_list("ordinal", "group", "cluster")
    rows = {ordinal: (group, cluster) for ordinal, group, cluster in tasks}
    by_position = [rows[ordinal] for ordinal in benchmark.ordinals()]
    groups = [group for group, _ in by_position] if version.has_groups else []
    clusters = [cluster for _, cluster in by_position] if version.has_clusters else []
    return groups, clusters
