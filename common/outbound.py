"""HTTP to addresses that users typed: no way from them to this machine or its network.

Three gates: `check_url` refuses what the text alone shows; `GuardedResolver` refuses a name if any of its answers is not public, and
hands out the checked answers, so that nothing resolves a second time; `_guarded_socket` sees the very address of each connection before
its socket exists, which covers literals, since those skip resolvers. The operator's `ALLOW_PRIVATE_ENDPOINTS` opens all three.
"""

import re
import socket
import unicodedata
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from django.conf import settings
from yarl import URL

from common.errors import Refused

MAX_URL_LENGTH = 500
CONNECT_SECONDS = 10.0

_REFUSED_NETWORKS = [
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",  # carriers' and clouds' shared space
        "192.0.0.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "198.18.0.0/15",
        "::/96",  # IPv4-compatible
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
        "fec0::/10",
    )
]
_LOCAL_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa")
_ILL_FORMED = re.compile(r"[\x00-\x20\x7f\\]")


class BlockedAddress(OSError):
    """The address, or one that the name resolves to, is not public. No socket was opened."""


def is_public(address: str) -> bool:
    """Whether an IP address in its usual spelling (a zone may follow) is one that users may name."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    if any(ip.version == network.version and ip in network for network in _REFUSED_NETWORKS):
        return False
    refused = ip.is_private or ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_reserved or ip.is_unspecified
    return ip.is_global and not refused


def literal_address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, in any spelling that resolvers take for one (`127.1`, `0x7f000001`, `[::1]`); None for names."""
    text = unicodedata.normalize("NFKC", host).replace("。", ".").removeprefix("[").removesuffix("]").rstrip(".")
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(text))
    except (OSError, UnicodeEncodeError):
        return None


def check_url(url: str) -> str:
    """The URL, stripped, where its text shows nothing wrong. Raises `Refused` with `invalid_endpoint` or `blocked_address`."""
    text = url.strip()
    if not text or len(text) > MAX_URL_LENGTH or _ILL_FORMED.search(text):
        raise Refused("invalid_endpoint", f"An address is a URL of at most {MAX_URL_LENGTH} characters without spaces.")
    try:
        parsed = URL(text)
        host = parsed.host or ""
        _ = parsed.port
    except ValueError:
        raise Refused("invalid_endpoint", "The address is not a URL.") from None
    if parsed.scheme not in ("http", "https") or not host:
        raise Refused("invalid_endpoint", "An address starts with https:// or http:// and names a host.")
    if parsed.raw_user is not None or parsed.raw_password is not None or "@" in parsed.raw_authority:
        raise Refused("invalid_endpoint", "The address must not hold credentials. Give the key in its own field.")
    if parsed.raw_fragment:
        raise Refused("invalid_endpoint", "The address must not have a fragment.")
    if is_blocked_host(host):
        raise Refused(
            "blocked_address",
            "The address is private or local. Name a public one, or have the operator set ALLOW_PRIVATE_ENDPOINTS.",
        )
    return text


def is_blocked_host(host: str) -> bool:
    """Whether the host's text alone shows that it is not public. False for all where the operator allows private addresses."""
    if settings.ALLOW_PRIVATE_ENDPOINTS:
        return False
    literal = literal_address(host)
    if literal is not None:
        return not is_public(str(literal))
    name = host.rstrip(".").lower()
    return any(name == local or name.endswith(f".{local}") for local in _LOCAL_NAMES)


class GuardedResolver(AbstractResolver):
    """Resolves once and refuses a name if any of its answers is not public."""

    def __init__(self, inner: AbstractResolver | None = None) -> None:
        self._inner = inner or ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        """The answers. Raises `BlockedAddress`, or OSError where there is none."""
        answers = await self._inner.resolve(host, port, family)
        if not settings.ALLOW_PRIVATE_ENDPOINTS and not all(is_public(answer["host"]) for answer in answers):
            raise BlockedAddress(f"{host} does not lead to a public address")
        return answers

    async def close(self) -> None:
        await self._inner.close()


def _guarded_socket(address: tuple[int, int, int, str, tuple[str | int, ...]]) -> socket.socket:
    """A socket for an address that may be connected to; raises `BlockedAddress` before there is one."""
    family, kind, protocol, _, sockaddr = address
    if not settings.ALLOW_PRIVATE_ENDPOINTS and (family not in (socket.AF_INET, socket.AF_INET6) or not is_public(str(sockaddr[0]))):
        raise BlockedAddress(f"{sockaddr[0]} is not a public address")
    return socket.socket(family, kind, protocol)


def guarded_connector(*, limit: int = 0, resolver: AbstractResolver | None = None) -> aiohttp.TCPConnector:
    """A connector for user-named addresses. Its session must not trust the environment (proxies) and no request may follow redirects."""
    return aiohttp.TCPConnector(limit=limit, resolver=GuardedResolver(resolver), socket_factory=_guarded_socket)


def blocked_cause(error: BaseException | None) -> BlockedAddress | None:
    """The `BlockedAddress` behind an exception of the HTTP client, if there is one."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, BlockedAddress):
            return error
        error = getattr(error, "os_error", None) or error.__cause__ or error.__context__
        seen += 1
    return None
