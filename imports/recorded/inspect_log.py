"""Logs of Inspect: `.json`, one document, and `.eval`, a ZIP archive with a file for each sample. Nothing is unpacked unbounded."""

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from catalog.graders import checked_options
from common.errors import Refused
from imports.recorded.collecting import MAX_ROWS, Collector
from imports.recorded.files import OldFile, parsed, unreadable
from imports.recorded.own import own_grader
from imports.recorded.texts import as_text, content_text, prompt_of, reasoning_text

FORMAT = "inspect"
MAX_MEMBER_BYTES = 16 * 1024 * 1024
MAX_UNPACKED_BYTES = 1024 * 1024 * 1024
"""Of all samples together; each is read and dropped in turn."""
_READ = 1024 * 1024
_FINISHES = {"max_tokens": "length", "model_length": "length"}
_NOT_TEXT_ALONE = "A model judged it; judges are not part of an import."


def recognises(files: Sequence[OldFile]) -> bool:
    """Whether a file is an archive with a header, or one document with an `eval`."""
    head = files[0].head()
    return files[0].is_zip or (head[:1] == b"{" and b'"eval"' in head[:2_000] and b'"version"' in head[:2_000])


def read(files: Sequence[OldFile], into: Collector, options: Mapping[str, Any]) -> None:
    """Each log is one model's answers; `options["scorer"]` names the scorer whose verdicts are taken, the first by default."""
    for file in files:
        if file.is_zip:
            with _archive(file) as archive:
                header = _member(file, archive, "header.json", []) if "header.json" in archive.namelist() else {}
                if not header and "_journal/start.json" in archive.namelist():
                    header = _member(file, archive, "_journal/start.json", [])
                    into.note(f"{file.name} has no header: the evaluation did not end. What it has is taken.")
                _Log(into, header, options).read(_samples_of(file, archive))
        else:
            document = file.document()
            if not isinstance(document, dict) or not isinstance(document.get("eval"), dict):
                raise unreadable(file.name, "it is no Inspect log")
            samples = document.get("samples")
            _Log(into, document, options).read(iter(samples if isinstance(samples, list) else []))


def _archive(file: OldFile) -> zipfile.ZipFile:
    file.file.seek(0)
    try:
        archive = zipfile.ZipFile(file.file)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise unreadable(file.name, f"it is no ZIP archive that can be opened ({error})") from None
    if len(archive.infolist()) > MAX_ROWS + 1_000:
        raise unreadable(file.name, f"the archive has more than {MAX_ROWS:,} files")
    return archive


def _samples_of(file: OldFile, archive: zipfile.ZipFile) -> Iterator[Any]:
    budget = [MAX_UNPACKED_BYTES]
    for name in archive.namelist():
        if name.startswith("samples/") and name.endswith(".json"):
            yield _member(file, archive, name, budget)


def _member(file: OldFile, archive: zipfile.ZipFile, name: str, budget: list[int]) -> Any:
    """The JSON document of one member. What the archive says of sizes is not believed: reading stops at the limit."""
    content = bytearray()
    try:
        with archive.open(name) as member:
            while chunk := member.read(_READ):
                content += chunk
                if len(content) > MAX_MEMBER_BYTES or (budget and len(content) > budget[0]):
                    raise unreadable(
                        file.name,
                        f"{name} unpacks to more than is taken ({MAX_MEMBER_BYTES:,} bytes a sample, {MAX_UNPACKED_BYTES:,} in all)",
                    )
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise unreadable(file.name, f"{name} cannot be unpacked ({error}). Write the log again as .json (inspect log convert)") from None
    if budget:
        budget[0] -= len(content)
    return parsed(f"{file.name}: {name}", bytes(content))


