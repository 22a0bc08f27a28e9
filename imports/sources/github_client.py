"""The way to GitHub: its REST API, and the one address of its site where a person's code is exchanged.

Nothing else is asked, whatever a redirect says, so that a token is told to GitHub's own addresses alone (`sources.bounded`).
"""

import atexit
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings

from common.errors import Refused
from common.redaction import redact
from imports.sources.bounded import Unavailable, make_client, origin_of, seconds_left, seconds_named

if TYPE_CHECKING:
    import httpx2

log = structlog.get_logger(__name__)

VERSION = "2022-11-28"
JSON = "application/vnd.github+json"
RAW = "application/vnd.github.raw+json"
SHA = "application/vnd.github.sha"
EXCHANGE = "/login/oauth/access_token"
_BUSY = frozenset((408, 429, 500, 502, 503, 504))


def ask(
    method: str, path: str, *, token: str = "", accept: str = JSON, params: Mapping[str, str] | None = None, body: Any = None
) -> "httpx2.Response":
    """GitHub's answer, whatever its status. Inside `refusals`."""
    seconds_left()
    return _client().request(method, settings.GITHUB_API_URL + path, params=params, json=body, headers=headers(token, accept))


def exchange(form: Mapping[str, str]) -> "httpx2.Response":
    """The answer of GitHub's site to a person's code. Inside `refusals`."""
    return _client().post(settings.GITHUB_URL + EXCHANGE, data=dict(form), headers={**headers(), "Accept": "application/json"})


def forget(path: str, client: tuple[str, str], body: Any) -> "httpx2.Response":
    """Ask GitHub, as the App itself, to end a token. Inside `refusals`."""
    return _client().request("DELETE", settings.GITHUB_API_URL + path, json=body, headers=headers(), auth=client)


@contextmanager
def stream(path: str, token: str, *, limit: int) -> Iterator["httpx2.Response"]:
    """A file's content as it comes, of at most so many bytes. Inside `refusals`."""
    url = settings.GITHUB_API_URL + path
    with _client().stream("GET", url, headers=headers(token, RAW), extensions={"max_bytes": limit}) as response:
        yield response


def headers(token: str = "", accept: str = JSON) -> dict[str, str]:
    """The headers of a request; without a token it asks as nobody."""
    sent = {"Accept": accept, "User-Agent": "evalrouter", "X-GitHub-Api-Version": VERSION}
    return sent | ({"Authorization": f"Bearer {token}"} if token else {})


@contextmanager
def refusals() -> Iterator[None]:
    """Whatever the client raises inside, as a refusal `github_unavailable` (502) that holds nothing of the request."""
    import httpx2

    try:
        yield
    except Refused:
        raise
    except Unavailable as error:
        log.warning("github.unavailable", reason=redact(str(error)), retry_after=error.retry_after)
        refusal = unavailable(error.retry_after)
    except (
        *(httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, KeyError, IndexError, TypeError, ValueError, AttributeError),
        RecursionError,
    ) as error:
        log.warning("github.misunderstood", error=type(error).__name__)
        refusal = unavailable()
    else:
        return
    raise refusal from None  # the client's exceptions carry the request, and with it the token


def unavailable(retry_after: int | None = None) -> Refused:
    """The refusal for a GitHub that is away or asks for patience, with the words on when to try again."""
    if not retry_after:
        words, details = "GitHub could not be reached, or did not answer as agreed. Try again in a minute.", {}
    else:
        when = f"{retry_after} seconds" if retry_after <= 120 else f"{-(-retry_after // 60)} minutes"
        words, details = f"GitHub takes no more requests for now. Try again in {when}.", {"retry_after": retry_after}
    return Refused("github_unavailable", words, status=502, details=details)


def check(
    response: "httpx2.Response", missing: Callable[[], Refused], *, gone: tuple[int, ...] = (403, 404, 410, 451)
) -> "httpx2.Response":
    """The response of success. Raises `missing()` where GitHub shows nothing, and `Unavailable` for any other answer."""
    if response.status_code in gone:
        raise missing()
    if response.status_code not in (200, 201):
        raise Unavailable(f"it answered {response.status_code}")
    return response


def _busy(response: "httpx2.Response") -> tuple[bool, int | None]:
    """GitHub says that there were too many requests with 429, and with a 403 that names a wait or that nothing remains."""
    told = seconds_named(response.headers.get("retry-after"))
    is_spent = response.headers.get("x-ratelimit-remaining", "").strip() == "0"
    reset = response.headers.get("x-ratelimit-reset", "").strip()
    if told is None and is_spent and reset.isdecimal() and len(reset) < 12:
        told = max(1, min(int(reset) - int(time.time()), 24 * 3600))
    if response.status_code == 403:
        return told is not None or is_spent, told
    return response.status_code in _BUSY, told


def _admit(request: "httpx2.Request") -> None:
    import httpx2

    origin = origin_of(request.url)
    is_api = origin == origin_of(httpx2.URL(settings.GITHUB_API_URL))
    is_exchange = origin == origin_of(httpx2.URL(settings.GITHUB_URL)) and request.url.path == EXCHANGE and request.method == "POST"
    if not is_api and not is_exchange:
        request.headers.pop("authorization", None)
        raise Unavailable(f"GitHub named an unexpected host: {request.url.scheme}://{request.url.host}")


_making = threading.Lock()


def _client() -> "httpx2.Client":
    with _making:
        return _made()


@lru_cache(maxsize=1)
def _made() -> "httpx2.Client":
    for name in ("httpx2", "httpcore2"):  # at their most talkative they write headers
        logging.getLogger(name).setLevel(logging.CRITICAL)
    client = make_client(_admit, _busy, max_redirects=2)
    atexit.register(client.close)
    return client
