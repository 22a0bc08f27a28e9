"""What a quote is asked for: API.md's body, parsed once for pages, API and commands. Unknown fields are refused."""

from dataclasses import dataclass, field
from typing import Any

from common.errors import Refused
from common.money import MAX_MICROUSD
from runs.enums import CoverageMode, SubjectKind

MAX_SUBJECTS = 8
MAX_BENCHMARKS = 8
MAX_ATTEMPTS = 16
MAX_WEIGHT = 1_000_000
MAX_SAMPLE = 1_000
MAX_CONCURRENCY = 256
DEFAULT_CONCURRENCY = 16
DEFAULT_SAMPLE = 25
MAX_METADATA_BYTES = 4_096
OUTPUT_FORMATS = ("default",)
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")

_FIELDS = {
    "model", "subjects", "selection", "benchmark", "coverage", "attempts", "max_charge_microusd", "concurrency", "reasoning",
    "max_output_tokens", "reuse_from", "name", "metadata",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SubjectRequest:
    """One model asked for: `name` is a route ID, a connection's ID or name, a baseline's name, a recorded model's ID or name, or,
    without a kind, any of them.
    """

    kind: SubjectKind | None
    name: str
    reasoning: dict[str, Any] | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class CoverageRequest:
    mode: CoverageMode
    sample_count: int = DEFAULT_SAMPLE
    seed: int = 0
    task_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuoteRequest:
    benchmarks: tuple[str, ...]
    subjects: tuple[SubjectRequest, ...]
    coverage: CoverageRequest
    weights: tuple[float, ...] | None = None
    """Of the benchmarks in a composite score, in their order; None for no composite."""
    attempts: int = 1
    reuse_from: str | None = None
    """The run whose finished answers are taken over where they fit."""
    cap_microusd: int | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    reasoning: dict[str, Any] = field(default_factory=dict)
    max_output_tokens: int | None = None
    name: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)
    """The body as it came, for running again."""


def invalid(where: str, message: str) -> Refused:
    """The refusal of one field."""
    return Refused("validation_error", f"{where}: {message}", details={where: [message]})


def parse_request(body: Any) -> QuoteRequest:
    """The request of a body. Raises Refused `validation_error` naming the field."""
    if not isinstance(body, dict):
        raise invalid("body", "Send a JSON object.")
    for key in body:
        if key not in _FIELDS:
            raise invalid(str(key), "Unknown field.")
    benchmarks, weights = _benchmarks(body)
    coverage = _coverage(body.get("coverage"))
    if len(benchmarks) > 1 and coverage.mode == CoverageMode.TASKS:
        raise invalid("coverage.mode", "Exact tasks are of one benchmark. Name one, or take a sample or all tasks of each.")
    return QuoteRequest(
        benchmarks=benchmarks,
        subjects=_subjects(body),
        coverage=coverage,
        weights=weights,
        attempts=_integer(body.get("attempts"), "attempts", 1, MAX_ATTEMPTS, default=1),
        reuse_from=_text(body["reuse_from"], "reuse_from", 64) if body.get("reuse_from") is not None else None,
        cap_microusd=parse_money(body.get("max_charge_microusd"), "max_charge_microusd"),
        concurrency=_integer(body.get("concurrency"), "concurrency", 1, MAX_CONCURRENCY, default=DEFAULT_CONCURRENCY),
        reasoning=_reasoning(body.get("reasoning"), "reasoning") or {},
        max_output_tokens=_integer(body.get("max_output_tokens"), "max_output_tokens", 1, 1_000_000, default=None),
        name=_text(body.get("name"), "name", 160) if body.get("name") is not None else "",
        metadata=_metadata(body.get("metadata")),
        document=body,
    )


def parse_money(value: Any, where: str) -> int | None:
    """Micro-USD of a string of an integer; None for null. Raises Refused `validation_error`."""
    if value is None:
        return None
    if not isinstance(value, str) or not (value.isascii() and value.isdigit() and len(value) <= 16) or int(value) > MAX_MICROUSD:
        raise invalid(where, "State money as a string of an integer of micro-USD, zero or more.")
    return int(value)


def _benchmarks(body: dict[str, Any]) -> tuple[tuple[str, ...], tuple[float, ...] | None]:
    """The benchmarks' names, each once, and their weights where a composite score is asked for."""
    selection, named = body.get("selection"), body.get("benchmark")
    if (selection is None) == (named is None):
        raise invalid("selection", "Name the benchmark: either `selection.profile_ids` or `benchmark`.")
    if named is not None:
        return (_text(named, "benchmark", 200),), None
    if not isinstance(selection, dict):
        raise invalid("selection", "Send an object with `profile_ids`.")
    for key in selection:
        if key not in {"profile_ids", "output_format", "weights"}:
            raise invalid(f"selection.{key}", "Unknown field.")
    if selection.get("output_format", "default") not in OUTPUT_FORMATS:
        raise Refused("output_format_unsupported", "The benchmark offers no other output format than `default`.")
    ids = selection.get("profile_ids")
    if not isinstance(ids, list) or not 1 <= len(ids) <= MAX_BENCHMARKS:
        raise invalid("selection.profile_ids", f"Send a list of one to {MAX_BENCHMARKS} versions' IDs.")
    taken = tuple(_text(each, "selection.profile_ids", 200) for each in ids)
    if len(set(taken)) != len(taken):
        raise invalid("selection.profile_ids", "A benchmark is named twice.")
    return taken, _weights(selection.get("weights"), taken)


