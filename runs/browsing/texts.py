"""Looking for words in prompts and answers. Texts have no index, and a run may hold gigabytes of them: each page looks through a bounded
part, in the order of the list, says how far it got, and the next page goes on from there.

What is looked through is what a sample's page shows, rendered as it shows it, and nothing else: no reference, and nothing of a version
that lets only aggregates leave.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce

from catalog.models import TaskContent
from catalog.queries import manifest_of
from catalog.rendering import render_messages
from common.errors import Refused
from common.pages import Order, after, check_limit, columns_of, cursor_at
from gateway.enums import Outcome
from gateway.models import Call
from runs.browsing.filters import benchmarks_with_text
from runs.enums import SampleStatus
from runs.models import Run, Sample

SEARCHED_SAMPLES = 10_000
SEARCHED_CHARACTERS = 32 * 1024 * 1024
"""A page looks through at most so many samples, and stops after the part in which so many characters were read."""
PART = 200
"""Samples whose texts are in memory at once."""


@dataclass(frozen=True, slots=True)
class Found:
    """The keys of the samples that hold the words, in order; where to go on, None at the end; and how many were looked through."""

    keys: list[int]
    next_cursor: str | None
    searched: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A sample as far as its texts are looked for."""

    pk: int
    task_id: int
    run_benchmark_id: int
    is_graded: bool
    source: Any
    place: tuple[int, ...]
    """Its values of the order's columns."""


def find_texts(samples: QuerySet[Sample], run: Run, words: str, *, order: Order, cursor: str | None = None, limit: int) -> Found:
    """Up to `limit` of the samples whose prompt, answer or reasoning holds the words, in any case.

    Raises Refused (`search_not_permitted`) where no benchmark of the run shows its texts, and as `common.pages.page_of` does.
    """
    check_limit(limit)
    shown = benchmarks_with_text(run)
    if not shown:
        raise Refused(
            "search_not_permitted",
            "The benchmark's licence lets only aggregates leave: its prompts and answers are not shown, and cannot be looked through.",
        )
    rows = _rows(after(samples.filter(run_benchmark__in=[each.pk for each in shown]), order, cursor), order)
    search = _Search(words, run)
    keys: list[int] = []
    searched, most = 0, min(len(rows), SEARCHED_SAMPLES)
    while searched < most and search.characters <= SEARCHED_CHARACTERS:
        part = rows[searched : min(searched + PART, most)]
        holding = search.keys(part)
        for row in part:
            searched += 1
            if row.pk in holding:
                keys.append(row.pk)
                if len(keys) == limit:
                    break
        if len(keys) == limit:
            break
    return Found(keys, cursor_at(Sample, order, rows[searched - 1].place) if searched < len(rows) else None, searched)


def _rows(samples: QuerySet[Sample], order: Order) -> list[_Row]:
    """The next samples to look through, and one more where there are more."""
    columns = columns_of(order)
    found = samples.select_related(None).values_list(
        "pk", "task_id", "run_benchmark_id", "status", Coalesce(F("origin__public_id"), F("public_id")), *columns
    )
    return [
        _Row(pk, task, benchmark, status == SampleStatus.GRADED, source, tuple(place))
        for pk, task, benchmark, status, source, *place in found[: SEARCHED_SAMPLES + 1]
    ]


class _Search:
    """Looks through parts of a run's samples. Prompts are rendered once a task."""

    def __init__(self, words: str, run: Run) -> None:
        self.wanted = words.casefold()
        self.versions = {each.pk: each.version for each in run.benchmarks.all()}
        self.manifests: dict[int, dict[str, Any]] = {}
        self.in_prompt: dict[int, bool] = {}
        self.characters = 0

    def keys(self, part: Iterable[_Row]) -> set[int]:
        """The keys of the samples that hold the words."""
        part = list(part)
        self._read_prompts({row.task_id: row.run_benchmark_id for row in part if row.task_id not in self.in_prompt})
        answered = self._answered([row.source for row in part if row.is_graded and not self.in_prompt[row.task_id]])
        return {row.pk for row in part if self.in_prompt[row.task_id] or (row.is_graded and row.source in answered)}

    def _read_prompts(self, tasks: dict[int, int]) -> None:
        contents = TaskContent.objects.filter(task__in=tasks.keys()).values_list("task_id", "values")
        for task, values in contents:
            messages = render_messages(self._manifest(tasks[task]), values)
            self.in_prompt[task] = any(self._holds(message["content"]) for message in messages)
        self.in_prompt |= {task: False for task in tasks if task not in self.in_prompt}

    def _manifest(self, benchmark: int) -> dict[str, Any]:
        if benchmark not in self.manifests:
            self.manifests[benchmark] = manifest_of(self.versions[benchmark])
        return self.manifests[benchmark]

    def _answered(self, sources: list[Any]) -> set[Any]:
        """Of the sources those whose last answered call, which is the one that is shown, holds the words."""
        calls = Call.objects.filter(source_id__in=sources, outcome=Outcome.ANSWERED, content__isnull=False).order_by("id")
        last = {source: texts for source, *texts in calls.values_list("source_id", "content__response", "content__reasoning")}
        return {source for source, texts in last.items() if any(map(self._holds, texts))}

    def _holds(self, text: str) -> bool:
        self.characters += len(text)
        return self.wanted in text.casefold()
