"""Exports in the form of lm-evaluation-harness: a ZIP with a folder for each model, its results file and a sample log for each benchmark.

`imports.recorded.lm_eval` reads them too. The filter is named `evalrouter-<grader>`, and the grader with its options stands in the task's
metadata, since no filter of the harness decides exactly as it does. Answers that ended in an error are not in the logs: they have no value.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

from common.encoding import encode_json
from runs.documents import instant
from runs.exports.samples import parts_of_subject
from runs.exports.source import Source
from runs.exports.texts import readme
from runs.exports.zipping import zip_parts
from runs.models import RunBenchmark, Subject

_METRICS = {"accuracy": "acc"}
LINES = 200
"""Lines that are written at once."""


def lm_eval_parts(source: Source) -> Iterator[bytes]:
    """The ZIP in parts."""
    folder = f"evalrouter-{source.run.public_id}-v{source.result.number}-lm-eval"
    return zip_parts(_files(source), folder=folder, at=source.result.created_at)


def _files(source: Source) -> Iterator[tuple[str, Iterator[bytes]]]:
    how = "Each model has a folder with `results_….json` and a `samples_<task>_….jsonl` for each benchmark whose samples may leave."
    yield "README.md", iter([readme(source, "lm-evaluation-harness files", how)])
    at = (source.run.started_at or source.run.created_at).strftime("%Y-%m-%dT%H-%M-%S.%f")
    names = task_names(source)
    for subject in source.subjects:
        folder = f"{subject.index}__{_plain(subject.label)}"
        yield f"{folder}/results_{at}.json", iter([encode_json(_results(source, subject, names))])
        for benchmark in source.open_benchmarks if source.has_answers else []:
            yield f"{folder}/samples_{names[benchmark.index]}_{at}.jsonl", _lines(source, subject, benchmark)


def task_names(source: Source) -> dict[int, str]:
    """A name for each benchmark by its index: its slug, and with the version's number where two are of one benchmark."""
    slugs = Counter(benchmark.version.benchmark.slug for benchmark in source.benchmarks)
    return {
        benchmark.index: slug if slugs[slug := benchmark.version.benchmark.slug] == 1 else f"{slug}-v{benchmark.version.number}"
        for benchmark in source.benchmarks
    }


def _plain(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "__", label)[:100]


def _filter(benchmark: RunBenchmark) -> str:
    return f"evalrouter-{benchmark.version.grader}"


def _metric(figures: Mapping[str, Any]) -> str:
    return _METRICS.get(key := figures["headline"]["metric"], str(key))


def _results(source: Source, subject: Subject, names: Mapping[int, str]) -> dict[str, Any]:
    figures = {
        benchmark.index: each for benchmark in source.benchmarks for each in source.subjects_of(benchmark) if each["index"] == subject.index
    }
    run, by_name = source.run, {names[benchmark.index]: benchmark for benchmark in source.benchmarks}
    return {
        "results": {name: _values(name, benchmark, figures[benchmark.index]) for name, benchmark in by_name.items()},
        "group_subtasks": {name: [] for name in by_name},
        "configs": {name: _config(source, name, benchmark, figures[benchmark.index]) for name, benchmark in by_name.items()},
        "versions": {name: benchmark.version.number for name, benchmark in by_name.items()},
        "n-shot": {name: source.manifests[benchmark.index]["few_shot"] for name, benchmark in by_name.items()},
        "higher_is_better": {name: {_metric(figures[benchmark.index]): True} for name, benchmark in by_name.items()},
        "n-samples": {
            name: {"original": benchmark.version.task_count, "effective": figures[benchmark.index]["counts"]["graded"]}
            for name, benchmark in by_name.items()
        },
        "config": {"model": "evalrouter", "model_args": {"model": subject.label}, "limit": None, "bootstrap_iters": 0},
        "date": (run.started_at or run.created_at).timestamp(),
        "model_source": "evalrouter",
        "model_name": subject.label,
        "model_name_sanitized": _plain(subject.label),
        "evalrouter": {
            "run_id": str(run.public_id),
            "run_status": run.status,
            "interruption": run.interruption,
            "result_version": source.result.number,
            "result_sha256": source.result.sha256,
            "frozen_at": instant(source.result.created_at),
            "answers_expired": not source.has_answers,
            "tasks": {
                name: {
                    "profile_id": benchmark.version.profile_id,
                    "export_policy": benchmark.version.export_policy,
                    "headline": figures[benchmark.index]["headline"],
                    "counts": figures[benchmark.index]["counts"],
                    "charge_microusd": figures[benchmark.index]["charge_microusd"],
                }
                for name, benchmark in by_name.items()
            },
        },
    }


