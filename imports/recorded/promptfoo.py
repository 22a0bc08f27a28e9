"""promptfoo: its results as JSON or YAML, or a configuration alone, whose tests become rows without answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from imports.recorded.collecting import Collector
from imports.recorded.files import OldFile
from imports.recorded.texts import REFERENCE, as_text, prompt_of
from imports.recorded.yaml_text import load_yaml

FORMAT = "promptfoo"
_VARIABLE = "{{"
_WHY_NOT = {
    "contains": "It asks whether the answer contains the text; no grader here asks that.",
    "icontains": "It asks whether the answer contains the text in any case; no grader here asks that.",
    "contains-any": "It asks whether the answer contains one of the texts; no grader here asks that.",
    "contains-all": "It asks whether the answer contains all of the texts; no grader here asks that.",
    "starts-with": "It asks how the answer begins; no grader here asks that.",
    "regex": "It asks whether a pattern matches; ours compares what a pattern takes out of the answer.",
    "is-json": "It asks whether the answer is JSON; ours compares fields of it.",
    "contains-json": "It asks whether the answer holds JSON; ours compares fields of it.",
    "javascript": "It is a program, and nothing imported is run.",
    "python": "It is a program, and nothing imported is run.",
    "webhook": "It calls an address, and nothing imported is run.",
    "llm-rubric": "A model judged it; judges are not part of an import.",
    "model-graded-closedqa": "A model judged it; judges are not part of an import.",
    "factuality": "A model judged it; judges are not part of an import.",
    "similar": "Similarity of texts is graded by no grader here.",
    "cost": "It is about what the answer cost, not about the answer.",
    "latency": "It is about how long the answer took, not about the answer.",
}
_WITH_REFERENCE = ("equals", "contains", "icontains", "contains-any", "starts-with", "similar", "factuality")


def recognises(files: Sequence[OldFile]) -> bool:
    """Whether a file is YAML, or JSON with what promptfoo writes."""
    head = files[0].head()
    is_json = head[:1] == b"{" and (b'"evalId"' in head or b'"gradingResult"' in head or b'"promptIdx"' in head or b'"testCase"' in head)
    return files[0].suffix in {".yaml", ".yml"} or is_json or (head[:1] == b"{" and b'"providers"' in head and b'"tests"' in head)


def read(files: Sequence[OldFile], into: Collector, options: Mapping[str, Any]) -> None:
    """Results where a file has them, else the configuration's tests."""
    for file in files:
        document = load_yaml(file) if file.suffix in {".yaml", ".yml"} else file.document()
        if not isinstance(document, dict):
            into.note(f"{file.name} holds neither results nor tests.")
            continue
        results = document.get("results")
        listed = results.get("results") if isinstance(results, dict) else results
        config = document.get("config") if isinstance(document.get("config"), dict) else document
        assert isinstance(config, dict)
        into.name = into.name or as_text(config.get("description"))
        if isinstance(listed, list) and listed:
            _results([each for each in listed if isinstance(each, dict)], into)
        else:
            _tests(config, into)


def _results(results: list[dict[str, Any]], into: Collector) -> None:
    prompts = {_prompt_index(each): each.get("prompt") for each in results}
    for number, result in enumerate(results):
        case = result.get("testCase") if isinstance(result.get("testCase"), dict) else {}
        assert isinstance(case, dict)
        test, index = result.get("testIdx", result.get("rowIndex")), _prompt_index(result)
        variables = result.get("vars") if isinstance(result.get("vars"), dict) else case.get("vars")
        test = test if isinstance(test, int) else orjson.dumps(variables or number, option=orjson.OPT_SORT_KEYS).decode()
        key = f"{test + 1 if isinstance(test, int) else test}" + (f"/prompt {index + 1}" if len(prompts) > 1 else "")
        prompt = result.get("prompt")
        raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
        label = as_text(prompt.get("label")) if isinstance(prompt, dict) and len(prompts) > 1 else ""
        if _row(key, raw, list(_asserts(case, result)), label, into):
            _answer(key, result, into)


def _prompt_index(result: dict[str, Any]) -> int:
    index = result.get("promptIdx", result.get("colIndex", 0))
    return index if isinstance(index, int) else 0


