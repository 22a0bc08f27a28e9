"""Doing things at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import IntegrityError, connections

from common.errors import Refused


def at_once(count: int, work: Callable[[int], object]) -> list[Any]:
    """Run `work(0)` to `work(count - 1)` in threads that begin together, on connections of their own; gives results or refusals' codes."""
    barrier = Barrier(count)

    def one(number: int) -> object:
        barrier.wait()
        try:
            return work(number)
        except Refused as refused:
            return refused.code
        except IntegrityError:
            return "IntegrityError"
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))
