"""The wizard's forms. Each is read into keys of a draft's state without losing what is wrong, and then its problems are told by field.

`read_…` takes what a form sent; `…_problems` says what is not right yet, as {field: words}. A draft keeps both right and wrong.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from django.http import QueryDict

from catalog.enums import Grader
from catalog.graders import checked_options
from catalog.graders.texts import NORMALIZE
from catalog.manifests import MAX_OUTPUT_TOKENS
from catalog.rendering import CHOICES, MAX_RENDERED, NEVER_DELIVERED, check_template
from common.errors import Refused
from imports import drafting
from imports.manifests import DEFAULT_LICENSE, MAX_CHOICES, answer_pattern, parse_manifest
from imports.reading.encoding import ENCODINGS
from imports.reading.files import FORMATS
from imports.wording import in_words

MAX_PROMPT_COLUMNS = 12
DELIMITERS = ((",", "Comma"), (";", "Semicolon"), ("\t", "Tab"), ("|", "Bar"))
FORMAT_WORDS = {"jsonl": "JSON Lines, or one JSON array", "csv": "Delimited text (CSV, TSV)", "parquet": "Parquet"}
LICENSES = (
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CC-BY-4.0",
    "CC-BY-SA-4.0",
    "CC-BY-NC-4.0",
    "ODC-By-1.0",
    "ODbL-1.0",
    "GPL-3.0-only",
)
"""Licences that can be named by a click. Any other is written as its identifier."""
OTHER = "other"
_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_LICENSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+\-]{0,79}")
Problems = dict[str, str]


# ── How the file is read ────────────────────────────────────────────────────────────────────────────────────────────


def read_reading(data: QueryDict) -> dict[str, Any]:
    """`format`, `encoding`, `delimiter` and `header` as chosen; None for what the file tells by itself."""
    header = {"yes": True, "no": False}.get(data.get("header", ""))
    chosen = {"format": data.get("format"), "encoding": data.get("encoding"), "delimiter": data.get("delimiter")}
    if chosen["format"] not in FORMATS:
        chosen["format"] = None
    if chosen["encoding"] not in ENCODINGS:
        chosen["encoding"] = None
    if chosen["delimiter"] not in {value for value, _ in DELIMITERS}:
        chosen["delimiter"] = None
    return {**chosen, "header": header}


# ── Columns and prompt ──────────────────────────────────────────────────────────────────────────────────────────────


def read_mapping(data: QueryDict, columns: Collection[str]) -> dict[str, Any]:
    """`columns`, `prompt_template` and `answer_pattern` as entered. Several columns of choices, or of an ID, stand in the file's order."""
    mapped: dict[str, Any] = {}
    for role, column in zip(data.getlist("role"), data.getlist("column"), strict=False):
        role = role.strip() or (_role_for(column, mapped) if column else "")
        if role and role not in mapped:
            mapped[role] = column
    order = {name: position for position, name in enumerate(columns)}
    how = data.get("choices_in", "none")
    if how == "one" and data.get("choices_column"):
        mapped["choices"] = data["choices_column"]
    elif how == "several" and data.getlist("choices_columns"):
        mapped["choices"] = sorted(data.getlist("choices_columns"), key=lambda name: order.get(name, len(order)))
    mapped["answer"] = data.get("answer", "")
    ids = sorted(data.getlist("ids"), key=lambda name: order.get(name, len(order)))
    mapped["id"] = ids[0] if len(ids) == 1 else ids
    mapped |= {role: data.get(role, "") for role in ("group", "cluster")}
    return {
        "columns": mapped,
        "choices_in": how if how in {"none", "one", "several"} else "none",
        "prompt_template": _lines(data.get("prompt_template", "")),
        "answer_pattern": data.get("answer_pattern", "").strip() or None,
        "leave_out_leaking_rows": data.get("leave_out") == "on",
    }


def _role_for(column: str, taken: Collection[str]) -> str:
    """A placeholder's name from the column's: "question" where it has no letters."""
    name = re.sub(r"\W+", "_", column.rpartition(".")[2].lower(), flags=re.ASCII).strip("_")[:40] or "question"
    name = name if _ROLE.fullmatch(name) and name not in {*NEVER_DELIVERED, CHOICES} else f"column_{name}"
    return name if name not in taken else f"{name}_2"


def _lines(text: str) -> str:
    """A text as browsers send it, with plain line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def prompt_columns(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The placeholders of the prompt with their columns."""
    return [(role, column) for role, column in (state.get("columns") or {}).items() if role not in {*NEVER_DELIVERED, CHOICES}]


