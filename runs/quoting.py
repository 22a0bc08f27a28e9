"""Quoting: from a request to a frozen plan and its price. No model is called and no prompt is rendered; costs are sums over sizes."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from catalog.models import BenchmarkVersion, Task
from catalog.queries import manifest_of
from catalog.rates import plain_decimal
from common.canonical import canonical_json, freeze, sha256_text
from common.errors import Conflict, Refused
from gateway.metering import Price
from runs import queries
from runs.bounding import PromptSizes, ceiling_of, combined, least_of, sizes_of
from runs.compatibility import check_compatible
from runs.enums import CoverageMode, SubjectKind
from runs.models import Quote
from runs.plans import Costs, Coverage, Part, Reuse, plan_document
from runs.requests import CoverageRequest, QuoteRequest
from runs.resolving import ResolvedSubject, check_quotable, resolve_subjects, resolve_versions
from runs.reusing import plan_reuse_of
from runs.sampling import Candidate, draw, task_list_sha256
from workspaces.actors import Actor
from workspaces.models import Workspace

TERMS = "evalrouter.terms.v2"
"""The schema of what starting reads."""


def build_quote(
    workspace: Workspace, *, actor: Actor, request: QuoteRequest, parts: Sequence[Part] | None = None, reuse: Reuse | None = None
) -> Quote:
    """The quote of a request, unsaved. `parts` and `reuse` are given by a continuation, which keeps its source's tasks.

    Raises Refused with the codes of API.md.
    """
    if parts is None:
        parts = _parts(resolve_versions(workspace, request), request)
    else:
        for part in parts:
            check_quotable(part.version)
    subjects = resolve_subjects(workspace, request, parts[0].version)
    for part in parts:
        for subject in subjects:
            check_compatible(part.version, subject, output_limit=part.output_limit, attempts=request.attempts)
    _check_allowance(workspace, subjects)
    if request.reuse_from is not None:
        reuse = plan_reuse_of(workspace, request.reuse_from, parts, subjects, request.attempts)
    costs = [
        _costs(part, [_worked(part, request.attempts, reuse, index) for index in range(len(subjects))], subjects, request.attempts)
        for part in parts
    ]
    ceiling, minimum = sum(each.ceiling for each in costs), max(each.minimum for each in costs)
    cap = request.cap_microusd
    if cap is not None and cap < minimum:
        raise Refused(
            "cap_below_minimum",
            f"The cap does not cover the worst case of a single task, {minimum} micro-USD. Raise the cap to at least that.",
            details={"minimum_cap_microusd": str(minimum)},
        )
    now = timezone.now()
    plan_text, sha256 = freeze(plan_document(workspace, request, parts, subjects, costs, reuse))
    return Quote(
        workspace=workspace,
        created_by=actor.user,
        api_key=actor.api_key,
        name=request.name,
        request=canonical_json(request.document),
        plan=plan_text,
        sha256=sha256,
        terms=canonical_json(_terms(parts, subjects, request, reuse)),
        cap_microusd=cap,
        ceiling_microusd=ceiling,
        minimum_cap_microusd=minimum,
        price_version=sha256_text(canonical_json([_stated(subject.price) for subject in subjects]))[:16],
        retention_days=settings.SAMPLES_RETENTION_DAYS,
        source_run=reuse.source if reuse and reuse.continues else None,
        reused_run=reuse.source if reuse and not reuse.continues else None,
        created_at=now,
        expires_at=now + timedelta(seconds=settings.QUOTE_LIFETIME_SECONDS),
    )


def _check_allowance(workspace: Workspace, subjects: Sequence[ResolvedSubject]) -> None:
    if (
        any(subject.kind == SubjectKind.MANAGED for subject in subjects)
        and queries.empty_answers_today(workspace) >= settings.EMPTY_ANSWERS_UNCHARGED_A_DAY
    ):
        raise Conflict(
            "empty_answer_allowance",
            "Too many empty answers today were not charged for. Quote managed models again tomorrow (UTC), or use a connection.",
        )


def _parts(versions: Sequence[BenchmarkVersion], request: QuoteRequest) -> list[Part]:
    parts: list[Part] = []
    for version in versions:
        first = parts[-1].first_position + parts[-1].coverage.count if parts else 0
        parts.append(
            Part(version, freeze_coverage(version, request.coverage), request.max_output_tokens or version.max_output_tokens, first)
        )
    return parts


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
            details={"population": population, "profile_id": version.profile_id},
        )  # fmt: skip
    rows = Task.objects.filter(version=version).order_by("ordinal").values_list("ordinal", "task_id", "group")
    candidates = [Candidate(*row) for row in rows]
    ordinals = draw(candidates, count=asked.sample_count, seed=asked.seed)
    document |= {"tasks": asked.sample_count, "seed": asked.seed, "stratified": version.has_groups}
    return Coverage(document, asked.sample_count, ordinals, task_list_sha256([candidates[ordinal].task_id for ordinal in ordinals]))


def _worked(part: Part, attempts: int, reuse: Reuse | None, index: int) -> list[list[int]] | None:
    """The task ordinals that a subject is to be asked at each of its attempts; None for all tasks at all of them."""
    if reuse is None:
        return None
    asked: list[list[int]] = [[] for _ in range(attempts)]
    for cell in reuse.pending[index]:
        position, attempt = divmod(cell, attempts)
        if position in part.positions:
            place = position - part.first_position
            asked[attempt].append(place if part.coverage.ordinals is None else part.coverage.ordinals[place])
    return asked


def _costs(part: Part, worked: Sequence[list[list[int]] | None], subjects: Sequence[ResolvedSubject], attempts: int) -> Costs:
    """What a benchmark may cost: for each subject its attempts' sizes, whose sum and largest one decide."""
    sizes: list[PromptSizes] = []
    for asked, subject in zip(worked, subjects, strict=True):
        if asked is None:
            sizes.append(combined([sizes_of(part.version, part.coverage.ordinals, subject.price)] * attempts))
        else:
            sizes.append(combined([sizes_of(part.version, ordinals, subject.price) for ordinals in asked]))
    priced = list(zip(sizes, subjects, strict=True))
    return Costs(
        calls=[size.tasks for size in sizes],
        ceiling=sum(ceiling_of(size, subject.price, part.output_limit) for size, subject in priced),
        minimum=max((least_of(size, subject.price, part.output_limit) for size, subject in priced), default=0),
    )


