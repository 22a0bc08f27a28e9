"""Sample logs of lm-evaluation-harness (`samples_<task>_<date>.jsonl`), with the results file beside them where there is one."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import re2

from catalog.graders.options import compile_pattern
from common.errors import Refused
from imports.recorded.collecting import Collector
from imports.recorded.files import OldFile
from imports.recorded.own import own_grader
from imports.recorded.texts import as_text, prompt_of

FORMAT = "lm-eval"
_NAME = re.compile(r"samples_(?P<task>.+?)(?:_\d{4}-\d\d-\d\d.*)?")
_RIGHT_OR_WRONG = ("exact_match", "acc", "acc_norm", "em", "exact", "pass@1")
LAST_NUMBER = "the last number"
_NUMBERS = re.compile(r"[-?$0-9.,\\()\[\]{}|+*]+")
"""A pattern of numbers and nothing else."""
_STRICT = {"nfkc": False, "casefold": False, "collapse_whitespace": False}


def recognises(files: Sequence[OldFile]) -> bool:
    """Whether a file's lines hold a document, the answers and what the filters took out of them."""
    return any({"doc", "filtered_resps"} <= file.first_object().keys() for file in files)


def read(files: Sequence[OldFile], into: Collector, options: Mapping[str, Any]) -> None:
    """Each sample log is one model's answers; `options["filter"]` names the filter whose verdicts are taken, the first by default."""
    results = [each for each in (_results(file) for file in files) if each]
    logs = [file for file in files if {"doc", "filtered_resps"} <= file.first_object().keys()]
    config = results[0] if results else {}
    if not results:
        into.note("The results file (results_….json) is not among the files, so the settings of the graders are not known.")
    for number, file in enumerate(logs, start=1):
        found = _NAME.fullmatch(file.name.rpartition("/")[2].rpartition(".")[0])
        task = found["task"] if found else file.name
        into.name = into.name or task
        model = _model(results[min(number, len(results)) - 1]) if results else ""
        _Log(into, _object(_object(config.get("configs")).get(task)), model or (f"{task} {number}" if len(logs) > 1 else task)).read(
            file, str(options.get("filter") or "")
        )


def _results(file: OldFile) -> dict[str, Any]:
    head = file.head()
    if head[:1] != b"{" or {"doc", "filtered_resps"} <= file.first_object().keys():
        return {}
    document = file.document()
    return document if isinstance(document, dict) and "results" in document else {}


def _model(results: dict[str, Any]) -> str:
    named = as_text(results.get("model_name"))
    config = _object(results.get("config"))
    arguments = config.get("model_args")
    if not named and isinstance(arguments, str):
        found = re.search(r"(?:pretrained|model)=([^,]+)", arguments)
        named = found[1] if found else ""
    if not named and isinstance(arguments, dict):
        named = as_text(arguments.get("pretrained")) or as_text(arguments.get("model"))
    return named or as_text(config.get("model"))


