"""Which of a run's subjects are ahead of which, in the shape of the API's comparison. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from runs.results import ResultInputs, SubjectInputs, interval_document, number
from runs.statistics import (
    ACCURACY,
    ALPHA,
    Estimate,
    Metric,
    holm,
    holm_factors,
    letters,
    missing_bounds,
    more_items_needed,
    more_values_needed,
    rank_ranges,
)
from runs.statistics.choosing import Difference, estimate_difference, estimate_score, has_few_clusters
from runs.statistics.means import Clusters, Flags, Values, item_means
from runs.summarizing import Side, outlook, summarize

MOST_DROPPED = 0.05
"""Above this share of tasks that some compared subject did not finish, no winner is named."""

NOTHING_GRADED = "nothing_graded"
"""Why a subject that was not stopped is left out: pairing with it would leave no task."""

DROPPED = ("error", "inconclusive", "excluded", "missing")
"""Why a task is dropped. Where subjects have different reasons, the first of these is named."""


@dataclass(frozen=True, slots=True)
class ComparedSubject:
    """One subject's value of each planned task, by position: None or NaN where the task is not finished."""

    index: int
    label: str
    scores: Sequence[float | None] | Values
    charge_microusd: int = 0
    stopped: str = ""
    """The code it was stopped with: it is left out and listed."""
    external_charges: bool = False
    """What it cost is not known here: it is never called the cheapest."""
    reasons: Mapping[int, str] = field(default_factory=dict)
    """Why a position has no score, one of `DROPPED`; `missing` where nothing is said."""


@dataclass(frozen=True, slots=True)
class CompareInputs:
    """The subjects to compare on one benchmark version. `clusters` names those of each task by position; empty where there are none."""

    run_id: str
    profile_id: str
    subjects: Sequence[ComparedSubject]
    metric: Metric = ACCURACY
    clusters: Sequence[str] = ()
    attempts: int = 1
    seed: int = 0
    """Of the bootstrap."""
    population: int = 0
    """Tasks of the whole version; 0 where that is not known."""


def inputs_of(result: ResultInputs) -> CompareInputs:
    """What a result's inputs say for a comparison."""
    # Several attempts at a task are one value, their mean, and that is a grade between right and wrong.
    metric = result.metric if result.attempts == 1 else replace(result.metric, is_binary=False)
    subjects = [_compared(result, subject) for subject in result.subjects]
    profile_id = str(result.benchmark["profile_id"])
    return CompareInputs(result.run_id, profile_id, subjects, metric, result.clusters, result.attempts, result.seed, result.population)


def _compared(result: ResultInputs, subject: SubjectInputs) -> ComparedSubject:
    graded = subject.samples.graded()
    scores = item_means([position for position, _ in graded], [score for _, score in graded], result.task_count, result.attempts)
    reasons = dict.fromkeys(result.excluded, "excluded")
    for reason in ("inconclusive", "error"):
        reasons |= dict.fromkeys(subject.samples.positions(reason), reason)
    charge = subject.usage_microusd + subject.fee_microusd
    return ComparedSubject(subject.index, subject.label, scores, charge, subject.stopped, subject.external_charges, reasons)


