"""From what a request names to results: a run's ID stands for all results of its newest version, a reference for exactly one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from common.errors import Conflict, Refused
from common.ids import parse_uuid
from runs.groups.queries import Found, results_in, results_of_runs, unfinished_of
from runs.models import ResultVersion
from workspaces.models import Workspace

FEWEST, MOST = 2, 8


@dataclass(frozen=True, slots=True)
class Reference:
    """What names a result; what is None is the newest version, or whatever the run has only one of."""

    run_id: UUID
    version: int | None = None
    subject_index: int | None = None
    profile_id: str | None = None

    def __str__(self) -> str:
        parts = [
            f"run {self.run_id}",
            "" if self.version is None else f"version {self.version}",
            "" if self.subject_index is None else f"model {self.subject_index}",
            self.profile_id or "",
        ]
        return ", ".join(filter(None, parts))


def parse_key(key: str) -> Reference | None:
    """The reference of a form's field, `run:version:model:benchmark`; None where it is none. A run's ID alone is one too."""
    run, _, rest = key.partition(":")
    run_id = parse_uuid(run)
    if run_id is None:
        return None
    if not rest:
        return Reference(run_id)
    version, _, rest = rest.partition(":")
    subject, _, profile_id = rest.partition(":")
    if not (version.isdecimal() and subject.isdecimal() and len(version) < 7 and len(subject) < 3):
        return None
    return Reference(run_id, int(version), int(subject), profile_id or None)


def resolve_group(workspace: Workspace, *, baseline: Reference | int | None, references: Sequence[Reference]) -> tuple[list[Found], int]:
    """The results of a group, in the order named and each once, and the place of the baseline among them.

    `baseline` is a reference, the place of one in `references`, or None for the first. One that is not in the list goes before it.
    Raises Refused (`result_not_found`, `ambiguous_result`, `duplicate_result`, `group_size`, `baseline_not_found`) and Conflict
    (`result_not_ready`).
    """
    if isinstance(baseline, int):
        if not 0 <= baseline < len(references):
            raise Refused("baseline_not_found", f"There is no result {baseline}: their places are 0 to {len(references) - 1}.")
        baseline = references[baseline]
    named = [*references, *([baseline] if baseline is not None else [])]
    known = _read(workspace, named)
    found = _unique([each for reference in references for each in _results(known, reference)])
    first = _one(known, baseline) if baseline is not None else found[0] if found else None
    if first is not None and first.key not in {each.key for each in found}:
        found = [first, *found]
    check_size(len(found))
    assert first is not None
    return found, [each.key for each in found].index(first.key)


def resolve_several(workspace: Workspace, references: Sequence[Reference]) -> list[Found]:
    """The results that are there, each once; what does not exist any more is left out. For a page that has not asked yet."""
    known = _read(workspace, references)
    found: dict[str, Found] = {}
    for reference in references:
        found |= {each.key: each for each in _matching(known.get(reference.run_id, []), reference)}
    return list(found.values())


def check_size(count: int) -> None:
    if not FEWEST <= count <= MOST:
        raise Refused("group_size", f"A group has {FEWEST} to {MOST} results: {count} {'is' if count == 1 else 'are'} named.")


def _read(workspace: Workspace, references: Sequence[Reference]) -> dict[UUID, list[ResultVersion]]:
    known: dict[UUID, list[ResultVersion]] = {}
    for result in results_of_runs(workspace, {reference.run_id for reference in references}):
        known.setdefault(result.run.public_id, []).append(result)
    missing = {reference.run_id for reference in references} - set(known)
    return known | {run_id: [] for run_id in (unfinished_of(workspace, missing) if missing else ())}


def _matching(results: Sequence[ResultVersion], reference: Reference) -> list[Found]:
    wanted = [result for result in results if reference.version is None or result.number == reference.version]
    if not wanted:
        return []
    return [
        each
        for each in results_in(wanted[-1])
        if reference.subject_index in (None, each.subject.index) and reference.profile_id in (None, each.benchmark.version.profile_id)
    ]


def _results(known: dict[UUID, list[ResultVersion]], reference: Reference) -> list[Found]:
    results = known.get(reference.run_id)
    if results == []:
        raise Conflict(
            "result_not_ready",
            f"Run {reference.run_id} has not ended yet, so it has no result to freeze. Wait for its end and ask again.",
            details={"run_id": str(reference.run_id)},
        )
    found = _matching(results or [], reference)
    if not found:
        raise Refused("result_not_found", f"This workspace has no such result: {reference}. Check the run, the version and the model.")
    return found


def _one(known: dict[UUID, list[ResultVersion]], reference: Reference) -> Found:
    found = _results(known, reference)
    if len(found) > 1:
        raise Refused(
            "ambiguous_result",
            f"{reference} names {len(found)} results, and the baseline is one: state subject_index, and profile_id where it ran several.",
            details={"candidates": [each.reference for each in found]},
        )
    return found[0]


def _unique(found: Sequence[Found]) -> list[Found]:
    unique: dict[str, Found] = {}
    for each in found:
        if each.key in unique:
            raise Refused("duplicate_result", "A result is named twice; a group has each once.", details={"result": _plain(each.reference)})
        unique[each.key] = each
    return list(unique.values())


def _plain(reference: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in reference.items() if value is not None}
