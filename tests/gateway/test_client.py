"""The client against a real endpoint on loopback: what it sends, what it survives, and what it says when there is no answer."""

import asyncio
import gzip
import socket
import time
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from django.utils import timezone

from gateway.client import MAX_BODY_BYTES, CallError, ChatClient
from gateway.enums import ErrorCode
from tests.gateway.asking import KEY, always, ask, in_turn, request, target_at
from tests.standins.chat import Asked, ChatServer, completion, error_body
from tests.standins.http import Reply


def refuses(*names: str) -> Any:
    """An endpoint that refuses to take these parameters."""

    def reply(asked: Asked) -> Reply | None:
        for name in names:
            if name in asked.body:
                message = f"Unsupported parameter: '{name}' is not supported with this model."
                return Reply(400, error_body(message, kind="invalid_request_error", code="unsupported_parameter", param=name))
        return None

    return reply


def failure(server: ChatServer, **target: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        ask(target_at(server.url, **target))
    return caught.value


# ── What is sent ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_request_is_sent_as_a_chat_completion_and_answered() -> None:
    with ChatServer("4") as server:
        reply = ask(target_at(server.url, api_key=KEY))

    assert (reply.text, reply.finish_reason, reply.served_model, reply.status) == ("4", "stop", "m", 200)
    assert (reply.input_tokens, reply.output_tokens, reply.is_estimated) == (3, 1, False)
    assert reply.parameters == {"max_tokens": 64, "temperature": 0.0}
    asked = server.requests[0]
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "What is 2+2?"}],
        "max_tokens": 64,
        "temperature": 0.0,
    }
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"


def test_without_a_key_no_authorization_is_sent() -> None:
    with ChatServer() as server:
        ask(target_at(server.url))

    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("https://example.org/v1", "https://example.org/v1/chat/completions"),
        ("https://example.org/v1/", "https://example.org/v1/chat/completions"),
        ("https://example.org", "https://example.org/chat/completions"),
        ("https://example.org/v1/chat/completions", "https://example.org/v1/chat/completions"),
        ("https://example.org/d/x?api-version=2", "https://example.org/d/x/chat/completions?api-version=2"),
        ("https://example.org/a%2Fb", "https://example.org/a%2Fb/chat/completions"),
    ],
)
def test_endpoint_is_completed_to_the_url_that_is_called(endpoint: str, url: str) -> None:
    assert str(target_at(endpoint).url) == url


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}),
        ({"reasoning": {"budget_tokens": 2048}}, {"reasoning": {"max_tokens": 2048}}),
        ({"stop": ("\n",), "seed": 7}, {"stop": ["\n"], "seed": 7}),
    ],
)
def test_settings_are_sent_and_reported(settings: dict[str, Any], sent: dict[str, Any]) -> None:
    with ChatServer() as server:
        reply = ask(target_at(server.url), request(**settings))

    assert reply.parameters == {"max_tokens": 64, "temperature": 0.0, **sent}
    assert server.requests[0].body | reply.parameters == server.requests[0].body


def test_prompt_of_two_megabytes_is_sent_whole() -> None:
    with ChatServer() as server:
        ask(target_at(server.url), request("x" * 2**21))

    assert len(server.requests[0].question) == 2**21


def test_prompt_that_is_no_unicode_is_a_bad_request() -> None:
    with ChatServer() as server, pytest.raises(CallError) as caught:
        ask(target_at(server.url), request("\ud800"))

    assert caught.value.code == ErrorCode.BAD_REQUEST
    assert server.stats.requests == 0


# ── Parameters that an endpoint refuses ─────────────────────────────────────────────────────────────────────────────


