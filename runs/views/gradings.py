"""Grading again: which gradings a run has, asking for one more, and what one of them changed."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from common.errors import Forbidden, Refused
from common.pages import page_of
from common.web import is_fragment_request, page, redirect_to, render_page
from runs import documents, queries
from runs.gradings.actions import grade_again
from runs.gradings.documents import flip_document, grading_comparisons, grading_document, grading_result
from runs.gradings.queries import flips_of, get_grading, gradings_of, versions_to_grade_by
from runs.models import Run
from runs.permissions import can_continue_run
from runs.wording import refusal_words
from workspaces.actors import actor_of_user
from workspaces.permissions import require
from workspaces.requests import PersonRequest

STOP_POLLING = 286
FLIPS_A_PAGE = 50


@page
@require_http_methods(["GET", "HEAD", "POST"])
def gradings(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """The run's gradings; a POST asks for one more."""
    run = queries.get_run_of_member(request.user, run_id)
    actor = actor_of_user(request.user)
    if request.method != "POST":
        return render_page(request, "runs/gradings.html", _context(request, run), partial="list")
    require(can_continue_run(actor, run))
    versions = {index: request.POST.get(f"version-{index}", "")[:200] for index in versions_to_grade_by(run)}
    try:
        grading = grade_again(run, actor=actor, versions=versions)
    except Forbidden:
        raise
    except Refused as refusal:
        context = _context(request, run) | {"refusal": refusal_words(refusal)}
        return render_page(request, "runs/gradings.html", context, partial="list", status=refusal.status)
    return redirect_to(request, reverse("runs:grading", args=[run.public_id, grading.number]))


def _context(request: PersonRequest, run: Run) -> dict[str, Any]:
    benchmarks = {part.index: part for part in run.benchmarks.all()}
    return {
        "run": run,
        "title": documents.title_of(run),
        "gradings": [grading_document(each) for each in gradings_of(run)],
        "judges": [{"benchmark": benchmarks[index], "versions": versions} for index, versions in versions_to_grade_by(run).items()],
        "can_run": can_continue_run(actor_of_user(request.user), run),
    }


@page
@require_safe
def grading(request: PersonRequest, run_id: UUID, grading_number: int) -> HttpResponse:
    """What one grading came to. While it is worked the page fetches itself."""
    run = queries.get_run_of_member(request.user, run_id)
    found = get_grading(run, grading_number)
    document, result = grading_document(found), grading_result(found)
    listed = page_of(flips_of(found), order="id", cursor=request.GET.get("cursor"), limit=FLIPS_A_PAGE)
    labels = {subject.index: subject.label for subject in run.subjects.all()}
    context = {
        "run": run,
        "title": documents.title_of(run),
        "grading": document,
        "rows": _rows(run, result) if result else [],
        "summaries": [each["summary"] for each in grading_comparisons(found)],
        "flips": [{**flip_document(row), "label": labels[row.sample.subject.index]} for row in listed.rows],
        "next_cursor": listed.next_cursor,
        "cursor": request.GET.get("cursor"),
        "has_several": len(run.benchmarks.all()) > 1,
    }
    is_over = is_fragment_request(request) and document["state"] != "running" and not request.GET.get("cursor")
    return render_page(request, "runs/grading.html", context, partial="grading", status=STOP_POLLING if is_over else 200)


def _rows(run: Run, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Each model's score on each benchmark by grading 1 and by this one."""
    before = {(each["benchmark_index"], each["index"]): each for each in documents.result_document(queries.get_result(run, 1))["subjects"]}
    return [
        {
            "label": each["label"],
            "index": each["index"],
            "profile_id": result["benchmarks"][each["benchmark_index"]]["profile_id"],
            "before": before[each["benchmark_index"], each["index"]]["headline"],
            "after": each["headline"],
            "correct_before": before[each["benchmark_index"], each["index"]]["counts"]["correct"],
            "correct_after": each["counts"]["correct"],
        }
        for each in result["subjects"]
    ]
