"""A run's samples with what was asked and said, in parts, as far as each benchmark's export policy and the retention let it leave."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from catalog.enums import ExportPolicy
from catalog.rendering import render_messages
from runs import queries as runs
from runs.documents import sample_row
from runs.exports import queries
from runs.exports.source import Source
from runs.models import RunBenchmark, Sample, Subject

OF_ANSWERS = ("response", "reasoning", "extracted")
"""What of a sample a model said."""


def parts_of_samples(source: Source) -> Iterator[list[dict[str, Any]]]:
    """All samples that may leave, in the order they were stored: rows of the API with their subject and what was said."""
    last = 0
    while source.open_benchmarks and (samples := queries.samples_after(source.open_benchmarks, last)):
        last = samples[-1].pk
        yield documents_of(source, samples)


def parts_of_subject(source: Source, subject: Subject, benchmark: RunBenchmark) -> Iterator[list[dict[str, Any]]]:
    """The samples of one model on one benchmark by position and attempt; none where they may not leave."""
    last = (-1, 0)
    while benchmark in source.open_benchmarks and (samples := queries.samples_of_subject(subject, benchmark, last)):
        last = samples[-1].position, samples[-1].attempt
        yield documents_of(source, samples)


def documents_of(source: Source, samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """These samples, their calls read at once."""
    calls = runs.calls_of_samples(samples) if source.has_answers else {}
    return [_document(source, sample, calls) for sample in samples]


def _document(source: Source, sample: Sample, calls: Mapping[Any, Sequence[Any]]) -> dict[str, Any]:
    index = sample.run_benchmark.index
    benchmark = next(each for each in source.benchmarks if each.index == index)
    content = sample.task.content
    row = sample_row(sample)
    document = {
        **row,
        "subject_label": sample.subject.label,
        "profile_id": benchmark.version.profile_id,
        "messages": render_messages(source.manifests[index], content.values),
        "choices": content.values.get("choices"),
        "response": None,
        "reasoning": None,
        "reference": content.reference if benchmark.version.export_policy == ExportPolicy.FULL else None,
    }
    if source.has_answers:
        return document | _said(calls[runs.source_of(sample)])
    return document | dict.fromkeys(OF_ANSWERS)


def _said(calls: Sequence[Any]) -> dict[str, Any]:
    answered = next((call for call in reversed(calls) if call.outcome == "answered"), None)
    content = getattr(answered, "content", None)
    return {
        "response": content.response if content else None,
        "reasoning": (content.reasoning or None) if content else None,
    }