def _stated(price: Price) -> list[str]:
    """A price's key, rates and tiers as text, the same for the same price."""
    return [str(price.rate_id), *map(plain_decimal, (price.input_rate, price.cached_input_rate, price.output_rate, price.fee_percent))] + [
        ":".join([str(tier.above_input_tokens), *map(plain_decimal, (tier.input_rate, tier.cached_input_rate, tier.output_rate))])
        for tier in price.tiers
    ]


def _terms(parts: Sequence[Part], subjects: list[ResolvedSubject], request: QuoteRequest, reuse: Reuse | None) -> dict[str, Any]:
    """What starting needs beside the public plan. Rates and connections are named by public ID and revision, tasks by ordinal."""
    return {
        "schema": TERMS,
        "benchmarks": [
            {
                "profile_id": part.version.profile_id,
                "version_sha256": part.version.sha256,
                "coverage": part.coverage.document,
                "ordinals": part.coverage.ordinals,
                "tasks": part.coverage.count,
                "task_list_sha256": part.coverage.sha256,
                "output_limit": part.output_limit,
                "first_position": part.first_position,
            }
            for part in parts
        ],
        "attempts": request.attempts,
        "weights": request.weights,
        "concurrency": request.concurrency,
        "metadata": request.metadata,
        "reuse": {"pending": reuse.pending, "left_out": reuse.left_out, "sources": reuse.sources} if reuse else None,
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
