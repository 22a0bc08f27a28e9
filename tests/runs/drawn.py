"""Ended runs whose verdicts a test draws: recorded models that answer as they are told, so nothing is called or left to chance."""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.models import BenchmarkVersion
from runs.models import Run
from tests.factories import make_recorded_model
from tests.runs.working import start, work
from workspaces.actors import Actor
from workspaces.models import Workspace

RIGHT, WRONG, ERROR = "R", "w", "."
"""A model's verdicts as one text, a letter a task. An error is a task without a recorded answer."""


def drawn_models(version: BenchmarkVersion, workspace: Workspace, verdicts: Mapping[str, str]) -> list[dict[str, Any]]:
    """A recorded model for each name, that does with the version's tasks what its letters say."""
    tasks = list(version.tasks.select_related("content").order_by("ordinal"))
    subjects = []
    for name, letters in verdicts.items():
        texts = {
            task.task_id: f"It is {task.content.reference if letter == RIGHT else int(task.content.reference) + 1}."
            for task, letter in zip(tasks, letters, strict=True)
            if letter != ERROR
        }
        model = make_recorded_model(version, texts, workspace=workspace, name=name)
        subjects.append({"kind": "recorded", "recorded_model_id": str(model.public_id)})
    return subjects


def drawn_run(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, subjects: Sequence[Any], *, coverage: Any = None, **more: Any
) -> Run:
    """The ended run of these subjects on the version, on all of its tasks unless told otherwise."""
    selection = {"profile_ids": [version.profile_id]}
    return work(start(workspace, actor, subjects=list(subjects), selection=selection, coverage=coverage or {"mode": "full"}, **more))
