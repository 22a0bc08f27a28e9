"""Step 4: how an answer is graded, tried on the bench, and what a model is told beside the prompt."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.enums import Grader
from catalog.graders import describe
from catalog.graders.exact_match import OPTIONS as EXACT
from catalog.graders.numeric import OPTIONS as NUMERIC
from catalog.graders.options import normalize
from catalog.graders.texts import NORMALIZE
from catalog.manifests import MAX_OUTPUT_TOKENS
from common.errors import Refused
from common.redaction import redact
from common.web import page, redirect_to, render_page
from imports import bench, drafting, showing
from imports.forms import Problems, grading_problems, read_grading
from imports.models import ImportDraft
from imports.views.frame import NEXT, Saved, context_of, draft_of, elsewhere, save, source_or_none, step_url
from imports.wording import in_words
from workspaces.requests import PersonRequest

GRADERS = (
    (
        Grader.EXACT_MATCH,
        "The answer is a text",
        "It must equal the reference, apart from what you let pass: case, white space, punctuation.",
    ),
    (
        Grader.NUMERIC,
        "The answer is a number",
        "A number is taken out of the answer and compared as an exact decimal, or within a tolerance.",
    ),
    (Grader.REGEX_MATCH, "A pattern finds the answer", "A regular expression takes the part that counts, which must equal the reference."),
    (Grader.JSON_FIELD_MATCH, "The answer is JSON", "The fields that you name must equal those of the reference."),
)
NORMALIZE_WORDS = {
    "nfkc": "Take forms of one character as the same (Unicode NFKC)",
    "casefold": "Ignore upper and lower case",
    "collapse_whitespace": "Take any white space as one space",
    "strip_punctuation": "Ignore punctuation",
}
DEFAULT_TOKENS = 256


@page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def grading(request: PersonRequest, draft_id: object) -> HttpResponse:
    """Choose the grader and its options; a form that htmx sends while it is filled in is saved, and the bench answers."""
    draft = draft_of(request, draft_id)
    if away := elsewhere(request, draft, "grading"):
        return away
    if request.method != "POST":
        return _answer(request, Saved(draft))
    changes = read_grading(request.POST)
    guesses = dict(draft.state.get("guesses") or {})
    if drafting.grader_of(draft.state) != drafting.grader_of({**draft.state, **changes}):
        guesses.pop("task", None)
    if drafting.options_of(draft.state) != drafting.options_of({**draft.state, **changes}):
        guesses.pop("grader_options", None)
    changes["guesses"] = guesses
    if request.POST.get("do") != "next":
        return _answer(request, save(request, draft, changes))
    problems = grading_problems({**draft.state, **changes})
    changes["done"] = drafting.undone(draft.state, "grading") if problems else drafting.with_done(draft.state, "grading")
    saved = save(request, draft, changes)
    if problems or saved.trouble:
        return _answer(request, saved, problems=problems)
    return redirect_to(request, step_url(saved.draft, NEXT["grading"]))


def _rows(draft: ImportDraft) -> tuple[list[showing.Delivered], str]:
    """The first rows as they are graded, or why they cannot be."""
    source, trouble = source_or_none(draft)
    if source is None:
        return [], trouble
    try:
        manifest = drafting.working_manifest({**draft.state, "max_output_tokens": None, "split": None})
        with drafting.opened_rows(source, draft.state) as stream:
            return showing.delivered(stream, manifest), ""
    except Refused as refusal:
        return [], in_words(refusal.message)


def _answer(request: PersonRequest, saved: Saved, *, problems: Problems | None = None) -> HttpResponse:
    draft = saved.draft
    state = draft.state
    grader = drafting.grader_of(state)
    rows, trouble = _rows(draft)
    asked = request.POST.get("row") or "1"
    row = next((each for each in rows if str(each.number) == asked), rows[0] if rows else None)
    answer = request.POST.get("answer", "")[: bench.MAX_ANSWER]
    trial, rule, examples = None, "", []
    try:
        rule = describe(grader, drafting.options_of(state))
        if row is not None and not row.problem:
            if answer.strip():
                trial = bench.try_answer(grader, drafting.options_of(state), row.reference, row.choices, answer)
            else:
                examples = bench.examples(grader, drafting.options_of(state), row.reference, row.choices)
    except Refused as refusal:
        trouble = trouble or in_words(refusal.message)
    context = context_of(
        draft,
        "grading",
        saving=saved.trouble,
        problems=problems or {},
        grader=grader,
        is_choice=grader == Grader.MULTIPLE_CHOICE,
        graders=[(str(value), label, words) for value, label, words in GRADERS],
        options=_options(state),
        normalize_words=NORMALIZE_WORDS.items(),
        default_tokens=DEFAULT_TOKENS,
        most_tokens=MAX_OUTPUT_TOKENS,
        rows=rows,
        row=row,
        answer=redact(answer),
        trial=trial,
        examples=examples,
        rule=rule,
        unfinished=trouble,
    )
    is_beside = str(request.htmx.target if request.htmx else "") in {"beside", "trial"}  # type: ignore[attr-defined]
    partial = "bench_answer" if is_beside else "wizard"
    status = saved.status if saved.trouble else 422 if problems else 200
    return render_page(request, "imports/grading.html", context, partial=partial, status=status)


def _options(state: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of every grader, the defaults where nothing was typed."""
    typed = state.get("options") or {}
    defaults: dict[str, dict[str, Any]] = {
        "multiple_choice": {"answer_format": "letter", "index_base": 0},
        "exact_match": {"extract": "full", "prefix": EXACT["prefix"][0], "normalize": NORMALIZE},
        "regex_match": {"pattern": "", "anchored": True, "normalize": NORMALIZE},
        "numeric": {"extract": "last_number", "prefix": NUMERIC["prefix"][0], "abs_tol": 0, "rel_tol": 0},
        "json_field_match": {"fields": [], "extract": "strict"},
    }
    found = {grader: {**values, **(typed.get(grader) or {})} for grader, values in defaults.items()}
    for values in found.values():
        if "normalize" in values:
            values["normalize"] = normalize("normalize", values["normalize"])
    found["json_field_match"]["text"] = ", ".join(found["json_field_match"]["fields"])
    return found
