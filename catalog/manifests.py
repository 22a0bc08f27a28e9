"""The frozen document of a benchmark version: what it asks, how it is graded, where it comes from.

schema "evalrouter.manifest.v1", name, description, category,
grader, grader_options (every option, defaults filled in),
prompt_template, system_prompt (or null), roles (the prompt's, without choices), choices (whether rows have any),
max_output_tokens, split, license, export_policy,
capability "chat", runner "builtin", metrics, few_shot 0, attempts 1, temperature 0,
tasks {count, sha256: of the rows' canonical JSON lines},
source {…: where the rows come from}, rights {statement, …} or null,
delivery {receives: […], never_receives: […], grader: the match rule}   sentences for people
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from catalog.enums import Capability, ExportPolicy, Grader, Runner
from catalog.graders import checked_options, describe
from catalog.rendering import check_template
from common.canonical import canonical_json
from common.errors import Refused

SCHEMA = "evalrouter.manifest.v1"
METRICS = [{"metric": "accuracy", "name": "Accuracy"}]
MAX_OUTPUT_TOKENS = 4096


@dataclass(slots=True)
class TaskRow:
    """A row ready to be stored: the values its prompt is rendered from (each role's text, `choices` a list) and its checked reference."""

    task_id: str
    values: dict[str, Any]
    reference: Any
    group: str = ""
    cluster: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


class TasksDigest:
    """Counts rows and hashes them as they pass: SHA-256 over one canonical JSON line a row, in order."""

    def __init__(self) -> None:
        self.count = 0
        self._hash = hashlib.sha256()

    def add(self, row: TaskRow) -> None:
        line = [row.task_id, row.values, row.reference, row.group, row.cluster, row.metadata]
        self._hash.update(canonical_json(line).encode() + b"\n")
        self.count += 1

    def document(self) -> dict[str, Any]:
        """The manifest's `tasks`."""
        return {"count": self.count, "sha256": self._hash.hexdigest()}


def digest_of(rows: Iterable[TaskRow]) -> dict[str, Any]:
    """The manifest's `tasks` for these rows."""
    digest = TasksDigest()
    for row in rows:
        digest.add(row)
    return digest.document()


def build_manifest(
    *,
    name: str,
    grader: str,
    prompt_template: str,
    roles: Iterable[str],
    grader_options: Mapping[str, Any] | None = None,
    description: str = "",
    category: str = "",
    system_prompt: str | None = None,
    has_choices: bool | None = None,
    max_output_tokens: int = 256,
    split: str = "test",
    license: str = "LicenseRef-Workspace-Private",
    export_policy: str = ExportPolicy.FULL,
    source: Mapping[str, Any] | None = None,
    rights: Mapping[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The manifest without `tasks`, which publishing adds. `columns` names the column of each role, for the words of `delivery`.

    Raises Refused with the codes of `catalog.graders.checked_options` and `catalog.rendering.check_template`, or
    `invalid_max_output_tokens`, `unexpected_choices`, `missing_choices`.
    """
    options = checked_options(grader, grader_options)
    roles = list(roles)
    choices = grader == Grader.MULTIPLE_CHOICE if has_choices is None else has_choices
    if choices and grader != Grader.MULTIPLE_CHOICE:
        raise Refused("unexpected_choices", "Only the grader multiple_choice takes choices.")
    if not choices and grader == Grader.MULTIPLE_CHOICE:
        raise Refused("missing_choices", "The grader multiple_choice needs choices.")
    check_template(prompt_template, roles, has_choices=choices)
    if isinstance(max_output_tokens, bool) or not isinstance(max_output_tokens, int) or not 1 <= max_output_tokens <= MAX_OUTPUT_TOKENS:
        raise Refused("invalid_max_output_tokens", f"max_output_tokens must be a whole number from 1 to {MAX_OUTPUT_TOKENS}.")
    return {
        "schema": SCHEMA,
        "name": name,
        "description": description,
        "category": category,
        "grader": str(grader),
        "grader_options": options,
        "prompt_template": prompt_template,
        "system_prompt": system_prompt or None,
        "roles": roles,
        "choices": choices,
        "max_output_tokens": max_output_tokens,
        "split": split,
        "license": license,
        "export_policy": str(export_policy),
        "capability": str(Capability.CHAT),
        "runner": str(Runner.BUILTIN),
        "metrics": METRICS,
        "few_shot": 0,
        "attempts": 1,
        "temperature": 0,
        "source": dict(source or {}),
        "rights": dict(rights) if rights else None,
        "delivery": _delivery(roles, choices, system_prompt, columns or {}, describe(grader, options)),
    }


def delivery_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What a model receives of each row and what it never does, the match rule, and how a row is run: the output limit in tokens, how many
    examples it is shown, how many attempts it has.
    """
    run = {"output_limit": manifest["max_output_tokens"], "few_shot": manifest["few_shot"], "attempts": manifest["attempts"]}
    return {**manifest["delivery"], **run}


def _delivery(roles: list[str], choices: bool, system_prompt: str | None, columns: Mapping[str, str], rule: str) -> dict[str, Any]:
    def named(role: str) -> str:
        return f"{{{role}}} from the column {columns[role]!r}" if role in columns else f"{{{role}}}"

    receives = ["The system prompt, verbatim, as a system message."] if system_prompt else []
    receives.append(
        f"The prompt template as the user message, with {', '.join(map(named, roles)) or 'no placeholder'} filled in from the row."
    )
    if choices:
        receives.append("The choices as lettered lines: A. text, B. text, and so on.")
    never = ["The answer: read to grade the row, never delivered.", "IDs and groups: used to identify and sample rows, never delivered."]
    if columns:
        never.append("Every column that is not mapped: not read at all.")
    never.append("Instructions, examples or other text of ours: nothing is added.")
    return {"receives": receives, "never_receives": never, "grader": rule}