def test_refused_limit_name_is_renamed_and_remembered() -> None:
    quirks: dict[str, Any] = {}
    with ChatServer(reply=refuses("max_tokens")) as server:
        first = ask(target_at(server.url, quirks=quirks))
        second = ask(target_at(server.url, quirks=quirks))

    assert first.parameters == second.parameters == {"max_completion_tokens": 64, "temperature": 0.0}
    assert quirks == {"limit_name": "max_completion_tokens", "left_out": []}
    assert [sorted(asked.body.keys() & {"max_tokens", "max_completion_tokens"}) for asked in server.requests] == [
        ["max_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


def test_remembered_limit_name_that_is_refused_now_is_renamed_back() -> None:
    quirks: dict[str, Any] = {"limit_name": "max_completion_tokens"}
    with ChatServer(reply=refuses("max_completion_tokens")) as server:
        reply = ask(target_at(server.url, quirks=quirks))

    assert reply.parameters["max_tokens"] == 64
    assert quirks["limit_name"] == "max_tokens"


def test_both_limit_names_refused_is_never_sent_without_a_limit() -> None:
    quirks: dict[str, Any] = {}
    with ChatServer(reply=refuses("max_tokens", "max_completion_tokens")) as server:
        error = failure(server, quirks=quirks)

    assert error.code == ErrorCode.OUTPUT_LIMIT_UNSUPPORTED
    assert server.stats.requests == 2
    assert all(asked.body.keys() & {"max_tokens", "max_completion_tokens"} for asked in server.requests)
    assert quirks == {}


def test_refused_settings_are_left_out_once_and_remembered() -> None:
    quirks: dict[str, Any] = {}
    asked = request(stop=("\n",), seed=7)
    with ChatServer(reply=refuses("max_tokens", "temperature", "stop", "seed")) as server:
        first = ask(target_at(server.url, quirks=quirks), asked)
        second = ask(target_at(server.url, quirks=quirks), asked)

    assert first.parameters == second.parameters == {"max_completion_tokens": 64}
    assert quirks == {"limit_name": "max_completion_tokens", "left_out": ["seed", "stop", "temperature"]}
    assert server.stats.requests == 6


def test_nothing_is_remembered_where_leaving_out_did_not_help() -> None:
    quirks: dict[str, Any] = {}
    message = "temperature is not supported, and neither is anything else"
    with ChatServer(reply=always(Reply(400, error_body(message)))) as server:
        error = failure(server, quirks=quirks)

    assert error.code == ErrorCode.BAD_REQUEST
    assert server.stats.requests == 2
    assert quirks == {}


def test_limit_that_is_too_large_is_a_bad_request_and_not_renamed() -> None:
    message = "max_tokens is too large: 64. This model supports at most 32 completion tokens."
    with ChatServer(reply=always(Reply(400, error_body(message, param="max_tokens")))) as server:
        error = failure(server)

    assert error.code == ErrorCode.BAD_REQUEST
    assert server.stats.requests == 1


def test_many_calls_at_once_each_find_out_and_agree() -> None:
    target_of_all: dict[str, Any] = {}

    async def many(url: str) -> set[str]:
        target = target_at(url, quirks=target_of_all)
        async with ChatClient() as client:
            replies = await asyncio.gather(*(client.complete(target, request(f"{n}")) for n in range(32)))
        return {str(reply.parameters) for reply in replies}

    with ChatServer(reply=refuses("max_tokens", "temperature"), latency=0.02) as server:
        sent = asyncio.run(many(server.url))

    assert sent == {"{'max_completion_tokens': 64}"}
    assert target_of_all == {"limit_name": "max_completion_tokens", "left_out": ["temperature"]}


# ── Replies that are no answers ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "code", "message"),
    [
        (Reply(200, {"choices": None}), ErrorCode.MALFORMED, "The endpoint answered with a reply without choices"),
        (Reply(200, {"choices": []}), ErrorCode.MALFORMED, "The endpoint answered with a reply without choices"),
        (Reply(200, b""), ErrorCode.MALFORMED, "The endpoint answered with an empty reply"),
        (Reply(200, b"<title>Sign in</title>"), ErrorCode.MALFORMED, "The endpoint answered with an HTML page: Sign in"),
        (Reply(200, b"null"), ErrorCode.MALFORMED, "The endpoint answered with a reply without choices"),
        (Reply(200, error_body("Try later", code=429)), ErrorCode.RATE_LIMITED, "The endpoint answered 200: Try later"),
        (
            Reply(
                200, {"choices": [{"error": {"code": 502, "message": "upstream"}, "finish_reason": "error", "message": {"content": ""}}]}
            ),
            ErrorCode.PROVIDER_ERROR,
            "The endpoint answered 200: upstream",
        ),
        (
            Reply(502, "<html><title>502 Bad Gateway</title></html>"),
            ErrorCode.PROVIDER_ERROR,
            "The endpoint answered 502: an HTML page: 502 Bad Gateway",
        ),
        (Reply(401, error_body("Bad key")), ErrorCode.AUTHENTICATION, "The endpoint answered 401: Bad key"),
        (
            Reply(404, error_body("The model `m` does not exist")),
            ErrorCode.MODEL_NOT_FOUND,
            "The endpoint answered 404: The model `m` does not exist",
        ),
        (Reply(500, error_body("a\n\n  b")), ErrorCode.PROVIDER_ERROR, "The endpoint answered 500: a b"),
    ],
)
def test_reply_without_an_answer_is_an_error_with_its_code(reply: Reply, code: ErrorCode, message: str) -> None:
    with ChatServer(reply=always(reply)) as server:
        error = failure(server)

    assert (error.code, error.message, error.status) == (code, message, reply.status)


def test_error_object_beside_null_is_no_error() -> None:
    with ChatServer(reply=always(Reply(body={**completion("4"), "error": None}))) as server:
        assert ask(target_at(server.url)).text == "4"


@pytest.mark.parametrize(
    "broken",
    [
        Reply(drop=True),
        Reply(body=completion("4"), cut=20),
        Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"),
        Reply(raw=b""),
    ],
)
def test_broken_connections_are_connection_errors(broken: Reply) -> None:
    with ChatServer(reply=always(broken)) as server:
        assert failure(server).code == ErrorCode.CONNECTION


@pytest.mark.parametrize("noise", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x16\x03\x01\x00\x00"])
def test_what_is_not_http_is_malformed(noise: bytes) -> None:
    with ChatServer(reply=always(Reply(raw=noise))) as server:
        assert failure(server).code == ErrorCode.MALFORMED


def test_nobody_listening_is_a_connection_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(CallError) as caught:
            ask(target_at(f"http://127.0.0.1:{taken.getsockname()[1]}/v1"))

    assert caught.value.code == ErrorCode.CONNECTION


def test_name_that_does_not_resolve_is_a_connection_error() -> None:
    with pytest.raises(CallError) as caught:
        ask(target_at("http://nobody.invalid/v1"))

    assert (caught.value.code, caught.value.message) == (ErrorCode.CONNECTION, "The endpoint's name cannot be resolved.")


def test_silence_is_a_timeout() -> None:
    with ChatServer(latency=5) as server:
        started = time.monotonic()
        error = failure(server, timeout=0.2)

    assert (error.code, error.message) == (ErrorCode.TIMEOUT, "No answer within 0.2 seconds.")
    assert time.monotonic() - started < 2


def test_redirects_are_not_followed() -> None:
    with ChatServer("4") as other, ChatServer(reply=always(Reply(307, b"", {"Location": f"{other.url}/chat/completions"}))) as server:
        error = failure(server, api_key=KEY)

    assert (error.code, error.status) == (ErrorCode.BAD_REQUEST, 307)
    assert "which is not followed" in error.message
    assert other.stats.requests == 0


# ── Size ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_reply_at_the_limit_is_read() -> None:
    body = completion("")
    filler = "x" * (MAX_BODY_BYTES - 1000)
    body["choices"][0]["message"]["content"] = filler
    with ChatServer(reply=always(Reply(body=body))) as server:
        assert len(ask(target_at(server.url)).text) == len(filler)


def test_reply_beyond_the_limit_is_refused() -> None:
    with ChatServer(reply=always(Reply(body=completion("x" * MAX_BODY_BYTES)))) as server:
        error = failure(server)

    assert (error.code, error.message) == (ErrorCode.TOO_LARGE, "The reply is larger than 8 MiB.")


def test_reply_that_only_unpacks_beyond_the_limit_is_refused() -> None:
    packed = gzip.compress(b" " * 200_000_000)
    with ChatServer(reply=always(Reply(body=packed, headers={"Content-Encoding": "gzip"}))) as server:
        assert failure(server).code == ErrorCode.TOO_LARGE


def test_endless_reply_is_cut_off() -> None:
    endless = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (MAX_BODY_BYTES + 10)
    with ChatServer(reply=always(Reply(raw=endless))) as server:
        assert failure(server).code == ErrorCode.TOO_LARGE


def test_large_error_page_keeps_a_short_message() -> None:
    with ChatServer(reply=always(Reply(500, "word " * 200_000))) as server:
        error = failure(server)

    assert error.code == ErrorCode.PROVIDER_ERROR
    assert len(error.message) == 300


# ── Waiting and secrets ─────────────────────────────────────────────────────────────────────────────────────────────


def test_retry_after_comes_with_the_error() -> None:
    with ChatServer(reply=always(Reply(429, error_body("slow down"), {"Retry-After": "0.5"}))) as server:
        assert failure(server).retry_after == 0.5


def test_retry_after_as_a_date_comes_in_seconds() -> None:
    at = format_datetime(timezone.now() + timedelta(seconds=30), usegmt=True)
    with ChatServer(reply=always(Reply(503, error_body("busy"), {"Retry-After": at}))) as server:
        seconds = failure(server).retry_after

    assert seconds is not None
    assert 25 <= seconds <= 30


@pytest.mark.parametrize("key", [KEY, "plain-key", "ghp_0123456789012345678901234567"])
def test_the_key_never_stands_in_an_error(key: str) -> None:
    other = "sk-other-0123456789abcdef0123"

    def echo(asked: Asked) -> Reply:
        return Reply(401, error_body(f"Wrong: {asked.headers['authorization']} and {other}"))

    with ChatServer(reply=echo) as server:
        error = failure(server, api_key=key)

    assert error.message in (
        "The endpoint answered 401: Wrong: Bearer [redacted] and [redacted]",
        "The endpoint answered 401: Wrong: [redacted] and [redacted]",
    )
    assert key not in repr(target_at(server.url, api_key=key))


def test_the_key_never_stands_in_a_redirects_error() -> None:
    def echo(asked: Asked) -> Reply:
        return Reply(302, b"", {"Location": f"/login?token={asked.headers['authorization'].split()[1]}"})

    with ChatServer(reply=echo) as server:
        assert KEY not in failure(server, api_key=KEY).message


def test_cookies_are_not_kept() -> None:
    with ChatServer(reply=in_turn(Reply(body=completion("4"), headers={"Set-Cookie": "a=b"}))) as server:

        async def twice() -> None:
            async with ChatClient() as client:
                for _ in range(2):
                    await client.complete(target_at(server.url), request())

        asyncio.run(twice())

    assert ["cookie" in asked.headers for asked in server.requests] == [False, False]


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ChatServer("4") as server:
        assert ask(target_at(server.url)).text == "4"


def test_one_connection_serves_many_calls() -> None:
    with ChatServer() as server:

        async def several() -> int:
            async with ChatClient() as client:
                for n in range(5):
                    await client.complete(target_at(server.url), request(str(n)))
                return len(server.connections)

        assert asyncio.run(several()) == 1
