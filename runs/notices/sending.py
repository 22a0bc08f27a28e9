"""The one HTTP client of webhooks: a POST to an address that somebody typed, and what came of it.

Addresses pass the guard of `common.outbound` at each try: resolved once, refused unless public, and that very address is connected to.
Redirects are not followed, and of an answer only its status counts.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver
from django.conf import settings
from yarl import URL

from common.outbound import CONNECT_SECONDS, blocked_cause, guarded_connector, is_blocked_host
from common.redaction import redact

READ_BYTES = 4096
"""Of an answer's body; the rest is not read."""
READ_SECONDS = 2.0
MAX_EXCERPT = 500
_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "EvalRouter"}


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is sent, and where to. `secrets` are hidden in what is kept of the answer."""

    url: str
    headers: dict[str, str]
    body: bytes
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a try. `status` is None where nothing was answered, `error` is empty where it was accepted."""

    status: int | None
    error: str = ""
    excerpt: str = ""
    latency_ms: int = 0

    @property
    def is_accepted(self) -> bool:
        return not self.error


async def send_all(parcels: Sequence[Parcel], *, resolver: AbstractResolver | None = None) -> list[Outcome]:
    """Send them at once; an outcome for each, whatever happens. `resolver` looks names up in place of the system, and is guarded."""
    connector = guarded_connector(resolver=resolver)
    timeout = aiohttp.ClientTimeout(
        total=settings.WEBHOOK_TIMEOUT_SECONDS, sock_connect=min(CONNECT_SECONDS, settings.WEBHOOK_TIMEOUT_SECONDS)
    )
    async with aiohttp.ClientSession(
        connector=connector, headers=_HEADERS, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False, auto_decompress=False
    ) as session:
        return list(await asyncio.gather(*(_send(session, parcel) for parcel in parcels)))


async def _send(session: aiohttp.ClientSession, parcel: Parcel) -> Outcome:
    began = time.monotonic()
    status, excerpt, error = None, "", _refusal(parcel.url)
    if not error:
        try:
            async with session.post(parcel.url, data=parcel.body, headers=parcel.headers, allow_redirects=False) as response:
                status = response.status
                error = _complaint(response)
                excerpt = await _beginning(response)
                response.close()
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            if status is None:  # once there is a status, what breaks off is only the body
                error = _words(problem)
    took = round((time.monotonic() - began) * 1000)
    return Outcome(status, error, redact(excerpt, *parcel.secrets)[:MAX_EXCERPT], took)


def _refusal(address: str) -> str:
    """Why the address is not called at all; empty where it may be."""
    url = URL(address)
    if url.scheme != "https" and not settings.ALLOW_PRIVATE_ENDPOINTS:
        return "The address is not https."
    return "The address is private or local." if is_blocked_host(url.host or "") else ""


def _complaint(response: aiohttp.ClientResponse) -> str:
    if 200 <= response.status < 300:
        return ""
    if 300 <= response.status < 400:
        return f"It answered {response.status}, a redirect, which is not followed."
    return f"It answered {response.status}."


async def _beginning(response: aiohttp.ClientResponse) -> str:
    """The first bytes of the body as text, of what comes within a moment."""
    read = bytearray()
    with suppress(TimeoutError, aiohttp.ClientError, OSError):
        async with asyncio.timeout(READ_SECONDS):
            while len(read) < READ_BYTES and not response.content.at_eof():
                read += await response.content.readany()
    text = bytes(read[:READ_BYTES]).decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return " ".join(text.split())


def _words(problem: Exception) -> str:
    """What went wrong below HTTP, without texts from outside."""
    if blocked_cause(problem):
        return "Its name leads to a private or local address."
    if isinstance(problem, aiohttp.ConnectionTimeoutError):
        return "It could not be reached in time."
    if isinstance(problem, TimeoutError):
        return f"No answer within {settings.WEBHOOK_TIMEOUT_SECONDS:g} seconds."
    if isinstance(problem, aiohttp.ClientConnectorDNSError):
        return "Its name cannot be resolved."
    if isinstance(problem, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return "Its certificate is not valid."
    if isinstance(problem, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return "It closed the connection without an answer."
    if isinstance(problem, aiohttp.ClientConnectorError):
        return "It could not be reached."
    if isinstance(problem, aiohttp.ClientResponseError):
        return "It does not speak HTTP."
    return f"The connection failed ({type(problem).__name__})."
