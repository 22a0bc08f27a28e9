"""What the sharer of a link chooses to show. Everything that is not chosen here, or public in the catalog anyway, stays inside. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs.enums import SubjectKind

PUBLIC_KINDS = frozenset({SubjectKind.MANAGED, SubjectKind.BASELINE})
"""Kinds whose names are in the public catalog. The name of an own endpoint or a recording was given inside the workspace."""

NAMES = {SubjectKind.CONNECTION: "Own endpoint", SubjectKind.RECORDED: "Recorded answers"}
"""What a model is called that the sharer gave no name."""

MAX_LABEL = 80
MAX_TITLE = 160


@dataclass(frozen=True, slots=True)
class Choices:
    """Samples, cost and the workspace's name are shown only where they were chosen."""

    title: str = ""
    shows_samples: bool = False
    shows_cost: bool = False
    shows_workspace: bool = False
    labels: Mapping[int, str] = field(default_factory=dict)
    """Subject index to the name that is shown instead of its own; missing for the names of `NAMES`."""


@dataclass(frozen=True, slots=True)
class PrivateName:
    """A model of a result whose own name is not shown."""

    index: int
    own: str
    kind: str
    shown: str
    """What it is called where the sharer gives it no name."""


def private_names(subjects: Sequence[Mapping[str, Any]]) -> list[PrivateName]:
    """The models of a result document (`subjects`) that need another name, each once, in order.

    A kind that is not known to be public is private: an old document that states none shows no name.
    """
    kinds: dict[int, str] = {}
    own: dict[int, str] = {}
    for subject in subjects:
        if (kind := str(subject.get("kind") or "")) not in PUBLIC_KINDS:
            kinds.setdefault(int(subject["index"]), kind)
            own.setdefault(int(subject["index"]), str(subject["label"]))
    counts = Counter(kinds.values())
    seen: Counter[str] = Counter()
    found = []
    for index, kind in sorted(kinds.items()):
        seen[kind] += 1
        name = next((words for each, words in NAMES.items() if each == kind), "Model")
        found.append(PrivateName(index, own[index], kind, f"{name} {seen[kind]}" if counts[kind] > 1 else name))
    return found


def shown_labels(subjects: Sequence[Mapping[str, Any]], choices: Choices) -> dict[int, str]:
    """Subject index to the name that the link shows."""
    labels = {int(subject["index"]): str(subject["label"]) for subject in subjects}
    return labels | {each.index: choices.labels.get(each.index) or each.shown for each in private_names(subjects)}
