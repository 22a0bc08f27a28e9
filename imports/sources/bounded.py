"""The way to another service, with the bounds that HTTP clients leave open.

- Everything asked for one thing ends by one deadline (`within`), every answer has a size limit, nothing is unpacked, no cookie is kept, and
  no proxy or password of this server is taken from its environment.
- Waits are ours: a client's own retries would wait for as long as an answer tells them to.
- Where a request may go is decided for every single one, redirects and links among them.

The HTTP library is imported when it is first needed; it costs a good part of a second.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Of one answer that is not a file. A data set of 100,000 files lists its names in a good half of it."""
STEP_SECONDS = 20.0
"""The longest silence."""
TRIES = 3
LONGEST_WAIT = 5.0
_BUSY = frozenset((408, 429, 500, 502, 503, 504, 529))
_deadline: ContextVar[float] = ContextVar("deadline_of_another_service")


class Unavailable(Exception):
    """The service did not answer, or not as agreed. The words are for the log; `retry_after` is in seconds where it was named."""

    def __init__(self, words: str, *, retry_after: int | None = None) -> None:
        super().__init__(words)
        self.retry_after = retry_after


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Everything that is asked inside ends by then, or raises `Unavailable`. An outer deadline that is earlier holds."""
    ends = time.monotonic() + seconds
    known = _deadline.set(min(ends, _deadline.get(ends)))
    try:
        yield
    finally:
        _deadline.reset(known)


def seconds_left(most: float = STEP_SECONDS) -> float:
    """How long the next step may take. Raises `Unavailable` when the time is over."""
    left = _deadline.get(time.monotonic() + STEP_SECONDS) - time.monotonic()
    if left <= 0:
        raise Unavailable("out of time")
    return min(left, most)


def origin_of(url: "httpx2.URL") -> tuple[str, str, int]:
    """The scheme, the host and the port that the address leads to."""
    return url.scheme, url.host.lower().rstrip("."), url.port or {"https": 443, "http": 80}.get(url.scheme, 0)


def seconds_named(text: str | None) -> int | None:
    """The whole seconds of a header such as `Retry-After`; None where it is missing or no number."""
    return int(text) if text and text.strip().isdecimal() and len(text) < 10 else None


def _busy(response: "httpx2.Response") -> tuple[bool, int | None]:
    return response.status_code in _BUSY, seconds_named(response.headers.get("retry-after"))


def make_client(
    admit: Callable[["httpx2.Request"], None],
    busy: Callable[["httpx2.Response"], tuple[bool, int | None]] = _busy,
    *,
    max_redirects: int = 5,
) -> "httpx2.Client":
    """A client for one service. `admit` sees every request before it is sent, may take headers from it, and raises `Unavailable` where it
    leads elsewhere; `busy` says whether an answer asks for another try, and after how many seconds if it names them.

    A request with the extension `max_bytes` has that limit for an answer of success.
    """
    import httpx2

    return httpx2.Client(
        transport=_make_transport(admit, busy),
        headers={"Accept-Encoding": "identity"},
        follow_redirects=True,
        max_redirects=max_redirects,
        timeout=STEP_SECONDS,
        trust_env=False,
    )


def _make_transport(
    admit: Callable[["httpx2.Request"], None], busy: Callable[["httpx2.Response"], tuple[bool, int | None]]
) -> "httpx2.BaseTransport":
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
                        raise Unavailable(f"an answer of more than {self._limit} bytes")
                    yield chunk
            except httpx2.TransportError as error:  # as an exception that no client retries by itself
                raise Unavailable(f"the connection broke: {type(error).__name__}") from None

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
            admit(request)
            request.headers.pop("cookie", None)
            for number in range(1, TRIES + 1):
                wait = 0.25 * 2**number
                try:
                    response = super().handle_request(request)
                except httpx2.TransportError as error:
                    problem = Unavailable(f"it cannot be reached: {type(error).__name__}")
                else:
                    is_busy, told = busy(response)
                    if not is_busy:
                        return self._checked(request, response)
                    wait = wait if told is None else told
                    problem = Unavailable(f"it answered {response.status_code}", retry_after=told)
                    response.close()
                if number == TRIES or wait > LONGEST_WAIT or wait + 1 >= seconds_left(wait + 2):
                    raise problem
                time.sleep(wait)
            raise AssertionError("unreachable")

        def _checked(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                response.close()
                raise Unavailable("a packed answer that was not asked for")
            response.headers.pop("x-hf-warning", None)
            response.headers.pop("set-cookie", None)
            is_file = response.status_code in (200, 206) and "max_bytes" in request.extensions
            response.stream = Limited(response.stream, request.extensions["max_bytes"] if is_file else MAX_ANSWER_BYTES)
            return response

    return Transport()
