"""The second figure: what the score of a model would be with the verdicts that people changed. The frozen result stays as it is, and so
does everything that is computed from it: rank, comparison, exports.

It is computed from the run's samples as the result's own score is, by the same functions, with people's verdicts in place of the grader's.
"""

from collections import defaultdict
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from django.core.cache import cache

from runs.models import ResultVersion, Run, RunBenchmark
from runs.results import metric_document
from runs.reviews.queries import Overridden, overridden, scores_at, with_task_list
from runs.statistics import ACCURACY, Estimate
from runs.strata import strata

KEEP = 24 * 60 * 60
"""Seconds that a figure is kept. It is kept by what it was computed from, so that none is stale."""


def second_figures(run: Run, result: ResultVersion) -> list[dict[str, Any]]:
    """A figure for each model and benchmark of an ended run on which people's verdicts count, in the order of the result.

    `changed` counts verdicts that differ from the grader's, `confirmed` those that agree. One query where there are none.
    """
    said = overridden(run)
    if not said:
        return []
    told = [f"{each.sample}:{each.override}:{each.grader}" for each in said]
    key = f"reviewed:{result.pk}:{sha256(' '.join(told).encode()).hexdigest()[:32]}"
    figures: list[dict[str, Any]] = cache.get_or_set(key, partial(_figures, run, said), KEEP) or []
    return figures


def _figures(run: Run, said: list[Overridden]) -> list[dict[str, Any]]:
    by_cell: dict[tuple[int, int], list[Overridden]] = defaultdict(list)
    for each in said:
        by_cell[each.subject, each.run_benchmark].append(each)
    subjects = {each.pk: each for each in run.subjects.all()}
    benchmarks = {each.pk: each for each in run.benchmarks.all()}
    figures = []
    for (subject_key, benchmark_key), its in by_cell.items():
        subject, benchmark = subjects[subject_key], benchmarks[benchmark_key]
        given = {each.sample: each.score for each in its}
        changed = [each for each in its if each.correct != each.grader]
        made_correct = sum(each.correct for each in changed)
        scores = scores_at(run, subject_key, benchmark_key)
        figures.append(
            {
                "index": subject.index,
                "benchmark_index": benchmark.index,
                "label": subject.label,
                "profile_id": benchmark.version.profile_id,
                "changed": len(changed),
                "made_correct": made_correct,
                "made_incorrect": len(changed) - made_correct,
                "confirmed": len(its) - len(changed),
                "grader": _headline(run, benchmark, [(position, score) for _, position, score in scores]),
                "reviewed": _headline(run, benchmark, [(position, given.get(key, score)) for key, position, score in scores]),
            }
        )
    return sorted(figures, key=lambda each: (each["index"], each["benchmark_index"]))


def _headline(run: Run, benchmark: RunBenchmark, cells: list[tuple[int, float]]) -> dict[str, Any]:
    """The score of graded cells, as a result has it: `runs.results` takes the same steps."""
    from runs.statistics.choosing import estimate_score
    from runs.statistics.means import Clusters, item_means

    attempts = run.attempts
    metric = ACCURACY if attempts == 1 else replace(ACCURACY, is_binary=False)
    first = benchmark.first_position
    positions, values = zip(*((position - first, score) for position, score in cells), strict=True) if cells else ((), ())
    scores = item_means(positions, values, benchmark.task_count, attempts)
    known = scores == scores
    _, labels = strata(with_task_list(benchmark))
    clusters = Clusters.of(labels).at(known) if labels else None
    estimate: Estimate | None = estimate_score(scores[known], metric, clusters)
    return metric_document(metric, estimate)
