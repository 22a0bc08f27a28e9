"""Words for calls to models."""

from django.db import models


class Purpose(models.TextChoices):
    SUBJECT = "subject", "The model under test"
    JUDGE = "judge", "A judge"
    AGENT = "agent", "An agent"
    CHECK = "check", "A connection check"


class Outcome(models.TextChoices):
    ANSWERED = "answered", "Answered"
    FAILED = "failed", "Failed"
    UNKNOWN = "unknown", "Unknown"


class Protocol(models.TextChoices):
    OPENAI = "openai", "OpenAI-compatible chat completions"


class Agreement(models.TextChoices):
    """How our verdict on a recorded answer stands to the one that it had where it came from."""

    BOTH_RIGHT = "both_right", "Both right"
    BOTH_WRONG = "both_wrong", "Both wrong"
    ONLY_OURS = "only_ours", "Right by ours alone"
    ONLY_THEIRS = "only_theirs", "Right by theirs alone"
    OURS_UNREADABLE = "ours_unreadable", "Ours could read no answer"
    NO_OLD_VERDICT = "no_old_verdict", "No old verdict"


class ErrorCode(models.TextChoices):
    """Why a call did not answer. The first group is retried, the second ends the attempt, the third stops the subject."""

    CONNECTION = "connection_error", "The connection failed"
    TIMEOUT = "timeout", "No answer in time"
    RATE_LIMITED = "rate_limited", "The provider limits the rate"
    OVERLOADED = "provider_overloaded", "The provider is overloaded"
    PROVIDER_ERROR = "provider_error", "The provider failed"
    MALFORMED = "malformed_response", "The reply is not a chat completion"

    CONTEXT_EXCEEDED = "context_exceeded", "The prompt does not fit the model"
    CONTENT_REFUSED = "content_refused", "The provider refused the prompt"
    BAD_REQUEST = "bad_request", "The provider refused the request"
    TOO_LARGE = "response_too_large", "The reply is too large"
    WORKER_LOST = "worker_lost", "Three workers died while it ran"

    AUTHENTICATION = "provider_authentication", "The provider refused the key"
    NO_QUOTA = "provider_no_quota", "The provider's quota is used up"
    MODEL_NOT_FOUND = "model_not_found", "The provider does not know the model"
    OUTPUT_LIMIT_UNSUPPORTED = "output_limit_unsupported", "The provider refuses every name of the output limit"
    BLOCKED_ADDRESS = "blocked_address", "The address is private or refused"
    CONNECTION_CHANGED = "connection_changed", "The connection was changed or deleted"


RETRYABLE = frozenset(
    {ErrorCode.CONNECTION, ErrorCode.TIMEOUT, ErrorCode.RATE_LIMITED, ErrorCode.OVERLOADED, ErrorCode.PROVIDER_ERROR, ErrorCode.MALFORMED}
)
FATAL = frozenset(
    {
        ErrorCode.AUTHENTICATION,
        ErrorCode.NO_QUOTA,
        ErrorCode.MODEL_NOT_FOUND,
        ErrorCode.OUTPUT_LIMIT_UNSUPPORTED,
        ErrorCode.BLOCKED_ADDRESS,
        ErrorCode.CONNECTION_CHANGED,
    }
)
"""A call that fails so fails for every task: the subject is stopped at once."""

RERUN_ON_CONTINUE = RETRYABLE | {ErrorCode.WORKER_LOST}
"""Errors that continuing a run tries again."""
