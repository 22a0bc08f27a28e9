"""The public plan of a quote (API.md): what will be asked of whom, at what price, what it can show, and what there is to know before."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from catalog.models import BenchmarkVersion
from catalog.queries import manifest_of
from catalog.rates import plain_decimal, rates_document
from runs.enums import SubjectKind
from runs.evidence import cost_evidence
from runs.models import Run
from runs.recordings import answers_of, recorded_warnings
from runs.requests import QuoteRequest
from runs.resolving import ResolvedSubject
from runs.statistics import ASSUMED_DISAGREEMENT, smallest_difference
from workspaces.models import Workspace

TRIES_A_CALL = 8


@dataclass(frozen=True, slots=True)
class Coverage:
    """The frozen task list: `ordinals` in working order, None for all tasks in their own order."""

    document: dict[str, Any]
    count: int
    ordinals: list[int] | None
    sha256: str


@dataclass(frozen=True, slots=True)
class Part:
    """One benchmark of a run: its version, its tasks, and where their positions begin."""

    version: BenchmarkVersion
    coverage: Coverage
    output_limit: int
    first_position: int = 0

    @property
    def positions(self) -> range:
        return range(self.first_position, self.first_position + self.coverage.count)


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one benchmark: how many calls each subject is to be asked for, the most that all may cost and the dearest one, in micro-USD."""

    calls: list[int]
    ceiling: int
    minimum: int


@dataclass(frozen=True, slots=True)
class Reuse:
    """Cells that are taken from an earlier run, and those left to be worked, by subject index of the new run."""

    source: Run
    continues: bool
    """Whether the new run continues the source; else it is another one that shares answers with it."""
    pending: list[list[int]]
    left_out: list[list[int]]
    """Cells of unknown outcome that nobody agreed to run again: neither taken nor worked."""
    sources: list[int | None]
    """The index that each subject has in the source; None where it takes nothing from it."""
    document: dict[str, Any]


def benchmark_document(version: BenchmarkVersion) -> dict[str, Any]:
    """A version as quotes, runs and results name it."""
    return {
        "profile_id": version.profile_id,
        "slug": version.benchmark.slug,
        "version": version.number,
        "name": version.benchmark.name,
        "capability": version.capability,
        "private": version.benchmark.is_private,
    }


