"""Exports as JSON: the summary, and the same with every sample."""

from collections.abc import Iterator
from typing import Any

from common.encoding import encode_json
from runs.documents import benchmark_document, instant, subject_reference
from runs.exports.samples import parts_of_samples
from runs.exports.source import Source
from runs.models import RunBenchmark

SCHEMA = "evalrouter.export.v1"
ANSWERS_OVER = "The retention of this run has ended: what the models said is deleted. Verdicts and figures stay."


def summary_document(source: Source) -> dict[str, Any]:
    """Identities, figures, and the settings that made them, without samples. With several benchmarks what one alone would have is null."""
    run = source.run
    benchmarks = [_benchmark(source, benchmark) for benchmark in source.benchmarks]
    alone = benchmarks[0] if len(benchmarks) == 1 else {}
    return {
        "schema": SCHEMA,
        "run_id": str(run.public_id),
        "name": run.name or None,
        "status": run.status,
        "interruption": run.interruption,
        "created_at": instant(run.created_at),
        "started_at": instant(run.started_at),
        "ended_at": instant(run.ended_at),
        "quote": {"id": str(run.quote.public_id), "sha256": run.quote.sha256, "price_version": run.quote.price_version},
        "continued_from": str(run.continued_from.public_id) if run.continued_from else None,
        "benchmark": alone.get("benchmark"),
        "export_policy": alone.get("export_policy"),
        "coverage": alone.get("coverage"),
        "generation": alone.get("generation"),
        "benchmarks": benchmarks,
        "routing": [
            {
                "index": subject.index,
                "label": subject.label,
                "model": subject_reference(subject),
                "reasoning": subject.reasoning,
                "concurrency": subject.concurrency,
                "pricing": source.planned_subjects[subject.index]["pricing"],
                "served_models": subject.served_models,
                "notes": subject.notes,
            }
            for subject in source.subjects
        ],
        "result": source.document,
        "comparisons": list(source.comparisons.values()),
    }


def _benchmark(source: Source, benchmark: RunBenchmark) -> dict[str, Any]:
    version, manifest = benchmark.version, source.manifests[benchmark.index]
    return {
        "index": benchmark.index,
        "benchmark": {
            **benchmark_document(version),
            "sha256": version.sha256,
            "license": version.license,
            "source": manifest.get("source"),
            "rights": manifest.get("rights"),
        },
        "export_policy": version.export_policy,
        "coverage": benchmark.coverage,
        "tasks": {"count": benchmark.task_count, "sha256": benchmark.task_list_sha256},
        "generation": {
            "output_limit": benchmark.output_limit,
            "temperature": manifest["temperature"],
            "few_shot": manifest["few_shot"],
            "attempts": source.attempts,
            "prompt_template": manifest["prompt_template"],
            "system_prompt": manifest["system_prompt"],
            "grader": manifest["grader"],
            "grader_options": manifest["grader_options"],
        },
    }


def summary_parts(source: Source) -> Iterator[bytes]:
    yield encode_json(summary_document(source))


def json_parts(source: Source) -> Iterator[bytes]:
    """The summary with the samples added; `samples` is null where no benchmark's policy lets any leave, and `answers_expired` says
    whether what the models said was deleted before this was made.
    """
    summary = {**summary_document(source), "answers_expired": not source.has_answers and bool(source.open_benchmarks)}
    if summary["answers_expired"]:
        summary["note"] = ANSWERS_OVER
    yield encode_json(summary)[:-1]
    if not source.open_benchmarks:
        yield b',"samples":null}'
        return
    yield b',"samples":['
    is_first = True
    for part in parts_of_samples(source):
        text = b",".join(map(encode_json, part))
        yield text if is_first else b"," + text
        is_first = False
    yield b"]}"
