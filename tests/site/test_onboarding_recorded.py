"""The recorded comparison of `/onboarding`, made again: stand-in solvers behind a socket, the engine, the graders and the statistics.

A changed recording is looked at, then kept with `UPDATE_ANSWERS=1`.
"""

import json
import os
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

import orjson
import pytest

from catalog.actions import publish_version
from catalog.models import Benchmark
from catalog.rendering import render_messages
from catalog.starter.knights_and_knaves import STARTER
from common.canonical import freeze
from evalrouter_site.onboarding.recorded import PATH, recorded_comparison
from runs import documents, queries
from runs.models import Run
from tests.factories import make_connection
from tests.runs.working import start, work
from tests.standins.chat import ChatServer, Message, last_user_message
from tests.standins.solvers import SOLVERS, Solver
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

MOST_TASKS = 12
BASELINES = {
    "random-choice": "Picks a choice at random: what guessing scores.",
    "most-frequent-answer": "Gives the answer that is right most often, every time.",
}
ANSWER_FIELDS = ("subject_index", "status", "correct", "extracted", "reason", "flags", "response")


@pytest.mark.django_db
def test_recorded_comparison_is_what_the_engine_makes(workspace: Workspace, actor: Actor, settings: Any) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True  # the solvers are behind a socket of this machine
    recording = made_again(workspace, actor)
    if os.environ.get("UPDATE_ANSWERS"):
        PATH.write_text(json.dumps(recording, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    assert steady(recording) == steady(json.loads(PATH.read_text()))


def test_recorded_result_is_as_it_was_frozen() -> None:
    result = json.loads(PATH.read_text())["result"]
    sha256 = result.pop("sha256")
    assert freeze(result)[1] == sha256


def test_recording_says_who_answered_and_shows_every_kind_of_outcome() -> None:
    recording = recorded_comparison()
    assert [solver.label for solver in recording.solvers] == [
        "Careful stand-in",
        "Brisk stand-in",
        "Hasty stand-in",
        "random-choice",
        "most-frequent-answer",
    ]
    assert all(solver.about for solver in recording.solvers)
    seen = {(answer["correct"], *answer["flags"]) for task in recording.tasks for answer in task["answers"]}
    assert seen == {(True,), (False,), (False, "unreadable")}
    assert [[answer["subject_index"] for answer in task["answers"]] for task in recording.tasks] == [[0, 1, 2, 3, 4]] * MOST_TASKS


def made_again(workspace: Workspace, actor: Actor) -> dict[str, Any]:
    """The recording as this code makes it, over all tasks of the benchmark."""
    benchmark = Benchmark.objects.create(slug=STARTER.slug, name=STARTER.name, category=STARTER.category, description=STARTER.description)
    version = publish_version(benchmark, actor=SYSTEM, manifest=STARTER.manifest(), rows=STARTER.rows())
    with ChatServer(models={solver.label: answering(solver) for solver in SOLVERS}) as server:
        made = [make_connection(workspace, name=solver.label, endpoint=server.url, model=solver.label) for solver in SOLVERS]
        run = work(
            start(
                workspace,
                actor,
                subjects=[{"kind": "connection", "connection_id": str(connection.public_id)} for connection in made]
                + [{"kind": "baseline", "name": name} for name in BASELINES],
                selection={"profile_ids": [version.profile_id]},
                coverage={"mode": "full"},
            )
        )
    assert run.status == "completed"
    frozen = queries.get_result(run)
    return {
        "benchmark": {
            "slug": STARTER.slug,
            "name": STARTER.name,
            "description": STARTER.description,
            "tasks": version.task_count,
            "grading": STARTER.manifest()["delivery"]["grader"],
        },
        "solvers": [{"label": solver.label, "about": solver.about} for solver in SOLVERS]
        + [{"label": name, "about": about} for name, about in BASELINES.items()],
        "result": documents.result_document(frozen),
        "compare": orjson.loads(frozen.comparison)[0],
        "tasks": [task_document(run, position) for position in telling(run)],
    }


def answering(solver: Solver) -> Any:
    def answer(messages: list[Message]) -> str:
        return solver.answer(last_user_message(messages))

    return answer


def telling(run: Run) -> list[int]:
    """Positions of a few tasks that differ in who was right, in turn, so that every pattern of the solvers is there."""
    verdicts: dict[int, list[bool | None]] = {}
    samples = queries.samples_of(run).filter(subject__index__lt=len(SOLVERS)).order_by("position", "subject__index")
    for position, correct in samples.values_list("position", "correct"):
        verdicts.setdefault(position, []).append(correct)
    patterns: dict[tuple[bool | None, ...], list[int]] = {}
    for position, pattern in verdicts.items():
        patterns.setdefault(tuple(pattern), []).append(position)
    return sorted([position for turn in zip_longest(*patterns.values()) for position in turn if position is not None][:MOST_TASKS])


def task_document(run: Run, position: int) -> dict[str, Any]:
    task = queries.task_at(run, position)
    found = queries.samples_of_task(run, position)
    calls = queries.calls_of_samples(found)
    return {
        "task_id": task.task_id,
        "position": position,
        "group": task.group,
        "messages": render_messages(STARTER.manifest(), task.content.values),
        "reference": task.content.reference,
        "answers": [answer_document(documents.sample_document(sample, calls)) for sample in found],
    }


def answer_document(sample: dict[str, Any]) -> dict[str, Any]:
    return {name: sample[name] for name in ANSWER_FIELDS} | {"steps": sample["grading"]["steps"]}


def steady(recording: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run: the run's ID, the hash of the result that bears it, and how long answers took."""

    def without(value: Any, names: Sequence[str]) -> Any:
        if isinstance(value, dict):
            return {key: without(each, names) for key, each in value.items() if key not in names}
        return [without(each, names) for each in value] if isinstance(value, Iterable) and not isinstance(value, str) else value

    return without(recording, ("run_id", "sha256", "latency_ms"))
