"""The figures of a finished run, in the shape of the API's results. Pure: finalizing reads the database and freezes what comes back."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, Self

from runs.statistics import ACCURACY, Estimate, Interval, Metric, missing_bounds, wilson

if TYPE_CHECKING:
    from runs.statistics.means import Clusters, Flags, Values

SAMPLE_COLUMNS = ("position", "status", "score", "error_code", "is_empty", "is_truncated", "is_unreadable", "latency_ms")
"""The columns of `Sample` that `Samples.of` takes, in its order."""

LATENCY_PERCENTS = (5, 10, 25, 50, 75, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class Samples:
    """One subject's samples as parallel columns, in any order. Columns, because a run may hold 100,000 of them a subject."""

    position: Sequence[int] = ()
    status: Sequence[str] = ()
    score: Sequence[float | None] = ()
    error_code: Sequence[str] = ()
    is_empty: Sequence[bool] = ()
    is_truncated: Sequence[bool] = ()
    is_unreadable: Sequence[bool] = ()
    latency_ms: Sequence[int] = ()

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Self:
        """The samples of rows of `SAMPLE_COLUMNS`, as `values_list(*SAMPLE_COLUMNS)` gives them."""
        return cls(*zip(*rows, strict=True))

    def graded(self) -> list[tuple[int, float]]:
        """Position and score of each graded sample."""
        return [
            (position, score)
            for position, status, score in zip(self.position, self.status, self.score, strict=True)
            if status == "graded" and score is not None
        ]

    def positions(self, status: str) -> list[int]:
        return [position for position, its in zip(self.position, self.status, strict=True) if its == status]


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums over a subject's samples."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    estimated_calls: int = 0


@dataclass(frozen=True, slots=True)
class SubjectInputs:
    """What a run keeps about one subject."""

    index: int
    label: str
    samples: Samples
    usage: Usage
    usage_microusd: int = 0
    fee_microusd: int = 0
    stopped: str = ""
    """The code it was stopped with; empty where it was not."""
    external_charges: bool = False
    """True for connections and recorded answers: what they cost is not known here, so they are never called the cheapest."""
    benchmark_index: int = 0
    kind: str = "managed"
    reused_microusd: int = 0
    """What answers that were taken over from a continued run were charged there."""


@dataclass(frozen=True, slots=True)
class ResultInputs:
    """A finished run on one of its benchmark versions. `groups` and `clusters` name those of each task by its place; empty where there are
    none. Places count the benchmark's own tasks from 0.
    """

    run_id: str
    version: int
    status: str
    benchmark: Mapping[str, Any]
    """As the API shows it, with its `profile_id`."""
    task_count: int
    """Planned tasks."""
    population: int
    """Tasks of the whole version."""
    subjects: Sequence[SubjectInputs]
    metric: Metric = ACCURACY
    attempts: int = 1
    groups: Sequence[str] = ()
    clusters: Sequence[str] = ()
    excluded: Collection[int] = ()
    """Positions that were planned and then left out by agreement."""
    output_limit: int | None = None
    output_format: str = "default"
    grading: int = 1
    billing_state: str = "settled"
    notices: Sequence[str] = ()
    seed: int = 0
    """Of the bootstrap."""


def number(value: float | None) -> float | None:
    """A share, score or difference as it is frozen: ten decimals, so that the same figures give the same text."""
    return None if value is None else round(float(value), 10) + 0.0  # + 0.0 turns -0.0 into 0.0


