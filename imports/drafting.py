"""What a draft of the import wizard means: its steps, which of them are answered, and the manifest it makes.

The state of a draft holds the keys of the manifest as far as they are chosen, and beside them

source     how the source was looked for: {"kind", "name", "repository", "commit", "path", "license"}
options    the options typed for each grader, so that looking at another one loses nothing
guesses    what was suggested and not changed since: {key: {"value", "why", "certainty"}}
done       the steps that were answered
attested   whether the person has confirmed the rights, for this source and licence
tab, at    the browser's tab that changed it last, and when by its clock (ms)

No content of a file and no token is ever in it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from django.core.files.storage import default_storage

from catalog.enums import Grader
from common.canonical import canonical_json, sha256_text
from common.errors import Refused
from imports.manifests import DEFAULT_LICENSE, ImportManifest, parse_manifest
from imports.models import ImportDraft
from imports.queries.sources import resolve_source
from imports.reading import RowStream, open_rows
from imports.sources.stored import StoredSource
from imports.suggesting import suggest
from workspaces.models import Workspace

STEPS = ("source", "preview", "mapping", "grading", "rights", "check", "create")
READING = ("format", "encoding", "delimiter", "header")
ROWS = (*READING, "columns", "prompt_template", "answer_pattern", "task", "system_prompt", "leave_out_leaking_rows")
"""The keys that decide whether a row is good."""
_WORKING = {"name": "Draft", "rights_attestation": True}


def grader_of(state: Mapping[str, Any]) -> str:
    """The grader that counts: choices are graded as choices, and nothing else is."""
    if (state.get("columns") or {}).get("choices"):
        return str(Grader.MULTIPLE_CHOICE)
    task = state.get("task")
    return str(task) if task in Grader.values and task != Grader.MULTIPLE_CHOICE else str(Grader.EXACT_MATCH)


def options_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """The options typed for the grader that counts."""
    return dict((state.get("options") or {}).get(grader_of(state)) or {})


def manifest_of(state: Mapping[str, Any], **filled: Any) -> dict[str, Any]:
    """The manifest that the state makes, as far as it goes, with some keys filled in."""
    columns = {role: column for role, column in (state.get("columns") or {}).items() if column}
    chosen = {
        key: state.get(key) for key in (*READING, "name", "description", "prompt_template", "answer_pattern", "system_prompt", "split")
    }
    document = {
        **chosen,
        "columns": columns,
        "task": grader_of(state),
        "grader_options": options_of(state),
        "max_output_tokens": state.get("max_output_tokens"),
        "leave_out_leaking_rows": state.get("leave_out_leaking_rows") or None,
        "data_license": state.get("data_license") or DEFAULT_LICENSE,
        "rights_attestation": bool(state.get("attested")),
    }
    return {key: value for key, value in (document | filled).items() if value is not None and value != ""}


def working_manifest(state: Mapping[str, Any]) -> ImportManifest:
    """The checked manifest of a draft that has no name and no licence yet. Raises `Refused` as `parse_manifest`."""
    return parse_manifest(manifest_of(state, **_WORKING))


def checked_sha256(draft: ImportDraft) -> str:
    """What a check of all rows is the check of: the source, and each key that decides whether a row is good."""
    document = manifest_of(draft.state)
    decisive = {key: document.get(key) for key in (*ROWS, "grader_options")}
    return sha256_text(canonical_json({"source": draft.source, **decisive}))


def first_incomplete(draft: ImportDraft, *, has_passed: bool) -> str:
    """The first step that is not answered. `has_passed` is whether all rows were checked as the draft stands."""
    if not draft.source:
        return "source"
    done = set(draft.state.get("done") or ())
    for step in ("preview", "mapping", "grading", "rights"):
        if step not in done:
            return step
    if not draft.state.get("attested"):
        return "rights"
    return "create" if has_passed else "check"


def is_ahead(step: str, first: str) -> bool:
    """Whether the step lies beyond the first one that is not answered."""
    return STEPS.index(step) > STEPS.index(first)


def with_done(state: Mapping[str, Any], step: str) -> list[str]:
    """The answered steps, this one among them."""
    done = {*(state.get("done") or ()), step}
    return [each for each in STEPS if each in done]


def undone(state: Mapping[str, Any], *steps: str) -> list[str]:
    """The answered steps without those that must be looked at again."""
    return [each for each in (state.get("done") or ()) if each not in steps]


def stored_source(workspace: Workspace, uri: str) -> StoredSource:
    """The workspace's stored file of that name. Raises `Refused` as `resolve_source`."""
    return resolve_source(workspace, uri)


def source_of(draft: ImportDraft) -> StoredSource:
    """The stored file of the draft. Raises `Refused` where it is gone or was archived, DoesNotExist where there is none."""
    return resolve_source(draft.workspace, draft.source)


@contextmanager
def opened_rows(source: StoredSource, state: Mapping[str, Any]) -> Iterator[RowStream]:
    """The rows of the stored file, read as the draft says. Raises `Refused` as `open_rows`.

    Its SHA-256 is not compared here: this serves what is shown while somebody chooses; the check of all rows compares it.
    """
    header = state.get("header")
    with default_storage.open(source.content.storage_key, "rb") as file:
        yield open_rows(
            cast("BinaryIO", file),
            source.name,
            format=state.get("format") or None,
            header=header if isinstance(header, bool) else True,
            delimiter=state.get("delimiter") or None,
            encoding=state.get("encoding") or None,
        )


def suggested_state(source: StoredSource) -> dict[str, Any]:
    """Keys of a state for a file that nobody has looked at yet: what its rows suggest, marked as guesses, and a name from the file's."""
    state: dict[str, Any] = {"name": default_name(source.name), "guesses": {}}
    try:
        with opened_rows(source, {}) as stream:
            suggestion = suggest(stream, filename=source.name)
    except Refused:
        return state  # the preview says why, and how it can be read
    found = suggestion.manifest()
    state |= {key: found[key] for key in (*ROWS, "max_output_tokens") if key in found and key not in READING}
    if found.get("header") is False:
        state["header"] = False
    if "task" in found:
        state["options"] = {found["task"]: found.get("grader_options") or {}}
    choices = found.get("columns", {}).get("choices")
    state["choices_in"] = "several" if isinstance(choices, list) else "one" if choices else "none"
    document = suggestion.document()
    told = {key: guess for key, guess in document["guesses"].items() if key not in READING or (key == "header" and not guess["value"])}
    return state | {"guesses": told, "withheld": document["withheld"][:20], "doubts": document["problems"][:5]}


def default_name(filename: str) -> str:
    """A name for the benchmark from the file's: "Capitals of europe" for `capitals_of-europe.v2.csv`."""
    stem = filename.rpartition("/")[2].partition(".")[0]
    words = " ".join(stem.replace("_", " ").replace("-", " ").split())
    return (words[:1].upper() + words[1:])[:160] or "Benchmark"
