"""`exact_match`: the answer, or the part of it that counts, equals an accepted text."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from catalog.graders import options as checks
from catalog.graders.texts import NORMALIZE, after_prefix, clean, describe_normalization, last_line, normalizer
from catalog.graders.verdicts import Step, Verdict, clipped, read, unreadable

OPTIONS: checks.Spec = {
    "extract": ("full", checks.one_of("full", "last_line", "answer_prefix")),
    "prefix": ("ANSWER:", checks.prefix),
    "normalize": (NORMALIZE, checks.normalize),
}


def compile(options: Mapping[str, Any]) -> Callable[[str, Any, Sequence[str] | None], Verdict]:
    extract, missing, name = extractor(options)
    same = normalizer(options["normalize"])

    def grade(output: str, reference: Any, choices: Sequence[str] | None = None) -> Verdict:
        answer = extract(output)
        if answer is None:
            return unreadable(missing)
        if not answer:
            return unreadable("empty_answer", Step(name, ""))
        return compare(same, answer, reference, Step(name, clipped(answer)))

    return grade


def extractor(options: Mapping[str, Any]) -> tuple[Callable[[str], str | None], str, str]:
    """How the text that counts is taken: the function, the reason when it finds none, and its name for people."""
    if options["extract"] == "last_line":
        return last_line, "empty_answer", "last line"
    if options["extract"] == "answer_prefix":
        return after_prefix(options["prefix"]), "no_prefix", f"text after the last {options['prefix']}"
    return str.strip, "empty_answer", "whole output"


def compare(same: Callable[[str], str], answer: str, accepted: Sequence[str], *steps: Step) -> Verdict:
    """Whether the normalized answer equals one of the accepted texts, normalized."""
    normalized = same(answer)
    if not normalized:
        return unreadable("empty_answer", *steps)
    for reference in accepted:
        if same(reference) == normalized:
            return read(True, answer, *steps, Step("normalized", clipped(normalized)))
    return read(False, answer, *steps, Step("normalized", clipped(normalized)))


def reference(options: Mapping[str, Any], raw: Any, choices: Sequence[str] | None = None) -> list[str]:
    """The accepted texts: one text or number, a list of them, or (as CSV holds it) a JSON list of texts."""
    if isinstance(raw, str) and raw.lstrip().startswith("["):
        try:
            listed = json.loads(raw)
        except ValueError:
            listed = None  # a text that happens to begin with a bracket
        if isinstance(listed, list) and listed and all(isinstance(item, str) for item in listed):
            raw = listed
    same = normalizer(options["normalize"])
    accepted = [_text(item) for item in (raw if isinstance(raw, list | tuple) else [raw])]
    if not accepted:
        raise ValueError("the list of accepted answers is empty")
    for text in accepted:
        if not same(text):
            raise ValueError(f"nothing is left of the answer {clipped(text, 60)!r} after normalization")
    return accepted


def _text(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        if not item.strip():
            raise ValueError("an answer is empty")
        return clean(item)  # as outputs are, so that they can be equal
    if isinstance(item, int | float):
        if item != item or item in (float("inf"), float("-inf")):
            raise ValueError("the answer is not a number (NaN or infinite)")
        return str(item)
    raise ValueError("the answer must be text or a list of texts")


def describe(options: Mapping[str, Any]) -> str:
    name = extractor(options)[2]
    return f"The {name} must equal a reference answer, {describe_normalization(options['normalize'])}."


def write(options: Mapping[str, Any], reference: Any, choices: Sequence[str] | None = None) -> str:
    text = reference[0]
    return f"{options['prefix']} {text}" if options["extract"] == "answer_prefix" else text
