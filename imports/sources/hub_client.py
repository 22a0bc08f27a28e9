"""The way to the Hub: its own client, on a transport that sets the bounds which the client leaves open (`sources.bounded`).

Only the Hub's own address is told a token, and only the hosts that the operator names are asked at all, whatever a redirect or a link of
the Hub says. No token, proxy or password of this server is ever taken from its environment or its home folder.

The client is imported when it is first needed; it costs a good part of a second.
"""

import logging
import os
import threading
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

from imports.sources.bounded import Unavailable as HubUnavailable
from imports.sources.bounded import make_client, origin_of, seconds_left, within

if TYPE_CHECKING:
    import httpx2
    from huggingface_hub import HfApi

__all__ = ["HubUnavailable", "headers", "hub_api", "is_expected", "is_hub", "seconds_left", "session", "within"]


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
    set_client_factory(lambda: make_client(_admit))


def _admit(request: "httpx2.Request") -> None:
    if not is_expected(request.url):
        raise HubUnavailable(f"the Hub named an unexpected host: {request.url.scheme}://{request.url.host}")
    if not is_hub(request.url):
        request.headers.pop("authorization", None)


def is_hub(url: "httpx2.URL") -> bool:
    """Whether the address is of the Hub itself, which alone may be told a token."""
    import httpx2

    return origin_of(url) == origin_of(httpx2.URL(settings.HF_ENDPOINT))


def is_expected(url: "httpx2.URL") -> bool:
    """Whether the address is of the Hub, or of a host that the operator names for its files: encrypted where the Hub is."""
    if is_hub(url):
        return True
    scheme, host, port = origin_of(url)
    if url.userinfo or (scheme != "https" and settings.HF_ENDPOINT.startswith("https:")) or scheme not in ("https", "http"):
        return False
    for entry in settings.HF_FILE_HOSTS:
        name, _, stated = entry.lower().partition(":")
        wanted = int(stated) if stated.isdigit() else 443
        if port == wanted and (host == name or host.endswith(f".{name}")):
            return True
    return False