def mapping_problems(state: Mapping[str, Any]) -> Problems:
    """What is not right with the columns and the prompt, by field: `prompts`, `choices`, `answer`, `answer_pattern`, `prompt_template`."""
    found: Problems = {}
    columns = state.get("columns") or {}
    prompts = [(role, column) for role, column in prompt_columns(state) if column]
    has_choices = bool(columns.get("choices"))
    template = state.get("prompt_template") or ""
    if not prompts and not has_choices:
        found["prompts"] = "Choose the column that holds the question. Without one every row would ask the same."
    for role, column in prompt_columns(state):
        if not _ROLE.fullmatch(role):
            found["prompts"] = f"“{role[:40]}” cannot be a placeholder. Its name is of letters, digits and _, and begins with no digit."
        elif not column:
            found["prompts"] = f"Choose the column that fills {{{role}}}, or take it away."
    if len(prompts) > MAX_PROMPT_COLUMNS:
        found["prompts"] = f"A prompt takes at most {MAX_PROMPT_COLUMNS} columns."
    if state.get("choices_in") in {"one", "several"} and not has_choices:
        found["choices"] = "Choose the column that holds the choices, or say that there are none."
    elif isinstance(columns.get("choices"), list) and not 2 <= len(columns["choices"]) <= MAX_CHOICES:
        found["choices"] = f"Choose 2 to {MAX_CHOICES} columns, one for each choice."
    if not columns.get("answer"):
        found["answer"] = "Choose the column that holds the right answer."
    if state.get("answer_pattern"):
        try:
            answer_pattern(state["answer_pattern"])
        except Refused as refusal:
            found["answer_pattern"] = in_words(refusal.message)
    if len(template) > MAX_RENDERED:
        found["prompt_template"] = f"The prompt has {len(template):,} characters; at most {MAX_RENDERED:,} are allowed."
    elif not template.strip():
        found["prompt_template"] = "Write what the model is asked, with {placeholders} for what comes from the row."
    else:
        try:
            check_template(template, [role for role, _ in prompts], has_choices=has_choices)
        except Refused as refusal:
            found["prompt_template"] = _template_words(refusal)
    if not found:
        found |= _leftovers(state, {"byob_answer_in_input": "prompts"}, "prompt_template")
    return found


def _template_words(refusal: Refused) -> str:
    names = refusal.details.get("placeholders") or [""]
    return {
        "missing_placeholder": f"The prompt does not name {{{names[0]}}}. Write it where its text belongs, or take the column away.",
        "unknown_placeholder": f"The prompt names {{{names[0]}}}, which no column fills. For a brace that is meant as one, write it twice.",
        "forbidden_placeholder": f"The prompt names {{{names[0]}}}, which is never sent to a model.",
    }.get(refusal.code, in_words(refusal.message.replace("template", "prompt")))


def _leftovers(state: Mapping[str, Any], fields: Mapping[str, str], otherwise: str) -> Problems:
    """What the manifest's own check says beyond the fields' checks."""
    try:
        drafting.working_manifest({**state, "options": _complete_options(state), "max_output_tokens": None})
    except Refused as refusal:
        return {fields.get(refusal.code, otherwise): in_words(refusal.message)}
    return {}


def _complete_options(state: Mapping[str, Any]) -> dict[str, Any]:
    """Options that can be checked: those typed where they are right, else the defaults."""
    grader = drafting.grader_of(state)
    try:
        return {grader: checked_options(grader, drafting.options_of(state))}
    except Refused:
        return {
            grader: {"pattern": ".*"}
            if grader == Grader.REGEX_MATCH
            else {"fields": ["answer"]}
            if grader == Grader.JSON_FIELD_MATCH
            else {}
        }


# ── Grader and options ──────────────────────────────────────────────────────────────────────────────────────────────


def read_grading(data: QueryDict) -> dict[str, Any]:
    """`task`, the options of every grader as typed, `system_prompt`, `max_output_tokens` and `split`."""

    def flag(name: str) -> bool:
        return data.get(name) == "on"

    def normalize(grader: str) -> dict[str, bool]:
        return {part: flag(f"{grader}-{part}") for part in NORMALIZE}

    options: dict[str, dict[str, Any]] = {
        Grader.MULTIPLE_CHOICE: {
            "answer_format": data.get("answer_format", "letter"),
            "index_base": 1 if data.get("index_base") == "1" else 0,
        },
        Grader.EXACT_MATCH: {
            "extract": data.get("exact-extract", "full"),
            "prefix": data.get("exact-prefix", ""),
            "normalize": normalize("exact"),
        },
        Grader.REGEX_MATCH: {
            "pattern": data.get("pattern", ""),
            "anchored": data.get("anchored") != "off",
            "ignore_case": flag("ignore_case"),
            "dot_all": flag("dot_all"),
            "normalize": normalize("regex"),
        },
        Grader.NUMERIC: {
            "extract": data.get("numeric-extract", "last_number"),
            "prefix": data.get("numeric-prefix", ""),
            "abs_tol": _number(data.get("abs_tol", "")),
            "rel_tol": _number(data.get("rel_tol", "")),
        },
        Grader.JSON_FIELD_MATCH: {
            "fields": [path.strip() for path in re.split(r"[,\n]", data.get("fields", "")) if path.strip()],
            "extract": data.get("json-extract", "strict"),
            "normalize_strings": flag("normalize_strings"),
        },
    }
    for grader in (Grader.EXACT_MATCH, Grader.NUMERIC):
        if options[grader]["extract"] != "answer_prefix" and not options[grader]["prefix"].strip():
            del options[grader]["prefix"]
    tokens = data.get("max_output_tokens", "").strip().replace(",", "")
    return {
        "task": data.get("task") if data.get("task") in Grader.values else None,
        "options": {str(grader): found for grader, found in options.items()},
        "system_prompt": _lines(data.get("system_prompt", "")).strip() or None,
        "max_output_tokens": int(tokens) if tokens.isascii() and tokens.isdigit() and len(tokens) < 10 else tokens or None,
        "split": data.get("split", "").strip() or None,
    }


