"""The beat: what is sent at intervals. Its schedule is in memory, and a worker does not outlive its beat."""

import os
import signal
import threading
from typing import Any

import structlog
from celery import bootsteps
from celery.beat import Scheduler

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0
LAST_SECONDS = 8.0
"""What a worker without a beat has for giving back its leases: whatever killed the beat may have left it unable to end by itself."""


class MemoryScheduler(Scheduler):
    """Every entry is due when the beat starts, and then at its interval; each may be run more often than it must.

    Celery's own scheduler keeps its times in a file. A beat that is killed can leave that file locked, the next one dies of it, and without
    a beat nothing is swept.
    """

    def setup_schedule(self) -> None:
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at -= entry.schedule.run_every


class WatchBeat(bootsteps.StartStopStep):
    """Ends a worker whose embedded beat has died, so that whoever keeps the worker running starts both again."""

    requires = ("celery.worker.components:Timer", "celery.worker.components:Beat")

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self._looking: Any = None

    def start(self, worker: Any) -> None:
        if worker.beat is not None:
            self._looking = worker.timer.call_repeatedly(LOOK_SECONDS, self._look, (worker,))

    def stop(self, worker: Any) -> None:
        """Steps stop in the reverse order of their start: the beat still runs now, and ends when it is asked to."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def _look(self, worker: Any) -> None:
        if self._looking is not None and worker.beat.exitcode is not None:
            log.error("worker.beat_died", exit_code=worker.beat.exitcode)
            self.stop(worker)
            last = threading.Timer(LAST_SECONDS, os._exit, [1])
            last.daemon = True
            last.start()
            os.kill(os.getpid(), signal.SIGTERM)
