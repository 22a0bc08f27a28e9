"""A worker does not outlive what it needs of its children."""

import os
import signal
import threading
from typing import Any

import structlog
from celery import bootsteps

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0
LAST_SECONDS = 8.0
"""What such a worker has for giving back its leases: what killed its child may have left it unable to end by itself."""


class WatchChildren(bootsteps.StartStopStep):
    """Ends a worker whose children died in a way that it does not recover from, so that whoever keeps it running starts it whole again.

    Nothing starts an embedded beat again. And where the broker has no event loop, as the queue of files, the children of the pool read from
    one pipe under one lock: a child that is killed while it waits there takes the lock with it, and none of them ever gets a task again.
    """

    requires = ("celery.worker.components:Timer", "celery.worker.components:Pool", "celery.worker.components:Beat")

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self._looking: Any = None
        self._pool: set[int] = set()

    def start(self, worker: Any) -> None:
        self._pool = set() if worker.use_eventloop else _pool_of(worker)
        self._looking = worker.timer.call_repeatedly(LOOK_SECONDS, self._look, (worker,))

    def stop(self, worker: Any) -> None:
        """Steps stop in the reverse order of their start: the children still run now, and end when they are asked to."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def _look(self, worker: Any) -> None:
        has_beat_died = worker.beat is not None and worker.beat.exitcode is not None
        if self._looking is None or not (has_beat_died or self._pool - _pool_of(worker)):
            return
        log.error("worker.child_died", child="beat" if has_beat_died else "pool")
        self.stop(worker)
        last = threading.Timer(LAST_SECONDS, os._exit, [1])
        last.daemon = True
        last.start()
        os.kill(os.getpid(), signal.SIGTERM)


def _pool_of(worker: Any) -> set[int]:
    return set(worker.pool.info.get("processes", ()))
