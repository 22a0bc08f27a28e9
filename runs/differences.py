"""How a run differs from an earlier one: each model on each benchmark against what it did before, on the tasks that both runs finished.

Two runs of one version have its prompts, its grader and its tasks. Where the token limit or the output format differs, they are shown
side by side and nothing is subtracted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runs.comparing import probability
from runs.comparison import queries as comparisons
from runs.comparison.earlier import Earlier, earlier_of
from runs.comparison.verdicts import Verdicts
from runs.documents import instant, result_document
from runs.models import Run, RunBenchmark, Subject
from runs.results import interval_document, number
from runs.statistics import ACCURACY, ALPHA, holm
from runs.statistics.choosing import Difference, estimate_difference
from runs.statistics.means import Clusters
from runs.strata import strata

type Places = NDArray[np.intp]
type Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """One model's tasks that both runs finished. `now` and `then` are positions in each run's list, `change` is now less then."""

    now: Places
    then: Places
    change: NDArray[np.float64]
    difference: Difference | None
    """None without a common task."""

    def flipped(self, direction: str) -> Places:
        """Which of the tasks went `to_wrong`, `to_right` or, with `any`, either; of several attempts those right less or more often."""
        is_flipped = {"to_wrong": self.change < 0, "to_right": self.change > 0, "any": self.change != 0}[direction]
        return np.flatnonzero(is_flipped)


@dataclass(frozen=True, slots=True, eq=False)
class ModelDifference:
    """One model on one benchmark, now and then."""

    benchmark: RunBenchmark
    subject: Subject
    earlier: Earlier
    now: Document
    """The result's subject, as the API shows it."""
    before: Document
    result_version: int
    unlike: tuple[str, ...]
    """Why nothing is subtracted; empty where something is."""
    same_tasks: bool
    """Whether both runs were given the same list of tasks."""
    paired: Paired | None = field(repr=False)
    """None where they are unlike."""

    @property
    def p_value(self) -> float:
        """Of the difference; 1 where there is none."""
        return self.paired.difference.p_value if self.paired and self.paired.difference else 1.0


def differences(run: Run, document: Document, *, against: Run | None = None) -> list[ModelDifference]:
    """A difference for each model and benchmark of the run that an earlier run has: the last completed one, or `against`.

    `document` is the run's result. A constant number of queries, and one for the samples of each run that is met the first time.
    """
    found = []
    for benchmark in run.benchmarks.all():
        earlier = earlier_of(run, benchmark, against=against)
        if not earlier:
            continue
        now, clusters = comparisons.verdicts_of(run, benchmark), strata(benchmark)[1]
        verdicts: dict[int, Verdicts] = {}
        for subject in run.subjects.all():
            each = earlier.get(subject.index)
            if each is None:
                continue
            if each.run.pk not in verdicts:
                verdicts[each.run.pk] = comparisons.verdicts_of(each.run, each.benchmark)
            unlike = _unlike(run, benchmark, each)
            before = result_document(each.result)
            pair = None if unlike else _paired(benchmark, subject, now, each, verdicts[each.run.pk], clusters, _is_once(run, each.run))
            found.append(
                ModelDifference(
                    benchmark=benchmark,
                    subject=subject,
                    earlier=each,
                    now=_subject_of(document, subject.index, benchmark.index),
                    before=_subject_of(before, each.subject.index, each.benchmark.index),
                    result_version=each.result.number,
                    unlike=unlike,
                    same_tasks=benchmark.task_list_sha256 == each.benchmark.task_list_sha256,
                    paired=pair,
                )
            )
    return found


def differences_to_previous(run: Run, document: Document) -> list[dict[str, Any]]:
    """One entry for each model and benchmark of the result that has a completed run before this one; empty where none has."""
    return difference_documents(differences(run, document))


def difference_documents(found: Sequence[ModelDifference]) -> list[dict[str, Any]]:
    """The entries of the API, their p-values adjusted for being that many."""
    known = [place for place, each in enumerate(found) if each.paired and each.paired.difference]
    adjusted = dict(zip(known, holm([found[place].p_value for place in known]), strict=True))
    return [_document(each, adjusted.get(place)) for place, each in enumerate(found)]


def _document(each: ModelDifference, p_holm: float | None) -> dict[str, Any]:
    """The difference is over the tasks that both runs finished: where they had the same tasks, over those."""
    difference = each.paired.difference if each.paired else None
    estimate = difference.estimate if difference else None
    return {
        "subject_index": each.subject.index,
        "benchmark_index": each.benchmark.index,
        "label": each.subject.label,
        "run_id": str(each.earlier.run.public_id),
        "version": each.result_version,
        "ended_at": instant(each.earlier.run.ended_at),
        "headline": each.before.get("headline"),
        "same_tasks": each.same_tasks,
        "unlike": list(each.unlike),
        "tasks_compared": estimate.n if estimate else 0,
        "difference": number(estimate.value) if estimate else None,
        "interval": interval_document(estimate.interval) if estimate else None,
        "p_value": probability(difference.p_value) if difference else None,
        "p_method": difference.p_method if difference else None,
        "p_holm": probability(p_holm),
        "separable": p_holm < ALPHA if p_holm is not None else None,
        "flips": {name: int(each.paired.flipped(name).size) for name in ("to_wrong", "to_right")} if each.paired else None,
    }


def _subject_of(document: Document, index: int, benchmark_index: int) -> Document:
    found: Document = next(
        each for each in document["subjects"] if (each["index"], each.get("benchmark_index", 0)) == (index, benchmark_index)
    )
    return found


def _unlike(run: Run, benchmark: RunBenchmark, earlier: Earlier) -> tuple[str, ...]:
    """What makes two runs of one version unlike."""
    differs = {
        "output_limit_differs": benchmark.output_limit != earlier.benchmark.output_limit,
        "output_format_differs": _output_format(run) != _output_format(earlier.run),
    }
    return tuple(reason for reason, is_so in differs.items() if is_so)


def _output_format(run: Run) -> str:
    selection = run.quote.request_document.get("selection") or {}
    return str(selection.get("output_format") or "default")


def _is_once(*runs: Run) -> bool:
    """Whether each run asked each task once, so that a value is right or wrong."""
    return all(run.attempts == 1 for run in runs)


def _paired(
    benchmark: RunBenchmark, subject: Subject, now: Verdicts, earlier: Earlier, then: Verdicts, clusters: list[str], is_once: bool
) -> Paired:
    _, here, there = np.intersect1d(
        np.asarray(benchmark.ordinals()), np.asarray(earlier.benchmark.ordinals()), assume_unique=True, return_indices=True
    )
    order = np.argsort(here)
    here, there = here[order], there[order]
    a = now.row(subject.index)[here].astype(np.float64)
    b = then.row(earlier.subject.index)[there].astype(np.float64)
    finished = np.isfinite(a) & np.isfinite(b)
    a, b, here, there = a[finished], b[finished], here[finished], there[finished]
    difference = None
    if a.size:
        metric = ACCURACY if is_once else replace(ACCURACY, is_binary=False)
        difference = estimate_difference(a, b, metric, Clusters.of([clusters[place] for place in here]) if clusters else None)
    first, first_then = (each.first_position for each in (benchmark, earlier.benchmark))
    return Paired(here + first, there + first_then, a - b, difference)
