"""The words of one chat call: where it goes, what is asked, what comes back, and why it failed."""

from dataclasses import dataclass, field
from typing import Any

from aiohttp.hdrs import AUTHORIZATION
from yarl import URL

from gateway.enums import ErrorCode

COMPLETIONS_PATH = "/chat/completions"

type Message = dict[str, str]


def completions_url(endpoint: str) -> URL:
    """The URL that is posted to: `https://host/v1` or the whole address; a query, as some hosts need, stays."""
    url = URL(endpoint)
    path = url.raw_path.rstrip("/")
    if not path.endswith(COMPLETIONS_PATH):
        path += COMPLETIONS_PATH
    return url.with_path(path, encoded=True, keep_query=True)


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Where a model answers.

    `quirks` is the caller's own copy of what the endpoint was seen to refuse ({"limit_name", "left_out"}); it changes when more is seen.
    Beside that it may say how the endpoint counts tokens ({"usage": …}, see `gateway.usage`).
    """

    endpoint: str
    model: str
    api_key: str = field(repr=False)
    guarded: bool
    """Whether a user named the address."""
    quirks: dict[str, Any]
    timeout: float
    """Seconds for one try, from connecting to the last byte."""
    url: URL = field(init=False, repr=False)
    headers: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", completions_url(self.endpoint))
        object.__setattr__(self, "headers", {AUTHORIZATION: f"Bearer {self.api_key}"} if self.api_key else {})


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is asked. `reasoning` is {}, {"effort": "low"} or {"budget_tokens": 2048}."""

    messages: list[Message]
    max_output_tokens: int
    reasoning: dict[str, Any] = field(default_factory=dict)
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    seed: int | None = None


@dataclass(slots=True)
class ChatReply:
    """What came back. `text` never holds thinking; input includes cached tokens, output includes reasoning tokens."""

    text: str
    reasoning: str
    finish_reason: str
    """stop, length, content_filter, tool_calls, another word of the provider, or "" where it gave none."""
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    is_estimated: bool
    served_model: str
    status: int
    parameters: dict[str, Any]
    """Generation settings as they were sent."""


class CallError(Exception):
    """A try that brought no answer. `message` holds no secret and at most 300 characters; `retry_after` is the provider's, in seconds."""

    def __init__(self, code: ErrorCode, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.retry_after = retry_after
