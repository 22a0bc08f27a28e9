"""The manifest of an import: every key known, of the right type and possible together. Nothing of the data is read here."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from catalog.enums import Grader
from catalog.graders import checked_options
from catalog.graders.multiple_choice import LETTERS
from catalog.graders.options import compile_pattern
from catalog.manifests import MAX_OUTPUT_TOKENS
from catalog.rendering import MAX_RENDERED, NEVER_DELIVERED, check_template
from common.errors import Refused
from imports.reading.delimited import checked_delimiter
from imports.reading.encoding import known_encoding
from imports.reading.files import FORMATS

MAX_CHOICES = len(LETTERS)
DEFAULT_LICENSE = "LicenseRef-Workspace-Private"
_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_LATER = ("source", "source_sha256", "source_bytes")


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column fills which role."""

    answer: str
    prompt: dict[str, str]
    """Placeholder to column."""
    ids: tuple[str, ...] = ()
    """Columns that make up a row's ID; empty where its number is the ID."""
    group: str | None = None
    cluster: str | None = None
    choices: tuple[str, ...] = ()
    choices_in_one: bool = True
    """Whether the single column of `choices` holds the whole list, or each column one choice."""

    @property
    def chosen(self) -> frozenset[str]:
        """All columns that are read. A path `choices.text` also reads the column `choices`."""
        roots = {column.partition(".")[0] for column in self.choices} if self.choices_in_one else set()
        named = {self.answer, *self.prompt.values(), *self.ids, *self.choices, self.group, self.cluster}
        return frozenset(name for name in named | roots if name is not None)

    def document(self) -> dict[str, Any]:
        """Roles and their columns, as the manifest names them."""
        listed: dict[str, Any] = {"answer": self.answer, **self.prompt}
        if self.ids:
            listed["id"] = self.ids[0] if len(self.ids) == 1 else list(self.ids)
        if self.choices:
            listed["choices"] = self.choices[0] if self.choices_in_one else list(self.choices)
        return listed | {role: column for role, column in (("group", self.group), ("cluster", self.cluster)) if column}


@dataclass(frozen=True, slots=True)
class ImportManifest:
    """A checked manifest with its defaults filled in. `grader_options` are all options of the grader."""

    name: str
    grader: str
    grader_options: dict[str, Any]
    columns: Columns
    prompt_template: str
    description: str = ""
    system_prompt: str | None = None
    max_output_tokens: int = 256
    split: str = "test"
    license: str = DEFAULT_LICENSE
    format: str | None = None
    answer_pattern: str | None = None
    header: bool = True
    delimiter: str | None = None
    encoding: str | None = None
    leave_out_leaking_rows: bool = False
    """Whether rows whose prompt holds their own answer are left out, rather than the file refused."""


