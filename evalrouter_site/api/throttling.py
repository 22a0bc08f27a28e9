"""How often one key, person or address may ask: so many requests in each window of the rate.

Counts live in the shared cache, so that all web processes count together. A process asks it only every few requests, when it has counted
that many by itself: exact to a fiftieth of the rate for each process, and no write to the cache for every read of the API.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from workspaces.actors import Actor

PERIODS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SHARES = 50
MAX_TRACKED = 10_000


@dataclass(slots=True)
class _Count:
    window: int
    shared: int = 0
    own: int = 0


class ApiThrottle(BaseThrottle):
    """Keys and people by the rate `api`, everyone else by their address and the rate `anonymous`."""

    _counts: ClassVar[dict[str, _Count]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()
    _wait: float = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        actor = request._auth if hasattr(request, "_auth") else None
        scope = "api" if isinstance(actor, Actor) else "anonymous"
        rate = api_settings.DEFAULT_THROTTLE_RATES.get(scope)
        if not rate:
            return True
        return self.is_within(str(rate), scope, str(actor.public_id) if isinstance(actor, Actor) else self.get_ident(request))

    def is_within(self, rate: str, scope: str, name: str) -> bool:
        """Whether this request, which is counted, is one of those that the rate lets the named one make."""
        limit, period = parse_rate(rate)
        now = time.time()
        window = int(now // period)
        self._wait = (window + 1) * period - now
        return self._count(f"throttle:{scope}:{rate}:{name}", limit, period, window) <= limit

    def wait(self) -> float:
        """Seconds until the window ends, rounded up."""
        return int(self._wait) + 1

    def _count(self, subject: str, limit: int, period: int, window: int) -> int:
        """Requests of the subject in this window, this one included."""
        with self._lock:
            if len(self._counts) > MAX_TRACKED:
                self._counts.clear()
            count = self._counts.get(subject)
            if count is None or count.window != window:
                count = self._counts[subject] = _Count(window)
            count.own += 1
            if count.shared > limit:
                return count.shared
            if count.own * SHARES < limit and count.shared + count.own <= limit:
                return count.shared + count.own
            added, count.own = count.own, 0
        total = self._add(f"{subject}:{window}".replace(" ", "_"), added, period)
        with self._lock:
            count.shared = total
        return total

    @staticmethod
    def _add(key: str, added: int, period: int) -> int:
        cache.add(key, 0, timeout=period + 60)
        try:
            return cache.incr(key, added)
        except ValueError:  # it expired, or was dropped, between the two
            cache.set(key, added, timeout=period + 60)
            return added


def parse_rate(rate: str) -> tuple[int, int]:
    """Requests and seconds of a rate such as `600/min`."""
    number, _, unit = rate.partition("/")
    return int(number), PERIODS[unit.strip()[0]]
