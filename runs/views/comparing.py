"""The comparison of a run's models in full, its tables as files, and the tasks on which the models disagree."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from common.web import page, render_page
from runs import queries
from runs.charts import cost_chart, differences_chart, groups_chart, ranking_chart, speed_chart
from runs.comparison import queries as comparisons
from runs.comparison.files import csv_response
from runs.comparison.queries import Asked, Disagreements
from runs.comparison.tables import Comparison, group_matrix, pair_matrix
from runs.comparison.verdicts import SHOWN
from workspaces.requests import PersonRequest

TASKS_A_PAGE = 50
SHOW_WORDS = {
    "any": "Models differ",
    "a_only": "Only A right",
    "b_only": "Only B right",
    "all_wrong": "All wrong",
    "all_right": "All right",
    "errors": "Errors",
}
SHOW_WORDS_OF_SEVERAL = {"a_only": "A right more often", "b_only": "B right more often"}
"""Where each task was asked several times."""


@page
@require_safe
def comparison(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """Which model is ahead of which, and how sure that is. Reads what was frozen, and of samples only how many tasks models differ on."""
    run = queries.get_run_of_member(request.user, run_id)
    if not run.is_ended:
        return render_page(request, "runs/comparison.html", {"run": run})
    found = comparisons.comparison_of(run, request.GET.get("profile_id", "")[:200])
    benchmark = comparisons.run_benchmark(run, found.profile_id)
    a, b = _best_two(found)
    several = len(found.result["subjects"]) > 1
    context = {
        "run": run,
        "found": found,
        "compare": found.document,
        "benchmark": benchmark,
        "several": several,
        "ranking": found.tables["ranking"].rows,
        "pairs": found.tables["pairs"].rows,
        "bounds": {each["subject_index"]: each for each in found.document["bounds"] or ()},
        "matrix": pair_matrix(found),
        "groups": group_matrix(found),
        "forest": ranking_chart(found.document) if found.document["ranking"] else None,
        "differences": differences_chart(found.document),
        "cost": cost_chart(found.result, found.document),
        "speed": speed_chart(found.result, found.document),
        "groups_drawn": groups_chart(found.result),
        "switch": _switch(found),
        "counts": comparisons.disagreements(run, benchmark, Asked(a=a, b=b), limit=1).counts if several else {},
        "attempts": run.attempts,
        "is_small": len(found.tables["pairs"].rows) <= 6,
        "files": [(key, table.title) for key, table in found.tables.items() if table.rows],
        "kept": _query(profile_id=found.profile_id) if len(found.profile_ids) > 1 else "",
    }
    return render_page(request, "runs/comparison.html", context)


@page
@require_safe
def comparison_table(request: PersonRequest, run_id: UUID, table: str) -> HttpResponse:
    """`ranking`, `pairs` or `groups` as a CSV file."""
    run = queries.get_run_of_member(request.user, run_id)
    found = comparisons.comparison_of(run, request.GET.get("profile_id", "")[:200])
    if table not in found.tables:
        raise Http404
    return csv_response(found, table)


@page
@require_safe
def disagreements(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """The tasks on which models differ, or on which all of them or two of them did alike."""
    run = queries.get_run_of_member(request.user, run_id)
    benchmark = comparisons.run_benchmark(run, request.GET.get("profile_id", "")[:200])
    subjects = list(run.subjects.all())
    asked = _asked(request, [subject.index for subject in subjects])
    cursor = request.GET.get("cursor")
    found = comparisons.disagreements(run, benchmark, asked, cursor=cursor, limit=TASKS_A_PAGE) if len(subjects) > 1 else None
    attempts = run.attempts
    labels = {subject.index: subject.label for subject in subjects}
    for row in found.rows if found else ():
        for answer in row["answers"]:
            answer["label"] = labels[answer["subject_index"]]
    context = {
        "run": run,
        "benchmark": benchmark,
        "subjects": subjects,
        "asked": asked,
        "a_label": labels.get(asked.a),
        "b_label": labels.get(asked.b),
        "found": found,
        "cursor": cursor,
        "next_cursor": found.next_cursor if found else None,
        "groups": comparisons.groups_of(benchmark),
        "segments": _segments(request, asked, found, attempts) if found else [],
        "words": (SHOW_WORDS | SHOW_WORDS_OF_SEVERAL if attempts > 1 else SHOW_WORDS)[asked.show],
        "attempts": attempts,
        "profile_ids": [each.version.profile_id for each in run.benchmarks.all()],
    }
    return render_page(request, "runs/disagreements.html", context, partial="list")


def _best_two(found: Comparison) -> tuple[int, int]:
    """Indexes of the two models that are compared first: the best two of the ranking, else any two."""
    indexes = [row["model_index"] for row in found.tables["ranking"].rows]
    return indexes[0], indexes[min(1, len(indexes) - 1)]


def _asked(request: PersonRequest, indexes: list[int]) -> Asked:
    """What the address asks for; what it does not say, or says wrongly, is all models' disagreements, and the first two of them."""
    show = request.GET.get("show", "")
    a = _index(request.GET.get("a", ""), indexes, indexes[0])
    b = _index(request.GET.get("b", ""), indexes, next((index for index in indexes if index != a), a))
    group, q = (request.GET.get(name, "").strip()[:200] for name in ("group", "q"))
    return Asked(show if show in SHOWN else "any", a, b, group, q)


def _index(text: str, indexes: list[int], otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 and int(text) in indexes else otherwise


def _segments(request: PersonRequest, asked: Asked, found: Disagreements, attempts: int) -> list[dict[str, Any]]:
    """Links to each kind of task, which keep the other filters, with how many there are."""
    words = SHOW_WORDS | SHOW_WORDS_OF_SEVERAL if attempts > 1 else SHOW_WORDS
    segments = []
    for show in SHOWN:
        query = request.GET.copy()
        query.pop("cursor", None)
        query["show"] = show
        if show == "any":
            del query["show"]
        segments.append(
            {"label": words[show], "count": found.counts[show], "href": f"?{query.urlencode()}", "is_current": show == asked.show}
        )
    return segments


def _switch(found: Comparison) -> list[dict[str, Any]]:
    """Links to the benchmarks of the run; empty where it has one."""
    if len(found.profile_ids) < 2:
        return []
    return [
        {"label": each, "href": f"?{urlencode({'profile_id': each})}", "is_current": each == found.profile_id} for each in found.profile_ids
    ]


def _query(**values: str) -> str:
    return f"&{urlencode(values)}"
