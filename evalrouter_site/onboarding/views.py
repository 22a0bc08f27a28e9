"""Getting started: a recorded comparison, its tasks, and three steps to a first own run."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from common.web import page, render_page
from evalrouter_site.onboarding.recorded import Recording, recorded_comparison
from evalrouter_site.onboarding.steps import obstacle_of, steps_of
from evalrouter_site.queries import own_start
from runs.charts import differences_chart, groups_chart, scores_chart
from workspaces.actions import close_onboarding
from workspaces.actors import actor_of_user
from workspaces.queries import current_membership
from workspaces.requests import PersonRequest


@page
@require_safe
def onboarding(request: PersonRequest) -> HttpResponse:
    """What the product gives, shown by a recorded comparison, and the person's own way to one."""
    recording = recorded_comparison()
    context = {
        "recording": recording,
        "forest": scores_chart(recording.result, recording.compare),
        "steps": steps_of(own_start(request.user)),
        "obstacle": obstacle_of(current_membership(request)),
        "is_closed": request.user.onboarding_closed_at is not None,
    }
    return render_page(request, "onboarding/onboarding.html", context)


@page
@require_safe
def comparison(request: PersonRequest) -> HttpResponse:
    """The recorded comparison, as a report shows one."""
    recording = recorded_comparison()
    stand_ins = [solver for solver in recording.solvers if not solver.is_baseline]
    shown = {solver.index for solver in stand_ins}
    context = {
        "recording": recording,
        "stand_ins": stand_ins,
        "picks": [(task, [answer for answer in task["answers"] if answer["subject_index"] in shown]) for task in recording.tasks],
        "rows": ranked_rows(recording),
        "forest": scores_chart(recording.result, recording.compare),
        "differences": differences_chart(recording.compare),
        "groups": groups_chart(recording.result),
        "labels": {solver.index: solver.label for solver in recording.solvers},
    }
    return render_page(request, "onboarding/comparison.html", context)


@page
@require_safe
def task(request: PersonRequest, number: int) -> HttpResponse:
    """One task of the recorded comparison, counted from 1: what was sent, and every answer with its verdict."""
    recording = recorded_comparison()
    if not 1 <= number <= len(recording.tasks):
        raise Http404
    shown = recording.tasks[number - 1]
    context = {
        "recording": recording,
        "number": number,
        "task": shown,
        "answers": [{**answer, "solver": recording.solvers[answer["subject_index"]]} for answer in shown["answers"]],
        "previous": number - 1 if number > 1 else None,
        "next": number + 1 if number < len(recording.tasks) else None,
    }
    return render_page(request, "onboarding/task.html", context)


@require_POST
@page
def closure(request: PersonRequest) -> HttpResponse:
    """Close it for good."""
    close_onboarding(request.user, actor=actor_of_user(request.user))
    messages.info(request, "Getting started is closed. You find it in your account menu whenever you want it.")
    return redirect("runs:history")


def ranked_rows(recording: Recording) -> list[dict[str, Any]]:
    """One row a solver in the order of the ranking: its place, its figures, and who it is."""
    subjects: Mapping[int, Any] = {subject["index"]: subject for subject in recording.result["subjects"]}
    return [
        {"place": place, "subject": subjects[place["subject_index"]], "solver": recording.solvers[place["subject_index"]]}
        for place in recording.compare["ranking"]
    ]
