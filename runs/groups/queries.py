"""Every read of groups. The workspace, or the person, comes first."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from catalog.queries import manifest_of
from common.canonical import canonical_json, sha256_text
from common.ids import named_id
from runs.enums import GroupKind, Phase
from runs.groups.likeness import DEFAULT_FORMAT, Protocol
from runs.models import ResultVersion, Run, RunBenchmark, Sample, Subject
from runs.models.groups import GroupMember, ResultGroup
from workspaces.models import User, Workspace

RUNS_OFFERED = 15
"""Runs on a page of results to choose from."""


# Groups that were made from results


def groups_for(workspace: Workspace, *, kinds: Collection[str] = (GroupKind.RESULTS,)) -> QuerySet[ResultGroup]:
    """The workspace's saved groups of these kinds, newest first, with what a row shows."""
    members = GroupMember.objects.select_related("result__run").defer("result__document", "result__comparison").order_by("index")
    groups = ResultGroup.objects.filter(workspace=workspace, kind__in=kinds).defer("document")
    return groups.prefetch_related(Prefetch("members", members)).order_by("-id")


def get_group(workspace: Workspace, public_id: object, *, kinds: Collection[str] = (GroupKind.RESULTS,)) -> ResultGroup:
    """With the results it froze. Raises `ResultGroup.DoesNotExist`."""
    return _whole(ResultGroup.objects.filter(workspace=workspace, kind__in=kinds)).get(public_id=named_id(public_id))


def find_group(workspace: Workspace, public_id: object) -> ResultGroup | Run:
    """A group made from results, or a run of several models. Raises `Run.DoesNotExist` where it is neither."""
    saved = _whole(ResultGroup.objects.filter(workspace=workspace, kind=GroupKind.RESULTS)).filter(public_id=named_id(public_id)).first()
    return saved or started_groups(workspace).get(public_id=named_id(public_id))


def find_group_of_member(user: User, public_id: object) -> ResultGroup | Run:
    """A group of any kind in any of the person's workspaces. Raises `Run.DoesNotExist` where it is none."""
    saved = _whole(ResultGroup.objects.filter(workspace__memberships__user=user)).filter(public_id=named_id(public_id)).first()
    return saved or _listed_runs(Run.objects.filter(workspace__memberships__user=user)).get(public_id=named_id(public_id))


def _whole(groups: QuerySet[ResultGroup]) -> QuerySet[ResultGroup]:
    members = GroupMember.objects.select_related("result__run").defer("result__comparison").order_by("index")
    return groups.select_related("workspace").prefetch_related(Prefetch("members", members))


# Runs of several models: groups that were started together


def started_groups(workspace: Workspace) -> QuerySet[Run]:
    """The workspace's runs of two models and more, newest first, with what a row shows."""
    return _listed_runs(Run.objects.filter(workspace=workspace)).order_by("-id")


def _listed_runs(runs: QuerySet[Run]) -> QuerySet[Run]:
    benchmarks = RunBenchmark.objects.select_related("version__benchmark").defer("task_ordinals", "version__manifest").order_by("index")
    several = Exists(Subject.objects.filter(run=OuterRef("pk"), index=1))
    return (
        runs.filter(several)
        .select_related("workspace")
        .prefetch_related(Prefetch("benchmarks", benchmarks), Prefetch("subjects", Subject.objects.order_by("index")))
    )


# Both kinds in one list


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of the list: a saved group, or a run that was started with several models."""

    created_at: datetime
    public_id: UUID
    group: ResultGroup | None = None
    run: Run | None = None


def list_groups(
    workspace: Workspace, *, kinds: Collection[str], before: tuple[datetime, UUID] | None = None, limit: int
) -> tuple[list[Listed], bool]:
    """Up to `limit` rows of these kinds after the place `before`, newest first, and whether there are more. Queries do not grow."""
    older = Q() if before is None else Q(created_at__lt=before[0]) | Q(created_at=before[0], public_id__lt=before[1])
    rows: list[Listed] = []
    saved = [kind for kind in kinds if kind != GroupKind.STARTED]
    order = ("-created_at", "-public_id")
    if saved:
        groups = groups_for(workspace, kinds=saved).filter(older).order_by(*order)[: limit + 1]
        rows += [Listed(group.created_at, group.public_id, group=group) for group in groups]
    if GroupKind.STARTED in kinds:
        runs = started_groups(workspace).filter(older).order_by(*order)[: limit + 1]
        rows += [Listed(run.created_at, run.public_id, run=run) for run in runs]
    rows.sort(key=lambda row: (row.created_at, row.public_id), reverse=True)
    return rows[:limit], len(rows) > limit


# Results that a group may be made of


@dataclass(frozen=True, slots=True)
class Found:
    """One result: a model on a benchmark version, in one version of a run's frozen result."""

    run: Run
    result: ResultVersion
    benchmark: RunBenchmark
    subject: Subject
    entry: dict[str, Any]
    """The frozen result's entry of it."""
    document: dict[str, Any]
    """The frozen result."""

    @property
    def reference(self) -> dict[str, Any]:
        """As requests name it, exactly."""
        return {
            "run_id": str(self.run.public_id),
            "version": self.result.number,
            "subject_index": self.subject.index,
            "profile_id": self.benchmark.version.profile_id,
        }

    @property
    def key(self) -> str:
        """The reference as one text, for a form's field."""
        return f"{self.run.public_id}:{self.result.number}:{self.subject.index}:{self.benchmark.version.profile_id}"


