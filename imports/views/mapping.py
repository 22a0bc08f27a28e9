"""Step 3: which column is what, and beside it the prompt as the model gets it."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.rendering import NEVER_DELIVERED
from common.errors import Refused
from common.web import is_fragment_request, page, redirect_to, render_page
from imports import drafting, showing
from imports.forms import MAX_PROMPT_COLUMNS, Problems, mapping_problems, prompt_columns, read_mapping
from imports.models import ImportDraft
from imports.views.frame import NEXT, Saved, context_of, draft_of, elsewhere, save, source_or_none, step_url
from imports.wording import in_words
from workspaces.requests import PersonRequest

FIELD_OF_REFUSAL = {"byob_answer_in_input": "prompts"}


@page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def mapping(request: PersonRequest, draft_id: object) -> HttpResponse:
    """Map columns to roles and write the prompt. A form that htmx sends while it is filled in is saved and answered with what it makes."""
    draft = draft_of(request, draft_id)
    if away := elsewhere(request, draft, "mapping"):
        return away
    seen = _Columns(draft)
    if seen.trouble:
        return redirect_to(request, step_url(draft, "preview"))
    if request.method != "POST":
        return _answer(request, Saved(draft), seen)
    asked = request.POST.get("do", "")
    changes = _changes(draft, read_mapping(request.POST, seen.names), seen)
    if asked == "add":
        changes["spare"] = True
    if asked.startswith("remove-"):
        changes["columns"].pop(asked.removeprefix("remove-"), None)
    if asked != "next":
        return _answer(request, save(request, draft, changes), seen)
    problems = mapping_problems({**draft.state, **changes}) or seen.leak({**draft.state, **changes})
    changes["done"] = drafting.undone(draft.state, "mapping") if problems else drafting.with_done(draft.state, "mapping")
    if drafting.grader_of(draft.state) != drafting.grader_of({**draft.state, **changes}):
        changes["done"] = [step for step in changes["done"] if step != "grading"]
    saved = save(request, draft, changes)
    if problems or saved.trouble:
        return _answer(request, saved, seen, problems=problems)
    return redirect_to(request, step_url(saved.draft, NEXT["mapping"]))


def _changes(draft: ImportDraft, changes: dict[str, Any], seen: "_Columns") -> dict[str, Any]:
    """The form's keys; a guess that was changed is none any more."""
    guesses = dict(draft.state.get("guesses") or {})
    columns = changes["columns"]
    for key in [key for key in guesses if key.startswith("columns.")]:
        if columns.get(key.removeprefix("columns.")) != guesses[key]["value"]:
            del guesses[key]
    for key in ("prompt_template", "answer_pattern"):
        if key in guesses and guesses[key]["value"] != changes[key]:
            del guesses[key]
    return {**changes, "guesses": guesses, "spare": False}


class _Columns:
    """The file's columns, and its first rows under a mapping."""

    def __init__(self, draft: ImportDraft) -> None:
        self.source, self.trouble = source_or_none(draft)
        self.preview: showing.Preview | None = None
        if self.source is not None:
            try:
                with drafting.opened_rows(self.source, draft.state) as stream:
                    self.preview = showing.preview(stream)
            except Refused as refusal:
                self.trouble = in_words(refusal.message)

    @property
    def names(self) -> list[str]:
        return self.preview.names if self.preview is not None else []

    def leak(self, state: dict[str, Any]) -> Problems:
        """Where the mapping would send the answer, or names what is not there, by field."""
        assert self.source is not None
        try:
            manifest = drafting.working_manifest({**state, "options": _tried_options(state)})
            with drafting.opened_rows(self.source, state) as stream:
                showing.require_no_leak(stream, manifest)
        except Refused as refusal:
            column = refusal.details.get("column")
            field = FIELD_OF_REFUSAL.get(refusal.code) or ("answer" if column == state["columns"].get("answer") else "prompts")
            return {field: in_words(refusal.message)}
        return {}

    def delivered(self, state: dict[str, Any]) -> tuple[list[showing.Delivered], str]:
        """The first rows as sent, or why none can be shown yet."""
        assert self.source is not None
        try:
            manifest = drafting.working_manifest({**state, "options": _tried_options(state)})
            with drafting.opened_rows(self.source, state) as stream:
                return showing.delivered(stream, manifest), ""
        except Refused as refusal:
            return [], in_words(refusal.message)


def _tried_options(state: dict[str, Any]) -> dict[str, Any]:
    """Options that can be used while the grader is still to be chosen."""
    try:
        drafting.working_manifest({**state, "prompt_template": state.get("prompt_template") or "{question}"})
    except Refused:
        grader = drafting.grader_of(state)
        return {grader: {"regex_match": {"pattern": "(?s).*"}, "json_field_match": {"fields": ["answer"]}}.get(grader, {})}
    return dict(state.get("options") or {})


def _answer(request: PersonRequest, saved: Saved, seen: _Columns, *, problems: Problems | None = None) -> HttpResponse:
    draft = saved.draft
    state = draft.state
    first = mapping_problems(state)
    rows, trouble = ([], "") if first else seen.delivered(state)
    row = request.POST.get("row") or "1"
    prompts = prompt_columns(state)
    if (not prompts or state.get("spare")) and len(prompts) < MAX_PROMPT_COLUMNS:
        prompts = [*prompts, ("question" if not prompts else "", "")]
    chosen = state.get("columns") or {}
    context = context_of(
        draft,
        "mapping",
        source=seen.source,
        shown=seen.preview,
        saving=saved.trouble,
        problems=problems or {},
        unfinished=list(first.values())[:1] or ([trouble] if trouble else []),
        prompts=prompts,
        can_add=len(prompts) < MAX_PROMPT_COLUMNS,
        can_leave_out=bool(state.get("leave_out_leaking_rows"))
        or any(each.leaks for each in rows)
        or "own answer" in (problems or {}).get("prompts", ""),
        choices_in=state.get("choices_in")
        or ("several" if isinstance(chosen.get("choices"), list) else "one" if chosen.get("choices") else "none"),
        choice_columns=chosen.get("choices") if isinstance(chosen.get("choices"), list) else [],
        id_columns=chosen["id"] if isinstance(chosen.get("id"), list) else [chosen["id"]] if chosen.get("id") else [],
        delivered=rows,
        row=next((each for each in rows if str(each.number) == row), rows[0] if rows else None),
        never_sent=_never_sent(chosen, seen.names),
        is_fragment=is_fragment_request(request),
    )
    partial = "beside_answer" if getattr(request.htmx, "target", None) == "beside" else "wizard"  # type: ignore[attr-defined]
    status = saved.status if saved.trouble else 422 if problems else 200
    return render_page(request, "imports/mapping.html", context, partial=partial, status=status)


def _never_sent(chosen: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The columns that no model gets: those that are read for something else, and those that are not read at all."""
    words = {
        "answer": "to grade the row",
        "id": "to identify the row",
        "group": "to draw samples evenly",
        "cluster": "to group rows that belong together",
    }
    read = []
    used = set()
    for role, column in chosen.items():
        listed = column if isinstance(column, list) else [column] if column else []
        used |= {name.partition(".")[0] if name not in names else name for name in listed}
        if role in NEVER_DELIVERED:
            read += [(name, words[role]) for name in listed]
    unread = [name for name in names if name not in used]
    return {"read": read, "unread": unread[:30], "more": max(0, len(unread) - 30)}
