"""Quoting: from a request to a frozen plan and its price. No model is called and no prompt is rendered; costs are one SUM."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils import timezone

from catalog.models import BenchmarkVersion, Task
from catalog.queries import manifest_of
from catalog.rates import plain_decimal, rates_document
from common.canonical import canonical_json, freeze, sha256_text
from common.errors import Conflict, Refused
from gateway.metering import Price
from runs import queries
from runs.bounding import ceiling_of, least_of, sizes_of
from runs.compatibility import check_compatible
from runs.enums import CoverageMode, SubjectKind
from runs.evidence import cost_evidence
from runs.models import Quote, Run
from runs.recordings import answers_of, recorded_warnings
from runs.requests import CoverageRequest, QuoteRequest
from runs.resolving import ResolvedSubject, check_quotable, resolve_subjects, resolve_version
from runs.sampling import Candidate, draw, task_list_sha256
from runs.statistics import smallest_difference
from workspaces.actors import Actor
from workspaces.models import Workspace

ASSUMED_DISAGREEMENT = 0.2
"""The share of tasks on which two models are assumed to differ before there is data (STATISTICS.md)."""
TRIES_A_CALL = 8


@dataclass(frozen=True, slots=True)
class Coverage:
    """The frozen task list: `ordinals` in working order, None for all tasks in their own order."""

    document: dict[str, Any]
    count: int
    ordinals: list[int] | None
    sha256: str


@dataclass(frozen=True, slots=True)
class Reuse:
    """Cells that a continuation takes from its source, and those it leaves to be worked: positions by subject index."""

    source: Run
    pending: list[list[int]]
    left_out: list[list[int]]
    """Cells of unknown outcome that nobody agreed to run again: neither taken nor worked."""
    document: dict[str, Any]


def build_quote(
    workspace: Workspace,
    *,
    actor: Actor,
    request: QuoteRequest,
    version: BenchmarkVersion | None = None,
    coverage: Coverage | None = None,
    reuse: Reuse | None = None,
) -> Quote:
    """The quote of a request, unsaved. `version`, `coverage` and `reuse` are given by a continuation, which keeps its source's tasks.

    Raises Refused with the codes of API.md.
    """
    if version is None:
        version = resolve_version(workspace, request)
    else:
        check_quotable(version)
    manifest = manifest_of(version)
    subjects = resolve_subjects(workspace, request, version)
    output_limit = request.max_output_tokens or version.max_output_tokens
    for subject in subjects:
        check_compatible(version, subject, output_limit=output_limit)
    if (
        any(subject.kind == SubjectKind.MANAGED for subject in subjects)
        and queries.empty_answers_today(workspace) >= settings.EMPTY_ANSWERS_UNCHARGED_A_DAY
    ):
        raise Conflict(
            "empty_answer_allowance",
            "Too many empty answers today were not charged for. Quote managed models again tomorrow (UTC), or use a connection.",
        )
    coverage = coverage or freeze_coverage(version, request.coverage)
    worked = [_ordinals(coverage, reuse.pending[index] if reuse else None) for index in range(len(subjects))]
    sizes = [sizes_of(version, ordinals, subject.price) for ordinals, subject in zip(worked, subjects, strict=True)]
    ceiling = sum(ceiling_of(size, subject.price, output_limit) for size, subject in zip(sizes, subjects, strict=True))
    minimum = max((least_of(size, subject.price, output_limit) for size, subject in zip(sizes, subjects, strict=True)), default=0)
    cap = request.cap_microusd
    if cap is not None and cap < minimum:
        raise Refused(
            "cap_below_minimum",
            f"The cap does not cover the worst case of a single task, {minimum} micro-USD. Raise the cap to at least that.",
            details={"minimum_cap_microusd": str(minimum)},
        )
    now = timezone.now()
    plan = _plan(
        workspace, request, version, manifest, subjects, coverage, output_limit, ceiling, minimum, reuse, [size.tasks for size in sizes]
    )
    plan_text, sha256 = freeze(plan)
    return Quote(
        workspace=workspace,
        created_by=actor.user,
        api_key=actor.api_key,
        name=request.name,
        request=canonical_json(request.document),
        plan=plan_text,
        sha256=sha256,
        terms=canonical_json(_terms(version, subjects, coverage, output_limit, request, reuse)),
        cap_microusd=cap,
        ceiling_microusd=ceiling,
        minimum_cap_microusd=minimum,
        price_version=sha256_text(canonical_json([_stated(subject.price) for subject in subjects]))[:16],
        retention_days=settings.SAMPLES_RETENTION_DAYS,
        source_run=reuse.source if reuse else None,
        created_at=now,
        expires_at=now + timedelta(seconds=settings.QUOTE_LIFETIME_SECONDS),
    )


def freeze_coverage(version: BenchmarkVersion, asked: CoverageRequest) -> Coverage:
    """The task list that a request means. Raises Refused `sample_too_large`, `task_not_found`."""
    population = version.task_count
    document: dict[str, Any] = {
        "mode": asked.mode.value,
        "tasks": population,
        "population": population,
        "seed": None,
        "stratified": False,
        "excluded": 0,
    }
    if asked.mode == CoverageMode.FULL:
        return Coverage(document, population, None, manifest_of(version)["tasks"]["sha256"])
    if asked.mode == CoverageMode.TASKS:
        found = dict(Task.objects.filter(version=version, task_id__in=asked.task_ids).values_list("task_id", "ordinal"))
        missing = [task_id for task_id in asked.task_ids if task_id not in found]
        if missing:
            raise Refused(
                "task_not_found",
                f"{version.profile_id} has no task {missing[0]!r}.",
                details={"missing": missing[:20], "missing_count": len(missing)},
            )
        document |= {"tasks": len(asked.task_ids)}
        return Coverage(document, len(asked.task_ids), [found[task_id] for task_id in asked.task_ids], task_list_sha256(asked.task_ids))
    if asked.sample_count > population:
        raise Refused(
            "sample_too_large",
            f"{version.profile_id} has {population:,} tasks; a sample of {asked.sample_count:,} is larger. "
            "Ask for fewer, or for full coverage.",
            details={"population": population},
        )  # fmt: skip
    rows = Task.objects.filter(version=version).order_by("ordinal").values_list("ordinal", "task_id", "group")
    candidates = [Candidate(*row) for row in rows]
    ordinals = draw(candidates, count=asked.sample_count, seed=asked.seed)
    document |= {"tasks": asked.sample_count, "seed": asked.seed, "stratified": version.has_groups}
    return Coverage(document, asked.sample_count, ordinals, task_list_sha256([candidates[ordinal].task_id for ordinal in ordinals]))


def _ordinals(coverage: Coverage, pending: Sequence[int] | None) -> Sequence[int] | None:
    """The tasks that one subject is to work; None for all."""
    if pending is None:
        return coverage.ordinals
    return pending if coverage.ordinals is None else [coverage.ordinals[position] for position in pending]


def _stated(price: Price) -> list[str]:
    """A price's key, rates and tiers as text, the same for the same price."""
    return [str(price.rate_id), *map(plain_decimal, (price.input_rate, price.cached_input_rate, price.output_rate, price.fee_percent))] + [
        ":".join([str(tier.above_input_tokens), *map(plain_decimal, (tier.input_rate, tier.cached_input_rate, tier.output_rate))])
        for tier in price.tiers
    ]


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


