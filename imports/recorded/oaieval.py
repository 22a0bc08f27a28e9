"""A log of the `oaieval` command: one event a line, those of a sample under its ID."""

from collections.abc import Mapping, Sequence
from typing import Any

from imports.recorded.collecting import Collector
from imports.recorded.files import OldFile
from imports.recorded.texts import as_text, prompt_of

FORMAT = "oaieval"
MAX_OPEN = 10_000
"""Samples whose events are not all there yet."""


def recognises(files: Sequence[OldFile]) -> bool:
    """Whether a file begins with a spec."""
    return any(isinstance(file.first_object().get("spec"), dict) for file in files)


def read(files: Sequence[OldFile], into: Collector, options: Mapping[str, Any]) -> None:
    """Each file is one run of one model."""
    for file in files:
        _read_one(file, into)


def _read_one(file: OldFile, into: Collector) -> None:
    model, opened = file.name, dict[str, dict[str, Any]]()
    for _, line in file.lines():
        spec = line.get("spec")
        if isinstance(spec, dict):
            names = spec.get("completion_fns") or spec.get("model_name") or []
            model = ", ".join(map(str, names)) if isinstance(names, list) else str(names)
            into.name = into.name or str(spec.get("eval_name") or spec.get("base_eval") or "")
            continue
        key, kind, data = line.get("sample_id"), line.get("type"), line.get("data")
        if not isinstance(key, str) or not isinstance(data, dict):
            continue
        sample = opened.setdefault(key, {})
        if kind == "sampling" and "prompt" not in sample:
            sample |= {"prompt": data.get("prompt"), "sampled": data.get("sampled")}
        elif kind == "match":
            sample |= {"match": data}
        if "prompt" in sample and "match" in sample:
            _finish(model, key, opened.pop(key), into)
        elif len(opened) > MAX_OPEN:
            opened.pop(next(iter(opened)))
            into.leave_out("no_reference")
    for _ in opened:
        into.leave_out("no_reference")


def _finish(model: str, key: str, sample: dict[str, Any], into: Collector) -> None:
    match = sample["match"]
    expected = match.get("expected")
    reference = [as_text(each) for each in expected if as_text(each)] if isinstance(expected, list) else as_text(expected)
    into.grader("match", key, note="The log does not say how it was compared: whether the answer begins with, contains or equals the text.")
    prompt = prompt_of(sample["prompt"])
    if prompt is None:
        into.leave_out("not_text")
        return
    if not into.row(key, system=prompt[0], prompt=prompt[1], flat=prompt[2], reference=reference):
        return
    sampled = sample["sampled"]
    text = sampled[0] if isinstance(sampled, list) and sampled else sampled
    if not isinstance(text, str):
        into.leave_out("no_answer")
        return
    correct = match.get("correct")
    into.answer(model, key, text, was_correct=correct if isinstance(correct, bool) else None, extracted=as_text(match.get("picked")))
