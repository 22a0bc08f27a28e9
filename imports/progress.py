"""Telling whoever waits how far the rows are."""

import time
from collections.abc import Callable

type Progress = Callable[[int, int | None], None]
"""Called with the rows that are done and, where it is known, how many there are."""

PAUSE_SECONDS = 0.4
_EVERY = 64


def paced(progress: Progress | None, total: int | None) -> Callable[[int], None]:
    """A function to call with each row's number, which passes on no more than a few of them a second."""
    last = time.monotonic()

    def tell(done: int) -> None:
        nonlocal last
        if progress is None or done % _EVERY:
            return
        now = time.monotonic()
        if now - last >= PAUSE_SECONDS:
            last = now
            progress(done, total)

    return tell