def _values(name: str, benchmark: RunBenchmark, figures: Mapping[str, Any]) -> dict[str, Any]:
    headline, metric, filter_name = figures["headline"], _metric(figures), _filter(benchmark)
    stderr = headline["stderr"]
    return {
        "alias": name,
        f"{metric},{filter_name}": headline["value"],
        f"{metric}_stderr,{filter_name}": "N/A" if stderr is None else stderr,
    }


def _config(source: Source, name: str, benchmark: RunBenchmark, figures: Mapping[str, Any]) -> dict[str, Any]:
    manifest = source.manifests[benchmark.index]
    return {
        "task": name,
        "dataset_path": benchmark.version.profile_id,
        "description": manifest["system_prompt"] or "",
        "doc_to_text": manifest["prompt_template"],
        "output_type": "generate_until",
        "num_fewshot": manifest["few_shot"],
        "repeats": source.attempts,
        "generation_kwargs": {"max_gen_toks": benchmark.output_limit, "temperature": manifest["temperature"]},
        "metric_list": [{"metric": _metric(figures), "aggregation": "mean", "higher_is_better": True}],
        "metadata": {
            "version": benchmark.version.number,
            "evalrouter": {"grader": manifest["grader"], "grader_options": manifest["grader_options"]},
        },
    }


def _lines(source: Source, subject: Subject, benchmark: RunBenchmark) -> Iterator[bytes]:
    """A line a task, with all attempts at it."""
    figures = next(each for each in source.subjects_of(benchmark) if each["index"] == subject.index)
    metric, arguments = _metric(figures), _config(source, "", benchmark, figures)["generation_kwargs"]
    samples = chain.from_iterable(parts_of_subject(source, subject, benchmark))
    waiting: list[bytes] = []
    for _, attempts in groupby(samples, key=lambda sample: sample["position"]):
        graded = [sample for sample in attempts if sample["status"] == "graded"]
        if graded:
            waiting.append(encode_json(_line(graded, _filter(benchmark), metric, arguments)) + b"\n")
        if len(waiting) >= LINES:
            yield b"".join(waiting)
            waiting = []
    yield b"".join(waiting)


def _line(attempts: Sequence[Mapping[str, Any]], filter_name: str, metric: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    sample = attempts[0]
    messages, target = sample["messages"], _target(sample["reference"])
    prompt = messages[0]["content"] if len(messages) == 1 else encode_json(messages).decode()
    return {
        "doc_id": sample["ordinal"],
        "doc": {"task_id": sample["task_id"], "group": sample["group"], "choices": sample["choices"]},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": [], **arguments}}},
        "resps": [[each["response"] for each in attempts]],
        "filtered_resps": [each["extracted"] or "[invalid]" for each in attempts],
        "filter": filter_name,
        "metrics": [metric],
        "doc_hash": _hash(sample["task_id"]),
        "prompt_hash": _hash(prompt),
        "target_hash": _hash(str(target)),
        metric: sum(each["score"] for each in attempts) / len(attempts),
    }


def _target(reference: Any) -> Any:
    if reference is None or isinstance(reference, str):
        return reference
    return reference if isinstance(reference, list) else encode_json(reference).decode()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
