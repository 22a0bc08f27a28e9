"""Which models of a result can be published, and why the others cannot. A leaderboard holds what anybody could check: managed models and
baselines, asked for every planned task.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import QuerySet

from catalog.models import Task
from catalog.queries import manifest_of
from common.canonical import canonical_json
from runs.enums import SampleStatus, SubjectKind
from runs.models import ResultVersion, Run, RunBenchmark, Sample, Subject
from runs.sampling import task_list_sha256
from runs.sharing.protocols import in_version_order, pack_scores, protocol_of
from runs.statistics.means import item_means

MOST_UNGRADED = 0.01
"""Of the planned answers: with more errors and undecided ones the entry would take its tasks from everybody's comparison."""

WORDS = {
    "own_endpoint": "An own endpoint: nobody else can ask it, so nobody can check.",
    "recorded_answers": "Recorded answers: nobody can check where they come from.",
    "stopped": "It was stopped before it had answered every task.",
    "unfinished": "Not every planned task was answered.",
    "too_many_errors": "More than 1 in 100 answers ended in an error or undecided.",
    "nothing_graded": "No answer could be graded.",
    "graded_again": "Only a result as it was first graded can be published.",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model of a result on one benchmark. `refusal` is a code of `WORDS`, empty where it can be published."""

    benchmark: RunBenchmark
    subject: Subject
    figures: Mapping[str, Any]
    """The subject's part of the result document."""
    refusal: str

    @property
    def key(self) -> str:
        """What forms name it by: the indexes of benchmark and model."""
        return f"{self.benchmark.index}-{self.subject.index}"

    @property
    def refusal_words(self) -> str:
        return WORDS.get(self.refusal, "")


def candidates_of(run: Run, result: ResultVersion) -> list[Candidate]:
    """Every model of the result on every benchmark, in the order of the result. Reads `benchmarks` and `subjects`."""
    document = orjson.loads(result.document)
    benchmarks = {each.index: each for each in run.benchmarks.all()}
    subjects = {each.index: each for each in run.subjects.all()}
    return [
        Candidate(benchmarks[part.get("benchmark_index", 0)], subjects[part["index"]], part, _refusal(part, document["grading"]))
        for part in document["subjects"]
    ]


def _refusal(part: Mapping[str, Any], grading: int) -> str:
    counts, kind = part["counts"], part.get("kind")
    if kind == SubjectKind.RECORDED:
        return "recorded_answers"
    if kind not in {SubjectKind.MANAGED, SubjectKind.BASELINE}:
        return "own_endpoint"
    if part.get("stopped"):
        return "stopped"
    if not counts["graded"]:
        return "nothing_graded"
    if counts["missing"] or counts["excluded"]:
        return "unfinished"
    if counts["errors"] + counts["inconclusive"] > MOST_UNGRADED * counts["planned"]:
        return "too_many_errors"
    return "" if grading == 1 else "graded_again"


def model_of(subject: Subject) -> str:
    """What makes two entries the same model: route and reasoning setting, or the baseline. Reads `route`."""
    if subject.route is None:
        return f"baseline:{subject.baseline}"
    setting = canonical_json(subject.reasoning) if subject.reasoning else ""
    return f"managed:{subject.route.route_id}{setting}"[:300]


def published_parts(candidate: Candidate, result: ResultVersion) -> dict[str, Any]:
    """Protocol, figures and scores of an entry, as they are copied from the frozen result and its samples."""
    benchmark = RunBenchmark.objects.select_related("version__benchmark").get(pk=candidate.benchmark.pk)  # with its ordinals
    version, ordinals, attempts = benchmark.version, benchmark.ordinals(), candidate.subject.run.attempts
    protocol = protocol_of(
        profile_id=version.profile_id,
        version_sha256=version.sha256,
        tasks=benchmark.task_count,
        population=version.task_count,
        task_list_sha256=_list_hash(benchmark, ordinals),
        output_limit=benchmark.output_limit,
        output_format=orjson.loads(result.document)["selection"]["output_format"],
        attempts=attempts,
        grading=1,
    )
    first = benchmark.first_position
    rows = list(_graded(candidate).values_list("position", "score"))
    scores = item_means([place - first for place, _ in rows], [score or 0.0 for _, score in rows], benchmark.task_count, attempts)
    return {
        "protocol": protocol,
        "figures": _figures(candidate),
        "scores": pack_scores(in_version_order(scores, ordinals)),
    }


def _graded(candidate: Candidate) -> QuerySet[Sample]:
    samples = Sample.objects.filter(run_benchmark=candidate.benchmark.pk, subject=candidate.subject.pk)
    return samples.filter(status=SampleStatus.GRADED, score__isnull=False).order_by("position")


def _list_hash(benchmark: RunBenchmark, ordinals: list[int]) -> str:
    """The hash of the tasks in the version's order: however a run came to the same tasks, its list is the same."""
    if benchmark.task_count == benchmark.version.task_count:
        return str(manifest_of(benchmark.version)["tasks"]["sha256"])
    wanted = set(ordinals)
    rows = Task.objects.filter(version=benchmark.version).order_by("ordinal").values_list("ordinal", "task_id")
    return task_list_sha256([task_id for ordinal, task_id in rows if ordinal in wanted])


def _figures(candidate: Candidate) -> dict[str, Any]:
    """What the leaderboard shows of the entry. Money is micro-USD as text, of all its answers; None for a baseline."""
    part = candidate.figures
    is_managed = candidate.subject.kind == SubjectKind.MANAGED
    charge = part.get("answers_charge_microusd") if is_managed else None
    return {
        "kind": str(candidate.subject.kind),
        "reasoning": candidate.subject.reasoning,
        "headline": part["headline"],
        "counts": part["counts"],
        "charge_microusd": charge,
    }
