"""The way to the Hub: its own client, on a transport that sets the bounds which the client leaves open.

- Only the Hub's own address is told a token, and only the hosts that the operator names are asked at all, whatever a redirect or a link of
  the Hub says. No token, proxy or password of this server is ever taken from its environment or its home folder.
- Everything asked for one thing ends by one deadline (`within`), every answer has a size limit, nothing is unpacked, and no cookie is kept.
- Waits are ours: the client's own retries would wait for as long as an answer tells them to.

The client is imported when it is first needed; it costs a good part of a second.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.conf import settings

if TYPE_CHECKING:
    import httpx2
    from huggingface_hub import HfApi

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Of one answer of the Hub's API. A data set of 100,000 files lists its names in a third of it."""
STEP_SECONDS = 20.0
"""The longest silence."""
TRIES = 3
LONGEST_WAIT = 5.0
_BUSY = frozenset((408, 429, 500, 502, 503, 504, 529))
_deadline: ContextVar[float] = ContextVar("hub_deadline")


class HubUnavailable(Exception):
    """The Hub did not answer, or not as agreed. The words are for the log; `retry_after` is in seconds where the Hub named it."""

    def __init__(self, words: str, *, retry_after: int | None = None) -> None:
        super().__init__(words)
        self.retry_after = retry_after


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Everything that is asked of the Hub inside ends by then, or raises `HubUnavailable`. An outer deadline that is earlier holds."""
    ends = time.monotonic() + seconds
    known = _deadline.set(min(ends, _deadline.get(ends)))
    try:
        yield
    finally:
        _deadline.reset(known)


def seconds_left(most: float = STEP_SECONDS) -> float:
    """How long the next step may take. Raises `HubUnavailable` when the time is over."""
    left = _deadline.get(time.monotonic() + STEP_SECONDS) - time.monotonic()
    if left <= 0:
        raise HubUnavailable("out of time")
    return min(left, most)


def hub_api(token: str = "") -> "HfApi":
    """The Hub's client. Without a token it asks as nobody, whatever lies on this machine."""
    _prepare()
    from huggingface_hub import HfApi

    return HfApi(endpoint=settings.HF_ENDPOINT, token=token or False, library_name="evalrouter")


def headers(token: str = "") -> dict[str, str]:
    """The headers of a request of our own, beside those that the client makes."""
    _prepare()
    from huggingface_hub.utils import build_hf_headers

    return dict(build_hf_headers(token=token or False, library_name="evalrouter"))


def session() -> "httpx2.Client":
    """The HTTP client that the Hub's client uses too; one a process."""
    _prepare()
    from huggingface_hub import get_session

    return get_session()


_preparing = threading.Lock()


def _prepare() -> None:
    with _preparing:
        _prepared()


@lru_cache(maxsize=1)
def _prepared() -> None:
    """Import the client, once a process, and take from it what it would do on its own."""
    for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_IMPLICIT_TOKEN", "HF_HUB_DISABLE_XET", "HF_HUB_DISABLE_PROGRESS_BARS"):
        os.environ[name] = "1"
    os.environ.pop("HF_DEBUG", None)  # it would log requests
    from huggingface_hub import set_client_factory

    for name in ("huggingface_hub", "httpx2", "httpcore2"):  # addresses of a CDN are signed, and warnings are the other end's words
        logging.getLogger(name).setLevel(logging.CRITICAL)
    set_client_factory(_make_client)


def _make_client() -> "httpx2.Client":
    import httpx2

    return httpx2.Client(
        transport=_make_transport(),
        headers={"Accept-Encoding": "identity"},
        follow_redirects=True,
        max_redirects=5,
        timeout=STEP_SECONDS,
        trust_env=False,
    )


def _origin(url: "httpx2.URL") -> tuple[str, str, int]:
    return url.scheme, url.host.lower().rstrip("."), url.port or {"https": 443, "http": 80}.get(url.scheme, 0)


def is_hub(url: "httpx2.URL") -> bool:
    """Whether the address is of the Hub itself, which alone may be told a token."""
    import httpx2

    return _origin(url) == _origin(httpx2.URL(settings.HF_ENDPOINT))


