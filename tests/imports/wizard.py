"""Walking through the import wizard in tests: a draft at a step, and its forms as a browser without script sends them."""

import io
from collections.abc import Mapping
from typing import Any

from django.test import Client

from imports import drafting
from imports.actions.drafts import create_draft
from imports.actions.whole_uploads import upload_whole
from imports.models import ImportDraft, RowCheck
from imports.tasks import check_rows
from tests.site.reading import read
from workspaces.actors import actor_of_user
from workspaces.models import User, Workspace

START = "/catalog/import"
CAPITALS = b"id,country,capital,notes\n1,Peru,Lima,a\n2,France,Paris,b\n3,Japan,Tokyo,c\n4,Kenya,Nairobi,d\n"
STEPS = drafting.STEPS


def begin(
    user: User, workspace: Workspace, content: bytes = CAPITALS, *, file: str = "capitals.csv", done: int = 1, **state: Any
) -> ImportDraft:
    """A draft on an uploaded file, with what is suggested for it, that has answered so many steps."""
    actor = actor_of_user(user)
    stored = upload_whole(workspace, actor=actor, name=file, size=len(content), stream=io.BytesIO(content))
    suggested = drafting.suggested_state(drafting.stored_source(workspace, stored.uri))
    kept = {**suggested, "source": {"kind": "file", "name": file}, "done": list(STEPS[:done]), "attested": done > 4, **state}
    return create_draft(workspace, actor=actor, source=stored.uri, state=kept)


def ready(user: User, workspace: Workspace, content: bytes = CAPITALS, **state: Any) -> ImportDraft:
    mapped = {
        "columns": {"id": "id", "question": "country", "answer": "capital"},
        "prompt_template": "Capital of {question}?",
        "task": "exact_match",
    }
    return begin(user, workspace, content, done=5, **{**mapped, "options": {"exact_match": {}}, **state})


def path(draft: ImportDraft, step: str) -> str:
    return f"{START}/{draft.public_id}/{step}"


def fields(response: Any, form: str) -> dict[str, list[str]]:
    """What the form of that ID would send as it stands, without its buttons."""
    found: dict[str, list[str]] = {}
    page = read(response.content.decode())
    own = next(each for each in page.all("form") if each.attributes.get("id") == form)
    for each in page.all("input", "select", "textarea"):
        name, kind = each.attributes.get("name"), each.attributes.get("type", "text")
        if not name or (own not in each.above() and each.attributes.get("form") != form):
            continue
        if kind in {"checkbox", "radio"} and "checked" not in each.attributes:
            continue
        if each.tag == "select":
            options = list(each.all("option"))
            chosen = [option for option in options if "selected" in option.attributes] or options[:1]
            found.setdefault(name, []).extend(option.attributes.get("value") or "" for option in chosen)
        else:
            value = "".join(map(str, each.inside)) if each.tag == "textarea" else each.attributes.get("value")
            found.setdefault(name, []).append(value if value is not None else "on" if kind in {"checkbox", "radio"} else "")
    return found


def send(client: Client, draft: ImportDraft, step: str, *, do: str = "next", **changed: Any) -> Any:
    """Send the step's form as it stands, with some fields changed (None takes one away)."""
    form = {"preview": "reading"}.get(step, step)
    data: dict[str, Any] = {**fields(client.get(path(draft, step)), form), "do": do, **changed}
    return client.post(path(draft, step), {key: value for key, value in data.items() if value is not None})


def work_checks() -> None:
    """What a worker would do with the checks that wait."""
    for public_id in RowCheck.objects.filter(status="queued").values_list("public_id", flat=True):
        check_rows(str(public_id))


def problems(response: Any) -> dict[str, str]:
    """The words of what is wrong by the field they stand at."""
    page = read(response.content.decode())
    return {
        each.attributes["id"].removesuffix("-error"): each.text  # type: ignore[union-attr]
        for each in page.all("div")
        if each.has("field-error") and (each.attributes.get("id") or "").endswith("-error")
    }


def state_of(draft: ImportDraft) -> Mapping[str, Any]:
    return ImportDraft.objects.get(pk=draft.pk).state  # type: ignore[no-any-return]
