"""The words that pages use for codes and states. Codes stay in the API; people read these."""

from collections.abc import Mapping
from typing import Any

from common.errors import Refused
from common.money import format_usd
from gateway.enums import ErrorCode
from runs.enums import CoverageMode, Flag, InterruptionReason, Phase, SampleStatus

_STOPPED = {
    "silent_zero": "Stopped: its first answers were empty or cut off before an answer",
    "provider_unavailable": "Stopped: the provider did not answer for 15 minutes",
    "cancelled": "Cancelled",
    "no_recorded_answer": "The recording has no answer to this task",
}

_METHODS = {
    "wilson": "Wilson score interval",
    "t": "mean ± t · standard error",
    "clustered_t": "standard error over clusters of related tasks, t distribution",
    "bootstrap": "percentile bootstrap, 10,000 draws",
    "author": "the metric author's standard error",
    "newcombe": "Newcombe's paired interval (method 10)",
    "mcnemar_mid": "McNemar's test, mid-p",
}

_REASONS = {
    "matched": "Equals the reference",
    "within_tolerance": "Equals the reference within the tolerance",
    "different": "Differs from the reference",
    "no_number": "No number in the answer",
    "not_a_number": "Not a single number",
    "no_match": "The pattern does not match",
    "no_prefix": "The answer line is missing",
    "no_letter": "No choice could be read",
    "several_letters": "Names more than one letter",
    "ambiguous_choice": "Fits more than one choice",
    "not_a_listed_choice": "Names a letter that is not listed",
    "empty_answer": "The answer is empty",
    "missing_field": "A field is missing",
}

_NOTICES = {
    "one_attempt": "Each task was asked once. Served models may answer differently another time.",
    "few_clusters": "Fewer than ten clusters of related tasks: the interval treats the tasks as independent.",
    "possible_duplicate_provider_charge": (
        "Some requests to your own endpoint may have been sent twice after a worker was lost; your provider may have billed both."
    ),
}

_WARNINGS = {
    "external_charges": ("Your provider may bill you", "warn"),
    "output_limit_differs": ("Another answer limit", "warn"),
    "not_full_coverage": ("Not the full benchmark", "info"),
    "baseline_subject": ("Baselines are not models", "info"),
    "recorded_answers": ("A recording, not a live model", "info"),
    "recorded_answers_missing": ("Tasks without a recorded answer", "warn"),
}

_ROLES = {"system": "System message", "user": "User message", "assistant": "Assistant message"}

_FINISHES = {"stop": "ended by itself", "length": "cut at the answer limit", "content_filter": "stopped by the provider's filter"}

_EFFORTS = {"none": "No reasoning", "minimal": "Minimal effort", "low": "Low effort", "medium": "Medium effort", "high": "High effort"}

_REFUSALS = {
    "unknown_outcomes_left_out": (
        "Some calls were on their way when the run was cancelled, and may have been answered. "
        "Choose below whether to run them again or to leave them out."
    ),
    "duplicate_provider_charges": "Your own provider may bill some calls a second time. Agree below to run them again.",
    "cancelled_run": "A person cancelled this run. Continue it with the button below if that is meant.",
}

_DIFFERENCES = {
    "unknown_outcome": "their outcome is unknown, and they are not run again",
    "output_format_differs": "the output format differs",
    "grader_differs": "the grader differs",
    "benchmark_differs": "the benchmark differs",
    "version_differs": "the benchmark version differs",
    "metric_differs": "the metric differs",
    "grading_differs": "graded another time",
    "attempts_differ": "the tasks were asked a different number of times",
    "prompt_differs": "the prompt differs",
    "task_selection_differs": "the tasks differ",
    "output_limit_differs": "the output limit differs",
    "not_finished_by_all": "not finished by every model",
    "error": "ended in an error for at least one model",
    "errors": "ended in an error for at least one model",
    "missing": "not finished by at least one model",
    "inconclusive": "left undecided for at least one model",
    "silent_zero": "stopped: its first answers were empty or cut off",
}


def plain(code: str) -> str:
    """A code without words of its own, as a sentence part: underscores become spaces."""
    text = str(code).replace("_", " ").strip()
    return text[:1].upper() + text[1:]


def _label(choices: type, value: object) -> str:
    return choices(value).label if value in choices.values else plain(str(value))  # type: ignore[attr-defined,no-any-return]


def phase_words(phase: str) -> str:
    return _label(Phase, phase)


def sample_status_words(status: str) -> str:
    return _label(SampleStatus, status)


def interruption_words(reason: str) -> str:
    return _label(InterruptionReason, reason)


def flag_words(flag: str) -> str:
    return _label(Flag, flag)


def error_words(code: str | None) -> str:
    """Why a call, a sample or a subject did not answer."""
    if not code:
        return "Unclassified"
    return _STOPPED.get(code) or _label(ErrorCode, code)


def reason_words(code: str | None) -> str:
    """Why a grader decided as it did."""
    return "" if not code else _REASONS.get(code) or plain(code)


def codes_holding(text: str) -> tuple[list[str], list[str]]:
    """Codes of reasons and of errors that pages show with words that hold the text, in any case."""
    wanted = text.casefold()
    reasons = [code for code in _REASONS if wanted in reason_words(code).casefold()]
    errors = [code for code in (*ErrorCode.values, *_STOPPED) if wanted in error_words(code).casefold()]
    return reasons, errors


def method_words(method: str) -> str:
    return _METHODS.get(method) or plain(method)


def notice_words(notice: str) -> str:
    return _NOTICES.get(notice, notice)


def difference_words(reason: str) -> str:
    return _DIFFERENCES.get(reason) or error_words(reason)


def warning_title(code: str) -> str:
    return _WARNINGS.get(code, (plain(code), ""))[0]


def warning_tone(code: str) -> str:
    return _WARNINGS.get(code, ("", "info"))[1]


def role_words(role: str) -> str:
    return _ROLES.get(role) or plain(role)


def finish_words(reason: str) -> str:
    """How an answer ended, as the provider said."""
    return _FINISHES.get(reason) or plain(reason).lower()


def reasoning_words(reasoning: Mapping[str, Any]) -> str:
    """A subject's reasoning setting of the plan, in words."""
    if reasoning.get("budget_tokens"):
        return f"Up to {reasoning['budget_tokens']:,} tokens"
    effort = reasoning.get("effort")
    return (_EFFORTS.get(effort) or f"{plain(effort)} effort") if effort else "The route's default"


def coverage_words(coverage: Mapping[str, Any]) -> str:
    """Which tasks, in words: "25 of 1,319 tasks, drawn at random with seed 42"."""
    tasks, population = coverage["tasks"], coverage["population"]
    if coverage["mode"] == CoverageMode.FULL or tasks == population:
        return f"all {population:,} tasks"
    if coverage["mode"] == CoverageMode.SAMPLE:
        drawn = "drawn evenly over groups" if coverage.get("stratified") else "drawn at random"
        return f"{tasks:,} of {population:,} tasks, {drawn} with seed {coverage.get('seed', 0)}"
    return f"{tasks:,} chosen of {population:,} tasks"


def refusal_words(refusal: Refused) -> str:
    """Why something was refused. Most refusals say it themselves; some speak to programs, and these say it to people."""
    if refusal.code == "cap_below_minimum" and "minimum_cap_microusd" in refusal.details:
        least = format_usd(int(refusal.details["minimum_cap_microusd"]))
        return f"This cap does not cover the worst case of a single task, {least}. Raise it to at least that, or leave it empty."
    return _REFUSALS.get(refusal.code) or refusal.message