def read_manifest(text: bytes | str) -> ImportManifest:
    """The manifest written in a JSON file. Raises `Refused` as `parse_manifest`."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise _refused([f'"{repeated[0]}" stands twice'])
        return dict(pairs)

    try:
        written = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        return parse_manifest(json.loads(written, object_pairs_hook=once))
    except UnicodeDecodeError:
        raise _refused(["it is not UTF-8 text"]) from None
    except json.JSONDecodeError as error:
        raise _refused([f"it is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"]) from None
    except RecursionError:
        raise _refused(["it is nested too deeply"]) from None


def parse_manifest(document: Any) -> ImportManifest:
    """The manifest, with every problem of its keys named at once.

    Raises `Refused`: `byob_invalid_manifest`, `byob_rights_not_attested`, `byob_answer_in_input` where the answer's column is a
    placeholder too, and the codes of the grader's options and of the template.
    """
    if not isinstance(document, Mapping):
        raise _refused(["it must be one JSON object"])
    keys = _Keys(document)
    keys.refuse_unknown()
    name = keys.text("name", required=True, limit=160, one_line=True)
    description = keys.text("description", limit=10_000)
    keys.text("data", limit=1000)
    grader = keys.one_of("task", tuple(Grader.values), required=True)
    columns = _columns(keys, grader)
    template = keys.text("prompt_template", required=True, limit=MAX_RENDERED)
    system_prompt = keys.text("system_prompt", limit=MAX_RENDERED)
    options = keys.value("grader_options", {}, lambda value: isinstance(value, Mapping), "must be an object")
    tokens = keys.value(
        "max_output_tokens",
        256,
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_OUTPUT_TOKENS,
        f"must be a whole number from 1 to {MAX_OUTPUT_TOKENS}",
    )
    split = keys.text("split", limit=60, one_line=True)
    license_ = keys.text("data_license", limit=80, one_line=True)
    pattern = keys.text("answer_pattern")
    format_ = keys.one_of("format", FORMATS)
    header = keys.value("header", True, lambda value: isinstance(value, bool), "must be true or false")
    delimiter = keys.text("delimiter", allow_blank=True)
    encoding = keys.text("encoding")
    if encoding and not known_encoding(encoding):
        keys.problem("encoding", f'"{encoding}" is not an encoding that can be read')
    leave_out = keys.value("leave_out_leaking_rows", False, lambda value: isinstance(value, bool), "must be true or false")
    keys.value("rights_attestation", False, lambda value: isinstance(value, bool), "must be true or false")
    keys.finish()
    if document.get("rights_attestation") is not True:
        raise Refused(
            "byob_rights_not_attested",
            "Set rights_attestation to true to confirm that this workspace may use the data and send its rows to the models' providers.",
        )
    assert name and grader and columns and template  # finish() raised otherwise
    _refuse_delivered_answer(columns)
    if pattern is not None:
        answer_pattern(pattern)
    check_template(template, list(columns.prompt), has_choices=grader == Grader.MULTIPLE_CHOICE)
    return ImportManifest(
        name=name,
        description=description or "",
        grader=grader,
        grader_options=checked_options(grader, options),
        columns=columns,
        prompt_template=template,
        system_prompt=system_prompt,
        max_output_tokens=tokens,
        split=split or "test",
        license=license_ or DEFAULT_LICENSE,
        format=format_,
        answer_pattern=pattern,
        header=header,
        delimiter=checked_delimiter(delimiter) if delimiter is not None else None,
        encoding=known_encoding(encoding) if encoding else None,
        leave_out_leaking_rows=leave_out,
    )


def answer_pattern(pattern: str) -> Callable[[str], str | None]:
    """A function that takes the reference out of a cell: the first match's group `answer`, else its only group; None without a match.

    Raises `Refused` `invalid_pattern` where RE2 refuses the pattern or no group says which part is the answer.
    """
    compiled = compile_pattern(pattern)
    group = compiled.groupindex.get("answer", 1 if compiled.groups == 1 else None)
    if group is None:
        has = "no group" if not compiled.groups else f"{compiled.groups} groups"
        message = f"answer_pattern has {has}. Put the part that is the answer in the only group, or in one named answer: (?P<answer>…)."
        raise Refused("invalid_pattern", message, details={"pattern": pattern})

    def extract(cell: str) -> str | None:
        match = compiled.search(cell)
        return (match[group] or "") if match else None

    return extract


def _columns(keys: "_Keys", grader: str | None) -> Columns | None:
    """The roles' columns; None where something is wrong with them, which `keys` has noted."""
    listed = keys.value("columns", None, lambda value: isinstance(value, Mapping) and bool(value), "must be an object of roles and columns")
    if listed is None:
        keys.problem("columns", "is required")
        return None
    found: dict[str, tuple[str, ...]] = {}
    for role, column in listed.items():
        if column is None:
            continue
        may_be_several = role in {"choices", "id"}
        several = column if isinstance(column, list) and may_be_several else [column]
        if not _ROLE.fullmatch(role):
            keys.problem(f"columns.{role}", "a role is a name of letters, digits and _")
        elif not several or not all(isinstance(one, str) and one and _is_storable(one) for one in several):
            keys.problem(f"columns.{role}", f"must be a column's name{' or a list of them' if may_be_several else ''}")
        elif len(set(several)) < len(several):
            keys.problem(f"columns.{role}", "names a column twice")
        else:
            found[role] = tuple(several)
    given = {role for role, column in listed.items() if column is not None}
    if "answer" not in given:
        keys.problem("columns.answer", "is required")
    if grader == Grader.MULTIPLE_CHOICE and "choices" not in given:
        keys.problem("columns.choices", "is required for multiple_choice")
    if grader not in {None, Grader.MULTIPLE_CHOICE} and "choices" in given:
        keys.problem("columns.choices", f"is for multiple_choice alone, not for {grader}")
    if grader != Grader.MULTIPLE_CHOICE and not given - {*NEVER_DELIVERED, "choices"}:
        keys.problem("columns", "maps no column to the prompt; every row would ask the same")
    choices_in_one = not isinstance(listed.get("choices"), list)
    if "choices" in found and not choices_in_one and not 2 <= len(found["choices"]) <= MAX_CHOICES:
        keys.problem("columns.choices", f"must list 2 to {MAX_CHOICES} columns, or name the one that holds the list")
    if "answer" not in found:
        return None
    single = {role: columns[0] for role, columns in found.items()}
    return Columns(
        answer=single["answer"],
        prompt={role: column for role, column in single.items() if role not in {*NEVER_DELIVERED, "choices"}},
        ids=found.get("id", ()),
        group=single.get("group"),
        cluster=single.get("cluster"),
        choices=found.get("choices", ()),
        choices_in_one=choices_in_one,
    )