@dataclass(frozen=True, slots=True)
class _Standing:
    """A compared subject with its score over the compared tasks."""

    subject: ComparedSubject
    values: Values
    estimate: Estimate

    @property
    def order(self) -> tuple[float, bool, int, int]:
        """Score, then cost, of which an unknown one comes last. Sums of the same values in another order are equal scores."""
        subject = self.subject
        return -round(self.estimate.value, 12), subject.external_charges, subject.charge_microusd, subject.index


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two places of the ranking, the better first."""

    a: int
    b: int
    difference: Difference
    p_holm: float
    holm_factor: int = 1

    @property
    def is_separable(self) -> bool:
        return self.p_holm < ALPHA

    @property
    def tasks_needed(self) -> int | None:
        """About how many more tasks would tell them apart at this difference; None where they are told apart, or do not differ."""
        difference, stderr = self.difference.estimate.value, self.difference.estimate.stderr
        if self.is_separable or not round(difference, 12):
            return None
        table, n = self.difference.table, self.difference.estimate.n
        if table and self.difference.p_method == "mcnemar_mid":
            return more_items_needed(n, difference, table.a_only + table.b_only, self.holm_factor) or None
        return (more_values_needed(n, difference, stderr, self.holm_factor) or None) if stderr else None


def compare(inputs: CompareInputs) -> dict[str, Any]:
    """The comparison of a run's subjects on the tasks that all compared ones finished."""
    excluded = [(subject, reason) for subject in inputs.subjects if (reason := _left_out(subject))]
    left_out = {subject.index for subject, _ in excluded}
    subjects = [subject for subject in inputs.subjects if subject.index not in left_out]
    scores = np.array([subject.scores for subject in subjects], dtype=np.float64)
    finished: Flags = np.isfinite(scores).all(axis=0) if subjects else np.zeros(0, dtype=bool)
    planned, compared = max((len(subject.scores) for subject in inputs.subjects), default=0), int(finished.sum())
    clusters = Clusters.of(inputs.clusters).at(finished) if inputs.clusters and compared else None

    standings = _standings(inputs, subjects, scores[:, finished], clusters) if compared else []
    pairs = _pairs(inputs, standings, clusters)
    ahead = [(pair.a, pair.b) for pair in pairs if pair.is_separable]
    is_ahead_of_all = len(standings) > 1 and all((0, place) in ahead for place in range(1, len(standings)))
    has_too_few = planned - compared > MOST_DROPPED * planned
    sides = [Side(standing.subject.index, standing.subject.label) for standing in standings]
    return {
        "run_id": inputs.run_id,
        "profile_id": inputs.profile_id,
        "metric": inputs.metric.key,
        "tasks_compared": compared,
        "tasks_planned": planned,
        "winner_named": is_ahead_of_all and not has_too_few,
        "bounds": _bounds(inputs.metric, subjects, scores) if has_too_few else None,
        "dropped": _dropped(subjects, scores, finished),
        "excluded": [{"subject_index": subject.index, "reason": reason} for subject, reason in excluded],
        "ranking": _ranking(standings, ahead),
        "pairs": [_pair_document(pair, standings) for pair in pairs],
        "notices": _notices(inputs, clusters),
        "outlook": None
        if has_too_few
        else outlook(sides, {(pair.a, pair.b): pair.tasks_needed for pair in pairs}, compared=compared, population=inputs.population),
        "summary": summarize(
            sides=sides,
            pairs={(pair.a, pair.b): (pair.difference, pair.is_separable) for pair in pairs},
            metric=inputs.metric,
            compared=compared,
            planned=planned,
            left_out=len(excluded),
            has_too_few=has_too_few,
        ),
    }


def _left_out(subject: ComparedSubject) -> str:
    """Why a subject is not compared; empty where it is."""
    return subject.stopped or ("" if np.isfinite(np.array(subject.scores, dtype=np.float64)).any() else NOTHING_GRADED)


def _standings(inputs: CompareInputs, subjects: Sequence[ComparedSubject], scores: Values, clusters: Clusters | None) -> list[_Standing]:
    standings = []
    for subject, values in zip(subjects, scores, strict=True):
        estimate = estimate_score(values, inputs.metric, clusters, inputs.seed)
        assert estimate is not None, "There are tasks to compare."
        standings.append(_Standing(subject, values, estimate))
    return sorted(standings, key=lambda standing: standing.order)


def _pairs(inputs: CompareInputs, standings: Sequence[_Standing], clusters: Clusters | None) -> list[_Pair]:
    places = list(combinations(range(len(standings)), 2))
    differences = [estimate_difference(standings[a].values, standings[b].values, inputs.metric, clusters, inputs.seed) for a, b in places]
    p_values = [difference.p_value for difference in differences]
    adjusted = zip(places, differences, holm(p_values), holm_factors(p_values), strict=True)
    return [_Pair(a, b, difference, p, factor) for (a, b), difference, p, factor in adjusted]


