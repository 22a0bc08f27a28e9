"""One subject in one worker process: how many tries may be in flight now, and when the next may go out.

The limiter works inside the slots that the leases grant. It narrows when a share of the tries is refused for their rate, and a single
refusal
only makes its own call wait; when refusals dominate, the whole subject waits until `retry_at`, which is also written for other processes.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from gateway.client import CallError
from gateway.enums import RETRYABLE, ErrorCode

WINDOW = 32
"""The last tries that shares are taken of."""
NARROW_SHARE = 0.25
PAUSE_SHARE = 0.5
NARROW_BY = 0.7
NARROW_PAUSE = 1.0
"""Seconds between two narrowings: what is in flight when the first refusal comes says nothing new."""
PROBE_AFTER = 20
"""Retryable failures in a row after which single probes go out."""
PROBE_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
MAX_PAUSE = 60.0


class Lane:
    """A subject's limiter. All times are `time.monotonic()` seconds."""

    def __init__(self, slots: int, *, on_room: Callable[[], None], waiting: bool = False) -> None:
        """`waiting`: the subject waits for its provider already, as another lease found; this lane begins with single probes."""
        self.opened_at = time.monotonic()
        self.slots = slots
        self.limit = float(slots)
        self.in_flight = 0
        self.closing = False
        self.retry_at = 0.0
        self.retry_at_changed = False
        self.failures_in_a_row = PROBE_AFTER if waiting else 0
        self.waiting_since: float | None = time.monotonic() if waiting else None
        self.answers = 0
        """How often the provider answered."""
        self.recoveries = 0
        """How often it answered again after the subject had been waiting for it."""
        self._queue: deque[asyncio.Future[None]] = deque()
        self._recent: deque[bool] = deque(maxlen=WINDOW)
        self._narrowed_at = 0.0
        self._probing = asyncio.Lock()
        self._on_room = on_room

    @property
    def probing(self) -> bool:
        return self.waiting_since is not None

    @property
    def capacity(self) -> int:
        return min(self.slots, 1 if self.probing else max(1, int(self.limit)))

    def room(self) -> int:
        """How many more attempts may be started now: slots free for a first try, none while the subject waits."""
        if self.closing or self.probing or self.retry_at > time.monotonic():
            return 0
        return max(0, self.capacity - self.in_flight - len(self._queue))

    def resize(self, slots: int) -> None:
        """Take the slots that the leases now add up to."""
        if slots == self.slots:
            return
        was_wide_open = self.limit >= self.slots
        self.slots = slots
        self.limit = float(slots) if was_wide_open else min(self.limit, float(slots))
        self._wake()

    async def acquire(self) -> None:
        """Wait for a slot; first come, first served."""
        if self.in_flight < self.capacity and not self._queue:
            self.in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            else:
                # `_wake` may have passed over the cancelled turn already.
                with suppress(ValueError):
                    self._queue.remove(turn)
            raise

    def release(self) -> None:
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        while self._queue and self.in_flight < self.capacity:
            turn = self._queue.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)
        self._on_room()

    async def ready(self) -> None:
        """Wait while the subject must pause. While it probes, one caller at a time passes, after the probe's own pause."""
        while not self.closing:
            pause = self.retry_at - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            if not self.probing:
                return
            async with self._probing:
                if not self.probing:
                    return
                step = min(self.failures_in_a_row - PROBE_AFTER, len(PROBE_PAUSES) - 1)
                await asyncio.sleep(PROBE_PAUSES[max(0, step)])
            if self.retry_at <= time.monotonic():
                return

    def succeeded(self) -> None:
        self._recent.append(False)
        self._end_wait()
        if self.limit < self.slots:
            self.limit = min(float(self.slots), self.limit + 1 / max(1.0, self.limit))

    def failed(self, error: CallError, *, is_own: bool = False) -> bool:
        """Note a failed try. True: the subject probes, and the try does not count against its call.

        `is_own`: the provider has answered others since this cell first failed. Then the failure is the cell's own, and says nothing about
        whether the provider is there: a few prompts that it cannot answer must not make the subject wait once they are all that is left.
        """
        if error.code not in RETRYABLE:
            self._end_wait()  # a refusal is an answer too: the provider is there
            return False
        limited = error.code == ErrorCode.RATE_LIMITED
        self._recent.append(limited)
        if self.probing or not is_own:
            self.failures_in_a_row += 1
        now = time.monotonic()
        if limited:
            self._slow_down(now, error.retry_after)
        if self.failures_in_a_row >= PROBE_AFTER and self.waiting_since is None:
            self.waiting_since = now
        return self.probing

    def _end_wait(self) -> None:
        self.failures_in_a_row = 0
        self.answers += 1
        if self.waiting_since is not None:
            self.waiting_since = None
            self.recoveries += 1
            self._wake()

    def _slow_down(self, now: float, retry_after: float | None) -> None:
        if len(self._recent) < WINDOW // 2:
            return
        share = sum(self._recent) / len(self._recent)
        if share >= NARROW_SHARE and now - self._narrowed_at >= NARROW_PAUSE:
            self.limit = max(1.0, self.limit * NARROW_BY)
            self._narrowed_at = now
        if share >= PAUSE_SHARE:
            until = now + min(retry_after if retry_after is not None else 1.0, MAX_PAUSE)
            if until > self.retry_at:
                self.retry_at = until
                self.retry_at_changed = True

    def close(self) -> None:
        """No new tries from now on."""
        self.closing = True


class CellLane:
    """A lane as one cell's call sees it: it notes whether a try of this cell is on its way, and when it first failed."""

    __slots__ = ("_first_failed", "_lane", "is_sending")

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self.is_sending = False
        self._first_failed: tuple[int, int] | None = None
        """The lane's recoveries and answers at that moment."""

    @property
    def closing(self) -> bool:
        return self._lane.closing

    def slot(self) -> "CellLane":
        return self

    async def __aenter__(self) -> None:
        await self._lane.acquire()
        self.is_sending = True

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # A try that was cut off may have reached the provider: it stays marked as sent.
        self.is_sending = kind is not None and issubclass(kind, asyncio.CancelledError)
        self._lane.release()

    async def ready(self) -> None:
        await self._lane.ready()

    def close(self) -> None:
        self._lane.close()

    def succeeded(self) -> None:
        self._lane.succeeded()

    def failed(self, error: CallError) -> bool:
        lane = self._lane
        if self._first_failed is None or self._first_failed[0] != lane.recoveries:
            self._first_failed = lane.recoveries, lane.answers
        return lane.failed(error, is_own=lane.answers > self._first_failed[1])
