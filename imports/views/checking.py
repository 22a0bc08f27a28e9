"""Step 6: every row is read and checked by a worker, which the page watches; each bad row is named with its reason."""

import csv
from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.core.files.storage import default_storage
from django.http import FileResponse, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.errors import Conflict, Forbidden, Refused
from common.web import page, redirect_to, render_page
from imports import drafting
from imports.actions.checking import cancel_check, nudge_checks, start_check
from imports.enums import CheckStatus
from imports.models import ImportDraft, RowCheck
from imports.queries.drafts import latest_check
from imports.views.frame import actor_of, context_of, draft_of, elsewhere, save, source_or_none, step_url
from imports.wording import in_words
from workspaces.requests import PersonRequest

ROWS_A_PAGE = 50


@page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def check(request: PersonRequest, draft_id: object) -> HttpResponse:
    """Begin the check with POST; watch it, and read what it found."""
    draft = draft_of(request, draft_id)
    if away := elsewhere(request, draft, "check"):
        return away
    trouble = ""
    if request.method == "POST":
        if request.POST.get("do") == "leave_out":
            saved = save(request, draft, {"leave_out_leaking_rows": True})
            draft, trouble = saved.draft, saved.trouble
        try:
            if not trouble:
                start_check(draft, actor=actor_of(request))
                return redirect_to(request, step_url(draft, "check"))
        except Forbidden:
            raise
        except Refused as refusal:
            trouble = in_words(refusal.message)
    found = latest_check(draft, drafting.checked_sha256(draft))
    if found is not None and _is_open(found):
        nudge_checks(draft, actor=actor_of(request))
        found.refresh_from_db()
    return _answer(request, draft, found, trouble)


def _is_open(found: RowCheck) -> bool:
    return found.status in {CheckStatus.QUEUED, CheckStatus.RUNNING}


def _answer(request: PersonRequest, draft: ImportDraft, found: RowCheck | None, trouble: str) -> HttpResponse:
    source, missing = source_or_none(draft)
    asked = request.GET.get("from", "")
    start = min(int(asked), 10_000_000) if asked.isascii() and asked.isdigit() else 0
    rows = _problem_rows(found, start) if found is not None and found.problems_key else []
    context = context_of(
        draft,
        "check",
        source=source,
        check=found,
        is_open=found is not None and _is_open(found),
        trouble=trouble or missing,
        rows=rows[:ROWS_A_PAGE],
        first=start + 1,
        last=start + len(rows[:ROWS_A_PAGE]),
        previous=max(0, start - ROWS_A_PAGE) if start else None,
        following=start + ROWS_A_PAGE if len(rows) > ROWS_A_PAGE else None,
    )
    target = getattr(request.htmx, "target", None)  # type: ignore[attr-defined]
    return render_page(
        request, "imports/check.html", context, partial="progress" if target == "progress" else "wizard", status=422 if trouble else 200
    )


def _problem_rows(found: RowCheck, start: int) -> list[list[str]]:
    """A page of the bad rows and the one after it, as they are listed."""
    try:
        with default_storage.open(found.problems_key, "rb") as stored:
            return list(islice(csv.reader(_lines(stored)), start + 1, start + 2 + ROWS_A_PAGE))
    except FileNotFoundError:
        return []


def _lines(stored: Any) -> Iterator[str]:
    for line in stored:
        yield line.decode("utf-8")


@page
@require_POST
def cancellation(request: PersonRequest, draft_id: object) -> HttpResponse:
    """Stop the check, or the making of the benchmark, that is under way."""
    draft = draft_of(request, draft_id)
    step = "create" if request.POST.get("step") == "create" else "check"
    found = latest_check(draft, drafting.checked_sha256(draft), creates=step == "create") if draft.source else None
    if found is None:
        raise Conflict("not_running", "Nothing of this draft is being checked.")
    cancel_check(found, actor=actor_of(request))
    return redirect_to(request, step_url(draft, step))


@page
@never_cache
@require_safe
def problems(request: PersonRequest, draft_id: object) -> HttpResponse:
    """All bad rows of the last check, as CSV."""
    draft = draft_of(request, draft_id)
    found = latest_check(draft, drafting.checked_sha256(draft)) if draft.source else None
    if found is None or not found.problems_key or not default_storage.exists(found.problems_key):
        raise Conflict("no_list", "There is no list of bad rows: the check found none, or the draft was changed since.")
    file = default_storage.open(found.problems_key, "rb")
    return FileResponse(file, as_attachment=True, filename="rows-to-correct.csv", content_type="text/csv; charset=utf-8")  # type: ignore[return-value]