def summed_coverage(coverages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The coverage of all benchmarks as one: tasks add up."""
    first = coverages[0]
    if len(coverages) == 1:
        return first
    return {
        **first,
        "tasks": sum(each["tasks"] for each in coverages),
        "population": sum(each["population"] for each in coverages),
        "stratified": any(each["stratified"] for each in coverages),
        "excluded": sum(each["excluded"] for each in coverages),
    }


def plan_document(
    workspace: Workspace,
    request: QuoteRequest,
    parts: Sequence[Part],
    subjects: list[ResolvedSubject],
    costs: Sequence[Costs],
    reuse: Reuse | None,
) -> dict[str, Any]:
    """The plan. What belongs to one benchmark stands with it in `benchmarks`, and on top where there is only one."""
    several = len(parts) > 1
    fee = max((subject.price.fee_percent for subject in subjects), default=Decimal(0))
    tasks = sum(part.coverage.count for part in parts)
    answers = answers_of(subjects, parts[0].coverage.ordinals)
    benchmarks = [_part_document(workspace, request, part, subjects, each) for part, each in zip(parts, costs, strict=True)]
    first = benchmarks[0]
    return {
        "benchmark": None if several else benchmark_document(parts[0].version),
        "benchmarks": benchmarks,
        "coverage": summed_coverage([part.coverage.document for part in parts]),
        "task_list_sha256": None if several else first["task_list_sha256"],
        "subjects": [
            _subject_document(index, subject, None if several else first["output_limit"], answers[index])
            for index, subject in enumerate(subjects)
        ],
        "total_tasks": tasks,
        "attempts_per_task": request.attempts,
        "concurrency": request.concurrency,
        "weights": None if request.weights is None else list(request.weights),
        "pricing": {
            "platform_fee_percent": plain_decimal(fee),
            "minimum_cap_microusd": str(max(each.minimum for each in costs)),
            "ceiling_microusd": str(sum(each.ceiling for each in costs)),
        },
        "resolution": None if several else first["resolution"],
        "evidence": None if several else first["evidence"],
        "delivery": None if several else first["delivery"],
        "continuation": reuse.document if reuse and reuse.continues else None,
        "reuse": reuse.document if reuse and not reuse.continues else None,
        "warnings": _warnings(request, parts, subjects, reuse) + recorded_warnings(subjects, answers, tasks),
    }


def _part_document(
    workspace: Workspace, request: QuoteRequest, part: Part, subjects: Sequence[ResolvedSubject], costs: Costs
) -> dict[str, Any]:
    version, manifest = part.version, manifest_of(part.version)
    return {
        **benchmark_document(version),
        "coverage": part.coverage.document,
        "task_list_sha256": part.coverage.sha256,
        "output_limit": part.output_limit,
        "ceiling_microusd": str(costs.ceiling),
        "resolution": {
            "smallest_difference": round(smallest_difference(part.coverage.count, ASSUMED_DISAGREEMENT), 4),
            "assumed_disagreement": ASSUMED_DISAGREEMENT,
        },
        "evidence": cost_evidence(workspace, version, subjects, costs.calls),
        "delivery": {
            **manifest["delivery"],
            "output_limit": part.output_limit,
            "few_shot": manifest.get("few_shot", 0),
            "attempts": request.attempts,
            "tries": f"Up to {TRIES_A_CALL} tries a call where the provider fails; only the try that answers is charged.",
        },
    }


def _subject_document(index: int, subject: ResolvedSubject, output_limit: int | None, answers: int | None) -> dict[str, Any]:
    """`answers` is how many of the tasks a recorded model has an answer to; None for every other kind."""
    return {
        "index": index,
        "label": subject.label,
        "model": subject.reference() if answers is None else {**subject.reference(), "answers": answers},
        "external_charges": subject.kind == SubjectKind.CONNECTION,
        "pricing": rates_document(subject.rate),
        "reasoning": {
            "effort": subject.reasoning.get("effort"),
            "budget_tokens": subject.reasoning.get("budget_tokens"),
            "source": subject.reasoning_source,
        },
        "output_limit": output_limit,
        "cap_share_microusd": None,
    }


def _warnings(
    request: QuoteRequest, parts: Sequence[Part], subjects: Sequence[ResolvedSubject], reuse: Reuse | None
) -> list[dict[str, str]]:
    found = []
    external = [subject.label for subject in subjects if subject.kind == SubjectKind.CONNECTION]
    if external:
        found.append(
            (
                "external_charges",
                f"{', '.join(external)}: calls go to your own endpoint, whose provider may bill you. EvalRouter charges nothing for "
                f"them, and the cap does not limit that bill.",
            )
        )
    of_parts: dict[str, list[str]] = {}
    for part in parts:
        for code, message in _warnings_of(part):
            of_parts.setdefault(code, []).append(_named(part, message, parts))
    found += [(code, " ".join(messages)) for code, messages in of_parts.items()]
    if any(subject.kind == SubjectKind.BASELINE for subject in subjects):
        found.append(
            (
                "baseline_subject",
                "A baseline is no model: it answers without reading the question and shows the benchmark's floor. It reads the "
                "reference answers' distribution.",
            )
        )
    if reuse is not None and reuse.document.get("lower_limit") is not None:
        found.append(
            (
                "answers_at_lower_limit",
                f"Answers that the limit of {reuse.document['lower_limit']:,} tokens did not cut are kept; only those it cut are asked for "
                "again. A model that paces itself by its limit might have answered those otherwise too.",
            )
        )
    if reuse is not None and not reuse.continues and reuse.document["unknown_retry"]:
        found.append(
            (
                "possible_duplicate_provider_charge",
                f"{reuse.document['unknown_retry']:,} calls of the earlier run were on their way when it ended. They are made again, and "
                "an own endpoint's provider may bill both.",
            )
        )
    return [{"code": code, "message": message} for code, message in found]


def _named(part: Part, message: str, parts: Sequence[Part]) -> str:
    return f"{part.version.profile_id}: {message}" if len(parts) > 1 else message


def _warnings_of(part: Part) -> list[tuple[str, str]]:
    """What there is to know of one benchmark's part."""
    version, coverage = part.version, part.coverage
    found = []
    if part.output_limit != version.max_output_tokens:
        found.append(
            (
                "output_limit_differs",
                f"Answers are cut at {part.output_limit:,} tokens instead of the version's {version.max_output_tokens:,}: results are not "
                f"compared with runs at another limit.",
            )
        )
    if coverage.count < coverage.document["population"]:
        found.append(
            (
                "not_full_coverage",
                f"{coverage.count:,} of {coverage.document['population']:,} tasks: a result on a part is not the benchmark's full score.",
            )
        )
    if version.benchmark.is_private:
        delivery = manifest_of(version)["delivery"]
        found.append(
            (
                "private_benchmark_delivery",
                f"The models receive: {_joined(delivery['receives'])} They never receive: {_joined(delivery['never_receives'])} Graded "
                f"by: {delivery['grader']}",
            )
        )
    return found


def _joined(sentences: Sequence[str]) -> str:
    """Sentences as one."""
    return "; ".join(sentence.removesuffix(".") for sentence in sentences) + "."
