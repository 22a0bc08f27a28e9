"""Why a provider did not answer: from its status and words to our error codes, and to the parameter it will not take. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from gateway.enums import ErrorCode
from gateway.replies import Unreadable, clean, excerpt, load_json

MAX_RETRY_AFTER = 86_400.0

_QUOTA_KINDS = ("insufficient_quota", "billing", "insufficient_balance", "insufficient_credits", "insufficient_funds", "credits_exhausted")
_QUOTA_WORDS = (
    "exceeded your current quota",
    "insufficient quota",
    "insufficient balance",
    "insufficient credit",
    "insufficient funds",
    "credit balance is too low",
    "out of credits",
    "no credits",
    "not enough credits",
    "spending limit",
    "billing hard limit",
    "billing is not active",
)
_RATE_WORDS = ("per minute", "per second", "per day", "try again in", "retry in", "retrydelay", "rate limit")
_AUTHENTICATION_KINDS = ("invalid_api_key", "authentication", "invalid_key", "unauthorized", "unauthenticated")
_AUTHENTICATION_WORDS = (
    "api key not valid",
    "invalid api key",
    "incorrect api key",
    "invalid x-api-key",
    "no auth credentials",
    "missing api key",
)
_MODEL_KINDS = ("model_not_found", "model_not_available", "invalid_model", "unknown_model", "deploymentnotfound", "model_not_exist")
_MODEL_WORDS = re.compile(
    r"(?:unknown|invalid|no such|not a valid) model\b|"
    r"\bmodel\b.{0,120}?(?:not found|not exist|not available|not supported|is unknown|not have access|deprecated|decommissioned)",
    re.DOTALL,
)
_CONTEXT_KINDS = ("context_length", "context_window", "exceed_context", "string_above_max_length", "prompt_too_long")
_CONTEXT_WORDS = (
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "prompt too long",
    "input length",
    "too many tokens",
    "reduce the length",
    "input token count",
    "max_seq_len",
    "maximum number of tokens allowed",
)
_CONTENT_KINDS = ("content_filter", "content_policy", "responsibleai", "moderation", "data_inspection", "safety")
_CONTENT_WORDS = ("content management policy", "content policy", "content filter", "flagged", "usage policies", "usage policy")
_OVERLOAD_KINDS = ("overloaded", "server_busy", "engine_overloaded", "service_unavailable", "unavailable")

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
OPTIONAL_NAMES = frozenset({"temperature", "stop", "seed"})
_REFUSAL_WORDS = re.compile(
    r"unsupported|not support|unrecognized|unknown|unexpected|extra inputs|extra_forbidden|not permitted|not allowed|not accepted|"
    r"invalid parameter|deprecated|instead|only the default|not available|not compatible|cannot be set|can't be set|must be omitted"
)
_VALUE_WORDS = re.compile(r"too (?:large|high|big|small)|at (?:most|least)|maximum|less than|greater than|between|exceed|must be")


@dataclass(frozen=True, slots=True)
class Complaint:
    """A provider's own words: `kind` is code and type in lower case, `status` one inside the error object, `parameter` what it names."""

    message: str
    kind: str = ""
    status: int | None = None
    parameter: str = ""


def read_complaint(document: Any) -> Complaint:
    """The complaint in an error's document, in the shapes that providers use; its message may be empty."""
    if isinstance(document, list) and document:
        document = document[0]
    if not isinstance(document, dict):
        return Complaint(str(document) if isinstance(document, str) else "")
    error = document.get("error") or document.get("errors")
    if isinstance(error, list) and error:
        error = error[0]
    source = error if isinstance(error, dict) else document
    code, kind = source.get("code"), source.get("type") or source.get("status")
    number = code if isinstance(code, int) else _whole(code) or (kind if isinstance(kind, int) else None)
    detail = error if isinstance(error, str) else source.get("message") or source.get("detail") or source.get("error")
    metadata = source.get("metadata")
    inner = metadata.get("raw") if isinstance(metadata, dict) else None
    return Complaint(
        message=clean(": ".join(part for part in (_words(detail), _words(inner)) if part)),
        kind=" ".join(value.lower() for value in (code, kind) if isinstance(value, str)),
        status=number if number is not None and 400 <= number < 600 else None,
        parameter=source["param"] if isinstance(source.get("param"), str) else "",
    )


def read_error_body(body: bytes) -> Complaint:
    """The complaint in the body of an HTTP error, which may be JSON, HTML, other text or nothing."""
    try:
        complaint = read_complaint(load_json(body))
    except Unreadable as error:
        return Complaint(str(error))
    return complaint if complaint.message else replace(complaint, message=excerpt(body))


