"""The samples of a run: a filtered list, and one task with all models side by side."""

import json
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from catalog.enums import ExportPolicy
from catalog.queries import manifest_of
from catalog.rendering import render_messages
from common.pages import page_of
from common.web import page, render_page
from runs import documents, queries
from runs.enums import Flag, SampleStatus, SubjectKind
from workspaces.requests import PersonRequest

SAMPLES_A_PAGE = 50
FILTERS = ("subject", "status", "verdict", "flag", "group", "q")


@page
@require_safe
def samples(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """Every finished cell of the run. Of one model they come in the order of the tasks, else in the order they were written."""
    run = queries.get_run_of_member(request.user, run_id)
    filters = {key: request.GET.get(key, "").strip()[:200] for key in FILTERS}
    benchmark = run.benchmarks.all()[0]
    index = _index(filters["subject"])
    found = queries.filter_samples(
        queries.samples_of(run),
        subject=index,
        status=filters["status"],
        verdict=filters["verdict"],
        flag=filters["flag"],
        group=filters["group"],
        q=filters["q"],
    )
    order = "id" if index is None else "position"
    listed = page_of(found, order=order, cursor=request.GET.get("cursor"), limit=SAMPLES_A_PAGE)
    context = {
        "run": run,
        "samples": listed.rows,
        "next_cursor": listed.next_cursor,
        "cursor": request.GET.get("cursor"),
        "filters": filters,
        "is_filtered": any(filters.values()),
        "statuses": SampleStatus.choices,
        "flags": Flag.choices,
        "benchmark": benchmark,
        "groups": queries.groups_of(run) if benchmark.version.has_groups else [],
    }
    return render_page(request, "runs/samples.html", context, partial="list")


@page
@require_safe
def sample(request: PersonRequest, run_id: UUID, position: int) -> HttpResponse:
    """One task: what was sent, and for each model what came back and how it was graded."""
    run = queries.get_run_of_member(request.user, run_id)
    benchmark = run.benchmarks.all()[0]
    task = queries.task_at(run, position)
    found = queries.samples_of_task(run, position)
    calls = queries.calls_of_samples(found)
    answers = [
        documents.sample_document(each, calls) | {"label": each.subject.label, "is_baseline": each.subject.kind == SubjectKind.BASELINE}
        for each in found
    ]
    answered = {each.subject_id for each in found}
    policy = benchmark.version.export_policy
    is_expired = run.content_expired_at is not None
    context = {
        "run": run,
        "benchmark": benchmark,
        "position": position,
        "task": task,
        "policy": policy,
        "messages_sent": [] if policy == ExportPolicy.AGGREGATE else render_messages(manifest_of(task.version), task.content.values),
        "reference": reference_text(task.content.reference),
        "shows_reference": policy == ExportPolicy.FULL,
        "is_expired": is_expired,
        "answers": answers,
        "unfinished": [subject.label for subject in run.subjects.all() if subject.pk not in answered],
        "previous": position - 1 if position else None,
        "next": position + 1 if position + 1 < benchmark.task_count else None,
    }
    return render_page(request, "runs/sample.html", context, partial="task")


def reference_text(reference: Any) -> str:
    """A reference as people read it: a text as it is, accepted answers one by one, anything else as JSON."""
    if isinstance(reference, str):
        return reference
    if isinstance(reference, list) and all(isinstance(each, str) for each in reference):
        return " or ".join(reference)
    return json.dumps(reference, ensure_ascii=False, indent=1)


def _index(text: str) -> int | None:
    """A subject's index; None for all subjects, and -1, which no subject has, for what is not one."""
    if not text:
        return None
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else -1