def is_expected(url: "httpx2.URL") -> bool:
    """Whether the address is of the Hub, or of a host that the operator names for its files: encrypted where the Hub is."""
    if is_hub(url):
        return True
    scheme, host, port = _origin(url)
    if url.userinfo or (scheme != "https" and settings.HF_ENDPOINT.startswith("https:")) or scheme not in ("https", "http"):
        return False
    for entry in settings.HF_FILE_HOSTS:
        name, _, stated = entry.lower().partition(":")
        wanted = int(stated) if stated.isdigit() else 443
        if port == wanted and (host == name or host.endswith(f".{name}")):
            return True
    return False


def _make_transport() -> "httpx2.BaseTransport":
    import httpcore2
    import httpx2

    class Stream(httpcore2.NetworkStream):
        """A connection whose every step is bounded by the deadline, so that an answer cannot be dripped beyond it."""

        def __init__(self, inner: httpcore2.NetworkStream) -> None:
            self._inner = inner

        def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
            return self._inner.read(max_bytes, seconds_left())

        def write(self, buffer: bytes, timeout: float | None = None) -> None:
            self._inner.write(buffer, seconds_left())

        def close(self) -> None:
            self._inner.close()

        def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> httpcore2.NetworkStream:
            return Stream(self._inner.start_tls(ssl_context, server_hostname, seconds_left()))

        def get_extra_info(self, info: str) -> Any:
            return self._inner.get_extra_info(info)

    class Backend(httpcore2.SyncBackend):
        def connect_tcp(self, host: str, port: int, timeout: float | None = None, *args: Any, **options: Any) -> httpcore2.NetworkStream:
            return Stream(super().connect_tcp(host, port, seconds_left(), *args, **options))

    class Limited(httpx2.SyncByteStream):
        """An answer's body up to its limit."""

        def __init__(self, inner: Any, limit: int) -> None:
            self._inner, self._limit = inner, limit

        def __iter__(self) -> Iterator[bytes]:
            taken = 0
            try:
                for chunk in self._inner:
                    taken += len(chunk)
                    if taken > self._limit:
                        raise HubUnavailable(f"an answer of more than {self._limit} bytes")
                    yield chunk
            except httpx2.TransportError as error:  # as an exception that the client does not retry by itself
                raise HubUnavailable(f"the connection broke: {type(error).__name__}") from None

        def close(self) -> None:
            self._inner.close()

    class Transport(httpx2.HTTPTransport):
        def __init__(self) -> None:
            super().__init__(trust_env=False)
            self._pool = httpcore2.ConnectionPool(
                ssl_context=httpx2.create_ssl_context(),  # of the environment, only where certificates lie
                max_connections=64,
                max_keepalive_connections=8,
                keepalive_expiry=30,
                network_backend=Backend(),
            )

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            if not is_expected(request.url):
                raise HubUnavailable(f"the Hub named an unexpected host: {request.url.scheme}://{request.url.host}")
            if not is_hub(request.url):
                request.headers.pop("authorization", None)
            request.headers.pop("cookie", None)
            for number in range(1, TRIES + 1):
                wait = 0.25 * 2**number
                try:
                    response = super().handle_request(request)
                except httpx2.TransportError as error:
                    problem = HubUnavailable(f"the Hub cannot be reached: {type(error).__name__}")
                else:
                    if response.status_code not in _BUSY:
                        return self._checked(request, response)
                    told = _retry_after(response.headers.get("retry-after"))
                    wait = wait if told is None else told
                    problem = HubUnavailable(f"the Hub answered {response.status_code}", retry_after=told)
                    response.close()
                if number == TRIES or wait > LONGEST_WAIT or wait + 1 >= seconds_left(wait + 2):
                    raise problem
                time.sleep(wait)
            raise AssertionError("unreachable")

        def _checked(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                response.close()
                raise HubUnavailable("a packed answer that was not asked for")
            response.headers.pop("x-hf-warning", None)
            response.headers.pop("set-cookie", None)
            is_file = response.status_code in (200, 206) and "max_bytes" in request.extensions
            response.stream = Limited(response.stream, request.extensions["max_bytes"] if is_file else MAX_ANSWER_BYTES)
            return response

    return Transport()


def _retry_after(text: str | None) -> int | None:
    """Whole seconds; None where the header is missing or no number."""
    return int(text) if text and text.strip().isdecimal() and len(text) < 10 else None
