"""The report of a run: live while it runs, the frozen result when it has ended."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from catalog.enums import ExportPolicy
from common.web import is_fragment_request, page, render_page
from runs import documents, queries
from runs.charts import (
    ProgressChart,
    cost_chart,
    differences_chart,
    groups_chart,
    latency_chart,
    paces_of,
    progress_chart,
    scores_chart,
    speed_chart,
)
from runs.charts.words import natural_order
from runs.enums import CALLS_NOTHING, SubjectKind
from runs.models import Run, Subject
from runs.requests import MAX_ATTEMPTS
from runs.results import running_headline
from runs.reviews.figures import second_figures
from workspaces.actors import actor_of_user
from workspaces.permissions import can_run
from workspaces.requests import PersonRequest

STOP_POLLING = 286
COUNTS = ("errors", "missing", "truncated", "unreadable", "empty")
"""Columns that a narrow screen leaves out where they are 0 for every model."""


@page
@require_safe
def report(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """The run's page. While it runs, its figures fetch themselves every two seconds; the answer that brings the result ends that."""
    run = queries.get_run_of_member(request.user, run_id)
    context = {
        "run": run,
        "title": documents.title_of(run),
        "document": documents.run_document(run),
        "can_run": can_run(actor_of_user(request.user), run.workspace),
        "is_cancelling": run.cancel_requested_at is not None and not run.is_ended,
    }
    if not run.is_ended and is_fragment_request(request) and request.htmx.target == "progress":  # type: ignore[attr-defined]
        return render_page(request, "runs/report.html", {"run": run, "progress": progress_of(run)}, partial="progress_chart")
    if not run.is_ended:
        rows = live_rows(run)
        context["subjects"] = rows
        context["zero_columns"] = {name for name in COUNTS if not any(row["counts"].get(name) for row in rows)}
        return render_page(request, "runs/report.html", context, partial="live")
    context |= final_context(run)
    response = render_page(
        request, "runs/report.html", context, partial="report", status=STOP_POLLING if is_fragment_request(request) else 200
    )
    if is_fragment_request(request):
        # The fragment that polled is a part of the report: the whole report takes its place.
        response["HX-Retarget"] = "#report"
        response["HX-Reswap"] = "outerHTML"
    return response


def live_rows(run: Run) -> list[dict[str, Any]]:
    """One row for each model on each benchmark, with its counters so far. Scores of different benchmarks are never added up."""
    benchmarks = list(run.benchmarks.all())
    rows = []
    for benchmark in benchmarks:
        for subject in run.subjects.all():
            counts = vars(subject) if len(benchmarks) == 1 else subject.tallies.get(str(benchmark.pk), {})
            rows.append(
                {
                    "subject": subject,
                    "benchmark": benchmark if len(benchmarks) > 1 else None,
                    "is_first": benchmark.index == 0,
                    "counts": counts,
                    "graded": counts.get("graded", 0),
                    "planned": benchmark.task_count * run.attempts,
                    "headline": running_headline(counts.get("correct", 0), counts.get("graded", 0)),
                }
            )
    return rows


def final_context(run: Run) -> dict[str, Any]:
    """The frozen result as the page lays it out: a part for each benchmark, and what belongs to the run as a whole."""
    frozen = queries.get_result(run)
    result = documents.result_document(frozen)
    comparisons = {each["profile_id"]: each for each in documents.comparisons_of(frozen)}
    parts = documents.parts_of_result(result)
    continued_by = getattr(run, "continued_by_run", None)
    subjects = list(run.subjects.all())
    return {
        "result": result,
        "parts": [
            {
                **part_context(part, comparisons.get(part["benchmark"]["profile_id"]), "" if len(parts) == 1 else f"-{number}"),
                "population": benchmark.coverage["population"],
            }
            for number, (part, benchmark) in enumerate(zip(parts, run.benchmarks.all(), strict=True), 1)
        ],
        "attempts": run.attempts,
        "has_several": len(parts) > 1,
        "overview": overview_rows(parts, comparisons) if len(parts) > 1 else [],
        "export_policy": strictest_policy(run),
        "reviewed": second_figures(run, frozen),
        **change_context(run, subjects),
        "chain": documents.chain_document(run) if run.continued_from_id or continued_by else [],
        "progress": progress_of(run),
        "can_continue": run.interruption is not None and continued_by is None,
        "continued_by": continued_by,
        "estimated_calls": sum(subject["usage"]["estimated_calls"] for subject in result["subjects"]),
        "has_external": any(subject.kind == SubjectKind.CONNECTION for subject in subjects),
        "baselines": {subject.index for subject in subjects if subject.kind == SubjectKind.BASELINE},
    }


def change_context(run: Run, subjects: list[Subject]) -> dict[str, Any]:
    """What of the run can be changed while its answers are kept."""
    is_expired = run.content_expired_at is not None or (run.content_expires_at is not None and run.content_expires_at <= timezone.now())
    asks_models = any(subject.kind not in CALLS_NOTHING for subject in subjects)
    return {
        "can_reuse": not is_expired and any(subject.graded for subject in subjects),
        "can_add_tasks": any(benchmark.task_count < benchmark.version.task_count for benchmark in run.benchmarks.all()),
        "can_add_attempt": asks_models and run.attempts < MAX_ATTEMPTS,
        "next_attempts": run.attempts + 1,
        "truncated": sum(subject.truncated for subject in subjects) if asks_models else 0,
    }


