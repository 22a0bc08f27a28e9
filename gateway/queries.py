"""Reads of a workspace's connections. Deleted ones are never among them."""

import uuid
from collections.abc import Sequence

from django.db.models import Count, Q, QuerySet

from catalog.models import Benchmark, BenchmarkVersion
from common.ids import named_id
from common.searching import holds
from gateway.models import Connection, RecordedAnswer, RecordedModel
from workspaces.models import User, Workspace


def connections_for(workspace: Workspace) -> QuerySet[Connection]:
    """The workspace's connections, newest first."""
    return Connection.objects.filter(workspace=workspace, deleted_at__isnull=True).order_by("-id")


def get_connection(workspace: Workspace, public_id: uuid.UUID | str) -> Connection:
    """One connection of the workspace. Raises `Connection.DoesNotExist`."""
    return connections_for(workspace).get(public_id=named_id(public_id))


def get_connection_of_member(user: User, public_id: uuid.UUID | str) -> Connection:
    """A connection of any of the person's workspaces. Raises `Connection.DoesNotExist`."""
    found = Connection.objects.filter(workspace__memberships__user=user, deleted_at__isnull=True)
    return found.select_related("workspace", "created_by").get(public_id=named_id(public_id))


def all_recorded_models(workspace: Workspace) -> QuerySet[RecordedModel]:
    """The workspace's recorded models by name, archived ones too, with the versions they answer."""
    return RecordedModel.objects.filter(workspace=workspace).select_related("version__benchmark").order_by("name", "id")


def recorded_models_for(workspace: Workspace) -> QuerySet[RecordedModel]:
    """Those of them that can be run."""
    return all_recorded_models(workspace).filter(archived_at__isnull=True)


def recorded_models_of_version(workspace: Workspace, version: BenchmarkVersion, *, archived: bool = False) -> QuerySet[RecordedModel]:
    """Those that answer the version; with `archived` also those that can be run no more."""
    return (all_recorded_models(workspace) if archived else recorded_models_for(workspace)).filter(version=version)


def recorded_models_of_benchmark(workspace: Workspace, benchmark: Benchmark) -> QuerySet[RecordedModel]:
    """Those that can be run on one of the benchmark's versions."""
    return recorded_models_for(workspace).filter(version__benchmark=benchmark)


def find_recorded_models(workspace: Workspace, name: str) -> QuerySet[RecordedModel]:
    """Those of that ID or name that can be run."""
    return recorded_models_for(workspace).filter(Q(public_id=named_id(name)) | Q(name=name))


def get_recorded_model(workspace: Workspace, public_id: uuid.UUID | str) -> RecordedModel:
    """One of the workspace's, archived ones too. Raises `RecordedModel.DoesNotExist`."""
    found = RecordedModel.objects.filter(workspace=workspace).select_related("version__benchmark", "created_by", "workspace")
    return found.get(public_id=named_id(public_id))


def get_recorded_model_of_member(user: User, public_id: uuid.UUID | str) -> RecordedModel:
    """One of any of the person's workspaces, archived ones too. Raises `RecordedModel.DoesNotExist`."""
    found = RecordedModel.objects.filter(workspace__memberships__user=user)
    return found.select_related("version__benchmark", "created_by", "workspace").get(public_id=named_id(public_id))


def count_answers(model: RecordedModel, ordinals: Sequence[int] | None) -> int:
    """How many of the version's tasks at these ordinals (None: of all) the model has an answer to."""
    if ordinals is None:
        return model.answer_count
    answers = RecordedAnswer.objects.filter(model=model)
    parts = (ordinals[start : start + 5_000] for start in range(0, len(ordinals), 5_000))
    return sum(answers.filter(task__ordinal__in=part).count() for part in parts)


def agreement_counts(model: RecordedModel) -> dict[tuple[str, bool | None], int]:
    """How many answers stand in each agreement, by it and the old verdict."""
    rows = RecordedAnswer.objects.filter(model=model).order_by().values("agreement", "was_correct").annotate(count=Count("pk"))
    return {(row["agreement"], row["was_correct"]): row["count"] for row in rows}


def recorded_answers_of(model: RecordedModel, *, agreement: str = "", q: str = "") -> QuerySet[RecordedAnswer]:
    """The model's answers in the order of the tasks, with their tasks, narrowed to an agreement and a part of the task's ID."""
    found = RecordedAnswer.objects.filter(model=model).select_related("task").order_by("id")
    if agreement:
        found = found.filter(agreement=agreement)
    return found.filter(holds(q, "task__task_id")) if q else found