def _weights(value: Any, benchmarks: tuple[str, ...]) -> tuple[float, ...] | None:
    """Weights as a list, in the benchmarks' order. They are stated or there is no composite score: none is the obvious one."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != len(benchmarks) or len(benchmarks) < 2:
        raise invalid("selection.weights", "Send one weight for each of several benchmarks, in the order of `profile_ids`.")
    for each in value:
        if isinstance(each, bool) or not isinstance(each, (int, float)) or not 0 < each <= MAX_WEIGHT:
            raise invalid("selection.weights", f"A weight is a number above 0 and at most {MAX_WEIGHT:,}.")
    return tuple(float(each) for each in value)


def _subjects(body: dict[str, Any]) -> tuple[SubjectRequest, ...]:
    one, several = body.get("model"), body.get("subjects")
    if (one is None) == (several is None):
        raise invalid("subjects", "Name the models: either `model` (one) or `subjects` (one to eight).")
    if one is not None:
        return (_subject(one, "model"),)
    if not isinstance(several, list) or not 1 <= len(several) <= MAX_SUBJECTS:
        raise invalid("subjects", f"Send a list of one to {MAX_SUBJECTS} models.")
    return tuple(_subject(each, f"subjects.{index}") for index, each in enumerate(several))


_NAME_FIELDS = {
    SubjectKind.MANAGED: "route_id",
    SubjectKind.CONNECTION: "connection_id",
    SubjectKind.BASELINE: "name",
    SubjectKind.RECORDED: "recorded_model_id",
}


def _subject(value: Any, where: str) -> SubjectRequest:
    if isinstance(value, str):
        return SubjectRequest(kind=None, name=_text(value, where, 200))
    if not isinstance(value, dict):
        raise invalid(where, "Send a name or an object with `kind`.")
    if value.get("kind") not in SubjectKind.values:
        raise invalid(f"{where}.kind", f"Must be one of {', '.join(SubjectKind.values)}.")
    kind = SubjectKind(value["kind"])
    allowed = {"kind", _NAME_FIELDS[kind], "reasoning"} | ({"seed"} if kind == SubjectKind.BASELINE else set())
    for key in value:
        if key not in allowed:
            raise invalid(f"{where}.{key}", "Unknown field.")
    return SubjectRequest(
        kind=kind,
        name=_text(value.get(_NAME_FIELDS[kind]), f"{where}.{_NAME_FIELDS[kind]}", 200),
        reasoning=_reasoning(value.get("reasoning"), f"{where}.reasoning"),
        seed=_integer(value.get("seed"), f"{where}.seed", 0, 2**53, default=0),
    )


def _coverage(value: Any) -> CoverageRequest:
    if value is None:
        return CoverageRequest(CoverageMode.SAMPLE)
    if not isinstance(value, dict) or value.get("mode") not in CoverageMode.values:
        raise invalid("coverage.mode", f"Must be one of {', '.join(CoverageMode.values)}.")
    mode = CoverageMode(value["mode"])
    allowed = {CoverageMode.SAMPLE: {"sample_count", "seed"}, CoverageMode.FULL: set(), CoverageMode.TASKS: {"task_ids"}}[mode]
    for key in value:
        if key != "mode" and key not in allowed:
            raise invalid(f"coverage.{key}", f"Not a field of the mode `{mode}`.")
    if mode == CoverageMode.SAMPLE:
        return CoverageRequest(
            mode,
            sample_count=_integer(value.get("sample_count"), "coverage.sample_count", 1, MAX_SAMPLE, default=DEFAULT_SAMPLE),
            seed=_integer(value.get("seed"), "coverage.seed", 0, 2**53, default=0),
        )
    if mode == CoverageMode.TASKS:
        ids = value.get("task_ids")
        if not isinstance(ids, list) or not 1 <= len(ids) <= MAX_SAMPLE:
            raise invalid("coverage.task_ids", f"Send a list of one to {MAX_SAMPLE:,} task IDs.")
        taken = tuple(_text(each, "coverage.task_ids", 200) for each in ids)
        if len(set(taken)) != len(taken):
            raise invalid("coverage.task_ids", "A task ID is named twice.")
        return CoverageRequest(mode, task_ids=taken)
    return CoverageRequest(mode)


def _reasoning(value: Any, where: str) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) > 1 or not set(value) <= {"effort", "budget_tokens"}:
        raise invalid(where, 'Send {"effort": …} or {"budget_tokens": …}.')
    if "effort" in value:
        if value["effort"] is None:
            return {}
        if value["effort"] not in EFFORTS:
            raise invalid(f"{where}.effort", f"Must be one of {', '.join(EFFORTS)}.")
        return {"effort": value["effort"]}
    if "budget_tokens" in value:
        return {"budget_tokens": _integer(value["budget_tokens"], f"{where}.budget_tokens", 1, 1_000_000, default=None)}
    return {}


def _metadata(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) and isinstance(text, str) for key, text in value.items()):
        raise invalid("metadata", "Send an object of texts.")
    size = 0
    for key, text in value.items():
        _text(key, "metadata", 200)
        if "\x00" in text:
            raise invalid("metadata", "A text holds a NUL character.")
        try:
            size += len(key.encode()) + len(text.encode())
        except UnicodeEncodeError:
            raise invalid("metadata", "Not valid Unicode.") from None
    if size > MAX_METADATA_BYTES:
        raise invalid("metadata", f"No more than {MAX_METADATA_BYTES:,} bytes.")
    return value


def _text(value: Any, where: str, limit: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise invalid(where, "Send a text.")
    if len(value) > limit or "\x00" in value:
        raise invalid(where, f"No more than {limit} characters, and no NUL.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid(where, "Not valid Unicode.") from None
    return value.strip()


def _integer(value: Any, where: str, low: int, high: int, *, default: Any) -> Any:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise invalid(where, f"Send a whole number from {low:,} to {high:,}.")
    return value