def _ranking(standings: Sequence[_Standing], ahead: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    scores = [standing.order[0] for standing in standings]
    cheapest = _cheapest_near_the_best(standings)
    ranges, groups = rank_ranges(len(standings), ahead), letters(len(standings), ahead)
    ranking = []
    for place, standing in enumerate(standings):
        rank = 1 + scores.index(scores[place])
        ranking.append(
            {
                "rank": rank,
                "rank_label": f"{rank}=" if scores.count(scores[place]) > 1 else str(rank),
                "rank_range": list(ranges[place]),
                "group": groups[place],
                "subject_index": standing.subject.index,
                "label": standing.subject.label,
                "score": number(standing.estimate.value),
                "stderr": number(standing.estimate.stderr),
                "interval": interval_document(standing.estimate.interval),
                "charge_microusd": str(standing.subject.charge_microusd),
                "cheapest_within_one_stderr": place == cheapest,
            }
        )
    return ranking


def _cheapest_near_the_best(standings: Sequence[_Standing]) -> int | None:
    """The place of the cheapest subject within one standard error of the best, the best itself among them; None where no cost is known."""
    if not standings:
        return None
    best = standings[0].estimate
    least = round(best.value - (best.stderr or 0.0), 12)
    near = [
        place
        for place, standing in enumerate(standings)
        if round(standing.estimate.value, 12) >= least and not standing.subject.external_charges
    ]
    return min(near, key=lambda place: standings[place].subject.charge_microusd, default=None)


def _pair_document(pair: _Pair, standings: Sequence[_Standing]) -> dict[str, Any]:
    difference, table = pair.difference, pair.difference.table
    return {
        "a": standings[pair.a].subject.index,
        "b": standings[pair.b].subject.index,
        "difference": number(difference.estimate.value),
        "stderr": number(difference.estimate.stderr),
        "interval": interval_document(difference.estimate.interval),
        "both": table.both if table else None,
        "a_only": table.a_only if table else None,
        "b_only": table.b_only if table else None,
        "neither": table.neither if table else None,
        "p_exact": probability(difference.p_exact),
        "p_mid": probability(difference.p_mid),
        "p_value": probability(difference.p_value),
        "p_method": difference.p_method,
        "p_holm": probability(pair.p_holm),
        "separable": pair.is_separable,
        "tasks_needed": pair.tasks_needed,
    }


def probability(p: float | None) -> float | None:
    """Ten significant digits: small ones are not rounded to 0."""
    return None if p is None else float(f"{p:.10g}")


def _dropped(subjects: Sequence[ComparedSubject], scores: Values, finished: Flags) -> list[dict[str, Any]]:
    """How many tasks some compared subject did not finish, each under one reason."""
    reasons: Counter[str] = Counter()
    unfinished = ~np.isfinite(scores)
    for position in np.flatnonzero(~finished).tolist():
        found = {subject.reasons.get(position, "missing") for subject, its in zip(subjects, unfinished, strict=True) if its[position]}
        reasons[min(found, key=DROPPED.index)] += 1
    return [{"reason": reason, "count": reasons[reason]} for reason in DROPPED if reasons[reason]]


def _bounds(metric: Metric, subjects: Sequence[ComparedSubject], scores: Values) -> list[dict[str, Any]] | None:
    """Where each score over all planned tasks could lie with the missing answers; None for metrics without a range."""
    if metric.low is None or metric.high is None:
        return None
    bounds = []
    for subject, values in zip(subjects, scores, strict=True):
        known = values[np.isfinite(values)]
        low, high = missing_bounds(float(known.sum()), known.size, values.size, metric.low, metric.high)
        bounds.append({"subject_index": subject.index, "low": number(low), "high": number(high)})
    return bounds


def _notices(inputs: CompareInputs, clusters: Clusters | None) -> list[str]:
    notices = {"few_clusters": has_few_clusters(clusters), "one_attempt": inputs.attempts == 1}
    return [code for code, is_true in notices.items() if is_true]
