"""The health of a benchmark after runs: what a workspace's own models say about its tasks.

Read from the newest finished answers of each model, baselines left out, in a bounded number of rows and three queries. Nothing of
other workspaces is looked at.

An item that every model answers alike tells no two models apart, right or wrong; one that all miss with the same answer is more often
wrong in its key than in the models (Northcutt, Athalye, Mueller, "Pervasive Label Errors in Test Sets", 2021, find such labels by the
same agreement against the key). Discrimination is the corrected item–total correlation of classical test theory: the correlation,
over models, of an item's score with the share of all other items that the model has right (Lord and Novick, 1968).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from catalog.graders.texts import normalizer
from catalog.models import BenchmarkVersion
from runs.enums import SampleStatus, SubjectKind, SubjectStatus
from runs.models import Sample, Subject
from workspaces.models import Workspace

MAX_MODELS = 20
MAX_SAMPLES = 200_000
MAX_LISTED = 20
MIN_MODELS = 2
MIN_FOR_DISCRIMINATION = 5
_same = normalizer()


@dataclass(frozen=True, slots=True)
class Item:
    """A task that stands out, and where one of its answers can be looked at."""

    task_id: str
    run_id: UUID
    position: int


@dataclass(frozen=True, slots=True)
class ItemHealth:
    """What the models' answers say about the tasks. Counts are of tasks that every one of the models answered."""

    models: tuple[str, ...]
    tasks: int
    same_wrong: list[Item] = field(default_factory=list)
    same_wrong_count: int = 0
    """All models wrong, with the same answer: the key may be wrong."""
    all_right_count: int = 0
    all_wrong_count: int = 0
    """All models wrong, whatever they said."""
    unreadable: list[Item] = field(default_factory=list)
    unreadable_count: int = 0
    """No model's answer could be read: the prompt or the grader may be at fault."""
    reversed: list[Item] = field(default_factory=list)
    reversed_count: int = 0
    """Weaker models have it right more often than stronger ones (discrimination below −0.2), where there are five models or more."""

    @property
    def telling_count(self) -> int:
        """Tasks on which the models differ: what a comparison of them rests on."""
        return self.tasks - self.all_right_count - self.all_wrong_count


@dataclass(slots=True)
class _Answers:
    item: Item
    right: dict[int, bool] = field(default_factory=dict)
    said: Counter[str] = field(default_factory=Counter)
    read: int = 0


def item_health(workspace: Workspace, version: BenchmarkVersion) -> ItemHealth | None:
    """The health of the version's tasks by the workspace's own results; None with fewer than two models."""
    subjects = _newest(workspace, version)
    if len(subjects) < MIN_MODELS:
        return None
    answers_of = Sample.objects.filter(subject__in=[subject.pk for subject in subjects], run_benchmark__version=version, attempt=1)
    rows = answers_of.filter(status=SampleStatus.GRADED).values_list(
        "task__ordinal", "task__task_id", "subject_id", "position", "subject__run__public_id", "correct", "is_unreadable", "extracted"
    )
    items: dict[int, _Answers] = {}
    for ordinal, task_id, subject_id, position, run_id, correct, is_unreadable, extracted in rows.iterator(chunk_size=5_000):
        answers = items.get(ordinal)
        if answers is None:
            answers = items[ordinal] = _Answers(Item(task_id, run_id, position))
        answers.right[subject_id] = bool(correct)
        if not is_unreadable:
            answers.read += 1
            answers.said[_same(extracted)] += 1
    answered = {ordinal: answers for ordinal, answers in sorted(items.items()) if len(answers.right) == len(subjects)}
    return _summed([subject.label for subject in subjects], answered)


def _newest(workspace: Workspace, version: BenchmarkVersion) -> list[Subject]:
    """The newest finished subject of each model, while their samples are few enough to be read."""
    finished = Subject.objects.filter(run__workspace=workspace, run__benchmarks__version=version, status=SubjectStatus.DONE)
    found: dict[str, Subject] = {}
    samples = 0
    for subject in finished.exclude(kind=SubjectKind.BASELINE).order_by("-pk")[: 10 * MAX_MODELS]:
        if subject.label in found or not subject.graded or len(found) == MAX_MODELS or samples + subject.planned > MAX_SAMPLES:
            continue
        found[subject.label] = subject
        samples += subject.planned
    return _of_most_tasks(list(found.values()))


def _of_most_tasks(subjects: list[Subject]) -> list[Subject]:
    """The subjects that answered at least half as many tasks as the one with the most: a short trial would leave little in common."""
    most = max((subject.graded for subject in subjects), default=0)
    return [subject for subject in subjects if 2 * subject.graded >= most]


def _summed(models: list[str], items: dict[int, _Answers]) -> ItemHealth:
    same_wrong, unreadable, reversed_ = [], [], []
    all_right = all_wrong = 0
    totals: dict[int, int] = defaultdict(int)
    for answers in items.values():
        for subject, is_right in answers.right.items():
            totals[subject] += is_right
    for answers in items.values():
        rights = sum(answers.right.values())
        if rights == len(models):
            all_right += 1
        elif not rights:
            all_wrong += 1
            if not answers.read:
                unreadable.append(answers.item)
            elif answers.read == len(models) and len(answers.said) == 1:
                same_wrong.append(answers.item)
        elif len(models) >= MIN_FOR_DISCRIMINATION and discrimination(answers.right, totals) < -0.2:
            reversed_.append(answers.item)
    return ItemHealth(
        models=tuple(models),
        tasks=len(items),
        same_wrong=same_wrong[:MAX_LISTED],
        same_wrong_count=len(same_wrong),
        all_right_count=all_right,
        all_wrong_count=all_wrong,
        unreadable=unreadable[:MAX_LISTED],
        unreadable_count=len(unreadable),
        reversed=reversed_[:MAX_LISTED],
        reversed_count=len(reversed_),
    )


def discrimination(right: dict[int, bool], totals: dict[int, int]) -> float:
    """The correlation over models of an item's score with what the model has right elsewhere, from −1 to 1; 0 where one does not vary."""
    return _correlation([(float(is_right), float(totals[subject] - is_right)) for subject, is_right in right.items()])


def _correlation(pairs: Iterable[tuple[float, float]]) -> float:
    listed = list(pairs)
    mean_x = sum(x for x, _ in listed) / len(listed)
    mean_y = sum(y for _, y in listed) / len(listed)
    spread = math.sqrt(sum((x - mean_x) ** 2 for x, _ in listed) * sum((y - mean_y) ** 2 for _, y in listed))
    return sum((x - mean_x) * (y - mean_y) for x, y in listed) / spread if spread else 0.0


def document(health: ItemHealth | None) -> dict[str, Any] | None:
    """As JSON: counts, and the tasks by their IDs."""
    if health is None:
        return None
    return {
        "models": list(health.models),
        "tasks": health.tasks,
        "telling": health.telling_count,
        "all_right": health.all_right_count,
        "all_wrong": health.all_wrong_count,
        "same_wrong": {"count": health.same_wrong_count, "tasks": [item.task_id for item in health.same_wrong]},
        "unreadable": {"count": health.unreadable_count, "tasks": [item.task_id for item in health.unreadable]},
        "reversed": {"count": health.reversed_count, "tasks": [item.task_id for item in health.reversed]},
    }
