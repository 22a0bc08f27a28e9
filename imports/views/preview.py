"""Step 2: what was understood of the file, row by row, before anything is made of it."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from common.errors import Refused
from common.web import is_fragment_request, page, redirect_to, render_page
from imports import drafting, showing
from imports.forms import DELIMITERS, FORMAT_WORDS, read_reading
from imports.models import ImportDraft
from imports.reading.encoding import ENCODINGS
from imports.views.frame import NEXT, Saved, context_of, draft_of, elsewhere, save, source_or_none, step_url
from imports.wording import in_words
from workspaces.requests import PersonRequest

USUAL = ("utf-8", "cp1252", "utf-16", "iso8859-1", "shift_jis", "gb18030", "big5", "euc_kr", "koi8-r", "cp1251")


@page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def preview(request: PersonRequest, draft_id: object) -> HttpResponse:
    """Look at the first rows; how the file is read can be chosen otherwise."""
    draft = draft_of(request, draft_id)
    if away := elsewhere(request, draft, "preview"):
        return away
    if request.method != "POST":
        return _answer(request, Saved(draft))
    changes: dict[str, Any] = read_reading(request.POST)
    goes_on = request.POST.get("do") == "next" and not is_fragment_request(request)
    if any(changes[key] != _chosen(draft)[key] for key in drafting.READING):
        changes["done"] = drafting.undone(draft.state, "preview", "mapping")
        changes["guesses"] = {key: guess for key, guess in (draft.state.get("guesses") or {}).items() if key not in changes}
    else:
        changes = {}
    if goes_on and not _shown({**draft.state, **changes}, draft)["trouble"]:
        changes["done"] = drafting.with_done({**draft.state, **changes}, "preview")
    saved = save(request, draft, changes)
    if goes_on and not saved.trouble and "preview" in saved.draft.state["done"]:
        return redirect_to(request, step_url(saved.draft, NEXT["preview"]))
    return _answer(request, saved, is_refused=goes_on)


def _chosen(draft: ImportDraft) -> dict[str, Any]:
    return {key: draft.state.get(key) for key in drafting.READING}


def _shown(state: dict[str, Any], draft: ImportDraft) -> dict[str, Any]:
    """The preview, or in `trouble` why there is none."""
    source, missing = source_or_none(draft)
    if source is None:
        return {"source": None, "shown": None, "trouble": missing}
    try:
        with drafting.opened_rows(source, state) as stream:
            return {"source": source, "shown": showing.preview(stream), "trouble": ""}
    except Refused as refusal:
        return {"source": source, "shown": None, "trouble": in_words(refusal.message)}


def _answer(request: PersonRequest, saved: Saved, *, is_refused: bool = False) -> HttpResponse:
    draft = saved.draft
    found = _shown(draft.state, draft)
    context = context_of(
        draft,
        "preview",
        **found,
        saving=saved.trouble,
        delimiters=DELIMITERS,
        formats=FORMAT_WORDS.items(),
        usual_encodings=USUAL,
        other_encodings=sorted(ENCODINGS - set(USUAL)),
    )
    status = saved.status if saved.trouble else 422 if is_refused and found["trouble"] else 200
    return render_page(request, "imports/preview.html", context, partial="wizard", status=status)
