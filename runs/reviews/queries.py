"""Reads of notes and people's verdicts. The run, which its workspace or a person's memberships gave, comes first."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from common.ids import named_id
from runs.models import Run, RunBenchmark, Sample
from runs.models.reviews import Note, VerdictOverride
from runs.queries import NOT_IN_A_ROW

_OF_RUN = ("run__metadata", "run__interruption")
"""JSON that a row of a list does not show."""


def answer_key(sample: Sample) -> int:
    """The key of the answer that the sample is: of the sample it was copied from, or its own."""
    return sample.origin_id or sample.pk


@dataclass(frozen=True, slots=True)
class Marks:
    """What people said of some samples, by the keys of their answers: how many notes, and the verdict that counts."""

    notes: dict[int, int] = field(default_factory=dict)
    overrides: dict[int, VerdictOverride] = field(default_factory=dict)


def marks_of(samples: Sequence[Sample]) -> Marks:
    """Two queries, however many samples; none for none."""
    answers = {answer_key(sample) for sample in samples}
    if not answers:
        return Marks()
    notes = Note.objects.filter(answer__in=answers).order_by().values_list("answer").annotate(count=Count("pk"))
    current = VerdictOverride.objects.filter(answer__in=answers, is_current=True).select_related("run")
    return Marks(dict(notes), {each.answer_id: each for each in current})


@dataclass(frozen=True, slots=True)
class Reviews:
    """All that people said of one answer: notes and verdicts, the oldest first."""

    notes: list[Note] = field(default_factory=list)
    overrides: list[VerdictOverride] = field(default_factory=list)

    @property
    def current(self) -> VerdictOverride | None:
        return next((each for each in self.overrides if each.is_current), None)


def reviews_of_samples(samples: Sequence[Sample]) -> dict[int, Reviews]:
    """By the keys of their answers. Two queries."""
    found = {answer_key(sample): Reviews() for sample in samples}
    for note in Note.objects.filter(answer__in=found.keys()).select_related("run").order_by("id"):
        found[note.answer_id].notes.append(note)
    for override in VerdictOverride.objects.filter(answer__in=found.keys()).select_related("run").order_by("id"):
        found[override.answer_id].overrides.append(override)
    return found


def notes_of(sample: Sample) -> QuerySet[Note]:
    """Notes on the sample's answer, whichever run they were written in."""
    return Note.objects.filter(answer=answer_key(sample)).select_related("run")


def get_note(sample: Sample, public_id: object) -> Note:
    """Raises `Note.DoesNotExist`."""
    return notes_of(sample).get(public_id=named_id(public_id))


def current_override(sample: Sample) -> VerdictOverride | None:
    return VerdictOverride.objects.filter(answer=answer_key(sample), is_current=True).select_related("run").first()


def notes_in(run: Run) -> QuerySet[Note]:
    """Notes on answers of the run, those that it took over included."""
    return Note.objects.filter(_in_run(run), workspace=run.workspace_id).select_related("run").defer(*_OF_RUN)


def overrides_in(run: Run) -> QuerySet[VerdictOverride]:
    """People's verdicts on answers of the run, those that it took over included; also what was replaced or withdrawn."""
    return VerdictOverride.objects.filter(_in_run(run), workspace=run.workspace_id).select_related("run").defer(*_OF_RUN)


def count_reviews(run: Run) -> dict[str, int]:
    """How many rows `overrides_in` and `notes_in` have."""
    return {"overrides": overrides_in(run).count(), "notes": notes_in(run).count()}


def _in_run(run: Run) -> Q:
    """Asked from what was said, which is little, and answered by the keys of samples."""
    samples = Sample.objects.filter(run_benchmark__in=[each.pk for each in run.benchmarks.all()])
    own = samples.filter(pk=OuterRef("answer_id"))
    copied = samples.filter(origin=OuterRef("answer_id"))
    return Q(Exists(own)) | Q(Exists(copied))


def samples_of_answers(run: Run, answers: Sequence[int]) -> dict[int, Sample]:
    """The run's own sample of each answer: itself or its copy."""
    found = _with_answers(answers).select_related("task", "subject", "run_benchmark").defer(*NOT_IN_A_ROW)
    benchmarks = {each.pk for each in run.benchmarks.all()}
    return {answer_key(sample): sample for sample in found if sample.run_benchmark_id in benchmarks}


def _with_answers(answers: Collection[int]) -> QuerySet[Sample]:
    """Samples with these answers, in any run: those of one run are picked out afterwards. Asked for here, a run's index would be chosen
    for it and all of its samples passed over, while there are only as many copies of an answer as continuations.
    """
    return Sample.objects.filter(Q(pk__in=answers) | Q(origin__in=answers)).order_by("pk")


class Overridden(NamedTuple):
    """A graded sample on which a person's verdict counts."""

    sample: int
    subject: int
    run_benchmark: int
    grader: bool
    correct: bool
    score: float
    override: int


def overridden(run: Run) -> list[Overridden]:
    """Those of the run, by their keys. Two queries, one where there are none."""
    current = VerdictOverride.objects.filter(_in_run(run), workspace=run.workspace_id, is_current=True).order_by()
    said = {row[0]: row[1:] for row in current.values_list("answer_id", "correct", "score", "pk")}
    if not said:
        return []
    benchmarks = {each.pk for each in run.benchmarks.all()}
    rows = _with_answers(said.keys()).values_list("origin_id", "pk", "subject_id", "run_benchmark_id", "correct")
    return [
        Overridden(pk, subject, benchmark, grader, *said[origin or pk])
        for origin, pk, subject, benchmark, grader in rows
        if benchmark in benchmarks and grader is not None
    ]


def scores_at(run: Run, subject: int, benchmark: int) -> list[tuple[Any, ...]]:
    """Key, position and score of each graded sample of a subject on a benchmark, by their keys."""
    samples = Sample.objects.filter(subject=subject, run_benchmark=benchmark, status="graded", score__isnull=False)
    return list(samples.filter(subject__run=run).order_by().values_list("pk", "position", "score"))


def with_task_list(benchmark: RunBenchmark) -> RunBenchmark:
    """The benchmark with its task list, which pages leave out. No query where nothing is read from it: the version has no clusters."""
    return RunBenchmark.objects.select_related("version").get(pk=benchmark.pk) if benchmark.version.has_clusters else benchmark
