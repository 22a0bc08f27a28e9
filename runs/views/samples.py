"""The samples of a run: a filtered list, and one task with all models side by side."""

import json
from typing import Any
from urllib.parse import urlencode
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
from runs.models import Run
from workspaces.requests import PersonRequest

SAMPLES_A_PAGE = 50
FILTERS = ("subject", "status", "verdict", "flag", "group", "q")
SHOWN = ("failures", "disagreements")
ORDERS = {"task": "position", "-task": "-position"}
"""What one model's samples can be sorted by; an index holds that order."""


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
        run,
        subject=index,
        status=filters["status"],
        verdict=filters["verdict"],
        flag=filters["flag"],
        group=filters["group"],
        q=filters["q"],
    )
    show = _shown(request)
    is_narrow = any(value for key, value in filters.items() if key != "subject")
    counts = queries.count_samples(run, found if is_narrow else None, index)
    found = queries.narrow_samples(found, run, show)
    sort = request.GET.get("sort", "") if request.GET.get("sort") in ORDERS and index is not None else ""
    order = "id" if index is None else ORDERS.get(sort, "position")
    listed = page_of(found, order=order, cursor=request.GET.get("cursor"), limit=SAMPLES_A_PAGE)
    context = {
        "run": run,
        "samples": listed.rows,
        "next_cursor": listed.next_cursor,
        "cursor": request.GET.get("cursor"),
        "filters": filters,
        "is_filtered": any(filters.values()) or bool(show),
        "show": show,
        "sort": sort,
        "can_sort": index is not None,
        "segments": _segments(request, run, show, counts),
        "kept": _kept(show, filters["subject"]),
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
    show, subject = _shown(request), request.GET.get("subject", "").strip()
    if show or subject:
        previous, following = queries.neighbours(run, position, show, _index(subject))
    else:
        previous, following = position - 1 if position else None, position + 1 if position + 1 < benchmark.task_count else None
    found = queries.samples_of_task(run, position)
    calls = queries.calls_of_samples(found)
    answers = [
        documents.sample_document(each, calls)
        | {"label": each.subject.label, "is_baseline": each.subject.kind == SubjectKind.BASELINE}
        | {"is_recorded": each.subject.kind == SubjectKind.RECORDED, "is_external": each.subject.kind == SubjectKind.CONNECTION}
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
        "previous": previous,
        "next": following,
        "show": show,
        "segments": _segments(request, run, show, queries.count_samples(run, subject=_index(subject))),
        "kept": _kept(show, subject),
    }
    return render_page(request, "runs/sample.html", context, partial="task")


def _shown(request: PersonRequest) -> str:
    show = request.GET.get("show", "")
    return show if show in SHOWN else ""


def _kept(show: str, subject: str) -> str:
    """The query that keeps what is looked at from task to task."""
    kept = {key: value for key, value in (("show", show), ("subject", subject)) if value}
    return f"?{urlencode(kept)}" if kept else ""


def _segments(request: PersonRequest, run: Run, show: str, counts: dict[str, int]) -> list[dict[str, Any]]:
    """Links to all, the failures and the disagreements, which keep the other filters, with how many each lists where that is known.

    `key` toggles.
    """
    choices = [("", "All", ""), ("failures", "Failures", "f")]
    if len(run.subjects.all()) > 1:
        choices.append(("disagreements", "Disagreements", "d"))
    found = []
    for value, label, key in choices:
        query = request.GET.copy()
        query.pop("cursor", None)
        query["show"] = value
        if not value:
            del query["show"]
        found.append({"label": label, "key": key, "count": counts.get(value), "href": f"?{query.urlencode()}", "is_current": value == show})
    return found


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
