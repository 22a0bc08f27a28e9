"""The one HTTP client for models: OpenAI-compatible chat completions, one try at a time. Retrying is `gateway.calls`' part."""

import io
from collections.abc import Mapping
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson
from aiohttp.abc import AbstractResolver

from common.outbound import CONNECT_SECONDS, blocked_cause, guarded_connector, is_blocked_host
from common.redaction import redact
from gateway.chat import CallError, ChatReply, ChatRequest, Target
from gateway.enums import ErrorCode
from gateway.refusals import LIMIT_NAMES, Complaint, classify, read_complaint, read_error_body, refused_parameter, retry_after
from gateway.replies import Unreadable, load_json, read_reply

__all__ = ["CallError", "ChatClient", "ChatReply", "ChatRequest", "Target"]

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_MESSAGE_LENGTH = 300
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "EvalRouter"}
_LARGE_BODY = 2**20


class _ParameterRefused(CallError):
    """The provider will not take one of the parameters that were sent."""

    def __init__(self, name: str, error: CallError) -> None:
        super().__init__(error.code, error.message, status=error.status, retry_after=error.retry_after)
        self.name = name


class ChatClient:
    """One client a process, shared by all its calls; `limit` is the most connections for each kind of address, 0 for any number."""

    def __init__(self, *, limit: int = 0, resolver: AbstractResolver | None = None) -> None:
        """`resolver` looks names up in place of the system; its answers are guarded all the same."""
        self._limit = limit
        self._resolver = resolver

    async def __aenter__(self) -> Self:
        self._managed = _session(aiohttp.TCPConnector(limit=self._limit))
        self._guarded = _session(guarded_connector(limit=self._limit, resolver=self._resolver))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._managed.close()
        await self._guarded.close()

    async def complete(self, target: Target, request: ChatRequest) -> ChatReply:
        """One try. Raises `CallError`.

        A parameter that the endpoint refuses is renamed (the output limit) or left out (temperature, stop, seed), and the request is sent
        again at once. Where that worked, what was learned is written to `target.quirks`.
        """
        known = target.quirks.get("limit_name")
        names = sorted(LIMIT_NAMES, key=lambda name: name != known)
        left_out = set(target.quirks.get("left_out", ()))
        learned = False
        while True:
            parameters = _parameters(request, names[0], left_out)
            try:
                reply = await self._send(target, request, parameters)
            except _ParameterRefused as refusal:
                learned = True
                if refusal.name not in LIMIT_NAMES:
                    left_out.add(refusal.name)
                elif len(names) > 1:
                    del names[0]
                else:
                    message = "The endpoint takes neither max_tokens nor max_completion_tokens, so its output cannot be limited."
                    raise CallError(ErrorCode.OUTPUT_LIMIT_UNSUPPORTED, message, status=refusal.status) from refusal
            else:
                if learned:
                    target.quirks["limit_name"] = names[0]
                    target.quirks["left_out"] = sorted(left_out | set(target.quirks.get("left_out", ())))
                return reply

    async def _send(self, target: Target, request: ChatRequest, parameters: dict[str, Any]) -> ChatReply:
        try:
            body = orjson.dumps({"model": target.model, "messages": request.messages, **parameters})
        except TypeError as error:
            raise CallError(ErrorCode.BAD_REQUEST, f"The prompt cannot be sent: {error}") from error
        if target.guarded and is_blocked_host(target.url.host or ""):
            raise CallError(ErrorCode.BLOCKED_ADDRESS, "The endpoint's address is private or local.")
        session = self._guarded if target.guarded else self._managed
        try:
            async with session.post(
                target.url,
                data=body if len(body) < _LARGE_BODY else io.BytesIO(body),
                headers=target.headers,
                allow_redirects=False,
                timeout=_timeout(target.timeout),
            ) as response:
                reply_body = await _read(response)
                status, headers = response.status, response.headers
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _transport_error(target, error) from error
        return _understand(target, request, parameters, status, headers, reply_body)


def _session(connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=connector, headers=_HEADERS, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)


@lru_cache
def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, sock_connect=min(CONNECT_SECONDS, seconds))


