"""Checks that a release asks of results: least score, largest drop against the baseline, least coverage. Pure.

A check is passed or failed only where its whole 95% interval lies on one side of the threshold; else it cannot tell. Which side is which:

- least score s: passes where the interval of the candidate's score begins at s or above, fails where it ends below s;
- largest drop d: passes where the interval of the paired difference (candidate − baseline) begins at −d or above, fails where it ends
  below −d. A drop of d is still allowed, on the threshold itself too;
- least coverage c: graded of planned answers, which is counted and not estimated: passes at c or above, fails below it.

Intervals are taken as they are shown, not widened for the number of candidates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot_tell"
MIN_SCORE, MAX_DROP, MIN_COVERAGE = "min_score", "max_drop", "min_coverage"
MOST_MISSING = 0.05
"""Above this share of planned answers without a score a check of scores cannot tell, as no winner is named then."""
MOST_TASKS_NAMED = 1_000_000
DIGITS = 10
"""Decimals in which figures are frozen: thresholds are compared in them, so that no bit of a float decides."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Thresholds as shares from 0 to 1; None where nothing is asked."""

    min_score: float | None = None
    max_drop: float | None = None
    min_coverage: float | None = None

    @property
    def asks(self) -> bool:
        return (self.min_score, self.max_drop, self.min_coverage) != (None, None, None)

    def document(self) -> dict[str, float | None] | None:
        if not self.asks:
            return None
        return {MIN_SCORE: self.min_score, MAX_DROP: self.max_drop, MIN_COVERAGE: self.min_coverage}


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the checks read of one candidate. Intervals are those of the documents, or None."""

    member: int
    label: str
    score: float | None
    interval: Mapping[str, Any] | None
    graded: int
    planned: int
    stopped: str = ""
    """The code it was stopped with; empty where it was not."""
    baseline_stopped: str = ""
    unlike: Sequence[tuple[str, str]] = ()
    """Code and message of each way in which it is unlike the baseline."""
    difference: float | None = None
    """Candidate − baseline on the tasks of both; None where it was not computed."""
    difference_interval: Mapping[str, Any] | None = None
    tasks_compared: int = 0
    tasks_planned: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """One answer."""

    member: int
    check: str
    outcome: str
    code: str
    message: str
    threshold: float
    value: float | None
    interval: Mapping[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        return {
            "member": self.member,
            "check": self.check,
            "outcome": self.outcome,
            "code": self.code,
            "message": self.message,
            "threshold": self.threshold,
            "value": self.value,
            "interval": None if self.interval is None else dict(self.interval),
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all checks say together; `decision` is None where nothing was asked."""

    decision: str | None
    checks: list[Check]
    reasons: list[dict[str, Any]]


def decide(policy: Policy, candidates: Sequence[Candidate]) -> Verdict:
    """`fail` where any check of any candidate fails, `pass` where all pass, else `inconclusive`; with the reasons that made it so."""
    checks = [check for candidate in candidates for check in _checks(policy, candidate)]
    if not checks:
        return Verdict(None, [], [])
    outcomes = {check.outcome for check in checks}
    if FAIL in outcomes:
        decision, deciding = "fail", FAIL
    elif CANNOT_TELL in outcomes:
        decision, deciding = "inconclusive", CANNOT_TELL
    else:
        decision, deciding = "pass", PASS
    return Verdict(decision, checks, _reasons(checks, candidates, deciding))


def _reasons(checks: Sequence[Check], candidates: Sequence[Candidate], deciding: str) -> list[dict[str, Any]]:
    """The checks that decided; of an unlike candidate each difference instead, once."""
    unlike = {candidate.member: candidate.unlike for candidate in candidates if candidate.unlike}
    reasons = [
        {"code": code, "message": message, "member": member, "check": None}
        for member, differences in unlike.items()
        for code, message in differences
        if deciding == CANNOT_TELL
    ]
    return reasons + [
        {"code": check.code, "message": check.message, "member": check.member, "check": check.check}
        for check in checks
        if check.outcome == deciding and check.member not in unlike
    ]


def _checks(policy: Policy, candidate: Candidate) -> list[Check]:
    asked = ((MIN_SCORE, policy.min_score, _score), (MAX_DROP, policy.max_drop, _drop), (MIN_COVERAGE, policy.min_coverage, _coverage))
    found = []
    for name, threshold, check in asked:
        if threshold is None:
            continue
        if candidate.unlike:
            code, message = candidate.unlike[0]
            found.append(Check(candidate.member, name, CANNOT_TELL, code, message, threshold, None))
        else:
            found.append(check(candidate, threshold))
    return found


