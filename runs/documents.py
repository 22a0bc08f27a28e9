"""Runs and quotes as the API shows them, in the shapes of API.md. Pages read the same documents."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.utils import timezone

from billing import queries as billing
from billing.models import Budget
from catalog.enums import ExportPolicy
from catalog.graders import compile_grader
from catalog.models import BenchmarkVersion
from catalog.queries import manifest_of
from catalog.rendering import render_messages
from gateway.models import Call
from runs import queries
from runs.enums import TERMINAL, Phase, QuoteStatus, SampleStatus, SubjectKind
from runs.models import Event, Quote, ResultVersion, Run, Sample, Subject
from runs.plans import benchmark_document, summed_coverage


def instant(value: datetime | None) -> str | None:
    """RFC 3339 in UTC with a Z; None for none."""
    return None if value is None else value.isoformat().replace("+00:00", "Z")


def title_of(run: Run) -> str:
    """The run's name, else that of its benchmark, else how many benchmarks it has."""
    names = [benchmark.version.benchmark.name for benchmark in run.benchmarks.all()]
    return run.name or (names[0] if len(names) == 1 else f"{len(names)} benchmarks")


def quote_document(quote: Quote) -> dict[str, Any]:
    """A quote; `status` is `expired` where its time is over before it was started."""
    status = quote.status
    if status == QuoteStatus.OPEN and quote.expires_at <= timezone.now():
        status = "expired"
    return {
        "id": str(quote.public_id),
        "status": str(status),
        "created_at": instant(quote.created_at),
        "expires_at": instant(quote.expires_at),
        "price_version": quote.price_version,
        "sha256": quote.sha256,
        "request": quote.request_document,
        "name": quote.name or None,
        "max_charge_microusd": _money(quote.cap_microusd),
        "plan": quote.plan_document,
        "retention": {"samples_days": quote.retention_days},
        "run_id": str(quote.run.public_id) if quote.status == QuoteStatus.STARTED and hasattr(quote, "run") else None,
    }


def run_document(run: Run, budget: Budget | None = None) -> dict[str, Any]:
    """A run with its progress. Lists hand in the budget, so that a page of runs reads them all at once."""
    budget = budget or billing.get_budget(run.budget_source)
    benchmarks = list(run.benchmarks.all())
    named = [benchmark_document(each.version) for each in benchmarks]
    continued_by = getattr(run, "continued_by_run", None)
    results = [result.number for result in run.results.all()]
    return {
        "id": str(run.public_id),
        "name": run.name or None,
        "status": run.status,
        "phase": run.phase,
        "created_at": instant(run.created_at),
        "started_at": instant(run.started_at),
        "ended_at": instant(run.ended_at),
        "cancel_requested_at": instant(run.cancel_requested_at),
        "deadline_at": instant(run.deadline_at),
        "workspace_id": str(run.workspace.public_id),
        "benchmark": named[0] if len(named) == 1 else None,
        "benchmarks": [
            {**name, "coverage": each.coverage, "output_limit": each.output_limit} for name, each in zip(named, benchmarks, strict=True)
        ],
        "coverage": summed_coverage([each.coverage for each in benchmarks]),
        "attempts_per_task": run.attempts,
        "request": run.quote.request_document,
        "metadata": run.metadata,
        "quote_id": str(run.quote.public_id),
        "report_url": f"{settings.SITE_URL}/evaluations/{run.public_id}",
        "subjects": [subject_document(subject) for subject in run.subjects.all()],
        "progress": progress_document(run),
        "budget": budget_document(budget),
        "interruption": run.interruption,
        "continued_from": str(run.continued_from.public_id) if run.continued_from else None,
        "continued_by": str(continued_by.public_id) if continued_by else None,
        "result_version": max(results, default=None),
    }


