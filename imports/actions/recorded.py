"""Bringing old evaluations along: rows become a private benchmark, answers become recorded models, each with our verdict beside the old."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

from django.db import transaction
from django.utils import timezone

from catalog.enums import Grader
from catalog.graders import checked_options, compile_grader
from catalog.models import BenchmarkVersion, Task, TaskContent
from catalog.queries import manifest_of
from catalog.storing import DamagedFile, open_file
from common.errors import Conflict, Refused
from common.ids import new_id
from gateway.models import RecordedAnswer, RecordedModel
from gateway.queries import recorded_models_for
from gateway.recorded import agreement_of
from imports import storage
from imports.actions.benchmarks import RIGHTS_STATEMENT, Report, check_benchmark, import_benchmark
from imports.queries.github import require_source_access
from imports.recorded.collecting import LEFT_OUT, Collector
from imports.recorded.files import OldFile
from imports.recorded.understanding import Understood, understand
from imports.sources.stored import StoredSource
from workspaces.actors import Actor
from workspaces.audit import record
from workspaces.models import Workspace
from workspaces.permissions import can_import, require

ROWS_AT_ONCE = 500
MAX_ACTIVE = 1_000
DEFAULT_TOKENS = 1_024
MAX_NAME = 160
Finish = Callable[[BenchmarkVersion, list[RecordedModel]], None]
WITH_CHOICES = '{prompt}\n\n{choices}\n\nAnswer with one letter as "ANSWER: <letter>".'


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """How an old evaluation is to be brought in. Without a `version` its rows become a private benchmark, graded by `task`."""

    format: str = ""
    """Empty: as the files look."""
    options: dict[str, Any] = field(default_factory=dict)
    """`columns` and `model` of predictions, `filter` of a sample log, `scorer` of an Inspect log."""
    version: BenchmarkVersion | None = None
    name: str = ""
    task: str = ""
    grader_options: dict[str, Any] | None = None
    max_output_tokens: int = DEFAULT_TOKENS
    data_license: str = ""
    rights_attestation: bool = False


@dataclass(frozen=True, slots=True)
class RecordedReport:
    """What was understood of the files, and what would be made of them."""

    understood: dict[str, Any]
    grader: dict[str, Any] | None
    """The grader of ours that answers are graded with; None where one must be chosen first."""
    benchmark: Report | None
    unknown_tasks: int | None
    """Of an existing benchmark: how many answered IDs it does not have."""

    def document(self) -> dict[str, Any]:
        return {
            **self.understood,
            "grader": self.grader,
            "benchmark": self.benchmark.document() if self.benchmark else None,
            "unknown_tasks": self.unknown_tasks,
        }


def check_recorded(workspace: Workspace, *, actor: Actor, sources: Sequence[StoredSource], request: RecordedRequest) -> RecordedReport:
    """What the stored files hold, without creating anything. Rights need not be stated for it.

    Raises `Forbidden`, and `Refused` as `understand`, `recorded_nothing_found`, `recorded_benchmark_needed`, and as an import and
    `require_source_access` do.
    """
    require(can_import(actor, workspace))
    for source in sources:
        require_source_access(workspace, source)
    with _understood(sources, request) as understood:
        found = understood.found
        _require_something(understood, request)
        if request.version is not None:
            known = _task_keys(request.version)
            fixed = {"task": request.version.grader, "grader_options": manifest_of(request.version)["grader_options"]}
            return RecordedReport(understood.document(), fixed, None, sum(key not in known for key in found.keys))
        grader = _chosen(found, request)
        if grader is None:
            return RecordedReport(understood.document(), None, None, None)
        with found.normalized() as rows:
            manifest = _manifest(found, request, grader, attested=True)
            report = check_benchmark(workspace, actor=actor, file=cast(Any, rows), filename=_filename(found), manifest=manifest)
        return RecordedReport(understood.document(), grader, report, None)


def import_recorded(
    workspace: Workspace, *, actor: Actor, sources: Sequence[StoredSource], request: RecordedRequest, finish: Finish | None = None
) -> tuple[BenchmarkVersion, list[RecordedModel]]:
    """The version, new or the one named, and its new recorded models, written in one transaction, in which `finish` is called with them.

    Raises `Forbidden`; `Refused` `byob_rights_not_attested`, `recorded_grader_needed`, and as `check_recorded`; `Conflict`
    `recorded_model_exists`, `recorded_model_limit`, and as an import does.
    """
    require(can_import(actor, workspace))
    if not request.rights_attestation:
        message = (
            "Set rights_attestation to true to confirm that this workspace may use the answers, and the rows where they become a benchmark."
        )
        raise Refused("byob_rights_not_attested", message)
    for source in sources:
        require_source_access(workspace, source)
    with _understood(sources, request) as understood:
        found = understood.found
        _require_something(understood, request)
        made: list[RecordedModel] = []

        def write(version: BenchmarkVersion) -> None:
            made.extend(_write_models(workspace, actor, version, understood, sources))
            if finish is not None:
                finish(version, made)

        if request.version is not None:
            with transaction.atomic():
                write(request.version)
            return request.version, made
        grader = _chosen(found, request)
        if grader is None:
            raise _grader_needed(found)
        manifest = _manifest(found, request, grader, attested=True)
        key = f"recorded:{new_id()}"
        with found.normalized() as rows:
            storage.reserve(workspace, key, rows.seek(0, 2), actor=actor)
            try:
                version = import_benchmark(
                    workspace, actor=actor, file=cast(Any, rows), filename=_filename(found), manifest=manifest, finish=write
                )
            finally:
                storage.release(workspace, key)
        return version, made


def archive_recorded(model: RecordedModel, *, actor: Actor) -> RecordedModel:
    """Take the model from what can be run; runs that were made of it stay. Archiving twice changes nothing. Raises `Forbidden`."""
    require(can_import(actor, model.workspace))
    with transaction.atomic():
        model = RecordedModel.objects.select_for_update(of=("self",)).select_related("workspace", "version__benchmark").get(pk=model.pk)
        if model.archived_at is None:
            model.archived_at = timezone.now()
            model.save(update_fields=["archived_at"])
            record(actor, "recorded_model.archived", model.public_id, workspace=model.workspace, name=model.name)
    return model


@contextmanager
def _understood(sources: Sequence[StoredSource], request: RecordedRequest) -> Iterator[Understood]:
    with ExitStack() as stack:
        files = []
        for source in sources:
            try:
                opened = stack.enter_context(open_file(source.content))
            except (DamagedFile, FileNotFoundError):
                message = f"The stored copy of {source.name} is damaged and cannot be used. Upload the file again."
                raise Conflict("source_damaged", message, details={"source": source.uri}) from None
            files.append(OldFile(source.name, opened, source.content.bytes, source.content.sha256))
        yield stack.enter_context(understand(files, format=request.format, options=request.options))


def _require_something(understood: Understood, request: RecordedRequest) -> None:
    found = understood.found
    if not found.wants_rows and request.version is None:
        message = "A file of predictions holds no questions. Name the benchmark whose tasks it answers."
        raise Refused("recorded_benchmark_needed", message, details={"format": understood.format})
    if not found.keys or (request.version is not None and not found.models):
        words = "; ".join(f"{LEFT_OUT[code]} ({count:,} times)" for code, count in found.left_out.items())
        message = f"Nothing in the files can be brought in. {words or 'They hold no rows.'}"
        raise Refused("recorded_nothing_found", message, details={"format": understood.format, "left_out": dict(found.left_out)})


def _chosen(found: Collector, request: RecordedRequest) -> dict[str, Any] | None:
    """The grader that was asked for, else the one that matches the old one; None where neither is there."""
    if request.task:
        return {"task": request.task, "grader_options": checked_options(request.task, request.grader_options)}
    suggested = found.suggested()
    if suggested is None:
        return None
    return {"task": suggested.task, "grader_options": checked_options(suggested.task, request.grader_options or suggested.options)}


def _grader_needed(found: Collector) -> Refused:
    names = ", ".join(found.graders) or "no grader"
    message = (
        f"No grader of ours does the same as the old one ({names}). Name the one to use: task, and grader_options where it needs some."
    )
    return Refused("recorded_grader_needed", message, details={"graders": [each.document() for each in found.graders.values()]})


def _manifest(found: Collector, request: RecordedRequest, grader: dict[str, Any], *, attested: bool) -> dict[str, Any]:
    is_choice = grader["task"] == Grader.MULTIPLE_CHOICE
    columns = {"id": "id", "prompt": "prompt", "answer": "answer"}
    if is_choice:
        columns["choices"] = "choices"
    if found.has_groups:
        columns["group"] = "group"
    wanted: dict[str, Any] = {
        "name": (request.name or found.name or "Old evaluation").replace("\n", " ").strip()[:MAX_NAME] or "Old evaluation",
        "task": grader["task"],
        "grader_options": grader["grader_options"],
        "columns": columns,
        "prompt_template": WITH_CHOICES if is_choice else "{prompt}",
        "max_output_tokens": request.max_output_tokens,
        "leave_out_leaking_rows": True,
        "rights_attestation": attested,
    }
    if found.one_system.strip():
        wanted["system_prompt"] = found.one_system
    if request.data_license:
        wanted["data_license"] = request.data_license
    return wanted


def _filename(found: Collector) -> str:
    name = "".join(each if each.isalnum() or each in "-_." else "-" for each in found.name)[:80].strip("-.") or "old-evaluation"
    return f"{name}.jsonl"


def _task_keys(version: BenchmarkVersion) -> dict[str, int]:
    """Each task's ID with its key."""
    return dict(Task.objects.filter(version=version).values_list("task_id", "pk").iterator())