def results_of_runs(workspace: Workspace, public_ids: Iterable[UUID]) -> list[ResultVersion]:
    """Every result version of these runs of the workspace, with what `results_in` and `protocol_of` read."""
    return list(_results(workspace).filter(run__public_id__in=list(public_ids)))


def unfinished_of(workspace: Workspace, public_ids: Iterable[UUID]) -> set[UUID]:
    """Which of these runs of the workspace have no result yet."""
    runs = Run.objects.filter(workspace=workspace, public_id__in=list(public_ids), results__isnull=True)
    return set(runs.values_list("public_id", flat=True))


def results_offered(workspace: Workspace, *, benchmark: str = "", model: str = "") -> QuerySet[Run]:
    """Ended runs whose results may be chosen, the newest first. `benchmark` is a slug or a version's ID, `model` a subject's label."""
    runs = Run.objects.filter(workspace=workspace, phase=Phase.DONE)
    if benchmark:
        slug, _, number = benchmark.partition("@")
        named = Q(benchmarks__version__benchmark__slug=slug)
        runs = runs.filter(named & Q(benchmarks__version__number=int(number)) if number.isdigit() and len(number) < 9 else named).distinct()
    if model:
        runs = runs.filter(pk__in=Subject.objects.filter(label=model).values("run_id"))
    return runs.only("id", "public_id").order_by("-id")


def newest_results(workspace: Workspace, runs: Sequence[int]) -> list[Found]:
    """What the newest result of each of these runs (by key) holds, the newest run first."""
    newest: dict[int, ResultVersion] = {result.run_id: result for result in _results(workspace).filter(run__in=runs)}
    return [found for key in sorted(newest, reverse=True) for found in results_in(newest[key])]


def workspace_of_results(user: User, run_id: UUID | None) -> Workspace | None:
    """The workspace of the run, if it is one of the person's."""
    if run_id is None:
        return None
    return Workspace.objects.filter(runs__public_id=run_id, memberships__user=user).first()


def _results(workspace: Workspace) -> QuerySet[ResultVersion]:
    benchmarks = RunBenchmark.objects.select_related("version__benchmark").order_by("index")
    return (
        ResultVersion.objects.filter(run__workspace=workspace)
        .select_related("run")
        .prefetch_related(Prefetch("run__benchmarks", benchmarks), Prefetch("run__subjects", Subject.objects.order_by("index")))
        .order_by("run_id", "number")
    )


def results_in(result: ResultVersion) -> list[Found]:
    """What a frozen result holds, one entry for each model and benchmark."""
    document: dict[str, Any] = orjson.loads(result.document)
    benchmarks = {benchmark.index: benchmark for benchmark in result.run.benchmarks.all()}
    subjects = {subject.index: subject for subject in result.run.subjects.all()}
    return [
        Found(result.run, result, benchmarks[entry["benchmark_index"]], subjects[entry["index"]], entry, document)
        for entry in document["subjects"]
    ]


def protocol_of(found: Found) -> Protocol:
    """How the result was made, for telling alike from unlike."""
    version = found.benchmark.version
    manifest = manifest_of(version)
    told = [manifest.get(name) for name in ("prompt_template", "system_prompt", "few_shot", "temperature")]
    ordinals = found.benchmark.ordinals()
    return Protocol(
        profile_id=version.profile_id,
        tasks_sha256=sha256_text(",".join(map(str, sorted(ordinals)))),
        task_count=len(ordinals),
        output_limit=found.benchmark.output_limit,
        attempts=found.run.attempts,
        output_format=found.document["selection"].get("output_format") or DEFAULT_FORMAT,
        grading=int(found.document.get("grading") or 1),
        metric=(found.entry["headline"] or {}).get("metric") or "accuracy",
        grader=canonical_json([manifest.get("grader"), manifest.get("grader_options")]),
        prompt=sha256_text(canonical_json(told)),
    )


def cells_of(found: Found) -> list[tuple[int, str, float | None]]:
    """Task ordinal, status and score of each of the result's answers, in the order of the run's tasks."""
    ordinals, first = found.benchmark.ordinals(), found.benchmark.first_position
    samples = Sample.objects.filter(run_benchmark=found.benchmark, subject=found.subject).order_by("position", "attempt")
    rows = samples.values_list("position", "status", "score")
    return [(ordinals[position - first], status, score) for position, status, score in rows.iterator(chunk_size=5_000)]


def models_offered(workspace: Workspace) -> Sequence[str]:
    """Labels of models with ended runs, for a filter."""
    labels = Subject.objects.filter(run__workspace=workspace, run__phase=Phase.DONE).order_by("label").values_list("label", flat=True)
    return list(labels.distinct()[:200])