def _plan(
    workspace: Workspace,
    request: QuoteRequest,
    version: BenchmarkVersion,
    manifest: dict[str, Any],
    subjects: list[ResolvedSubject],
    coverage: Coverage,
    output_limit: int,
    ceiling: int,
    minimum: int,
    reuse: Reuse | None,
    asked: list[int],
) -> dict[str, Any]:
    benchmark = benchmark_document(version)
    fee = max((subject.price.fee_percent for subject in subjects), default=Decimal(0))
    answers = answers_of(subjects, coverage.ordinals)
    return {
        "benchmark": benchmark,
        "benchmarks": [benchmark],
        "coverage": coverage.document,
        "task_list_sha256": coverage.sha256,
        "subjects": [_subject_document(index, subject, output_limit, answers[index]) for index, subject in enumerate(subjects)],
        "total_tasks": coverage.count,
        "attempts_per_task": 1,
        "concurrency": request.concurrency,
        "pricing": {"platform_fee_percent": plain_decimal(fee), "minimum_cap_microusd": str(minimum), "ceiling_microusd": str(ceiling)},
        "resolution": {
            "smallest_difference": round(smallest_difference(coverage.count, ASSUMED_DISAGREEMENT), 4),
            "assumed_disagreement": ASSUMED_DISAGREEMENT,
        },
        "evidence": cost_evidence(workspace, version, subjects, asked),
        "delivery": {
            **manifest["delivery"],
            "output_limit": output_limit,
            "few_shot": manifest.get("few_shot", 0),
            "attempts": 1,
            "tries": f"Up to {TRIES_A_CALL} tries a call where the provider fails; only the try that answers is charged.",
        },
        "continuation": reuse.document if reuse else None,
        "warnings": [
            *_warnings(version, manifest, subjects, output_limit, coverage),
            *recorded_warnings(subjects, answers, coverage.count),
        ],
    }


