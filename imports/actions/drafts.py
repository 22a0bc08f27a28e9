"""The wizard's drafts: begun, changed by revision, given up, and forgotten a day after their last change."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from catalog.models import BenchmarkVersion
from catalog.queries import manifest_of as version_manifest
from common.errors import Conflict, Refused
from imports import drafting
from imports.models import DRAFT_LIFE, ImportDraft, RowCheck
from imports.queries.drafts import drafts_of, expired_drafts, source_uri_of
from workspaces.actors import Actor
from workspaces.models import User, Workspace
from workspaces.permissions import can_import, require

MAX_DRAFTS = 20
"""Of one person in one workspace; the oldest goes when another one is begun."""
MAX_STATE_CHARS = 400_000
NOT_IMPORTER = "Viewers read results. Ask an admin of this workspace for the member role to import benchmarks."


def create_draft(workspace: Workspace, *, actor: Actor, source: str = "", state: Mapping[str, Any] | None = None) -> ImportDraft:
    """A new draft of the person. Raises `Forbidden` for who may not import, `Refused` `draft_too_large`."""
    require(can_import(actor, workspace), NOT_IMPORTER)
    user = _person(actor)
    kept = dict(state or {})
    _require_small(kept)
    with transaction.atomic():
        for old in drafts_of(user, workspace)[MAX_DRAFTS - 1 :]:
            _delete(old)
        return ImportDraft.objects.create(workspace=workspace, user=user, source=source, state=kept)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a change was made on: the revision that was seen, and where script tells them the browser's tab and the moment (ms)."""

    revision: int
    tab: str = ""
    at: int = 0


def save_draft(draft: ImportDraft, *, actor: Actor, seen: Seen, changes: Mapping[str, Any], source: str | None = None) -> ImportDraft:
    """The draft with these keys of its state changed, and a day to live from now.

    Changes of one tab follow each other without a conflict, and of two that cross on the way the later one stays.
    Raises `Conflict` `draft_changed` where it was changed since that revision, `draft_done` where it is a benchmark by now,
    `Refused` `draft_too_large`; DoesNotExist where it was given up.
    """
    require(can_import(actor, draft.workspace), NOT_IMPORTER)
    with transaction.atomic():
        locked = ImportDraft.objects.select_for_update().get(pk=draft.pk, user=_person(actor))
        if locked.version_id is not None:
            raise Conflict("draft_done", "This draft has become a benchmark. Begin a new import to make another one.")
        is_same_tab = bool(seen.tab) and locked.state.get("tab") == seen.tab
        if is_same_tab and seen.at < locked.state.get("at", 0):
            return locked
        if not is_same_tab and locked.revision != seen.revision:
            raise Conflict("draft_changed", "This draft was changed in another tab, or on another device.")
        state = {**locked.state, **changes, "tab": seen.tab[:40], "at": seen.at}
        _require_small(state)
        now = timezone.now()
        values = {"state": state, "revision": locked.revision + 1, "updated_at": now, "expires_at": now + DRAFT_LIFE}
        if source is not None:
            values["source"] = source
        for name, value in values.items():
            setattr(locked, name, value)
        locked.save(update_fields=list(values))
    locked.workspace = draft.workspace
    return locked


def set_source(
    draft: ImportDraft, *, actor: Actor, seen: Seen, uri: str, looked: Mapping[str, Any], suggested: Mapping[str, Any]
) -> ImportDraft:
    """The draft on another stored file. What was chosen stays where it is the same file; on another one it begins with what is suggested.

    Rights are confirmed anew, as they were for another file. Raises as `save_draft`.
    """
    is_same = uri == draft.source
    changes = {"source": dict(looked), "attested": False, "done": drafting.undone(draft.state, "rights")}
    if not is_same:
        kept: dict[str, Any] = {"data_license": None, **dict.fromkeys(drafting.ROWS), "options": {}}
        changes |= kept | dict(suggested) | {"done": ["source"]}
    changes["done"] = drafting.with_done(changes, "source")
    return save_draft(draft, actor=actor, seen=seen, changes=changes, source=uri)


def discard_draft(draft: ImportDraft, *, actor: Actor) -> None:
    """Give the draft up. Its stored source stays; it belongs to the workspace."""
    require(can_import(actor, draft.workspace), NOT_IMPORTER)
    with transaction.atomic():
        _delete(draft)


def duplicate_version(version: BenchmarkVersion, *, actor: Actor) -> ImportDraft:
    """A draft with everything that the private version was made with, to change one thing. Rights are confirmed anew.

    Raises `Conflict` `source_archived` where its file can no longer be named.
    """
    workspace = version.benchmark.workspace
    if workspace is None:
        raise BenchmarkVersion.DoesNotExist
    require(can_import(actor, workspace), NOT_IMPORTER)
    uri = source_uri_of(version)
    if not uri:
        message = (
            "The file that this benchmark was made from cannot be used again: its upload was archived, or an operator imported it."
            " Upload the file again and set it up anew."
        )
        raise Conflict("source_archived", message)
    manifest = version_manifest(version)
    source = manifest.get("source") or {}
    state = {
        "name": f"{manifest['name']} (copy)"[:160],
        "description": manifest["description"],
        "columns": source.get("columns") or {},
        "prompt_template": manifest["prompt_template"],
        "system_prompt": manifest["system_prompt"],
        "task": manifest["grader"],
        "options": {manifest["grader"]: manifest["grader_options"]},
        "max_output_tokens": manifest["max_output_tokens"],
        "split": manifest["split"],
        "data_license": manifest["license"],
        "answer_pattern": source.get("answer_pattern"),
        **{key: source.get(key) for key in drafting.READING},
        "source": {"name": source.get("name", ""), "copied": version.profile_id},
        "done": ["source", "preview", "mapping", "grading"],
    }
    return create_draft(workspace, actor=actor, source=uri, state=state)


def expire_drafts(*, actor: Actor) -> int:
    """Delete the drafts whose day is over, of every workspace; returns how many. `actor` is the system."""
    count = 0
    for draft in expired_drafts(timezone.now()).iterator(chunk_size=200):
        with transaction.atomic():
            _delete(draft)
        count += 1
    return count


def _delete(draft: ImportDraft) -> None:
    for key in RowCheck.objects.filter(draft=draft).exclude(problems_key="").values_list("problems_key", flat=True):
        transaction.on_commit(partial(default_storage.delete, key))
    draft.delete()


def _person(actor: Actor) -> User:
    if actor.user is None:
        raise Refused("person_required", "Drafts of the import page belong to people; programs use the API.")
    return actor.user


def _require_small(state: Mapping[str, Any]) -> None:
    if len(json.dumps(state)) > MAX_STATE_CHARS:
        message = (
            f"What was entered is longer than {MAX_STATE_CHARS:,} characters, which is more than a draft can hold. Shorten the prompt."
        )
        raise Refused("draft_too_large", message)
