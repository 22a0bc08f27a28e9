"""The tasks before and after one, within a filter."""

from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from runs.browsing.filters import SampleFilter, benchmarks_with_text, filter_samples
from runs.browsing.texts import find_texts
from runs.models import Run, Sample, Subject

SEARCHED_CELLS = 4_000
"""About so many samples before and after a task are looked through for words in texts."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Positions of the tasks before and after, None where there is none; and within how many tasks words were looked for."""

    before: int | None
    after: int | None
    searched: int | None = None


def neighbours(run: Run, position: int, wanted: SampleFilter) -> Neighbours:
    """The nearest tasks with samples that the filter keeps. One query, but for words in texts."""
    if wanted.text:
        return _with_text(run, position, wanted)
    samples = filter_samples(Sample.objects.filter(subject=OuterRef("pk")), run, wanted).order_by().values("position")
    subjects = Subject.objects.filter(run=run).order_by()
    if wanted.subject is not None:
        subjects = subjects.filter(index=max(wanted.subject, 0))
    rows = subjects.annotate(
        before=Subquery(samples.filter(position__lt=position).order_by("-position")[:1]),
        after=Subquery(samples.filter(position__gt=position).order_by("position")[:1]),
    ).values_list("before", "after")
    before, after = ([each for each in column if each is not None] for column in (list(zip(*rows, strict=True)) or [(), ()]))
    return Neighbours(max(before, default=None), min(after, default=None))


def _with_text(run: Run, position: int, wanted: SampleFilter) -> Neighbours:
    if not benchmarks_with_text(run):
        return Neighbours(None, None)
    subjects = [each.pk for each in run.subjects.all()]
    span = max(1, SEARCHED_CELLS // max(1, len(subjects) * run.attempts))
    samples = filter_samples(Sample.objects.filter(subject__in=subjects), run, wanted)

    def nearest(low: int, high: int, order: tuple[str, str]) -> int | None:
        near = samples.filter(position__gte=low, position__lte=high)
        found = find_texts(near, run, wanted.text, order=order, limit=1).keys
        return Sample.objects.values_list("position", flat=True).get(pk=found[0]) if found else None

    before = nearest(position - span, position - 1, ("-position", "-id")) if position else None
    after = nearest(position + 1, position + span, ("position", "id"))
    return Neighbours(before, after, span)