class _Log:
    """Reads one sample log of one model."""

    def __init__(self, into: Collector, config: dict[str, Any], model: str) -> None:
        self._into, self._config, self._model = into, config, into.new_name(model)
        self._filters: set[str] = set()

    def read(self, file: OldFile, wanted: str) -> None:
        for _, line in file.lines():
            name = as_text(line.get("filter")) or "none"
            self._filters.add(name)
            wanted = wanted or name
            if name == wanted:
                self._sample(line, name)
        if len(self._filters) > 1:
            listed = ", ".join(sorted(self._filters))
            self._into.note(f"{file.name} grades each answer by several filters ({listed}); the verdicts of {wanted} are compared.")

    def _sample(self, line: dict[str, Any], filter_name: str) -> None:
        key = as_text(line.get("doc_id"))
        requests = _requests(line.get("arguments"))
        metric = next((name for name in _RIGHT_OR_WRONG if isinstance(line.get(name), int | float)), "")
        value = line.get(metric) if metric else None
        was_correct = None if value not in {0, 1} else bool(value)
        if len(requests) > 1 or self._config.get("output_type") == "multiple_choice":
            self._choice(line, key, requests, metric or "unnamed metric", was_correct)
            return
        if not requests:
            self._into.leave_out("no_prompt")
            return
        regexes = _ignored(self._config)
        self._into.grader(key=key, **self._mapped(metric or _other_metric(line), filter_name))
        prompt = prompt_of(_messages(requests[0][0]))
        if prompt is None:
            self._into.leave_out("not_text")
            return
        reference = _without(line.get("target"), regexes)
        if not self._into.row(key, system=prompt[0], prompt=prompt[1], flat=prompt[2], reference=reference):
            return
        answer, filtered = _first(line.get("resps")), _first(line.get("filtered_resps"))
        if answer is None:
            self._into.leave_out("no_answer")
            return
        self._into.answer(self._model, key, answer, was_correct=was_correct, extracted=filtered or "")

    def _choice(self, line: dict[str, Any], key: str, requests: list[tuple[str, str]], metric: str, was_correct: bool | None) -> None:
        """A multiple choice by likelihood: the recorded answer is the letter of the likeliest choice."""
        choices = [continuation.strip() for _, continuation in requests]
        if len(set(choices)) != len(choices) or not all(choices):
            self._into.leave_out("no_reference")
            return
        self._into.grader(
            f"{metric} of likelihoods",
            key,
            task="multiple_choice" if metric in {"acc", "exact_match"} else "",
            note="The model wrote nothing: its answer is the likeliest choice, kept as that choice's letter.",
        )
        target = line.get("target")
        index = int(target) if isinstance(target, int) or (isinstance(target, str) and target.isdecimal()) else None
        if index is None and isinstance(target, str) and target.strip() in choices:
            index = choices.index(target.strip())
        reference = chr(ord("A") + index) if index is not None and index < len(choices) else None
        if not self._into.row(key, prompt=requests[0][0], choices=choices, reference=reference):
            return
        scores = [_likelihood(each) for each in line.get("filtered_resps") or line.get("resps") or []]
        if len(scores) != len(choices) or None in scores:
            self._into.leave_out("no_answer")
            return
        best = max(range(len(scores)), key=lambda position: scores[position])  # type: ignore[arg-type,return-value]
        self._into.answer(self._model, key, chr(ord("A") + best), was_correct=was_correct)

    def _mapped(self, metric: str, filter_name: str) -> dict[str, Any]:
        """The metric with its filter, and the grader of ours that reads the answer in the same way."""
        name = f"{metric}, filter {filter_name}"
        if filter_name.startswith("evalrouter-"):
            own = _object(_object(self._config.get("metadata")).get("evalrouter"))
            return own_grader(name, as_text(own.get("grader")), _object(own.get("grader_options")))
        if metric not in {"exact_match", "em", "exact", "acc"}:
            return {"name": name, "note": "It has no counterpart here."}
        settings = _metric(self._config, metric)
        normalize = {
            **_STRICT,
            "casefold": settings.get("ignore_case") is True,
            "strip_punctuation": settings.get("ignore_punctuation") is True,
        }
        note = "What its patterns cut out of both texts is cut out of the expected answer alone." if _ignored(self._config) else ""
        pattern, why = _pattern(self._config, filter_name)
        if pattern == LAST_NUMBER:
            return {"name": name, "task": "numeric", "note": "Ours takes the last number of the answer and compares it as a number."}
        if why:
            return {"name": name, "note": why}
        if pattern is None:
            return {"name": name, "task": "exact_match", "options": {"normalize": normalize}, "note": note}
        options = {"pattern": pattern, "anchored": False, "normalize": normalize}
        return {"name": name, "task": "regex_match", "options": options, "note": note}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _requests(arguments: Any) -> list[tuple[str, str]]:
    """Prompt and continuation of each request, in both ways that the harness has written them."""
    listed = list(arguments.values()) if isinstance(arguments, dict) else arguments if isinstance(arguments, list) else []
    found = []
    for each in listed:
        pair = (
            [each.get("arg_0"), each.get("arg_1")] if isinstance(each, dict) else [*each, None] if isinstance(each, list) else [each, None]
        )
        found.append((pair[0] if isinstance(pair[0], str) else "", pair[1] if isinstance(pair[1], str) else ""))
    return found


def _messages(prompt: str) -> Any:
    """With a chat template over HTTP the prompt is a list of messages, written as JSON."""
    if prompt.lstrip().startswith("[{"):
        try:
            return orjson.loads(prompt)
        except orjson.JSONDecodeError:
            return prompt
    return prompt


def _first(value: Any) -> str | None:
    while isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, str) else None


def _likelihood(value: Any) -> float | None:
    while isinstance(value, list):
        value = value[0] if value else None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _other_metric(line: dict[str, Any]) -> str:
    names = line.get("metrics")
    return ", ".join(map(str, names)) if isinstance(names, list) and names else "unnamed metric"


def _metric(config: dict[str, Any], metric: str) -> dict[str, Any]:
    listed = config.get("metric_list")
    return next((each for each in listed or [] if isinstance(each, dict) and each.get("metric") == metric), {})


def _ignored(config: dict[str, Any]) -> list[str]:
    listed = [each.get("regexes_to_ignore") for each in config.get("metric_list") or [] if isinstance(each, dict)]
    return [pattern for each in listed if isinstance(each, list) for pattern in each if isinstance(pattern, str)]


def _without(target: Any, patterns: Sequence[str]) -> Any:
    """The target without what the metric ignores, as the harness compares it."""
    if isinstance(target, list):
        return [_without(each, patterns) for each in target if as_text(each)]
    text = as_text(target)
    for pattern in patterns:
        try:
            text = compile_pattern(pattern).sub("", text)
        except (Refused, re2.error):
            continue
    return text.strip()


def _pattern(config: dict[str, Any], filter_name: str) -> tuple[str | None, str]:
    """The pattern of a filter (None where it takes the whole answer), or why it has no counterpart."""
    listed = next((each for each in config.get("filter_list") or [] if isinstance(each, dict) and each.get("name") == filter_name), None)
    if listed is None:
        return (None, "") if filter_name == "none" else (None, "What the filter takes out of the answer is in the results file alone.")
    steps = [each for each in listed.get("filter") or [] if isinstance(each, dict) and each.get("function") != "take_first"]
    if not steps:
        return None, ""
    if len(steps) > 1 or steps[0].get("function") != "regex" or not isinstance(steps[0].get("regex_pattern"), str):
        return None, "The filter does more than take out what a pattern finds."
    pattern, position = steps[0]["regex_pattern"], steps[0].get("group_select", 0)
    if position == -1 and _NUMBERS.fullmatch(pattern):
        return LAST_NUMBER, ""
    if position != 0:
        return None, "The filter takes another match than the first one."
    try:
        compiled = compile_pattern(pattern)
    except Refused as refused:
        return None, f"The filter's pattern cannot be used here: {refused.message}"
    if compiled.groups > 1:
        return None, "The filter's pattern has several groups; ours takes one."
    return pattern, ""