def part_context(part: dict[str, Any], compare: dict[str, Any] | None, suffix: str) -> dict[str, Any]:
    """One benchmark's figures, tables and charts. `suffix` keeps the names of its elements apart from those of other parts."""
    compare = compare if len(part["subjects"]) > 1 else None
    charts = {
        "forest": scores_chart(part, compare) if compare else None,
        "differences": differences_chart(compare) if compare else None,
        "cost": cost_chart(part, compare) if compare else None,
        "speed": speed_chart(part, compare) if compare else None,
        "groups": groups_chart(part),
        "latency": latency_chart(part),
    }
    return {
        "suffix": suffix,
        "result": part,
        "benchmark": part["benchmark"],
        "compare": compare,
        "rows": ranked_rows(part, compare),
        "zero_columns": {name for name in COUNTS if not any(subject["counts"].get(name) for subject in part["subjects"])},
        "is_judged": compare is not None and compare["bounds"] is None and len(compare["ranking"]) > 1,
        "labels": {subject["index"]: subject["label"] for subject in part["subjects"]},
        "attempt_rows": attempt_rows(part),
        "group_rows": group_rows(part),
        "error_rows": error_rows(part),
        **{name: chart and replace(chart, id=f"{chart.id}{suffix}") for name, chart in charts.items()},
    }


def strictest_policy(run: Run) -> str:
    """What may leave of the run as a whole: as little as of the benchmark that lets the least leave."""
    policies = {benchmark.version.export_policy for benchmark in run.benchmarks.all()}
    return next(policy for policy in (ExportPolicy.AGGREGATE, ExportPolicy.NO_ANSWERS, ExportPolicy.FULL) if policy in policies)


def overview_rows(parts: list[dict[str, Any]], comparisons: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a model, with its score on each benchmark in their order, and its letters there."""
    letters = {
        profile_id: {entry["subject_index"]: entry["group"] for entry in compare["ranking"]} if len(compare["ranking"]) > 1 else {}
        for profile_id, compare in comparisons.items()
    }
    rows: dict[int, dict[str, Any]] = {}
    for part in parts:
        given = letters.get(part["benchmark"]["profile_id"], {})
        for subject in part["subjects"]:
            row = rows.setdefault(subject["index"], {"index": subject["index"], "label": subject["label"], "cells": []})
            row["cells"].append(
                {"name": part["benchmark"]["name"], "headline": subject["headline"], "letters": given.get(subject["index"], "")}
            )
    return list(rows.values())


def attempt_rows(part: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each figure of several attempts, with each model's in the order of the subjects; none where there was one attempt."""
    metrics = [{each["metric"]: each for each in subject["metrics"] if each["metric"].startswith("pass")} for subject in part["subjects"]]
    names = {key: metric["name"] for each in metrics for key, metric in each.items()}
    return [{"key": key, "name": name, "cells": [each.get(key) for each in metrics]} for key, name in names.items()]


def progress_of(run: Run) -> ProgressChart | None:
    """How the run's answers came; None where none did, as when all were taken over from an earlier run."""
    subjects = [(subject.index, subject.label, subject.planned) for subject in run.subjects.all()]
    start = run.started_at or run.created_at
    return progress_chart(paces_of(subjects, queries.stored_over_time(run)), ((run.ended_at or timezone.now()) - start).total_seconds())


def ranked_rows(result: dict[str, Any], compare: dict[str, Any] | None) -> list[dict[str, Any]]:
    """One row a model, in the order of the ranking; those that the comparison leaves out come last, with the reason."""
    subjects = {subject["index"]: subject for subject in result["subjects"]}
    if not compare:
        return [{"subject": subject, "entry": None, "excluded": None} for subject in subjects.values()]
    rows = [{"subject": subjects.pop(entry["subject_index"]), "entry": entry, "excluded": None} for entry in compare["ranking"]]
    reasons = {each["subject_index"]: each["reason"] for each in compare["excluded"]}
    return rows + [{"subject": subject, "entry": None, "excluded": reasons.get(index)} for index, subject in subjects.items()]


def group_rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a group of tasks, with each model's score in the order of the subjects."""
    names = sorted({group["group"] for subject in result["subjects"] for group in subject["groups"]}, key=natural_order)
    by_subject = [{group["group"]: group for group in subject["groups"]} for subject in result["subjects"]]
    return [{"name": name, "cells": [groups.get(name) for groups in by_subject]} for name in names]


def error_rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    """One row an error class, with each model's count in the order of the subjects; the most frequent first."""
    counts = [{each["code"]: each["count"] for each in subject["error_codes"]} for subject in result["subjects"]]
    codes = {code for each in counts for code in each}
    rows = [{"code": code, "cells": [each.get(code, 0) for each in counts]} for code in codes]
    return sorted(rows, key=lambda row: (-sum(row["cells"]), str(row["code"])))