def interval_document(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    return {"low": number(interval.low), "high": number(interval.high), "level": interval.level, "method": interval.method}


def metric_document(metric: Metric, estimate: Estimate | None) -> dict[str, Any]:
    """A headline or one of the metrics. Without graded tasks its value is null, never 0."""
    return {
        "metric": metric.key,
        "name": metric.name,
        "value": number(estimate.value) if estimate else None,
        "n": estimate.n if estimate else 0,
        "stderr": number(estimate.stderr) if estimate else None,
        "interval": interval_document(estimate.interval) if estimate else None,
    }


def running_headline(correct: int, graded: int, metric: Metric = ACCURACY) -> dict[str, Any]:
    """The headline so far of a right-or-wrong metric, from its counters alone: cheap enough for a page that polls."""
    if not graded:
        return metric_document(metric, None)
    share = correct / graded
    stderr = sqrt(share * (1 - share) / (graded - 1)) if graded > 1 else None
    return metric_document(metric, Estimate(share, graded, stderr, wilson(correct, graded)))


def build_results(parts: Sequence[ResultInputs], weights: Sequence[float] | None = None) -> dict[str, Any]:
    """The result of a run on one or several benchmarks, everything but its `sha256`: each model has a figure for each of them.

    There is a composite score only where weights were stated.
    """
    documents = [build_result(part) for part in parts]
    first = documents[0]
    if len(documents) == 1:
        return first
    subjects = [subject for document in documents for subject in document["subjects"]]
    usage = sum(int(document["billing"]["usage_microusd"]) for document in documents)
    fees = sum(int(document["billing"]["platform_fee_microusd"]) for document in documents)
    coverages = [document["coverage"] for document in documents]
    return {
        **first,
        "benchmark": None,
        "benchmarks": [each for document in documents for each in document["benchmarks"]],
        "coverage": {
            **{key: sum(coverage[key] for coverage in coverages) for key in ("planned", "graded", "missing", "excluded")},
            "full": all(coverage["full"] for coverage in coverages),
        },
        "subjects": sorted(subjects, key=lambda subject: (subject["benchmark_index"], subject["index"])),
        "composite": composite_document(documents, weights) if weights else None,
        "billing": {
            **first["billing"],
            "usage_microusd": str(usage),
            "platform_fee_microusd": str(fees),
            "total_microusd": str(usage + fees),
        },
        "notices": list(dict.fromkeys(notice for document in documents for notice in document["notices"])),
    }


def composite_document(documents: Sequence[Mapping[str, Any]], weights: Sequence[float]) -> dict[str, Any]:
    """The weighted mean of the benchmarks' scores for each model that has all of them, the best first, with its interval.

    The benchmarks' tasks are different ones, so their errors are taken as independent.
    """
    from runs.statistics.composite import weighted

    by_subject: dict[int, list[Mapping[str, Any]]] = {}
    for document in documents:
        for subject in document["subjects"]:
            if subject["headline"]["value"] is not None and not subject["stopped"]:
                by_subject.setdefault(subject["index"], []).append(subject)
    rows = []
    for index, subjects in by_subject.items():
        if len(subjects) < len(documents):
            continue
        estimate = weighted([subject["headline"] for subject in subjects], weights)
        rows.append(
            {
                "index": index,
                "label": subjects[0]["label"],
                "value": number(estimate.value),
                "stderr": number(estimate.stderr),
                "interval": interval_document(estimate.interval),
            }
        )
    total = sum(weights)
    return {
        "weights": [
            {"profile_id": document["benchmark"]["profile_id"], "weight": weight, "share": number(weight / total)}
            for document, weight in zip(documents, weights, strict=True)
        ],
        "subjects": sorted(rows, key=lambda row: (-row["value"], row["index"])),
    }


def build_result(inputs: ResultInputs) -> dict[str, Any]:
    """The result of one benchmark, everything but its `sha256`."""
    from runs.statistics.means import Clusters  # numpy, which only those who build results need

    clusters = Clusters.of(inputs.clusters) if inputs.clusters else None
    subjects = [_Figures(inputs, subject, clusters) for subject in inputs.subjects]
    notices = [*inputs.notices]
    if any(figures.has_few_clusters() for figures in subjects):
        notices.append("few_clusters")
    if inputs.attempts == 1:
        notices.append("one_attempt")
    usage = sum(subject.usage_microusd for subject in inputs.subjects)
    fees = sum(subject.fee_microusd for subject in inputs.subjects)
    coverage = _coverage(inputs, [figures.is_finished for figures in subjects])
    return {
        "run_id": inputs.run_id,
        "version": inputs.version,
        "status": inputs.status,
        "benchmark": dict(inputs.benchmark),
        "benchmarks": [{**inputs.benchmark, "output_limit": inputs.output_limit, "coverage": coverage}],
        "selection": {"output_format": inputs.output_format},
        "grading": inputs.grading,
        "attempts_per_task": inputs.attempts,
        "coverage": coverage,
        "subjects": [figures.document() for figures in subjects],
        "composite": None,
        "billing": {
            "state": inputs.billing_state,
            "usage_microusd": str(usage),
            "platform_fee_microusd": str(fees),
            "total_microusd": str(usage + fees),
        },
        "notices": list(dict.fromkeys(notices)),
    }


def _coverage(inputs: ResultInputs, finished: Sequence["Flags"]) -> dict[str, Any]:
    """In tasks, each of which is graded once every subject has finished it."""
    import numpy as np

    by_all = np.logical_and.reduce(finished)
    graded, excluded = int(by_all.sum()), sum(not by_all[position] for position in set(inputs.excluded))
    return {
        "planned": inputs.task_count,
        "graded": graded,
        "missing": inputs.task_count - graded - excluded,
        "excluded": excluded,
        "full": graded == inputs.task_count == inputs.population,
    }


class _Figures:
    """One subject's part of a result."""

    def __init__(self, inputs: ResultInputs, subject: SubjectInputs, clusters: "Clusters | None") -> None:
        self.inputs, self.subject, self.samples = inputs, subject, subject.samples
        self.graded = subject.samples.graded()
        self.errors = subject.samples.positions("error")
        self.clusters = clusters
        # Several attempts at a task are one value, their mean, and that is a grade between right and wrong.
        self.metric = inputs.metric if inputs.attempts == 1 else replace(inputs.metric, is_binary=False)
        self.scores = self._by_task(self.graded)
        self.is_finished: Flags = self.scores == self.scores  # NaN is not

    def _by_task(self, cells: Sequence[tuple[int, float]]) -> "Values":
        from runs.statistics.means import item_means

        positions, values = zip(*cells, strict=True) if cells else ((), ())
        return item_means(positions, values, self.inputs.task_count, self.inputs.attempts)

    def has_few_clusters(self) -> bool:
        from runs.statistics.choosing import has_few_clusters

        return self.clusters is not None and has_few_clusters(self.clusters.at(self.is_finished))

    def _estimate(self, scores: "Values", positions: Sequence[int] | None = None) -> Estimate | None:
        """Of the tasks that have a score, of all or of those at `positions`."""
        from runs.statistics.choosing import estimate_score

        clusters = self.clusters
        if positions is not None:
            scores, clusters = scores[positions], clusters and clusters.at(positions)
        known = scores == scores
        return estimate_score(scores[known], self.metric, clusters and clusters.at(known), self.inputs.seed)

    def document(self) -> dict[str, Any]:
        subject = self.subject
        estimate = self._estimate(self.scores)
        headline = metric_document(self.metric, estimate)
        return {
            "index": subject.index,
            "label": subject.label,
            "kind": subject.kind,
            "benchmark_index": subject.benchmark_index,
            "stopped": subject.stopped or None,
            "headline": headline,
            "metrics": [headline, *self._of_attempts(), *self._errors_as_wrong()],
            "groups": self._groups(),
            "counts": self._counts(),
            "bounds": self._bounds(estimate),
            "error_codes": self._error_codes(),
            "usage": {
                "input_tokens": subject.usage.input_tokens,
                "cached_input_tokens": subject.usage.cached_input_tokens,
                "output_tokens": subject.usage.output_tokens,
                "reasoning_tokens": subject.usage.reasoning_tokens,
                "estimated_calls": subject.usage.estimated_calls,
            },
            "latency_ms": self._latency(),
            "charge_microusd": str(subject.usage_microusd + subject.fee_microusd),
            "answers_charge_microusd": self._answers_charge(),
        }

    def _answers_charge(self) -> str | None:
        """What all of its answers cost, those taken over from a continued run too; None where a provider bills them elsewhere."""
        subject = self.subject
        return None if subject.external_charges else str(subject.usage_microusd + subject.fee_microusd + subject.reused_microusd)

    def _of_attempts(self) -> list[dict[str, Any]]:
        """Of several attempts at right-or-wrong tasks: that one of k is right, and that all of k are, over the finished tasks."""
        attempts = self.inputs.attempts
        if attempts == 1 or not self.inputs.metric.is_binary or not self.is_finished.any():
            return []
        from runs.statistics.attempts import pass_at_k, pass_hat_k

        right = [round(float(score) * attempts) for score in self.scores[self.is_finished]]
        clusters, seed = self.clusters and self.clusters.at(self.is_finished), self.inputs.seed
        tries = sorted({k for k in (2, 4, 8, 16) if k < attempts} | {attempts})
        named = [(f"pass@{k}", f"Right in at least one of {k} attempts", pass_at_k(right, attempts, k, clusters, seed)) for k in tries]
        named += [(f"pass^{k}", f"Right in all of {k} attempts", pass_hat_k(right, attempts, k, clusters, seed)) for k in tries]
        return [metric_document(replace(self.metric, key=key, name=name), estimate) for key, name, estimate in named]

    def _errors_as_wrong(self) -> list[dict[str, Any]]:
        """The second figure, under its own name: an error is missing, not wrong, but some ask what if it were."""
        if not self.errors or self.metric.low is None:
            return []
        scores = self._by_task([*self.graded, *((position, self.metric.low) for position in self.errors)])
        metric = replace(self.metric, key=f"{self.metric.key}_errors_wrong", name=f"{self.metric.name}, errors counted as wrong")
        return [metric_document(metric, self._estimate(scores))]

    def _groups(self) -> list[dict[str, Any]]:
        members: dict[str, list[int]] = {}
        for position, group in enumerate(self.inputs.groups):
            members.setdefault(group, []).append(position)
        documents = []
        for group, positions in sorted(members.items()):
            estimate = self._estimate(self.scores, positions)
            documents.append(
                {
                    "group": group,
                    "planned": len(positions),
                    "n": estimate.n if estimate else 0,
                    "value": number(estimate.value) if estimate else None,
                    "interval": interval_document(estimate.interval) if estimate else None,
                }
            )
        return documents

    def _counts(self) -> dict[str, int | None]:
        samples = self.samples
        planned, graded, errors = self.inputs.task_count * self.inputs.attempts, len(self.graded), len(self.errors)
        inconclusive = len(samples.position) - graded - errors
        excluded = len(set(self.inputs.excluded).difference(samples.position)) * self.inputs.attempts
        correct = sum(score == 1 for _, score in self.graded) if self.inputs.metric.is_binary else None

        def flagged(flags: Sequence[bool]) -> int:
            return sum(flag for flag, status in zip(flags, samples.status, strict=True) if status == "graded")

        return {
            "planned": planned,
            "graded": graded,
            "correct": correct,
            "incorrect": None if correct is None else graded - correct,
            "errors": errors,
            "inconclusive": inconclusive,
            "missing": planned - len(samples.position) - excluded,
            "excluded": excluded,
            "truncated": flagged(samples.is_truncated),
            "unreadable": flagged(samples.is_unreadable),
            "empty": flagged(samples.is_empty),
        }

    def _bounds(self, estimate: Estimate | None) -> dict[str, Any] | None:
        """Where the score could lie with the missing answers, if that is wider than one point or than the interval."""
        least, most = self.metric.low, self.metric.high
        planned = self.inputs.task_count * self.inputs.attempts
        if least is None or most is None or not planned:
            return None
        low, high = missing_bounds(sum(score for _, score in self.graded), len(self.graded), planned, least, most)
        interval = estimate.interval if estimate else None
        widest = min((most - least) / 100, interval.high - interval.low if interval else 0.0)
        return {"low": number(low), "high": number(high)} if round(high - low, 12) > widest else None

    def _error_codes(self) -> list[dict[str, Any]]:
        """Most frequent first."""
        codes = Counter(
            code or "unclassified" for code, status in zip(self.samples.error_code, self.samples.status, strict=True) if status == "error"
        )
        return [{"code": code, "count": count} for code, count in sorted(codes.items(), key=lambda item: (-item[1], item[0]))]

    def _latency(self) -> dict[str, Any]:
        """Of graded answers: the least latency that half of them, and 19 of 20, do not exceed, and more such quantiles for drawing.

        None for recorded answers: how long they once took is not known.
        """
        if self.subject.kind == "recorded":
            return {"p50": None, "p95": None, "quantiles": None}
        latencies = sorted(ms for ms, status in zip(self.samples.latency_ms, self.samples.status, strict=True) if status == "graded")
        if not latencies:
            return {"p50": None, "p95": None, "quantiles": None}
        # In whole percents: ceil(0.95 · 100) of floats is 95 or 96, as the bits fall.
        quantiles = {f"p{percent}": latencies[-(-percent * len(latencies) // 100) - 1] for percent in LATENCY_PERCENTS}
        return {"p50": quantiles["p50"], "p95": quantiles["p95"], "quantiles": quantiles}