def _subject_document(index: int, subject: ResolvedSubject, output_limit: int, answers: int | None) -> dict[str, Any]:
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
    version: BenchmarkVersion, manifest: dict[str, Any], subjects: list[ResolvedSubject], output_limit: int, coverage: Coverage
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
    if output_limit != version.max_output_tokens:
        found.append(
            (
                "output_limit_differs",
                f"Answers are cut at {output_limit:,} tokens instead of the version's {version.max_output_tokens:,}: results are not "
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
        delivery = manifest["delivery"]
        found.append(
            (
                "private_benchmark_delivery",
                f"The models receive: {_joined(delivery['receives'])} They never receive: {_joined(delivery['never_receives'])} Graded "
                f"by: {delivery['grader']}",
            )
        )
    if any(subject.kind == SubjectKind.BASELINE for subject in subjects):
        found.append(
            (
                "baseline_subject",
                "A baseline is no model: it answers without reading the question and shows the benchmark's floor. It reads the "
                "reference answers' distribution.",
            )
        )
    return [{"code": code, "message": message} for code, message in found]


def _joined(sentences: Sequence[str]) -> str:
    """Sentences as one."""
    return "; ".join(sentence.removesuffix(".") for sentence in sentences) + "."


def _terms(
    version: BenchmarkVersion,
    subjects: list[ResolvedSubject],
    coverage: Coverage,
    output_limit: int,
    request: QuoteRequest,
    reuse: Reuse | None,
) -> dict[str, Any]:
    """What starting needs beside the public plan. Rates and connections are named by public ID and revision, tasks by ordinal."""
    return {
        "schema": "evalrouter.terms.v1",
        "profile_id": version.profile_id,
        "version_sha256": version.sha256,
        "coverage": coverage.document,
        "ordinals": coverage.ordinals,
        "tasks": coverage.count,
        "task_list_sha256": coverage.sha256,
        "output_limit": output_limit,
        "concurrency": request.concurrency,
        "metadata": request.metadata,
        "pending": reuse.pending if reuse else None,
        "left_out": reuse.left_out if reuse else None,
        "subjects": [
            {
                "label": subject.label,
                "kind": subject.kind.value,
                "route_id": subject.route.route_id if subject.route else None,
                "rate_id": str(subject.rate.public_id) if subject.rate else None,
                "connection_id": str(subject.connection.public_id) if subject.connection else None,
                "connection_revision": subject.connection.revision if subject.connection else None,
                "baseline": subject.baseline,
                "seed": subject.seed,
                "recorded_model_id": str(subject.recorded.public_id) if subject.recorded else None,
                "reasoning": subject.reasoning,
                "fee_percent": plain_decimal(subject.price.fee_percent),
            }
            for subject in subjects
        ],
    }