def _refuse_delivered_answer(columns: Columns) -> None:
    for role, column in columns.prompt.items():
        if column == columns.answer:
            message = (
                f'The column "{column}" is the answer and cannot fill {{{role}}} too: it would be sent to the model. Map another column.'
            )
            raise Refused("byob_answer_in_input", message, details={"column": column, "role": role})


class _Keys:
    """Reads the manifest's keys and notes each problem, so that all are told at once."""

    KNOWN = frozenset(
        (
            *("name", "description", "data", "format", "split", "data_license", "rights_attestation"),
            *("task", "columns", "prompt_template", "system_prompt", "grader_options", "max_output_tokens"),
            *("answer_pattern", "header", "delimiter", "encoding", "leave_out_leaking_rows"),
        )
    )

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._problems: list[tuple[str, str]] = []

    def problem(self, key: str, words: str) -> None:
        self._problems.append((key, words))

    def finish(self) -> None:
        if self._problems:
            raise _refused([f'"{key}" {words}' for key, words in self._problems], keys=[key for key, _ in self._problems])

    def refuse_unknown(self) -> None:
        for key in self._document:
            if key in _LATER:
                self.problem(key, "is for files that were uploaded before; here the file is given with the manifest")
            elif key not in self.KNOWN:
                closest = get_close_matches(str(key), self.KNOWN, n=1)
                self.problem(str(key)[:80], f'is not known; did you mean "{closest[0]}"?' if closest else "is not known")

    def value(self, key: str, default: Any, accepts: Callable[[Any], bool], words: str) -> Any:
        """The key's value where it is accepted, else the default; null is the same as leaving the key out."""
        value = self._document.get(key)
        if value is None:
            return default
        if not accepts(value):
            self.problem(key, words)
            return default
        return value

    def text(self, key: str, *, required: bool = False, limit: int = 1000, one_line: bool = False, allow_blank: bool = False) -> str | None:
        value = self._document.get(key)
        if value is None or (isinstance(value, str) and not value.strip() and not allow_blank):
            if required:
                self.problem(key, "is required")
            return None
        if not isinstance(value, str):
            self.problem(key, "must be text")
        elif len(value) > limit:
            self.problem(key, f"is longer than {limit:,} characters")
        elif one_line and len(value.splitlines()) > 1:
            self.problem(key, "must be one line")
        elif not _is_storable(value):
            self.problem(key, "holds a NUL character or half of a surrogate pair")
        else:
            return value.strip() if one_line else value
        return None

    def one_of(self, key: str, allowed: tuple[str, ...], *, required: bool = False) -> str | None:
        value = self._document.get(key)
        if value is None:
            if required:
                self.problem(key, "is required")
        elif value in allowed:
            return str(value)
        else:
            self.problem(key, f"must be one of {', '.join(allowed)}")
        return None


def _is_storable(text: str) -> bool:
    """Whether every database can hold the text: no NUL and no lone surrogate."""
    return "\0" not in text and text.encode("utf-8", "ignore").decode() == text


def _refused(problems: list[str], keys: list[str] | None = None) -> Refused:
    return Refused("byob_invalid_manifest", f"The manifest cannot be used: {'; '.join(problems)}.", details={"keys": keys or []})
