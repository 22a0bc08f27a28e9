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
    """These samples, what was said read at once."""
    queries.belonging_to(samples, source.subjects, source.benchmarks)
    said = queries.said_of(samples) if source.has_answers else {}
    return [_document(source, sample, said) for sample in samples]


def _document(source: Source, sample: Sample, said: Mapping[Any, tuple[str, str]]) -> dict[str, Any]:
    index = sample.run_benchmark.index
    version, content = sample.run_benchmark.version, sample.task.content
    response, reasoning = said.get(runs.source_of(sample), (None, None))
    document = {
        **sample_row(sample),
        "subject_label": sample.subject.label,
        "profile_id": source.profiles[index],
        "messages": render_messages(source.manifests[index], content.values),
        "choices": content.values.get("choices"),
        "response": response,
        "reasoning": reasoning or None,
        "reference": content.reference if version.export_policy == ExportPolicy.FULL else None,
    }
    return document if source.has_answers else document | dict.fromkeys(OF_ANSWERS)
