"""User-named addresses: no way to this machine or its network, in any spelling, and no socket on the way to finding out."""

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from pytest_django import Settings

from common import outbound
from common.errors import Refused
from common.outbound import BlockedAddress, GuardedResolver, check_url, is_public, literal_address
from gateway.client import CallError, ChatClient
from gateway.enums import ErrorCode
from tests.gateway.asking import always, ask, request, target_at
from tests.standins.chat import ChatServer
from tests.standins.http import Reply

BLOCKED = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "１２７.0.0.1",
    "127。0。0。1",
    "0.0.0.0",
    "0",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "a.localhost",
    "printer.local",
    "metadata.google.internal",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "169.254.169.254",
    "2852039166",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "198.18.0.1",
    "192.0.2.1",
    "[fd00::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
]
"""Every spelling of a host that must not be reached."""


class Names(AbstractResolver):
    """Names with the answers that each look-up gets in turn, the last for ever."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): list(turns) for name, turns in answers.items()}
        self.lookups: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        self.lookups.append(host)
        turns = self.answers[host]
        addresses = turns.pop(0) if len(turns) > 1 else turns[0]
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None: ...


_opened: list[Any] = []
_watching = False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event == "socket.__new__" and arguments[1] in (socket.AF_INET, socket.AF_INET6):
        _opened.append(arguments[1:])


sys.addaudithook(_watch)


@contextmanager
def no_socket() -> Iterator[None]:
    """Fails where an internet socket is made meanwhile, connected or not."""
    global _watching
    _opened.clear()
    _watching = True
    try:
        yield
    finally:
        _watching = False
    assert _opened == []


def ask_by(resolver: AbstractResolver, url: str) -> str:
    async def once() -> str:
        async with ChatClient(resolver=resolver) as client:
            return (await client.complete(target_at(url, guarded=True), request())).text

    return asyncio.run(once())


def code_of(failing: Any) -> str:
    with pytest.raises(Refused) as caught:
        failing()
    return caught.value.code


# ── The text of an address ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", BLOCKED)
def test_blocked_host_is_refused_when_it_is_typed(host: str) -> None:
    assert code_of(lambda: check_url(f"http://{host}/v1")) == "blocked_address"
    assert code_of(lambda: check_url(f"https://{host}:8443/v1")) == "blocked_address"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "example.org/v1",
        "//example.org/v1",
        "ftp://example.org",
        "file:///etc/passwd",
        "gopher://example.org",
        "javascript:alert(1)",
        "http://",
        "https:///v1",
        "http://user:pass@example.org/v1",
        "http://user@example.org/v1",
        "http://:@example.org/v1",
        "http://example.org\\@127.0.0.1/",
        "http://exa mple.org/",
        "http://example.org/\r\nHost: a",
        "http://example.org:99999/",
        "http://example.org:port/",
        "http://[::1/",
        "http://example.org/#part",
        "http://" + "a" * 500,
    ],
)
def test_what_is_no_plain_http_address_is_refused(url: str) -> None:
    assert code_of(lambda: check_url(url)) == "invalid_endpoint"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/v1",
        "http://example.org:8080/v1",
        "https://example.org/v1?api-version=2",
        "https://8.8.8.8/v1",
        "https://[2606:4700::1111]/v1",
        "https://bücher.example.org/v1",
        "https://internal.example.org/v1",
    ],
)
def test_public_addresses_pass(url: str) -> None:
    assert check_url(f"  {url} ") == url


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "10.0.0.1"])
def test_operator_may_allow_private_addresses(host: str, settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True

    assert check_url(f"http://{host}:11434/v1") == f"http://{host}:11434/v1"
    assert code_of(lambda: check_url(f"http://user:pass@{host}/v1")) == "invalid_endpoint"


@pytest.mark.parametrize(
    ("host", "address"), [("127.1", "127.0.0.1"), ("0x7f000001", "127.0.0.1"), ("[::1]", "::1"), ("8.8.8.8.", "8.8.8.8")]
)
def test_literals_are_read_as_resolvers_read_them(host: str, address: str) -> None:
    assert str(literal_address(host)) == address


@pytest.mark.parametrize("host", ["example.org", "1.2.3.4.example.org", "0xyz", "bücher", ""])
def test_names_are_no_literals(host: str) -> None:
    assert literal_address(host) is None


@pytest.mark.parametrize(
    ("address", "public"), [("8.8.8.8", True), ("::ffff:8.8.8.8", True), ("2606:4700::1111", True), ("fe80::1%eth0", False)]
)
def test_addresses_are_told_apart(address: str, public: bool) -> None:
    assert is_public(address) == public


# ── Calling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", BLOCKED)
def test_blocked_host_is_never_called_and_no_socket_opened(host: str) -> None:
    with no_socket(), pytest.raises(CallError) as caught:
        ask(target_at(f"http://{host}:9/v1", guarded=True))

    assert caught.value.code == ErrorCode.BLOCKED_ADDRESS


def test_watch_for_sockets_sees_one_that_is_opened() -> None:
    with pytest.raises(AssertionError), no_socket(), pytest.raises(CallError):
        ask(target_at("http://127.0.0.1:9/v1"))


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1"])
def test_literal_that_nobody_checked_is_refused_at_its_socket(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.client.is_blocked_host", lambda _host: False)
    with no_socket(), pytest.raises(CallError) as caught:
        ask(target_at(f"http://{host}:9/v1", guarded=True))

    assert caught.value.code == ErrorCode.BLOCKED_ADDRESS


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["8.8.8.8", "127.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["2606:4700::1111", "fe80::1%1"],
        ["::ffff:10.0.0.1"],
        ["64:ff9b::7f00:1"],
    ],
)
def test_name_with_any_private_answer_is_refused(answers: list[str]) -> None:
    with no_socket(), pytest.raises(CallError) as caught:
        ask_by(Names(models_example_org=[answers]), "http://models.example.org:9/v1")

    assert caught.value.code == ErrorCode.BLOCKED_ADDRESS
    assert "127.0.0.1" not in caught.value.message


def test_guarded_resolver_names_what_it_refuses() -> None:
    with pytest.raises(BlockedAddress, match=r"^models\.example\.org"):
        asyncio.run(GuardedResolver(Names(models_example_org=[["10.0.0.1"]])).resolve("models.example.org", 80))


def test_name_is_resolved_once_and_the_checked_answer_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbound, "is_public", lambda address: address == "127.0.0.1")
    names = Names(models_example_org=[["127.0.0.1"], ["127.0.0.2"]])
    with ChatServer("4") as server:
        assert ask_by(names, f"http://models.example.org:{server.port}/v1") == "4"

    assert names.lookups == ["models.example.org"]
    assert server.requests[0].headers["host"] == f"models.example.org:{server.port}"


def test_name_that_turns_private_is_refused_when_it_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbound, "is_public", lambda address: address == "127.0.0.1")
    names = Names(models_example_org=[["127.0.0.1"], ["127.0.0.2"]])
    with ChatServer("4") as server:
        ask_by(names, f"http://models.example.org:{server.port}/v1")
        with pytest.raises(CallError) as caught:
            ask_by(names, f"http://models.example.org:{server.port}/v1")

    assert caught.value.code == ErrorCode.BLOCKED_ADDRESS
    assert server.stats.requests == 1


def test_redirect_to_a_private_host_is_not_followed(settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    with ChatServer(reply=always(Reply(302, b"", {"Location": "http://169.254.169.254/latest"}))) as server:
        with pytest.raises(CallError) as caught:
            ask(target_at(server.url, guarded=True))

        assert (caught.value.code, caught.value.status, server.stats.requests) == (ErrorCode.BAD_REQUEST, 302, 1)


def test_allowed_private_endpoint_is_called(settings: Settings) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    with ChatServer("4") as server:
        assert ask(target_at(server.url, guarded=True)).text == "4"
        assert ask(target_at(f"http://localhost:{server.port}/v1", guarded=True)).text == "4"


def test_managed_route_may_be_anywhere() -> None:
    with ChatServer("4") as server:
        assert ask(target_at(server.url)).text == "4"