def _asserts(case: dict[str, Any], result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The assertions of a test; where it names none, those that its grading names."""
    stated = case.get("assert")
    if isinstance(stated, list) and stated:
        yield from _flat(stated)
        return
    grading = result.get("gradingResult")
    parts = grading.get("componentResults") if isinstance(grading, dict) else None
    yield from _flat([part.get("assertion") for part in parts or [] if isinstance(part, dict)])


def _flat(asserts: list[Any]) -> Iterator[dict[str, Any]]:
    for each in asserts:
        if isinstance(each, dict) and each.get("type") == "assert-set":
            yield from _flat(each.get("assert") if isinstance(each.get("assert"), list) else [])  # type: ignore[arg-type]
        elif isinstance(each, dict):
            yield each


def _row(key: str, prompt: Any, asserts: list[dict[str, Any]], group: str, into: Collector) -> bool:
    reference: Any = None
    for each in asserts:
        kind = str(each.get("type"))
        value = each.get("value")
        if kind == "equals" and as_text(value) and _VARIABLE not in as_text(value):
            into.grader(kind, key, task="exact_match", options={"normalize": False})
        else:
            into.grader(kind, key, note=_WHY_NOT.get(kind, "It has no counterpart here."))
        if reference is None and kind in _WITH_REFERENCE:
            reference = [as_text(one) for one in value if as_text(one)] if isinstance(value, list) else as_text(value) or None
            reference = None if isinstance(reference, str) and _VARIABLE in reference else reference
    found = prompt_of(_messages(prompt))
    if found is None:
        into.leave_out("not_text")
        return False
    return into.row(key, system=found[0], prompt=found[1], flat=found[2], reference=reference, group=group)


def _messages(prompt: Any) -> Any:
    """A chat prompt is written as JSON in a text."""
    if isinstance(prompt, str) and prompt.lstrip().startswith("["):
        try:
            listed = orjson.loads(prompt)
        except orjson.JSONDecodeError:
            return prompt
        return listed if isinstance(listed, list) and all(isinstance(each, dict) and "role" in each for each in listed) else prompt
    return prompt


def _answer(key: str, result: dict[str, Any], into: Collector) -> None:
    provider, response = result.get("provider"), result.get("response")
    name = (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider
    output = response.get("output") if isinstance(response, dict) else result.get("output", result.get("text"))
    if output is None or (result.get("error") and not isinstance(response, dict)):
        into.leave_out("no_answer")
        return
    text = output if isinstance(output, str) else orjson.dumps(output).decode()
    success = result.get("success", result.get("pass"))
    finish = str(response.get("finishReason") or "") if isinstance(response, dict) else ""
    into.answer(
        as_text(name) or "unnamed provider", key, text, finish_reason=finish, was_correct=success if isinstance(success, bool) else None
    )


def _tests(config: dict[str, Any], into: Collector) -> None:
    """A configuration's tests as rows: a prompt whose variables are plain names is filled in as text, every other is kept as it stands."""
    tests, prompts = config.get("tests"), config.get("prompts")
    default = config.get("defaultTest") if isinstance(config.get("defaultTest"), dict) else {}
    assert isinstance(default, dict)
    if not isinstance(tests, list):
        into.note("The configuration names its tests in another file; nothing of it is fetched.")
        return
    texts = [_prompt_text(each) for each in (prompts if isinstance(prompts, list) else [prompts])]
    into.note("The file is a configuration without results: it gives rows, and no recorded answers.")
    for number, test in enumerate(tests, start=1):
        if not isinstance(test, dict):
            into.leave_out("no_prompt")
            continue
        variables = {**_object(default.get("vars")), **_object(test.get("vars"))}
        asserts = list(_flat([*_list(default.get("assert")), *_list(test.get("assert"))]))
        for position, text in enumerate(texts, start=1):
            key = f"{number}" + (f"/prompt {position}" if len(texts) > 1 else "")
            _row(key, _filled(text, variables), asserts, "", into)


def _prompt_text(prompt: Any) -> str:
    text = prompt.get("raw") if isinstance(prompt, dict) else prompt
    return text if isinstance(text, str) and not text.startswith("file://") else ""


def _filled(text: str, variables: Mapping[str, Any]) -> str:
    """The text with its plain variables in place, once: what a value holds is never looked into."""
    return REFERENCE.sub(lambda found: as_text(variables.get(found[1])) or found[0], text)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
