"""Notes and people's verdicts: writing them on a task's page, and the list of all of a run's."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from common.errors import Forbidden, Refused
from common.pages import page_of
from common.web import page, redirect_to, render_page
from runs import queries
from runs.browsing.filters import SampleFilter
from runs.models import Run, Sample
from runs.reviews import actions, forms
from runs.reviews import queries as reviews_
from runs.reviews.figures import second_figures
from runs.reviews.permissions import can_review
from runs.views.samples import PAIR, anchor_of, task_context
from workspaces.actors import actor_of_user
from workspaces.permissions import require
from workspaces.requests import PersonRequest

REVIEWS_A_PAGE = 50


@page
@require_safe
def reviews(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """All that people said of the run's answers, the newest first, and what their verdicts would make of the scores."""
    run = queries.get_run_of_member(request.user, run_id)
    kind = "notes" if request.GET.get("kind") == "notes" else "overrides"
    said: Any = reviews_.notes_in(run) if kind == "notes" else reviews_.overrides_in(run)
    listed = page_of(said, order="-id", cursor=request.GET.get("cursor"), limit=REVIEWS_A_PAGE)
    counts = reviews_.count_reviews(run)
    samples = reviews_.samples_of_answers(run, [each.answer_id for each in listed.rows])
    result = queries.latest_result(run)
    context = {
        "run": run,
        "benchmark": run.benchmarks.all()[0],
        "kind": kind,
        "rows": [{"said": each, "sample": samples[each.answer_id], "is_elsewhere": each.run_id != run.pk} for each in listed.rows],
        "next_cursor": listed.next_cursor,
        "cursor": request.GET.get("cursor"),
        "segments": [
            {"label": "Verdicts", "count": counts["overrides"], "href": "?", "is_current": kind == "overrides"},
            {"label": "Notes", "count": counts["notes"], "href": "?kind=notes", "is_current": kind == "notes"},
        ],
        "reviewed": second_figures(run, result) if result else [],
        "benchmarks": run.benchmarks.all(),
    }
    return render_page(request, "runs/reviews.html", context, partial="list")


@page
@require_POST
def notes(request: PersonRequest, run_id: UUID, sample_id: UUID) -> HttpResponse:
    """Write a note on an answer."""
    run, sample = _sample(request, run_id, sample_id)
    form = forms.note_form(sample.public_id, request.POST)

    def write() -> None:
        actions.add_note(run, sample, actor=actor_of_user(request.user), text=form.cleaned_data["text"])

    return _said(request, run, sample, form, write, sample.public_id, "The note is written.")


@page
@require_POST
def note(request: PersonRequest, run_id: UUID, sample_id: UUID, note_id: UUID) -> HttpResponse:
    """Change one's own note."""
    run, sample = _sample(request, run_id, sample_id)
    found = reviews_.get_note(sample, note_id)
    form = forms.note_form(found.public_id, request.POST)

    def write() -> None:
        actions.change_note(found, actor=actor_of_user(request.user), text=form.cleaned_data["text"])

    return _said(request, run, sample, form, write, found.public_id, "The note is changed.")


@page
@require_POST
def note_deletion(request: PersonRequest, run_id: UUID, sample_id: UUID, note_id: UUID) -> HttpResponse:
    run, sample = _sample(request, run_id, sample_id)
    actions.delete_note(reviews_.get_note(sample, note_id), actor=actor_of_user(request.user))
    messages.success(request, "The note is deleted.")
    return redirect_to(request, _address(request, run, sample))


@page
@require_POST
def override(request: PersonRequest, run_id: UUID, sample_id: UUID) -> HttpResponse:
    """Give an answer a person's verdict."""
    run, sample = _sample(request, run_id, sample_id)
    form = forms.verdict_form(sample.public_id, request.POST)

    def write() -> None:
        given = form.cleaned_data
        actions.override_verdict(run, sample, actor=actor_of_user(request.user), correct=form.is_correct, reason=given["reason"])

    return _said(request, run, sample, form, write, sample.public_id, "Your verdict is kept, beside the grader's.")


@page
@require_POST
def override_withdrawal(request: PersonRequest, run_id: UUID, sample_id: UUID) -> HttpResponse:
    """Let the grader's verdict stand alone again."""
    run, sample = _sample(request, run_id, sample_id)
    actions.withdraw_override(run, sample, actor=actor_of_user(request.user))
    messages.success(request, "The verdict is withdrawn. The grader's stands alone.")
    return redirect_to(request, _address(request, run, sample))


def _sample(request: PersonRequest, run_id: UUID, sample_id: UUID) -> tuple[Run, Sample]:
    """Who may not write here is told so before anything typed is read."""
    run = queries.get_run_of_member(request.user, run_id)
    sample = queries.get_sample(run, sample_id)
    require(can_review(actor_of_user(request.user), run), "Your role may read here, and not write.")
    return run, sample


def _said(request: PersonRequest, run: Run, sample: Sample, form: Any, write: Callable[[], None], key: UUID, words: str) -> HttpResponse:
    """Write it and go back to the task; show the task with the form where it was filled in wrongly."""
    status = 422
    if form.is_valid():
        try:
            write()
        except Forbidden:
            raise
        except Refused as refusal:
            form.refuse(refusal)
            status = refusal.status
        else:
            messages.success(request, words)
            return redirect_to(request, _address(request, run, sample))
    context = task_context(request, run, sample.position, filled={key: form})
    return render_page(request, "runs/sample.html", context, partial="task", status=status)


def _address(request: PersonRequest, run: Run, sample: Sample) -> str:
    """The task's page, within the filter that led there, at the answer."""
    kept = SampleFilter.of_query(request.GET.dict()).kept(**{side: request.GET.get(side, "")[:20] for side in PAIR})
    return f"{reverse('runs:sample', args=[run.public_id, sample.position])}{kept}#{anchor_of(sample)}"