def _write_models(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, understood: Understood, sources: Sequence[StoredSource]
) -> list[RecordedModel]:
    """Insert the models and their answers, graded. Runs in a transaction."""
    # Under the workspace's lock, so that two imports cannot both take a name or the last place.
    workspace = Workspace.objects.select_for_update().get(pk=workspace.pk)
    found = understood.found
    known = recorded_models_for(workspace)
    if taken := sorted(known.filter(version=version, name__in=list(found.models)).values_list("name", flat=True)):
        message = f"{version.profile_id} has recorded answers of {', '.join(taken)} already. Archive them first, or give another name."
        raise Conflict("recorded_model_exists", message, details={"names": taken})
    if known.count() + len(found.models) > MAX_ACTIVE:
        message = f"A workspace has at most {MAX_ACTIVE:,} recorded models. Archive some first."
        raise Conflict("recorded_model_limit", message, details={"limit": MAX_ACTIVE})
    files = [{"name": source.name, "sha256": source.content.sha256, "source": source.uri} for source in sources]
    origin = {"format": understood.format, "file": sources[0].name, "files": files, "rights": RIGHTS_STATEMENT}
    models = {
        name: RecordedModel.objects.create(workspace=workspace, version=version, name=name, source=origin, created_by=actor.user)
        for name in found.models
    }
    counts = _write_answers(version, models, found)
    for name, model in list(models.items()):
        model.answer_count = counts.get(name, 0)
        if not model.answer_count:
            model.delete()
            del models[name]
            continue
        model.save(update_fields=["answer_count"])
        record(
            actor,
            "recorded_model.created",
            model.public_id,
            workspace=workspace,
            name=name,
            version=version.profile_id,
            answers=model.answer_count,
            rights_attested=True,
        )
    if found.models and not models:
        message = f"{version.profile_id} has none of the tasks that the file answers. Is the right column their ID?"
        raise Refused("recorded_nothing_found", message, details={"format": understood.format})
    return list(models.values())


