"""What every step of the wizard shares: whose draft it is, the way through the steps, and saving without losing what another tab saved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from common.errors import Conflict, Refused
from common.web import redirect_to
from imports import drafting
from imports.actions.drafts import NOT_IMPORTER, Seen, save_draft
from imports.models import ImportDraft
from imports.queries.drafts import get_draft_seen_by, has_passed
from imports.queries.first_rows import Preview
from imports.sources.stored import StoredSource
from imports.wording import in_words
from workspaces.actors import Actor, actor_of_user
from workspaces.models import Workspace
from workspaces.permissions import can_import, require
from workspaces.queries import get_workspace_of, required_workspace
from workspaces.requests import PersonRequest

LABELS = {
    "source": "Source",
    "preview": "Preview",
    "mapping": "Columns",
    "grading": "Grading",
    "rights": "Rights",
    "check": "Check",
    "create": "Create",
}
ROWS_LOOKED_AT = 5
NEXT = dict(zip(drafting.STEPS, drafting.STEPS[1:], strict=False))


def actor_of(request: PersonRequest) -> Actor:
    return actor_of_user(request.user)


def importing_workspace(request: PersonRequest, workspace_id: str = "") -> Workspace:
    """The named workspace, else the session's, if the person may import there. Raises `Forbidden`, Workspace.DoesNotExist."""
    workspace = get_workspace_of(request.user, workspace_id) if workspace_id else required_workspace(request)
    require(can_import(actor_of(request), workspace), NOT_IMPORTER)
    return workspace


def draft_of(request: PersonRequest, draft_id: object) -> ImportDraft:
    """The person's own draft. Raises `Forbidden` for viewers of its workspace, DoesNotExist for everyone else's."""
    draft = get_draft_seen_by(request.user, str(draft_id))
    require(can_import(actor_of(request), draft.workspace), NOT_IMPORTER)
    if draft.user_id != request.user.pk:
        raise ImportDraft.DoesNotExist
    return draft


def first_open(draft: ImportDraft) -> str:
    """The first step that is not answered."""
    return drafting.first_incomplete(draft, has_passed=bool(draft.source) and has_passed(draft, drafting.checked_sha256(draft)))


def elsewhere(request: HttpRequest, draft: ImportDraft, step: str) -> HttpResponse | None:
    """Where to go instead of a step that cannot be looked at yet, or of a draft that is a benchmark by now."""
    if draft.version is not None:
        return redirect_to(request, reverse("catalog:benchmark", args=[draft.version.benchmark.slug]))
    first = first_open(draft)
    return redirect_to(request, step_url(draft, first)) if drafting.is_ahead(step, first) else None


def step_url(draft: ImportDraft, step: str) -> str:
    return reverse("imports:draft_source" if step == "source" else f"imports:{step}", args=[draft.public_id])


def stepper(draft: ImportDraft | None, step: str) -> list[dict[str, str]]:
    """The stepper: every step up to the first open one can be gone to."""
    first = first_open(draft) if draft is not None else "source"
    found = []
    for name in drafting.STEPS:
        is_reached = draft is not None and not drafting.is_ahead(name, first)
        state = "current" if name == step else "done" if is_reached and name != first else "todo"
        href = step_url(draft, name) if is_reached and draft is not None and name != step else ""
        found.append({"label": LABELS[name], "state": state, "href": href, "note": ""})
    return found


def context_of(draft: ImportDraft, step: str, **more: Any) -> dict[str, Any]:
    """What the template of every step needs."""
    return {
        "draft": draft,
        "state": draft.state,
        "guesses": draft.state.get("guesses") or {},
        "form_workspace": draft.workspace,
        "step": step,
        "steps": stepper(draft, step),
        "back": step_url(draft, drafting.STEPS[drafting.STEPS.index(step) - 1]) if step != "source" else "",
        "problems": {},
        **more,
    }


def seen_by(request: HttpRequest) -> Seen:
    """What a form says it was made on."""

    def whole(name: str) -> int:
        text = request.POST.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0

    return Seen(whole("revision"), request.POST.get("tab", "")[:40], whole("at"))


@dataclass(slots=True)
class Saved:
    """The draft as it is now, or as it would be where it could not be saved; `trouble` says why in a sentence."""

    draft: ImportDraft
    trouble: str = ""

    @property
    def status(self) -> int:
        return 409 if self.trouble else 200


def save(request: PersonRequest, draft: ImportDraft, changes: Mapping[str, Any]) -> Saved:
    """Save what a form holds. Where another tab was quicker nothing is saved and nothing lost: the form comes back with all of it."""
    try:
        return Saved(save_draft(draft, actor=actor_of(request), seen=seen_by(request), changes=changes))
    except Conflict as refusal:
        if refusal.code != "draft_changed":
            raise
        trouble = "This draft was changed in another tab since this page was opened. What you entered is still here, and not saved yet."
    except Refused as refusal:
        if refusal.code != "draft_too_large":
            raise
        trouble = refusal.message
    current = draft_of(request, draft.public_id)
    current.state = {**current.state, **changes}
    return Saved(current, trouble)


def looked_at(look: Callable[[], Preview]) -> dict[str, Any]:
    """The first rows of a file that lies elsewhere, as the pages of sources show them, or why they cannot be shown."""
    try:
        seen = look()
    except Refused as refusal:
        return {"look_trouble": in_words(refusal.message)}
    rows = [[row.get(name, "") for name in seen.columns] for row in seen.rows[:ROWS_LOOKED_AT]]
    return {"looked": {"columns": seen.columns, "rows": rows}}


def source_or_none(draft: ImportDraft) -> tuple[StoredSource | None, str]:
    """The draft's stored file, or why it cannot be read any more."""
    try:
        return drafting.source_of(draft), ""
    except Refused as refusal:
        return None, refusal.message