class _Log:
    """Reads the samples of one log."""

    def __init__(self, into: Collector, header: Any, options: Mapping[str, Any]) -> None:
        self._into = into
        spec = header.get("eval") if isinstance(header, dict) else None
        self._spec: dict[str, Any] = spec if isinstance(spec, dict) else {}
        self._model = into.new_name(as_text(self._spec.get("model")) or "unnamed model")
        self._scorer = str(options.get("scorer") or "")
        into.name = into.name or as_text(self._spec.get("task"))
        self._graders: dict[str, dict[str, Any]] = {}
        listed = self._spec.get("scorers")
        results = header.get("results") if isinstance(header, dict) else None
        scores = results.get("scores") if isinstance(results, dict) else None
        for each in [*(listed if isinstance(listed, list) else []), *(scores if isinstance(scores, list) else [])]:
            if isinstance(each, dict) and (name := as_text(each.get("name"))):
                given = each.get("options") or each.get("params")
                self._graders.setdefault(name, given if isinstance(given, dict) else {})

    def read(self, samples: Iterator[Any]) -> None:
        for sample in samples:
            if isinstance(sample, dict):
                self._sample(sample)

    def _sample(self, sample: dict[str, Any]) -> None:
        if sample.get("epoch", 1) != 1:
            self._into.leave_out("later_epoch")
            return
        scores = sample.get("scores") if isinstance(sample.get("scores"), dict) else {}
        assert isinstance(scores, dict)
        # A sample that ended in an error has no score; it belongs to the log's scorer all the same.
        scorer = self._scorer if self._scorer in scores else next(iter(scores or (self._graders if sample.get("error") else ())), "")
        if len(scores) > 1:
            self._into.note(f"The samples have several scores ({', '.join(scores)}); those of {scorer} are compared.")
        choices = sample.get("choices")
        choices = [as_text(each) for each in choices] if isinstance(choices, list) and choices else None
        self._into.grader(
            key=as_text(sample.get("id")), **_mapped(scorer or "no scorer", self._graders.get(scorer, {}), has_choices=choices is not None)
        )
        prompt = prompt_of(sample.get("input"))
        if prompt is None:
            self._into.leave_out("not_text")
            return
        target = sample.get("target")
        reference = [as_text(each) for each in target if as_text(each)] if isinstance(target, list) else as_text(target)
        if isinstance(reference, list) and len(reference) == 1:
            reference = reference[0]
        key = as_text(sample.get("id"))
        if not self._into.row(key, system=prompt[0], prompt=prompt[1], flat=prompt[2], choices=choices, reference=reference):
            return
        self._answer(sample, key, scores.get(scorer))

    def _answer(self, sample: dict[str, Any], key: str, score: Any) -> None:
        output = sample.get("output") if isinstance(sample.get("output"), dict) else {}
        assert isinstance(output, dict)
        listed = output.get("choices")
        first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
        message = first.get("message") if isinstance(first.get("message"), dict) else {}
        assert isinstance(message, dict)
        content = message.get("content", output.get("completion"))
        text = content_text(content)
        if sample.get("error") or content is None or text is None:
            self._into.leave_out("no_answer")
            return
        finish = str(first.get("stop_reason") or "")
        self._into.answer(
            self._model,
            key,
            text,
            reasoning=reasoning_text(content),
            finish_reason=_FINISHES.get(finish, finish if finish != "unknown" else ""),
            was_correct=_was_correct(score.get("value") if isinstance(score, dict) else None),
            extracted=as_text(score.get("answer")) if isinstance(score, dict) else "",
        )


def _was_correct(value: Any) -> bool | None:
    """C and 1 are right, I, N and 0 are wrong; a part of it (P, 0.5) is neither."""
    if isinstance(value, str):
        return {"C": True, "I": False, "N": False}.get(value)
    return bool(value) if isinstance(value, bool | int | float) and value in {0, 1} else None


def _mapped(name: str, options: Mapping[str, Any], *, has_choices: bool) -> dict[str, Any]:
    plain = name.rpartition("/")[2]
    if name.startswith("evalrouter/"):
        return own_grader(name, plain, options)
    if plain == "choice" and has_choices:
        return {"name": name, "task": "multiple_choice"}
    if plain == "match" and options.get("numeric") is True:
        return {"name": name, "task": "numeric", "note": "Ours takes the last number of the answer."}
    if plain == "exact" or (plain == "match" and options.get("location") == "exact"):
        return {"name": name, "task": "exact_match", "options": {"normalize": {"strip_punctuation": True}}}
    if plain == "pattern" and isinstance(options.get("pattern"), str):
        return _pattern(name, options)
    if plain == "answer":
        return {"name": name, "task": "exact_match", "options": {"extract": "answer_prefix", "prefix": "ANSWER:"}}
    if plain.startswith("model_graded"):
        return {"name": name, "note": _NOT_TEXT_ALONE}
    notes = {
        "match": "It asks whether the answer begins or ends with the text; no grader here asks that.",
        "includes": "It asks whether the answer contains the text; no grader here asks that.",
        "f1": "It grades how much of the words agree; every grader here says right or wrong.",
    }
    return {"name": name, "note": notes.get(plain, "It has no counterpart here, and nothing imported is run.")}


def _pattern(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    wanted = {"pattern": options["pattern"], "anchored": False, "ignore_case": options.get("ignore_case", True) is True}
    try:
        checked_options("regex_match", wanted)
    except Refused as refused:
        return {"name": name, "note": f"Its pattern cannot be used here: {refused.message}"}
    return {"name": name, "task": "regex_match", "options": wanted}