def _number(text: str) -> Any:
    """A tolerance: a number where it is one, else what was typed; 0 for nothing."""
    text = text.strip()
    if not text:
        return 0
    try:
        return json.loads(text) if re.fullmatch(r"\d+(\.\d+)?([eE][-+]?\d+)?", text) else float(text)
    except ValueError:
        return text


def grading_problems(state: Mapping[str, Any]) -> Problems:
    """What is not right with the grading, by field: the options' names, `system_prompt`, `max_output_tokens`, `split`."""
    found: Problems = {}
    grader = drafting.grader_of(state)
    try:
        checked_options(grader, drafting.options_of(state))
    except Refused as refusal:
        option = str(refusal.details.get("option", "pattern" if refusal.code == "invalid_pattern" else "task")).partition(".")[0]
        words = refusal.message.partition(": ")[2] if refusal.code == "invalid_grader_options" else refusal.message
        found[option] = _OPTION_WORDS.get(option) or in_words(words)
    tokens = state.get("max_output_tokens")
    if tokens is not None and (not isinstance(tokens, int) or not 1 <= tokens <= MAX_OUTPUT_TOKENS):
        found["max_output_tokens"] = f"Write a whole number from 1 to {MAX_OUTPUT_TOKENS:,}."
    if len(state.get("system_prompt") or "") > MAX_RENDERED:
        found["system_prompt"] = f"At most {MAX_RENDERED:,} characters are allowed."
    if len(state.get("split") or "") > 60:
        found["split"] = "At most 60 characters."
    if not found:
        try:
            drafting.working_manifest(state)
        except Refused as refusal:
            found["task"] = in_words(refusal.message)
    return found


_OPTION_WORDS = {
    "abs_tol": "Write a number of at least 0, such as 0.01.",
    "rel_tol": "Write a number of at least 0, such as 0.05 for 5%.",
    "fields": "Name 1 to 50 different fields, such as address.city, separated by commas.",
    "prefix": "Write the words that stand before the answer, in one line of at most 100 characters.",
}


# ── Name, licence, rights ───────────────────────────────────────────────────────────────────────────────────────────


def read_rights(data: QueryDict, *, verified: str = "") -> dict[str, Any]:
    """`name`, `description`, `data_license` and `attested`. A licence that the source itself states, verified, is kept."""
    chosen = data.get("license", "")
    if verified:
        license_ = verified
    elif chosen == OTHER:
        license_ = data.get("license_other", "").strip()
    elif chosen == "named":
        license_ = data.get("license_named", "")
    else:
        license_ = DEFAULT_LICENSE
    return {
        "name": " ".join(data.get("name", "").split()),
        "description": _lines(data.get("description", "")).strip(),
        "license_is": chosen if chosen in {"private", "named", OTHER} else "private",
        "data_license": license_,
        "attested": data.get("attested") == "on",
    }


def rights_problems(state: Mapping[str, Any]) -> Problems:
    """What is missing, by field: `name`, `description`, `license`, `attested`."""
    found: Problems = {}
    if not state.get("name"):
        found["name"] = "Give the benchmark a name."
    elif len(state["name"]) > 160:
        found["name"] = "A name has at most 160 characters."
    if len(state.get("description") or "") > 10_000:
        found["description"] = "A description has at most 10,000 characters."
    if not _LICENSE.fullmatch(state.get("data_license") or ""):
        found["license"] = "Write the licence's identifier, such as CC-BY-4.0 or LicenseRef-Our-Terms, without spaces."
    if not state.get("attested"):
        found["attested"] = "Confirm this before the rows are read. Without these rights the data cannot be used here."
    if not found:
        try:
            parse_manifest(drafting.manifest_of(state))
        except Refused as refusal:
            found["name"] = in_words(refusal.message)
    return found
