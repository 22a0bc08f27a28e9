"""The samples of a run: a filtered list, and one task with all models side by side."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from catalog.enums import ExportPolicy
from catalog.queries import manifest_of
from catalog.rendering import render_messages
from common.pages import Order, page_of
from common.web import page, render_page
from runs import queries
from runs.browsing import filters, texts
from runs.browsing.differing import tell_apart
from runs.browsing.filters import SampleFilter
from runs.browsing.neighbours import neighbours
from runs.enums import Flag, SampleStatus, SubjectKind
from runs.models import Run, Sample
from runs.reviews.documents import reviewed_documents, without_text
from runs.reviews.queries import answer_key, marks_of, reviews_of_samples
from runs.views.said import Filled, Reader, said_of
from runs.wording import error_words
from workspaces.actors import actor_of_user
from workspaces.requests import PersonRequest

SAMPLES_A_PAGE = 50
REVIEWED_WORDS = (
    ("note", "Has a note"),
    ("override", "Has a person's verdict"),
    ("changed", "A person's verdict differs"),
)
PAIR = ("left", "right")
"""Names of the two answers that are compared, in the address: a model's index and an attempt, as in `0.1`."""


@page
@require_safe
def samples(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """Every finished cell of the run. Of one model they come in the order of the tasks, else in the order they were written."""
    run = queries.get_run_of_member(request.user, run_id)
    wanted = SampleFilter.of_query(request.GET.dict())
    found = filters.filter_samples(queries.samples_of(run), run, wanted)
    everything = filters.filter_samples(queries.samples_of(run), run, wanted.showing(""))
    sort = request.GET.get("sort", "") if request.GET.get("sort") in filters.ORDERS else ""
    order: Order = "id"
    if sort or wanted.subject is not None:
        found, order = filters.sorted_by(found, sort or "task")
    cursor = request.GET.get("cursor")
    searched = None
    if wanted.text:
        listed, next_cursor, searched = _with_text(run, found, wanted.text, order, cursor)
        counts: dict[str, int] = {}
    else:
        listing = page_of(found, order=order, cursor=cursor, limit=SAMPLES_A_PAGE)
        listed, next_cursor = listing.rows, listing.next_cursor
        counts = filters.count_samples(run, None if wanted.names_only_a_model else everything, wanted.subject)
    marks, hidden = marks_of(listed), without_text(run)
    benchmarks = list(run.benchmarks.all())
    context = {
        "run": run,
        "samples": listed,
        "notes": {each.pk: marks.notes.get(answer_key(each), 0) for each in listed},
        "overrides": {each.pk: marks.overrides.get(answer_key(each)) for each in listed},
        "hidden": hidden,
        "next_cursor": next_cursor,
        "cursor": cursor,
        "searched": searched,
        "can_search_texts": len(hidden) < len(benchmarks),
        "filters": wanted,
        "more_filters": wanted.less_usual,
        "is_filtered": bool(wanted.active()),
        "show": wanted.show,
        "sort": sort,
        "segments": _segments(request, run, wanted, counts),
        "kept": wanted.kept(),
        "profile_ids": {each.pk: each.version.profile_id for each in benchmarks},
        "statuses": SampleStatus.choices,
        "flags": Flag.choices,
        "reviewed_choices": REVIEWED_WORDS,
        "error_codes": [(code, error_words(code)) for code in filters.error_codes_of(run)],
        "benchmark": benchmarks[0],
        "benchmarks": benchmarks,
        "attempts": range(1, run.attempts + 1),
        "groups": filters.groups_of(run) if any(each.version.has_groups for each in benchmarks) else [],
    }
    return render_page(request, "runs/samples.html", context, partial="list")


def _with_text(run: Run, found: Any, words: str, order: Order, cursor: str | None) -> tuple[list[Sample], str | None, int | None]:
    """A page of what holds the words, its cursor, and how many samples were looked through: None where none may be."""
    if len(without_text(run)) == len(run.benchmarks.all()):
        return [], None, None
    matches = texts.find_texts(found, run, words, order=order, cursor=cursor, limit=SAMPLES_A_PAGE)
    return queries.samples_by_key(run, matches.keys), matches.next_cursor, matches.searched


@page
@require_safe
def sample(request: PersonRequest, run_id: UUID, position: int) -> HttpResponse:
    """One task: what was sent, and for each model what came back and how it was graded."""
    run = queries.get_run_of_member(request.user, run_id)
    return render_page(request, "runs/sample.html", task_context(request, run, position), partial="task")


def task_context(request: PersonRequest, run: Run, position: int, filled: Filled | None = None) -> dict[str, Any]:
    """What the page of a task shows. `filled` are forms that were filled in wrongly."""
    benchmark = queries.benchmark_at(run, position)
    task = queries.task_at(run, position)
    wanted = SampleFilter.of_query(request.GET.dict())
    tasks = sum(each.task_count for each in run.benchmarks.all())
    if wanted.active():
        near = neighbours(run, position, wanted)
        previous, following, searched = near.before, near.after, near.searched
    else:
        previous, following, searched = position - 1 if position else None, position + 1 if position + 1 < tasks else None, None
    found = queries.samples_of_task(run, position)
    reviews = reviews_of_samples(found)
    reader = Reader.of(actor_of_user(request.user), run)
    attempts = run.attempts
    documents = reviewed_documents(run, found, queries.calls_of_samples(found))
    answers = [
        document
        | {
            "key": f"{each.subject.index}.{each.attempt}",
            "label": each.subject.label if attempts == 1 else f"{each.subject.label}, attempt {each.attempt}",
            "is_baseline": each.subject.kind == SubjectKind.BASELINE,
            "is_recorded": each.subject.kind == SubjectKind.RECORDED,
            "is_external": each.subject.kind == SubjectKind.CONNECTION,
            "anchor": anchor_of(each),
            "said": said_of(run, each, reviews[answer_key(each)], reader, filled or {}),
        }
        for each, document in zip(found, documents, strict=True)
    ]
    answered = {each.subject_id for each in found}
    policy = benchmark.version.export_policy
    pair = _pair(request, answers)
    kept = wanted.kept(**{side: request.GET.get(side, "")[:20] for side in PAIR})
    return {
        "run": run,
        "benchmark": benchmark,
        "position": position,
        "tasks": tasks,
        "task": task,
        "policy": policy,
        "messages_sent": [] if policy == ExportPolicy.AGGREGATE else render_messages(manifest_of(task.version), task.content.values),
        "reference": reference_text(task.content.reference),
        "shows_reference": policy == ExportPolicy.FULL,
        "answers": answers,
        "unfinished": [subject.label for subject in run.subjects.all() if subject.pk not in answered],
        "previous": previous,
        "next": following,
        "searched": searched,
        "filters": wanted,
        "filter_words": filter_words(run, wanted),
        "show": wanted.show,
        "segments": _segments(request, run, wanted, _known_counts(run, wanted)),
        "kept": kept,
        "list_query": wanted.kept(),
        "pair": pair,
        "left": pair["left"]["key"] if pair else "",
        "right": pair["right"]["key"] if pair else "",
    }


def anchor_of(sample: Sample) -> str:
    """Where on its task's page the sample is."""
    return f"model-{sample.subject.index}" + (f"-{sample.attempt}" if sample.attempt > 1 else "")


def _pair(request: PersonRequest, answers: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The two answers that the address names, with their differences; None where it names none, or one that is not there."""
    by_key = {answer["key"]: answer for answer in answers}
    left, right = (by_key.get(request.GET.get(side, "")) for side in PAIR)
    if left is None or right is None or left is right:
        return None
    has_texts = left["response"] is not None and right["response"] is not None
    return {"left": left, "right": right, "difference": tell_apart(left["response"], right["response"]) if has_texts else None}


def filter_words(run: Run, wanted: SampleFilter) -> list[str]:
    """What is asked, in words, but for what `show` shows."""
    labels = {subject.index: subject.label for subject in run.subjects.all()}
    words: dict[str, Callable[[Any], str]] = {
        "subject": lambda value: labels.get(value, "an unknown model"),
        "benchmark": str,
        "attempt": lambda value: f"attempt {value}",
        "verdict": lambda value: f"graded {value}",
        "status": lambda value: str(dict(SampleStatus.choices).get(value, value)).lower(),
        "error_code": error_words,
        "flag": lambda value: str(dict(Flag.choices).get(value, value)).lower(),
        "group": lambda value: f"group {value}",
        "min_output_tokens": lambda value: f"from {value:,} tokens",
        "max_output_tokens": lambda value: f"up to {value:,} tokens",
        "reviewed": lambda value: str(dict(REVIEWED_WORDS).get(value, value)).lower(),
        "q": lambda value: f"“{value}”",
        "text": lambda value: f"“{value}” in the texts",
    }
    return [words[name](value) for name, value in wanted.active().items() if name in words]


def _known_counts(run: Run, wanted: SampleFilter) -> dict[str, int]:
    """Only where they cost no pass over the run."""
    return filters.count_samples(run, subject=wanted.subject) if wanted.names_only_a_model else {}


def _segments(request: PersonRequest, run: Run, wanted: SampleFilter, counts: dict[str, int]) -> list[dict[str, Any]]:
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
        href = f"?{query.urlencode()}"
        found.append({"label": label, "key": key, "count": counts.get(value), "href": href, "is_current": value == wanted.show})
    return found


def reference_text(reference: Any) -> str:
    """A reference as people read it: a text as it is, accepted answers one by one, anything else as JSON."""
    if isinstance(reference, str):
        return reference
    if isinstance(reference, list) and all(isinstance(each, str) for each in reference):
        return " or ".join(reference)
    return json.dumps(reference, ensure_ascii=False, indent=1)