def classify(status: int, complaint: Complaint) -> ErrorCode:
    """The code for an HTTP status and a complaint. A status of 2xx says nothing; then the error object's own status and words decide."""
    if status < 300:
        status = complaint.status or 0
    kind, text = complaint.kind, complaint.message.lower()
    if status == 402 or _has(kind, _QUOTA_KINDS):
        return ErrorCode.NO_QUOTA
    if status == 429 or (not status and ("rate_limit" in kind or "rate limit" in text)):
        return ErrorCode.NO_QUOTA if _has(text, _QUOTA_WORDS) and not _has(text, _RATE_WORDS) else ErrorCode.RATE_LIMITED
    if status == 401:
        return ErrorCode.AUTHENTICATION
    if status in (404, 410):
        return ErrorCode.MODEL_NOT_FOUND
    if status == 408:
        return ErrorCode.TIMEOUT
    if status in (503, 529) or (_has(kind, _OVERLOAD_KINDS) and (not status or status >= 500)):
        return ErrorCode.OVERLOADED
    if _has(kind, _CONTEXT_KINDS) or _has(text, _CONTEXT_WORDS):
        return ErrorCode.CONTEXT_EXCEEDED
    if status == 413:
        return ErrorCode.TOO_LARGE
    if status >= 500:
        return ErrorCode.PROVIDER_ERROR
    if 300 <= status < 400:
        return ErrorCode.BAD_REQUEST
    return _by_words(status, kind, text)


def _by_words(status: int, kind: str, text: str) -> ErrorCode:
    """400, 403, 422 and the like, and an error object without a status: only the words tell."""
    if _has(text, _QUOTA_WORDS):
        return ErrorCode.NO_QUOTA
    if _has(kind, _CONTENT_KINDS) or _has(text, _CONTENT_WORDS):
        return ErrorCode.CONTENT_REFUSED
    if _has(kind, _MODEL_KINDS) or _MODEL_WORDS.search(text):
        return ErrorCode.MODEL_NOT_FOUND
    if status == 403 or _has(kind, _AUTHENTICATION_KINDS) or _has(text, _AUTHENTICATION_WORDS):
        return ErrorCode.AUTHENTICATION
    if status or "invalid_request" in kind or "bad_request" in kind:
        return ErrorCode.BAD_REQUEST
    return ErrorCode.TIMEOUT if "timeout" in kind else ErrorCode.PROVIDER_ERROR


def refused_parameter(status: int, complaint: Complaint, sent: Iterable[str]) -> str | None:
    """The parameter among those sent that the provider will not take by that name, or None where it complains of something else."""
    if status < 300:
        status = complaint.status or 400
    if status not in (400, 422):
        return None
    text = complaint.message.lower()
    refuses = bool(_REFUSAL_WORDS.search(text)) or "unsupported" in complaint.kind
    named = [(0, complaint.parameter)] if complaint.parameter in sent else []
    named += [(match.start(), name) for name in sent if (match := re.search(rf"\b{name}\b", text))]
    for _, name in sorted(named):
        if name in LIMIT_NAMES and refuses and not _VALUE_WORDS.search(text):
            return name
        if name in OPTIONAL_NAMES and (refuses or name == complaint.parameter or _VALUE_WORDS.search(text)):
            return name
    return None


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds to wait as a provider said (a number, a fraction or a date), from 0 to a day; None where nothing readable is said."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    value = headers.get("Retry-After")
    if not value:
        return None
    seconds = _number(value)
    if seconds is None:
        try:
            at = parsedate_to_datetime(value)
            since = parsedate_to_datetime(headers["Date"]) if now is None and "Date" in headers else now or datetime.now(UTC)
        except (ValueError, OverflowError, TypeError):
            return None
        seconds = (_aware(at) - _aware(since)).total_seconds()
    return _bounded(seconds)


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return None if number != number else number


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6 else None


def _has(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)


def _words(value: Any) -> str:
    """A complaint's text: itself, or the `loc: msg` lines that validation libraries send."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _words(value.get("message") or value.get("msg") or value.get("detail"))
    if isinstance(value, list):
        lines = []
        for item in value[:5]:
            place = item.get("loc") if isinstance(item, dict) else None
            where = str(place[-1]) if isinstance(place, list) and place else ""
            lines.append(": ".join(part for part in (where, _words(item)) if part))
        return "; ".join(line for line in lines if line)
    return ""
