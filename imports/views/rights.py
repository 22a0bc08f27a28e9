"""Step 5: the benchmark's name, the data's licence, and the confirmation that it may be used."""

from django.http import HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from common.web import page, redirect_to, render_page
from imports import drafting
from imports.actions.benchmarks import RIGHTS_STATEMENT
from imports.forms import LICENSES, OTHER, Problems, read_rights, rights_problems
from imports.manifests import DEFAULT_LICENSE
from imports.models import ImportDraft
from imports.views.frame import NEXT, Saved, context_of, draft_of, elsewhere, save, source_or_none, step_url
from workspaces.requests import PersonRequest


@page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def rights(request: PersonRequest, draft_id: object) -> HttpResponse:
    """Name it, and confirm the rights."""
    draft = draft_of(request, draft_id)
    if away := elsewhere(request, draft, "rights"):
        return away
    verified = _verified(draft)
    if request.method != "POST":
        return _answer(request, Saved(draft), verified)
    changes = read_rights(request.POST, verified=verified)
    problems = rights_problems({**draft.state, **changes})
    changes["done"] = drafting.undone(draft.state, "rights") if problems else drafting.with_done(draft.state, "rights")
    saved = save(request, draft, changes)
    if problems or saved.trouble:
        return _answer(request, saved, verified, problems=problems)
    return redirect_to(request, step_url(saved.draft, NEXT["rights"]))


def _verified(draft: ImportDraft) -> str:
    """The licence that the source itself states; empty for an upload."""
    source, _ = source_or_none(draft)
    return source.license if source is not None else ""


def _answer(request: PersonRequest, saved: Saved, verified: str, *, problems: Problems | None = None) -> HttpResponse:
    license_ = saved.draft.state.get("data_license") or DEFAULT_LICENSE
    kind = saved.draft.state.get("license_is") or ("private" if license_ == DEFAULT_LICENSE else "named" if license_ in LICENSES else OTHER)
    context = context_of(
        saved.draft,
        "rights",
        saving=saved.trouble,
        problems=problems or {},
        verified=verified,
        license_is=kind,
        license_now=license_,
        license_other="" if license_ == DEFAULT_LICENSE or license_ in LICENSES else license_,
        licenses=LICENSES,
        statement=RIGHTS_STATEMENT,
    )
    status = saved.status if saved.trouble else 422 if problems else 200
    return render_page(request, "imports/rights.html", context, partial="wizard", status=status)
