"""Exports: a frozen result as one file that another person can check. What a file may hold is the version's export policy.

`json` holds every sample with its answer, `csv` one line a sample, `summary` no samples. Samples are read and written in parts, so that a
run of any size is exported from little memory.
"""

import csv
import io
from collections.abc import Iterator
from typing import Any

from catalog.enums import ExportPolicy
from catalog.models import BenchmarkVersion
from catalog.queries import manifest_of
from catalog.rendering import render_messages
from common.encoding import encode_json
from common.errors import Refused
from common.spreadsheets import plain_cell
from runs import queries
from runs.documents import benchmark_document, instant, result_document, sample_row, subject_reference
from runs.models import ResultVersion, Run, Sample

PART = 500
COLUMNS = (
    "subject_index",
    "subject",
    "task_id",
    "ordinal",
    "attempt",
    "group",
    "status",
    "correct",
    "score",
    "extracted",
    "reason",
    "error_code",
    "flags",
    "finish_reason",
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "estimated",
    "charge_microusd",
    "latency_ms",
    "origin",
    "response",
    "reference",
)


def summary_document(run: Run, result: ResultVersion) -> dict[str, Any]:
    """Identities, figures, and the settings that made them, without samples."""
    plan = run.quote.plan_document
    version = _version_of(run)
    manifest = manifest_of(version)
    return {
        "schema": "evalrouter.export.v1",
        "run_id": str(run.public_id),
        "name": run.name or None,
        "status": run.status,
        "created_at": instant(run.created_at),
        "started_at": instant(run.started_at),
        "ended_at": instant(run.ended_at),
        "quote": {"id": str(run.quote.public_id), "sha256": run.quote.sha256, "price_version": run.quote.price_version},
        "continued_from": str(run.continued_from.public_id) if run.continued_from else None,
        "benchmark": {
            **benchmark_document(version),
            "sha256": version.sha256,
            "license": version.license,
            "source": manifest.get("source"),
            "rights": manifest.get("rights"),
        },
        "export_policy": version.export_policy,
        "coverage": plan["coverage"],
        "generation": {
            "output_limit": plan["delivery"]["output_limit"],
            "temperature": manifest["temperature"],
            "few_shot": manifest["few_shot"],
            "attempts": manifest["attempts"],
            "prompt_template": manifest["prompt_template"],
            "system_prompt": manifest["system_prompt"],
            "grader": manifest["grader"],
            "grader_options": manifest["grader_options"],
        },
        "routing": [
            {
                "index": subject.index,
                "label": subject.label,
                "model": subject_reference(subject),
                "reasoning": subject.reasoning,
                "concurrency": subject.concurrency,
                "pricing": planned["pricing"],
                "served_models": subject.served_models,
                "notes": subject.notes,
            }
            for subject, planned in zip(run.subjects.all(), plan["subjects"], strict=True)
        ],
        "result": result_document(result),
    }


def json_parts(run: Run, result: ResultVersion) -> Iterator[bytes]:
    """The summary with the samples added; `samples` is null where the policy lets only aggregates leave."""
    yield encode_json(summary_document(run, result))[:-1]
    if _version_of(run).export_policy == ExportPolicy.AGGREGATE:
        yield b',"samples":null}'
        return
    yield b',"samples":['
    is_first = True
    for part in parts_of_samples(run):
        text = b",".join(map(encode_json, part))
        yield text if is_first else b"," + text
        is_first = False
    yield b"]}"


def csv_parts(run: Run) -> Iterator[str]:
    """A header and one line a sample. Raises Refused where the policy lets only aggregates leave."""
    if _version_of(run).export_policy == ExportPolicy.AGGREGATE:
        raise Refused(
            "export_not_permitted", "The benchmark's licence lets only aggregates leave: take `summary` or `json`, which hold no samples."
        )
    return _csv_lines(run)


def _csv_lines(run: Run) -> Iterator[str]:
    yield _lines([list(COLUMNS)])
    for part in parts_of_samples(run):
        yield _lines([_csv_row(sample) for sample in part])


def _csv_row(sample: dict[str, Any]) -> list[Any]:
    flat = {**sample, **sample["usage"], "subject": sample["subject_label"], "flags": " ".join(sample["flags"])}
    if flat["reference"] is not None and not isinstance(flat["reference"], str):
        flat["reference"] = encode_json(flat["reference"]).decode()
    return [_cell(flat[column]) for column in COLUMNS]


def _cell(value: Any) -> Any:
    """The value as a cell that no spreadsheet runs: a text that begins like a formula gets an apostrophe before it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain_cell(value)


def _lines(rows: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _version_of(run: Run) -> BenchmarkVersion:
    return run.benchmarks.all()[0].version


def parts_of_samples(run: Run) -> Iterator[list[dict[str, Any]]]:
    """The run's samples in the order they were stored, in parts: a row, its subject, and what was said as far as the policy goes."""
    version = _version_of(run)
    manifest = manifest_of(version)
    shows_reference = version.export_policy == ExportPolicy.FULL
    labels = {subject.index: subject.label for subject in run.subjects.all()}
    last = 0
    while samples := queries.samples_after(run, last, limit=PART):
        last = samples[-1].pk
        calls = queries.calls_of_samples(samples)
        yield [
            {
                **sample_row(sample),
                "subject_label": labels[sample.subject.index],
                "messages": render_messages(manifest, sample.task.content.values),
                "choices": sample.task.content.values.get("choices"),
                **_said(sample, calls),
                "reference": sample.task.content.reference if shows_reference else None,
            }
            for sample in samples
        ]


def _said(sample: Sample, calls: dict[Any, list[Any]]) -> dict[str, Any]:
    answered = next((call for call in reversed(calls[queries.source_of(sample)]) if call.outcome == "answered"), None)
    content = getattr(answered, "content", None)
    return {
        "response": content.response if content else None,
        "reasoning": (content.reasoning or None) if content else None,
    }