def _score(candidate: Candidate, threshold: float) -> Check:
    name, value, interval = candidate.label, candidate.score, candidate.interval

    def answer(outcome: str, code: str, message: str) -> Check:
        return Check(candidate.member, MIN_SCORE, outcome, code, message, threshold, value, interval)

    if candidate.stopped:
        return answer(CANNOT_TELL, "result_stopped", f"{name} was stopped before its end, so its score is not checked.")
    if missing := _missing(name, candidate.planned - candidate.graded, candidate.planned, "answers"):
        return answer(CANNOT_TELL, "too_many_missing", missing)
    if value is None or interval is None:
        return answer(CANNOT_TELL, "nothing_graded", f"{name} has no score with an interval to check.")
    least, said = _percent(threshold), f"{name} scores {_percent(value)} ({_range(interval)})"
    if _at_least(interval["low"], threshold):
        return answer(PASS, "score_met", f"{said}: at least {least}, as asked.")
    if not _at_least(interval["high"], threshold):
        return answer(FAIL, "score_below_minimum", f"{said}: below the {least} that are asked.")
    needed = _tasks_to_tell(candidate.graded, value, threshold, interval)
    return answer(CANNOT_TELL, "score_too_uncertain", f"{said}: that may be above or below the {least} that are asked.{needed}")


def _drop(candidate: Candidate, threshold: float) -> Check:
    name, value, interval = candidate.label, candidate.difference, candidate.difference_interval

    def answer(outcome: str, code: str, message: str) -> Check:
        return Check(candidate.member, MAX_DROP, outcome, code, message, threshold, value, interval)

    if candidate.stopped or candidate.baseline_stopped:
        who = name if candidate.stopped else "The baseline"
        return answer(CANNOT_TELL, "result_stopped", f"{who} was stopped before its end, so no drop is checked.")
    if missing := _missing(f"{name} or the baseline", candidate.tasks_planned - candidate.tasks_compared, candidate.tasks_planned, "tasks"):
        return answer(CANNOT_TELL, "too_many_missing", missing)
    if value is None or interval is None:
        return answer(CANNOT_TELL, "no_difference", f"{name} and the baseline have no difference with an interval to check.")
    low, high = _points(interval["low"]), _points(interval["high"])
    most, said = _points(threshold, signed=False), f"{name} is {_ahead(value)} ({low} to {high} points)"
    if _at_least(interval["low"], -threshold):
        return answer(PASS, "drop_within_limit", f"{said}: no drop of more than {most} points.")
    if not _at_least(interval["high"], -threshold):
        return answer(FAIL, "drop_exceeds_limit", f"{said}: a drop of more than {most} points.")
    needed = _tasks_to_tell(candidate.tasks_compared, value, -threshold, interval)
    return answer(CANNOT_TELL, "drop_too_uncertain", f"{said}: that may be a drop of more or of less than {most} points.{needed}")


def _coverage(candidate: Candidate, threshold: float) -> Check:
    value = round(candidate.graded / candidate.planned, DIGITS) if candidate.planned else 0.0
    said = f"{candidate.label} has {candidate.graded:,} of {candidate.planned:,} answers graded"
    if _at_least(value, threshold):
        return Check(candidate.member, MIN_COVERAGE, PASS, "coverage_met", f"{said}, as asked.", threshold, value)
    message = f"{said}, {_percent(value)}: less than the {_percent(threshold)} that are asked."
    return Check(candidate.member, MIN_COVERAGE, FAIL, "coverage_below_minimum", message, threshold, value)


def _missing(whose: str, missing: int, planned: int, counted: str) -> str:
    """Why a check of scores cannot be made; empty where it can."""
    if missing <= MOST_MISSING * planned:
        return ""
    return f"{missing:,} of {planned:,} {counted} of {whose} have no score, and their answers could change what is checked."


def _at_least(value: float, threshold: float) -> bool:
    return round(value, DIGITS) >= round(threshold, DIGITS)


def _tasks_to_tell(n: int, value: float, threshold: float, interval: Mapping[str, Any]) -> str:
    """How many tasks would tell, if the figure stayed what it is: an interval narrows with the root of their number."""
    distance = abs(value - threshold)
    reach = value - interval["low"] if value >= threshold else interval["high"] - value
    if distance < 1e-9 or n < 1:
        return ""
    needed = round(n * (reach / distance) ** 2, 6)
    if needed > MOST_TASKS_NAMED:
        return ""
    unit = 10 ** max(0, floor(log10(max(needed, 1))) - 1)
    return f" About {ceil(needed / unit) * unit:,} tasks would tell, if it stays so."


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _range(interval: Mapping[str, Any]) -> str:
    return f"{100 * interval['low']:.1f} to {_percent(interval['high'])}"


def _points(share: float, *, signed: bool = True) -> str:
    text = f"{abs(100 * share):.1f}"
    if not signed or text == "0.0":
        return text
    return f"{'−' if share < 0 else '+'}{text}"


def _ahead(value: float) -> str:
    points = _points(value, signed=False)
    if points == "0.0":
        return "level with the baseline"
    return f"{points} points {'below' if value < 0 else 'above'} the baseline"
