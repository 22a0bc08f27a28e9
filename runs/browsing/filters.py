"""What narrows a run's samples. Pages and the API take the same filters, and each costs at most one pass over the run."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import Count, F, Q, QuerySet, Sum

from catalog.enums import ExportPolicy
from common.searching import holds
from runs.enums import Flag, SampleStatus
from runs.models import Run, RunBenchmark, Sample
from runs.models.reviews import Note, VerdictOverride
from runs.wording import codes_holding

KEEP_COUNTS = 24 * 60 * 60
"""Seconds that is kept what takes a pass over the samples: how many disagreements there are, which groups, which errors."""
LONGEST = 200
"""Characters of a word to look for, and of any other filter."""
SHOWN = ("failures", "disagreements")
REVIEWED = ("note", "override", "changed")
"""With a note, with a person's verdict, and with one that differs from the grader's."""
VERDICTS = ("correct", "incorrect")
FAILED = Q(correct=False) | Q(status=SampleStatus.ERROR)
NOTHING = -1
"""A number that no sample has, for what is not a number."""


@dataclass(frozen=True, slots=True)
class SampleFilter:
    """What is asked of samples; a filter that is left out keeps all of them. A value that no sample can have keeps none."""

    subject: int | None = None
    """The index of a model."""
    benchmark: str = ""
    """The `profile_id` of a benchmark version."""
    attempt: int | None = None
    verdict: str = ""
    """The grader's: one of `VERDICTS`."""
    status: str = ""
    error_code: str = ""
    flag: str = ""
    group: str = ""
    min_output_tokens: int | None = None
    max_output_tokens: int | None = None
    reviewed: str = ""
    """What people said: one of `REVIEWED`."""
    q: str = ""
    """A part of the task's ID, of what was read from the answer, or of why it was graded so."""
    text: str = ""
    """Words of the prompt or of the answer: not a column, see `runs.browsing.texts`."""
    show: str = ""
    """One of `SHOWN`."""

    @classmethod
    def of_query(cls, query: Mapping[str, str]) -> "SampleFilter":
        """The filter of an address. Texts are cut at `LONGEST`; a number that is none becomes one that no sample has."""
        found: dict[str, Any] = {}
        for field in fields(cls):
            text = query.get(field.name, "").replace("\0", "").strip()[:LONGEST]
            if text:
                found[field.name] = _number(text) if field.default is None else text
        if found.get("show", "") not in SHOWN:
            found.pop("show", None)
        return cls(**found)

    def active(self) -> dict[str, Any]:
        """What is asked, by name."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}

    def kept(self, **more: str) -> str:
        """The query string that keeps the filter from page to page, with its question mark; empty where nothing is asked."""
        asked = self.active() | {name: value for name, value in more.items() if value}
        return f"?{urlencode(asked)}" if asked else ""

    def showing(self, show: str) -> "SampleFilter":
        """The same with another `show`."""
        return replace(self, show=show)

    @property
    def less_usual(self) -> bool:
        """Whether something is asked that pages keep folded away."""
        return bool(self.active().keys() - {"q", "subject", "verdict", "status", "group", "show"})

    @property
    def names_only_a_model(self) -> bool:
        """Whether nothing is asked but a model and what `show` shows, whose numbers are known without a pass over the samples."""
        return not self.active().keys() - {"subject", "show"}


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else NOTHING


def filter_samples(samples: QuerySet[Sample], run: Run, wanted: SampleFilter) -> QuerySet[Sample]:
    """Narrow the run's samples by everything but `text`.

    No filter has an index of its own: 100,000 samples are passed over in less time than a page takes to draw, and each index would slow
    down every sample that is stored.
    """
    if NOTHING in (wanted.subject, wanted.attempt, wanted.min_output_tokens, wanted.max_output_tokens):
        return samples.none()
    if wanted.subject is not None:
        samples = samples.filter(subject__in=[each.pk for each in run.subjects.all() if each.index == wanted.subject])
    if wanted.benchmark:
        named = [each.pk for each in run.benchmarks.all() if each.version.profile_id == wanted.benchmark]
        samples = samples.filter(run_benchmark__in=named)
    if wanted.attempt is not None:
        samples = samples.filter(attempt=wanted.attempt)
    if wanted.status:
        samples = samples.filter(status=wanted.status)
    if wanted.error_code:
        samples = samples.filter(status=SampleStatus.ERROR, error_code=wanted.error_code)
    if wanted.flag:
        samples = samples.filter(**{f"is_{wanted.flag}": True}) if wanted.flag in Flag.values else samples.none()
    if wanted.verdict:
        samples = samples.filter(correct=wanted.verdict == "correct") if wanted.verdict in VERDICTS else samples.none()
    if wanted.group:
        samples = samples.filter(task__group=wanted.group)
    if wanted.min_output_tokens is not None:
        samples = samples.filter(output_tokens__gte=wanted.min_output_tokens)
    if wanted.max_output_tokens is not None:
        samples = samples.filter(output_tokens__lte=wanted.max_output_tokens)
    if wanted.reviewed:
        samples = samples.filter(_reviewed(run, wanted.reviewed)) if wanted.reviewed in REVIEWED else samples.none()
    if wanted.q:
        samples = samples.filter(_holding(run, wanted.q))
    return _shown(samples, run, wanted.show)


def benchmarks_with_text(run: Run) -> list[RunBenchmark]:
    """The benchmarks of the run whose prompts and answers are shown. Of the others, what was read from an answer is not shown either."""
    return [each for each in run.benchmarks.all() if each.version.export_policy != ExportPolicy.AGGREGATE]


def _holding(run: Run, word: str) -> Q:
    """Whose row, as it is shown, holds the word. What is not shown is not looked through: it could be guessed letter by letter."""
    reasons, errors = codes_holding(word)
    shown = Q(run_benchmark__in=[each.pk for each in benchmarks_with_text(run)])
    found = holds(word, "task__task_id") | (holds(word, "extracted") & shown)
    return found | Q(reason__in=reasons) | holds(word, "reason") | Q(error_code__in=errors)


def _reviewed(run: Run, kind: str) -> Q:
    """Whose answer has one: its own, or as a copy that of the sample it was copied from."""
    if kind == "note":
        return _of_answers(Note.objects.filter(workspace=run.workspace_id))
    current = VerdictOverride.objects.filter(workspace=run.workspace_id, is_current=True)
    if kind == "override":
        return _of_answers(current)
    made_right = _of_answers(current.filter(correct=True)) & Q(correct=False)
    return made_right | (_of_answers(current.filter(correct=False)) & Q(correct=True))


def _of_answers(said: QuerySet[Any]) -> Q:
    answers = said.order_by().values("answer")
    return Q(pk__in=answers) | Q(origin__in=answers)


def _shown(samples: QuerySet[Sample], run: Run, show: str) -> QuerySet[Sample]:
    """Of `failures` those graded incorrect or ended in an error; of `disagreements` all of tasks that one answer got right and another not.

    The tasks on which answers disagree are found in one pass over the run, so that it costs the same whether they are many or none.
    """
    if show == "failures":
        return samples.filter(FAILED)
    if show == "disagreements":
        return samples.filter(position__in=_disputed(run).values("position"))
    return samples


def _disputed(run: Run) -> QuerySet[Any, Any]:
    """A row for each position of the run that one answer got right and another not."""
    samples = Sample.objects.filter(run_benchmark__in=list(run.benchmarks.all())).order_by().values("position")
    counted = samples.annotate(right=Count("pk", filter=Q(correct=True)), wrong=Count("pk", filter=Q(correct=False)))
    return counted.filter(right__gt=0, wrong__gt=0)


def count_samples(run: Run, found: QuerySet[Sample] | None = None, subject: int | None = None) -> dict[str, int]:
    """How many samples `show` keeps: by `""` (all of them), `failures` and `disagreements`.

    Without `found`, of the run or of one subject: from the subjects' own counters, and one pass over the run for the disagreements, whose
    outcome is kept until more samples are there. With `found`, of samples that are filtered otherwise: by one query, and without the
    disagreements, for which it would have to go over the whole run each time.
    """
    if found is not None:
        counted = found.order_by().aggregate(every=Count("pk"), failures=Count("pk", filter=FAILED))
        return {"": counted["every"], "failures": counted["failures"]}
    subjects = [each for each in run.subjects.all() if subject is None or each.index == subject]
    every = sum(each.processed for each in subjects)
    key = f"disagreements:{run.pk}:{run.processed}:{every}:{'' if subject is None else subject}"
    disputed = cache.get_or_set(key, partial(_count_disputed, run, subject), KEEP_COUNTS)
    return {"": every, "failures": sum(each.graded - each.correct + each.errors for each in subjects), "disagreements": disputed or 0}


def _count_disputed(run: Run, subject: int | None) -> int:
    wanted = Q() if subject is None else Q(subject__index=subject)
    counted: int | None = _disputed(run).annotate(samples=Count("pk", filter=wanted)).aggregate(total=Sum("samples"))["total"]
    return counted or 0


ORDERS: dict[str, tuple[str, str]] = {
    "task": ("position", "id"),
    "latency": ("latency_ms", "id"),
    "charge": ("charged", "id"),
    "output_tokens": ("output_tokens", "id"),
}
ORDERS |= {f"-{name}": (f"-{first}", f"-{key}") for name, (first, key) in ORDERS.items()}
"""What samples can be sorted by, each with the column that makes it unique."""


def sorted_by(samples: QuerySet[Sample], sort: str) -> tuple[QuerySet[Sample], tuple[str, str]]:
    """The samples with what the sort needs, and its order for `common.pages`."""
    order = ORDERS[sort]
    if order[0].endswith("charged"):
        samples = samples.annotate(charged=F("usage_microusd") + F("fee_microusd"))
    return samples, order


def groups_of(run: Run) -> list[str]:
    """Names of the task groups in the run's samples, for a filter."""
    names = Sample.objects.filter(run_benchmark__in=_benchmarks(run)).exclude(task__group="").order_by("task__group")
    return _kept(run, "groups", lambda: list(names.values_list("task__group", flat=True).distinct()[:200]))


def error_codes_of(run: Run) -> list[str]:
    """Why samples of the run ended in an error, for a filter. No query where none did."""
    if not run.errors:
        return []
    codes = Sample.objects.filter(run_benchmark__in=_benchmarks(run), status=SampleStatus.ERROR).exclude(error_code="")
    return _kept(run, "errors", lambda: list(codes.order_by("error_code").values_list("error_code", flat=True).distinct()[:50]))


def _benchmarks(run: Run) -> list[int]:
    return [each.pk for each in run.benchmarks.all()]


def _kept(run: Run, what: str, find: Callable[[], list[str]]) -> list[str]:
    """What a pass over the samples found, kept until there are more of them."""
    found: list[str] | None = cache.get_or_set(f"samples:{what}:{run.pk}:{run.processed}", find, KEEP_COUNTS)
    return found or []