def _parameters(request: ChatRequest, limit_name: str, left_out: set[str]) -> dict[str, Any]:
    """The generation settings as this endpoint takes them. The output limit is always among them."""
    parameters: dict[str, Any] = {limit_name: request.max_output_tokens}
    if "temperature" not in left_out:
        parameters["temperature"] = request.temperature
    if request.stop and "stop" not in left_out:
        parameters["stop"] = list(request.stop)
    if request.seed is not None and "seed" not in left_out:
        parameters["seed"] = request.seed
    if "effort" in request.reasoning:
        parameters["reasoning_effort"] = request.reasoning["effort"]
    if "budget_tokens" in request.reasoning:
        parameters["reasoning"] = {"max_tokens": request.reasoning["budget_tokens"]}
    return parameters


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body as it comes, as far as the limit. Raises `CallError` beyond it, also for a body that only unpacks to so much."""
    content = response.content
    chunks: list[bytes] = []
    size = 0
    while not content.at_eof():
        chunk = await content.readany()
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            response.close()
            message = f"The reply is larger than {MAX_BODY_BYTES // 2**20} MiB."
            raise CallError(ErrorCode.TOO_LARGE, message, status=response.status)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _understand(
    target: Target, request: ChatRequest, parameters: dict[str, Any], status: int, headers: Mapping[str, str], body: bytes
) -> ChatReply:
    """The reply in what was answered. Raises `CallError`."""
    if not 200 <= status < 300:
        if 300 <= status < 400:
            place = headers.get("Location", "elsewhere")
            raise _error(target, status, Complaint(f"a redirect to {place}, which is not followed"), headers, parameters)
        raise _error(target, status, read_error_body(body), headers, parameters)
    try:
        document = load_json(body)
        if isinstance(document, dict) and (document.get("error") or _choice_failed(document)):
            raise _error(target, status, read_complaint(_failed_part(document)), headers, parameters)
        return read_reply(
            document,
            status=status,
            messages=request.messages,
            parameters=parameters,
            output_limit=request.max_output_tokens,
            quirks=target.quirks,
        )
    except Unreadable as error:
        message = _presentable(target, f"The endpoint answered with {error}")
        raise CallError(ErrorCode.MALFORMED, message, status=status, retry_after=retry_after(headers)) from error


def _choice_failed(document: dict[str, Any]) -> bool:
    """Whether the first choice is an error instead of an answer, as routers of several providers say it."""
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(choice, dict) and (bool(choice.get("error")) or choice.get("finish_reason") == "error")


def _failed_part(document: dict[str, Any]) -> dict[str, Any]:
    return document if document.get("error") else document["choices"][0]


def _error(target: Target, status: int, complaint: Complaint, headers: Mapping[str, str], parameters: dict[str, Any]) -> CallError:
    """The error to raise for a complaint, with a message fit to show."""
    words = complaint.message or "no reason given"
    error = CallError(
        classify(status, complaint),
        _presentable(target, f"The endpoint answered {status}: {words}"),
        status=status,
        retry_after=retry_after(headers),
    )
    name = refused_parameter(status, complaint, parameters.keys()) if error.code in _MAY_NAME_PARAMETER else None
    return _ParameterRefused(name, error) if name else error


_MAY_NAME_PARAMETER = frozenset({ErrorCode.BAD_REQUEST, ErrorCode.PROVIDER_ERROR, ErrorCode.MODEL_NOT_FOUND})
"""A refused parameter may read like one of these ("not supported with this model")."""


def _transport_error(target: Target, error: Exception) -> CallError:
    """What went wrong below HTTP."""
    if blocked_cause(error):
        return CallError(ErrorCode.BLOCKED_ADDRESS, "The endpoint's name leads to a private or local address.")
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return CallError(ErrorCode.CONNECTION, "The endpoint could not be reached in time.")
    if isinstance(error, TimeoutError):
        return CallError(ErrorCode.TIMEOUT, f"No answer within {target.timeout:g} seconds.")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return CallError(ErrorCode.CONNECTION, "The endpoint's name cannot be resolved.")
    if isinstance(error, aiohttp.InvalidURL):
        return CallError(ErrorCode.BAD_REQUEST, "The endpoint's address is not a URL that can be called.")
    if isinstance(error, aiohttp.ClientResponseError):
        return CallError(ErrorCode.MALFORMED, _presentable(target, f"The endpoint does not speak HTTP: {error.message}"))
    return CallError(ErrorCode.CONNECTION, _presentable(target, f"The connection failed: {error or type(error).__name__}"))


def _presentable(target: Target, message: str) -> str:
    """The message without secrets, on one line, cut to what is kept."""
    return " ".join(redact(message[:20_000], target.api_key).split())[:MAX_MESSAGE_LENGTH]
