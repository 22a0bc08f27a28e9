"""`regex_match`: a pattern takes the answer out of the output, and it equals an accepted text."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from catalog.graders import exact_match
from catalog.graders import options as checks
from catalog.graders.texts import NORMALIZE, describe_normalization, normalizer
from catalog.graders.verdicts import Step, Verdict, clipped, unreadable


def _pattern(name: str, value: Any) -> str:
    checks.compile_pattern(value)
    return value


OPTIONS: checks.Spec = {
    "pattern": (checks.REQUIRED, _pattern),
    "anchored": (True, checks.flag),
    "ignore_case": (False, checks.flag),
    "dot_all": (False, checks.flag),
    "normalize": (NORMALIZE, checks.normalize),
}


def compile(options: Mapping[str, Any]) -> Callable[[str, Any, Sequence[str] | None], Verdict]:
    pattern = checks.compile_pattern(options["pattern"], ignore_case=options["ignore_case"], dot_all=options["dot_all"])
    find = pattern.fullmatch if options["anchored"] else pattern.search
    group = checks.answer_group(pattern)
    same = normalizer(options["normalize"])
    name = "pattern on the whole output" if options["anchored"] else "pattern in the output"

    def grade(output: str, reference: Any, choices: Sequence[str] | None = None) -> Verdict:
        # On bytes RE2 has no offsets to translate, and a pattern with \C may cut a character in two.
        match = find(output.strip().encode())
        if match is None:
            return unreadable("no_match", Step(name, "no match"))
        taken = match.group(group)
        if taken is None:
            return unreadable("no_match", Step(name, "matched without the answer's group"))
        answer = taken.decode("utf-8", "replace")
        return exact_match.compare(same, answer, reference, Step(name, clipped(answer)))

    return grade


reference = exact_match.reference


def describe(options: Mapping[str, Any]) -> str:
    where = "The whole output must match" if options["anchored"] else "Somewhere in the output must be a match of"
    taken = {"answer": "the group named answer", 1: "its only group", 0: "the whole match"}
    pattern = checks.compile_pattern(options["pattern"])
    what = taken["answer" if "answer" in pattern.groupindex else checks.answer_group(pattern)]
    flags = [words for option, words in (("ignore_case", "any case"), ("dot_all", "a dot also matches line ends")) if options[option]]
    return (
        f"{where} the pattern {options['pattern']}{f' ({", ".join(flags)})' if flags else ''}; "
        f"{what} must equal a reference answer, {describe_normalization(options['normalize'])}."
    )


def write(options: Mapping[str, Any], reference: Any, choices: Sequence[str] | None = None) -> str:
    """The reference in the pattern's own words where these are plain (`answer is (.*?)\\.?$` → "answer is …"), else alone."""
    text = reference[0]
    before, _, after = _around_group(options["pattern"])
    grade = compile(options)
    for candidate in (text, _plain(before) + text + _plain(after)):
        if grade(candidate, [text], None).correct:
            return candidate
    return text


def _around_group(pattern: str) -> tuple[str, str, str]:
    """The pattern before, in and after its first capturing group, found without reading more of the syntax than that."""
    found = re.search(r"(?<!\\)\((?:\?P?<answer>|(?!\?))", pattern)
    if not found:
        return pattern, "", ""
    depth, position = 1, found.end()
    while position < len(pattern) and depth:
        depth += {"(": 1, ")": -1}.get(pattern[position], 0)
        position += 2 if pattern[position] == "\\" else 1
    return pattern[: found.start()], pattern[found.end() : position - 1], pattern[position:]


_ATOM = re.compile(r"\(\?[a-zA-Z]+\)|(\\[sS]|\\.|\[[^\]]+\]|[^\\])([*+?]\??|\{\d+(?:,\d*)?\})?", re.DOTALL)


def _plain(piece: str) -> str:
    """A short text for a piece of a pattern that is mostly literal; anything that it gets wrong is caught by grading the result."""
    out = []
    for match in _ATOM.finditer(piece):
        atom, times = match.groups()
        if atom is None or atom in ("^", "$", "\\b", "\\A", "\\z", "(", ")") or (times and times[0] in "*?"):
            continue
        if atom[0] == "[":
            atom = atom[1]
        out.append({"\\s": " ", "\\n": "\n", "\\d": "0", "\\w": "a", ".": "."}.get(atom, atom.removeprefix("\\")))
    return "".join(out)
