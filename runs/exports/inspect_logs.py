"""Exports as logs of Inspect: a JSON log for each model on each benchmark, in one ZIP. `imports.recorded.inspect_log` reads them too.

A scorer is named `evalrouter/<grader>` with the grader's own options, since no scorer of Inspect decides exactly as it does. An error has
no score, as it has none here. Where samples may not leave, or their answers are over, a log holds its header and results alone.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from catalog.graders.multiple_choice import LETTERS
from catalog.rendering import render_choices
from common.encoding import encode_json
from runs.documents import instant
from runs.exports.samples import parts_of_subject
from runs.exports.source import Source
from runs.exports.texts import readme
from runs.exports.zipping import zip_parts
from runs.models import RunBenchmark, Subject

_STATUS = {"completed": "success", "failed": "error"}
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter", "tool_calls": "tool_calls"}


def inspect_parts(source: Source) -> Iterator[bytes]:
    """The ZIP of all logs in parts."""
    folder = f"evalrouter-{source.run.public_id}-v{source.result.number}-inspect"
    return zip_parts(_files(source), folder=folder, at=source.result.created_at)


def _files(source: Source) -> Iterator[tuple[str, Iterator[bytes]]]:
    yield (
        "README.md",
        iter([readme(source, "Inspect logs", "Read a log with `inspect view --log-dir .` or `inspect_ai.log.read_eval_log`.")]),
    )
    for benchmark in source.benchmarks:
        for subject in source.subjects:
            yield _name(source, subject, benchmark), _log(source, subject, benchmark)


def _name(source: Source, subject: Subject, benchmark: RunBenchmark) -> str:
    """As Inspect names logs: time, task and an ID, with underscores between them alone."""
    at = (source.run.started_at or source.run.created_at).strftime("%Y-%m-%dT%H-%M-%S+00-00")
    model = re.sub(r"[^A-Za-z0-9.]+", "-", subject.label)[:60]
    return f"logs/{at}_{benchmark.version.benchmark.slug.replace('_', '-')}_{model}-{benchmark.index}-{subject.index}.json"


def _log(source: Source, subject: Subject, benchmark: RunBenchmark) -> Iterator[bytes]:
    figures = next(each for each in source.subjects_of(benchmark) if each["index"] == subject.index)
    scorer = f"evalrouter/{benchmark.version.grader}"
    yield encode_json(_header(source, subject, benchmark, figures, scorer))[:-1]
    has_samples = source.has_answers and benchmark in source.open_benchmarks
    if not has_samples:
        yield b"}"
        return
    yield b',"samples":['
    is_first = True
    for part in parts_of_subject(source, subject, benchmark):
        text = b",".join(encode_json(_sample(sample, scorer)) for sample in part)
        yield text if is_first else b"," + text
        is_first = False
    yield b"]}"


def _header(source: Source, subject: Subject, benchmark: RunBenchmark, figures: Mapping[str, Any], scorer: str) -> dict[str, Any]:
    run, version, manifest = source.run, benchmark.version, source.manifests[benchmark.index]
    headline, counts, options = figures["headline"], figures["counts"], manifest["grader_options"]
    interval = {"interval": headline["interval"]} if headline["interval"] else None
    metrics = {
        name: {"name": name, "value": value, "params": {}, "metadata": interval}
        for name, value in ((headline["metric"], headline["value"]), ("stderr", headline["stderr"]))
        if value is not None
    }
    scored = {"name": scorer, "scorer": scorer, "params": options, "scored_samples": counts["graded"], "metrics": metrics}
    usage = _usage(figures["usage"])
    effort, tokens = subject.reasoning.get("effort"), subject.reasoning.get("budget_tokens")
    return {
        "version": 2,
        "status": _STATUS.get(run.status, "cancelled"),
        "eval": {
            "eval_id": f"{run.public_id}-{benchmark.index}-{subject.index}",
            "run_id": str(run.public_id),
            "created": instant(run.created_at),
            "task": version.benchmark.slug,
            "task_id": f"{version.profile_id}-{subject.index}",
            "task_version": version.number,
            "task_display_name": version.benchmark.name,
            "dataset": {"name": version.profile_id, "samples": version.task_count, "shuffled": False},
            "model": subject.label,
            "model_generate_config": {
                "max_tokens": benchmark.output_limit,
                "temperature": manifest["temperature"],
                **({"reasoning_effort": effort} if effort else {}),
                **({"reasoning_tokens": tokens} if tokens else {}),
            },
            "config": {"epochs": source.attempts, "epochs_reducer": ["mean"]},
            "scorers": [{"name": scorer, "options": options, "metadata": {}}],
            "packages": {},
            "metadata": {
                "source": "EvalRouter",
                "result_version": source.result.number,
                "result_sha256": source.result.sha256,
                "profile_id": version.profile_id,
                "benchmark_sha256": version.sha256,
                "license": version.license,
                "export_policy": version.export_policy,
                "answers_expired": not source.has_answers,
                "run_status": run.status,
                "interruption": run.interruption,
                "coverage": benchmark.coverage,
                "counts": counts,
                "charge_microusd": figures["charge_microusd"],
            },
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": counts["planned"], "completed_samples": counts["graded"], "scores": [scored]},
        "stats": {
            "started_at": instant(run.started_at or run.created_at),
            "completed_at": instant(run.ended_at or run.created_at),
            "model_usage": {subject.label: usage},
        },
    }


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "input_tokens": usage["input_tokens"] - usage["cached_input_tokens"],
        "input_tokens_cache_read": usage["cached_input_tokens"],
        "output_tokens": usage["output_tokens"],
        "reasoning_tokens": usage["reasoning_tokens"],
        "total_tokens": usage["input_tokens"] + usage["output_tokens"],
    }


def _sample(sample: Mapping[str, Any], scorer: str) -> dict[str, Any]:
    said = sample["response"]
    given = _question(sample["messages"], sample["choices"])
    reply = None if said is None else {"role": "assistant", "source": "generate", "content": _content(said, sample["reasoning"])}
    usage = _usage(sample["usage"])
    stop = _STOPS.get(sample["finish_reason"] or "", "unknown")
    output: dict[str, Any] = {"model": sample["subject_label"], "choices": [], "usage": usage, "time": sample["latency_ms"] / 1000}
    if reply is not None:
        output |= {"choices": [{"message": reply, "stop_reason": stop}], "completion": said}
    document: dict[str, Any] = {
        "id": sample["task_id"],
        "epoch": sample["attempt"],
        "input": given,
        "choices": sample["choices"],
        "target": _target(sample["reference"]),
        "messages": [*sample["messages"], *([reply] if reply else [])],
        "output": output,
        "scores": None,
        "metadata": {
            name: sample[name]
            for name in ("ordinal", "position", "group", "status", "flags", "charge_microusd", "origin")
        }
        | {"sample_id": sample["id"]},
        "store": {},
        "events": [],
        "model_usage": {sample["subject_label"]: usage},
        "attachments": {},
    }  # fmt: skip
    if sample["status"] == "graded":
        value = {True: "C", False: "I"}.get(sample["correct"], sample["score"])
        document["scores"] = {scorer: {"value": value, "answer": sample["extracted"], "explanation": sample["reason"], "metadata": {}}}
    elif sample["status"] == "error":
        document["error"] = {"message": sample["error_code"] or "unclassified", "traceback": "", "traceback_ansi": ""}
    return document


def _question(messages: list[dict[str, str]], choices: list[str] | None) -> Any:
    """What was asked, without the lettered choices where they end it: a log has those apart."""
    asked = messages[-1]["content"]
    if choices and len(choices) <= len(LETTERS):
        asked = asked.removesuffix(render_choices(choices)).rstrip() or asked
    return asked if len(messages) == 1 else [*messages[:-1], {**messages[-1], "content": asked}]


def _content(said: str, reasoning: str | None) -> Any:
    return [{"type": "reasoning", "reasoning": reasoning}, {"type": "text", "text": said}] if reasoning else said


def _target(reference: Any) -> Any:
    """The reference as text, or as a list of texts; empty where the export policy keeps it."""
    if reference is None:
        return ""
    if isinstance(reference, list) and all(isinstance(each, str) for each in reference):
        return reference
    return reference if isinstance(reference, str) else encode_json(reference).decode()
