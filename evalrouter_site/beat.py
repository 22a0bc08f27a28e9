"""The beat's schedule: what is sent at intervals, kept in memory."""

from celery.beat import Scheduler


class MemoryScheduler(Scheduler):
    """Every entry is due when the beat starts, and then at its interval; each may be run more often than it must.

    Celery's own scheduler keeps its times in a file. A beat that is killed can leave that file locked, the next one dies of it, and without
    a beat nothing is swept.
    """

    def setup_schedule(self) -> None:
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at -= entry.schedule.run_every