def _write_answers(version: BenchmarkVersion, models: dict[str, RecordedModel], found: Collector) -> dict[str, int]:
    tasks, counts = _task_keys(version), dict[str, int]()
    grade = compile_grader(version.grader, manifest_of(version)["grader_options"])
    for batch in _batches(found.answers()):
        known = [(tasks[answer[1]], answer) for answer in batch if answer[1] in tasks]
        found.left_out["unknown_task"] += len(batch) - len(known)
        contents = TaskContent.objects.filter(task_id__in=[pk for pk, _ in known]).values_list("task_id", "reference", "values")
        references = {pk: (reference, values.get("choices")) for pk, reference, values in contents}
        rows = []
        for pk, (name, _, text, reasoning, finish, was_correct, old) in known:
            verdict = grade(text, *references[pk])
            rows.append(
                RecordedAnswer(
                    model=models[name],
                    task_id=pk,
                    text=text,
                    reasoning=reasoning,
                    finish_reason=finish,
                    was_correct=was_correct,
                    old_extracted=old,
                    correct=verdict.correct,
                    extracted=(verdict.extracted or "")[:500],
                    agreement=agreement_of(verdict.correct, verdict.readable, was_correct),
                )
            )
            counts[name] = counts.get(name, 0) + 1
        RecordedAnswer.objects.bulk_create(rows)
    return counts


def _batches(answers: Iterable[list[Any]]) -> Iterator[list[list[Any]]]:
    iterator = iter(answers)
    while batch := list(islice(iterator, ROWS_AT_ONCE)):
        yield batch
