"""What a workspace has found out about one benchmark: the newest frozen result of each model on each version."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from runs.models import ResultVersion, Run, RunBenchmark
from workspaces.models import Workspace

RESULTS_READ = 60


@dataclass(frozen=True, slots=True)
class Standing:
    """One model's newest result: `subject` and the benchmark's `coverage` as the result document has them."""

    run: Run
    label: str
    profile_id: str
    subject: dict[str, Any]
    coverage: dict[str, Any]
    ended_at: datetime | None


def standings_on(workspace: Workspace, slug: str) -> list[Standing]:
    """The newest result of each model and version among the last sixty, the best score first, within the newest version first.

    Results of different versions are never comparable, so the version leads the order.
    """
    results = (
        ResultVersion.objects.filter(
            run__workspace=workspace, run__in=RunBenchmark.objects.filter(version__benchmark__slug=slug).values("run_id")
        )
        .select_related("run")
        .order_by("-id")[:RESULTS_READ]
    )
    newest: dict[tuple[str, str], Standing] = {}
    for result in results:
        document = orjson.loads(result.document)
        for subject in document["subjects"]:
            benchmark = document["benchmarks"][subject["benchmark_index"]]
            if benchmark["slug"] != slug:
                continue
            coverage = benchmark.get("coverage") or document["coverage"]
            standing = Standing(result.run, subject["label"], benchmark["profile_id"], subject, coverage, result.run.ended_at)
            newest.setdefault((standing.profile_id, standing.label), standing)
    return sorted(newest.values(), key=_order)


def _order(standing: Standing) -> tuple[Any, ...]:
    slug, _, number = standing.profile_id.rpartition("@")
    value = (standing.subject.get("headline") or {}).get("value")
    return (slug, -int(number), value is None, -(value or 0.0), standing.label)