def run_documents(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A page of runs, their budgets read at once."""
    budgets = billing.budgets_of([run.budget_source for run in runs])
    return [run_document(run, budgets[run.budget_source]) for run in runs]


def subject_document(subject: Subject) -> dict[str, Any]:
    return {
        "index": subject.index,
        "label": subject.label,
        "model": subject_reference(subject),
        "status": subject.status,
        "stopped": {"code": subject.stopped_code, "message": subject.stopped_message} if subject.stopped_code else None,
        "processed": subject.processed,
        "planned": subject.planned,
        "graded": subject.graded,
        "correct": subject.correct,
        "errors": subject.errors,
        "spend_microusd": str(subject.spend_microusd),
    }


def subject_reference(subject: Subject) -> dict[str, Any]:
    """The subject as requests name it. Reads `route`, `connection` and `recorded_model`."""
    if subject.kind == SubjectKind.MANAGED and subject.route is not None:
        return {"kind": "managed", "route_id": subject.route.route_id}
    if subject.kind == SubjectKind.CONNECTION and subject.connection is not None:
        return {"kind": "connection", "connection_id": str(subject.connection.public_id), "name": subject.connection.name}
    if subject.kind == SubjectKind.RECORDED and subject.recorded_model is not None:
        recorded = subject.recorded_model
        return {"kind": "recorded", "recorded_model_id": str(recorded.public_id), "name": recorded.name}
    return {"kind": "baseline", "name": subject.baseline, "seed": subject.seed}


def progress_document(run: Run) -> dict[str, Any]:
    """How far the run is, in cells. `elapsed_seconds` counts from its start to its end or now."""
    elapsed = (run.ended_at or timezone.now()) - run.started_at if run.started_at else None
    return {
        "schema": "evalrouter.progress.v1",
        "phase": run.phase,
        "processed": run.processed,
        "planned": run.planned,
        "percent": round(100 * run.processed / run.planned, 1) if run.planned else 100.0,
        "errors": run.errors,
        "spend_microusd": str(run.spend_microusd),
        "elapsed_seconds": round(elapsed.total_seconds(), 1) if elapsed is not None else 0.0,
    }


def budget_document(budget: Budget) -> dict[str, Any]:
    """Settled + reserved + free = bound."""
    return {
        "max_charge_microusd": _money(budget.cap_microusd),
        "bound_microusd": str(budget.bound_microusd),
        "settled_microusd": str(budget.settled_microusd),
        "reserved_microusd": str(budget.reserved_microusd),
        "free_microusd": str(budget.free_microusd),
    }


def event_document(event: Event) -> dict[str, Any]:
    return {"sequence": event.sequence, "type": event.type, "created_at": instant(event.created_at), "data": event.data}


def result_document(result: ResultVersion) -> dict[str, Any]:
    """The frozen result with its hash."""
    document: dict[str, Any] = orjson.loads(result.document)
    return {**document, "sha256": result.sha256}


def parts_of_result(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The result as one document for each of its benchmarks: the models' figures on it, and its coverage."""
    return [
        {
            **document,
            "benchmark": benchmark,
            "coverage": benchmark.get("coverage") or document["coverage"],
            "subjects": [subject for subject in document["subjects"] if subject["benchmark_index"] == index],
        }
        for index, benchmark in enumerate(document["benchmarks"])
    ]


def chain_document(run: Run) -> list[dict[str, Any]]:
    """The runs that the newest of a chain's results rests on, each with what it was charged itself."""
    return [
        {
            "run_id": str(each.public_id),
            "status": each.status,
            "interruption": each.interruption,
            "created_at": instant(each.created_at),
            "processed": each.processed,
            "charge_microusd": str(each.spend_microusd),
        }
        for each in queries.chain_of(run)
    ]


def comparisons_of(result: ResultVersion) -> list[dict[str, Any]]:
    """The frozen comparisons of a result, one for each benchmark in the run's order."""
    found: Any = orjson.loads(result.comparison) if result.comparison else []
    return [found] if isinstance(found, dict) else found  # of a time when a run had one benchmark


def compare_document(run: Run, profile_id: str | None = None) -> dict[str, Any]:
    """The comparison on a benchmark of the newest run that continues this one (it names the run compared); on the first one without a name.

    Raises `ResultVersion.DoesNotExist` before its end, `BenchmarkVersion.DoesNotExist` for a benchmark that the run does not have.
    """
    comparisons = comparisons_of(queries.get_result(queries.newest_continuation(run)))
    found = next((each for each in comparisons if profile_id in (None, each["profile_id"])), None)
    if found is None:
        raise BenchmarkVersion.DoesNotExist
    return found


def sample_row(sample: Sample) -> dict[str, Any]:
    """A sample as lists show it: no prompt, no answer, no reference. Reads `task`, `subject`, `origin` and `run_benchmark`."""
    graded = sample.status == "graded"
    return {
        "id": str(sample.public_id),
        "subject_index": sample.subject.index,
        "benchmark_index": sample.run_benchmark.index,
        "task_id": sample.task.task_id,
        "ordinal": sample.task.ordinal,
        "position": sample.position,
        "attempt": sample.attempt,
        "group": sample.task.group or None,
        "status": sample.status,
        "correct": sample.correct,
        "score": sample.score,
        "metrics": {"accuracy": sample.score} if graded else {},
        "extracted": sample.extracted or None,
        "reason": sample.reason or None,
        "error_code": sample.error_code or None,
        "flags": sample.flags,
        "finish_reason": sample.finish_reason or None,
        "usage": {
            "input_tokens": sample.input_tokens,
            "cached_input_tokens": sample.cached_input_tokens,
            "output_tokens": sample.output_tokens,
            "reasoning_tokens": sample.reasoning_tokens,
            "estimated": bool(sample.estimated_calls),
        },
        "charge_microusd": str(sample.charge_microusd),
        "latency_ms": sample.latency_ms,
        "origin": str(sample.origin.public_id) if sample.origin else None,
    }


def sample_document(sample: Sample, calls: Mapping[Any, Sequence[Call]] | None = None) -> dict[str, Any]:
    """A sample with everything: what was sent, what came back, how it was graded, its calls.

    The version's export policy decides: without answers the reference is null, with aggregates alone there is no content at all.
    Content past its retention is null. Pages of several samples hand in the calls, so that they are read at once.
    """
    version = sample.run_benchmark.version
    policy = version.export_policy
    found = list((calls or queries.calls_of_samples([sample])).get(queries.source_of(sample), ()))
    answered = next((call for call in reversed(found) if call.outcome == "answered"), found[-1] if found else None)
    content = getattr(answered, "content", None) if answered is not None else None
    shows_content = policy != ExportPolicy.AGGREGATE and (content is not None or answered is None)
    manifest = manifest_of(version)
    values, reference = sample.task.content.values, sample.task.content.reference
    response = content.response if content is not None and shows_content and sample.status == SampleStatus.GRADED else None
    return {
        **sample_row(sample),
        "messages": render_messages(manifest, values) if policy != ExportPolicy.AGGREGATE else None,
        "response": response,
        "reasoning": (content.reasoning or None) if content is not None and shows_content else None,
        "reference": reference if policy == ExportPolicy.FULL else None,
        "choices": values.get("choices") if policy != ExportPolicy.AGGREGATE else None,
        "grading": _grading(sample, version.grader, manifest, response, reference, values, shows_steps=policy == ExportPolicy.FULL),
        "content_expired": sample.status == "graded" and answered is not None and content is None,
        "calls": [call_document(call, shows_content=shows_content) for call in found],
    }


def _grading(
    sample: Sample,
    grader: str,
    manifest: dict[str, Any],
    response: str | None,
    reference: Any,
    values: dict[str, Any],
    *,
    shows_steps: bool,
) -> dict[str, Any] | None:
    """The verdict with the steps it took: the graders are pure, so the stored answer gives the same steps again."""
    if sample.status != "graded":
        return None
    steps = []
    if response is not None and shows_steps:
        verdict = compile_grader(grader, manifest["grader_options"])(response, reference, values.get("choices"))
        steps = [{"name": step.name, "detail": step.detail} for step in verdict.steps]
    return {
        "grader": grader,
        "version": 1,
        "correct": sample.correct,
        "extracted": sample.extracted or None,
        "reason": sample.reason or None,
        "steps": steps,
    }


def call_document(call: Call, *, shows_content: bool = True) -> dict[str, Any]:
    content = getattr(call, "content", None) if shows_content else None
    return {
        "id": str(call.public_id),
        "purpose": call.purpose,
        "outcome": call.outcome,
        "error_code": call.error_code or None,
        "error_message": (content.error_message or None) if content else None,
        "tries": call.tries,
        "provider_status": call.provider_status,
        "finish_reason": call.finish_reason or None,
        "served_model": call.served_model or None,
        "latency_ms": call.latency_ms,
        "parameters": content.parameters if content else None,
        "usage": {
            "input_tokens": call.input_tokens,
            "cached_input_tokens": call.cached_input_tokens,
            "output_tokens": call.output_tokens,
            "reasoning_tokens": call.reasoning_tokens,
            "estimated": call.is_estimated,
        },
        "reserved_microusd": str(call.reserved_microusd),
        "usage_microusd": str(call.usage_microusd),
        "fee_microusd": str(call.fee_microusd),
        "charge_microusd": str(call.charge_microusd),
        "created_at": instant(call.created_at),
    }


def attempt_document(sample: Sample, call: Call | None) -> dict[str, Any]:
    """A finished cell as an attempt: its one call in brief."""
    return {
        "id": str(call.public_id) if call else str(sample.public_id),
        "sample_id": str(sample.public_id),
        "number": sample.attempt,
        "outcome": call.outcome if call else sample.status,
        "error_code": sample.error_code or None,
        "charged": sample.charge_microusd > 0,
        "latency_ms": sample.latency_ms,
        "provider_status": call.provider_status if call else None,
    }


def receipt_document(run: Run) -> dict[str, Any]:
    """What an ended run cost and why: quote, prices, usage, ledger entries, and the result's hash."""
    result = queries.latest_result(run)
    entries = list(billing.entries_of_source(run.workspace, run.budget_source))
    plan = run.quote.plan_document
    counted = {each["index"]: each["usage"]["estimated_calls"] for each in result_document(result)["subjects"]} if result else {}
    usage = sum(-entry.amount_microusd for entry in entries if entry.kind == "usage")
    fees = sum(-entry.amount_microusd for entry in entries if entry.kind == "platform_fee")
    return {
        "run_id": str(run.public_id),
        "status": run.status,
        "state": "settled" if run.status in TERMINAL and run.phase == Phase.DONE else "running",
        "quote": {"id": str(run.quote.public_id), "sha256": run.quote.sha256, "max_charge_microusd": _money(run.quote.cap_microusd)},
        "price_version": run.quote.price_version,
        "prices": [{"label": subject["label"], "pricing": subject["pricing"]} for subject in plan["subjects"]],
        "platform_fee_percent": plan["pricing"]["platform_fee_percent"],
        "subjects": [
            {
                "index": subject.index,
                "label": subject.label,
                "external_charges": subject.kind == SubjectKind.CONNECTION,
                "estimated_calls": counted.get(subject.index),
                "usage_microusd": str(subject.usage_microusd),
                "platform_fee_microusd": str(subject.fee_microusd),
                "total_microusd": str(subject.spend_microusd),
            }
            for subject in run.subjects.all()
        ],
        "usage_microusd": str(usage),
        "platform_fee_microusd": str(fees),
        "total_microusd": str(usage + fees),
        "ledger_entries": [
            {
                "id": str(entry.public_id),
                "kind": entry.kind,
                "amount_microusd": str(entry.amount_microusd),
                "balance_after_microusd": str(entry.balance_after_microusd),
                "note": entry.note or None,
                "created_at": instant(entry.created_at),
            }
            for entry in entries
        ],
        "result": {"version": result.number, "sha256": result.sha256} if result else None,
    }


def _money(microusd: int | None) -> str | None:
    return None if microusd is None else str(microusd)
