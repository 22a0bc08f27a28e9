"""An export of OpenAI's Evals API: an eval's definition, its runs, and their output items, as JSON or JSON Lines in one file or several."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from imports.recorded.collecting import Collector
from imports.recorded.files import OldFile
from imports.recorded.texts import as_text, content_text, prompt_of, referenced, value_at

FORMAT = "openai"
_OUTPUTS = {"sample.output_text", "sample.output"}
_WHY_NOT = {
    "text_similarity": "Similarity of texts is graded by no grader here.",
    "label_model": "A model judged it; judges are not part of an import.",
    "score_model": "A model judged it; judges are not part of an import.",
    "python": "It is a program, and nothing imported is run.",
    "endpoint": "It called an address, and nothing imported is run.",
    "multi": "It joins several graders by a formula.",
}


def recognises(files: Sequence[OldFile]) -> bool:
    """Whether one of the files holds an object of the API."""
    return any(b'"eval.run.output_item"' in file.head() or _kind(file) in {"eval", "eval.run"} for file in files)


def _kind(file: OldFile) -> str:
    return str(file.first_object().get("object", ""))


def read(files: Sequence[OldFile], into: Collector, options: Mapping[str, Any]) -> None:
    """Definitions first, wherever they stand; then every output item in turn."""
    evals: dict[str, dict[str, Any]] = {}
    runs: dict[str, dict[str, Any]] = {}
    for value in _objects(files):
        if value.get("object") == "eval":
            evals[str(value.get("id"))] = value
        elif value.get("object") == "eval.run":
            runs[str(value.get("id"))] = value
    labels = _labels(runs)
    into.name = next((each["name"] for each in evals.values() if isinstance(each.get("name"), str)), "")
    if not evals:
        into.note("The files hold no eval definition, so the graders' settings are not known. Add it to have them mapped.")
    if len(evals) > 1:
        into.note(f"The files hold {len(evals)} evals; they are taken as one.")
    for value in _objects(files):
        if value.get("object") == "eval.run.output_item":
            _item(value, evals.get(str(value.get("eval_id")), {}), labels.get(str(value.get("run_id")), ""), into)


def _objects(files: Sequence[OldFile]) -> Any:
    for file in files:
        yield from file.objects()


def _labels(runs: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """The runs' names by their IDs: their own, else their model's; those that are alike are told apart by the end of the ID."""
    names = {key: as_text(run.get("name")) or as_text(run.get("model")) for key, run in runs.items()}
    counts = Counter(names.values())
    return {key: f"{name} ({key[-8:]})" if name and counts[name] > 1 else name for key, name in names.items()}


def _item(item: dict[str, Any], definition: dict[str, Any], label: str, into: Collector) -> None:
    sample = item.get("sample") if isinstance(item.get("sample"), dict) else {}
    source = item.get("datasource_item") if isinstance(item.get("datasource_item"), dict) else {}
    assert isinstance(sample, dict) and isinstance(source, dict)
    key = as_text(item.get("datasource_item_id")) or as_text(source.get("id")) or str(item.get("id"))
    criteria = [each for each in definition.get("testing_criteria") or [] if isinstance(each, dict)]
    if not criteria:
        for result in item.get("results") or []:
            if isinstance(result, dict):
                into.grader(
                    str(result.get("type") or result.get("name") or "unnamed grader"), key, note="The eval's definition is missing."
                )
    reference: Any = None
    for criterion in criteria:
        reference = reference if reference is not None else _reference(criterion, source)
        into.grader(key=key, **_mapped(criterion))
    if not criteria:
        reference = next((as_text(source[name]) for name in ("label", "reference", "expected", "answer", "target") if name in source), None)
    prompt = prompt_of(sample.get("input"))
    if prompt is None:
        into.leave_out("not_text")
        return
    if not into.row(key, system=prompt[0], prompt=prompt[1], flat=prompt[2], reference=reference):
        return
    answer = prompt_of(sample.get("output"))
    if _failed(sample) or answer is None or not sample.get("output"):
        into.leave_out("no_answer")
        return
    text = sample["output"] if isinstance(sample["output"], str) else _last_text(sample["output"])
    model = label or as_text(sample.get("model")) or "unnamed model"
    finish = str(sample.get("finish_reason") or "")
    into.answer(model, key, text, finish_reason=finish, was_correct={"pass": True, "fail": False}.get(str(item.get("status"))))


def _failed(sample: dict[str, Any]) -> bool:
    """Whether the sample states an error; one whose texts are all empty stands for none."""
    error = sample.get("error")
    return any(error.values()) if isinstance(error, dict) else bool(error)


def _last_text(messages: Any) -> str:
    """What the model said last: an output is a list of messages."""
    texts = [content_text(message.get("content")) or "" for message in messages if isinstance(message, dict)]
    return texts[-1] if texts else ""


def _reference(criterion: dict[str, Any], source: dict[str, Any]) -> str | None:
    """What the criterion compares with: a column of the item, or a text that is the same for all."""
    template = criterion.get("reference")
    name = referenced(template)
    if name is None:
        return template if isinstance(template, str) and "{{" not in template else None
    if not name.startswith("item."):
        return None
    return as_text(value_at(source, name.removeprefix("item."))) or None


def _mapped(criterion: dict[str, Any]) -> dict[str, Any]:
    kind = str(criterion.get("type") or "unnamed grader")
    if kind != "string_check":
        return {"name": kind, "note": _WHY_NOT.get(kind, "It has no counterpart here.")}
    operation = str(criterion.get("operation"))
    name = f"string_check {operation}"
    if referenced(criterion.get("input")) not in _OUTPUTS:
        return {"name": name, "note": "It does not look at the answer's whole text."}
    if operation == "eq":
        return {"name": name, "task": "exact_match", "options": {"normalize": False}}
    notes = {
        "ne": "It is right where the texts differ; no grader here asks that.",
        "like": "It asks whether the answer contains the text; no grader here asks that.",
        "ilike": "It asks whether the answer contains the text in any case; no grader here asks that.",
    }
    return {"name": name, "note": notes.get(operation, "It has no counterpart here.")}
