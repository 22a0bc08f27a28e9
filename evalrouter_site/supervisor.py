"""Keeps a few processes running side by side: starts them, starts again whichever dies, ends them together.

Each service is the leader of its own process group. When it dies, however it dies, the rest of its group is killed before it is
started again, so a killed worker's children never work beside the new one's.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

import structlog

from common.processes import adopt_orphans, end_with_parent

log = structlog.get_logger(__name__)

STEADY_SECONDS = 10.0
"""A service that ran this long is started again at once; one that keeps dying sooner waits a little longer each time."""
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 10.0


@dataclass(slots=True)
class Service:
    """A process to keep running. `stop_seconds` is how long it may take to end when asked."""

    name: str
    command: Sequence[str]
    stop_seconds: float = 20.0
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    started_at: float = field(default=0.0, init=False)
    start_at: float = field(default=0.0, init=False)
    pause: float = field(default=0.0, init=False)
    starts: int = field(default=0, init=False)


class Supervisor:
    """Runs services until SIGTERM or SIGINT. `on_tick` is called a few times a second while all is well."""

    def __init__(
        self,
        services: Sequence[Service],
        *,
        environment: Mapping[str, str] | None = None,
        output: IO[bytes] | None = None,
        on_tick: Callable[[], None] | None = None,
    ) -> None:
        self.services = list(services)
        self.environment = dict(os.environ if environment is None else environment)
        self.output = output
        self.on_tick = on_tick
        self.stops_asked = 0

    def run(self) -> int:
        """Run until asked to stop; 0 when every service ended by itself, 1 when one had to be killed."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)}
        wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        adopt_orphans()
        try:
            while not self.stops_asked:
                self._start_due()
                if self.on_tick:
                    self.on_tick()
                self._wait(reader, 0.2)
                self._reap()
            return self._stop(reader)
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reader)
            os.close(writer)

    def _on_signal(self, number: int, _frame: object) -> None:
        if number != signal.SIGCHLD:
            self.stops_asked += 1

    def _wait(self, reader: int, seconds: float) -> None:
        """Sleep until a signal comes or the time is over."""
        with contextlib.suppress(InterruptedError):
            if select.select([reader], [], [], seconds)[0]:
                os.read(reader, 4096)

    def _start_due(self) -> None:
        now = time.monotonic()
        for service in self.services:
            if service.process is None and service.start_at <= now:
                parent = os.getpid()
                service.process = subprocess.Popen(  # noqa: S603
                    service.command,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=self.output,
                    stderr=self.output,
                    start_new_session=True,
                    preexec_fn=lambda parent=parent: end_with_parent(parent),
                )
                service.started_at = now
                service.starts += 1
                log.info("serve.started", service=service.name, pid=service.process.pid)

    def _reap(self) -> None:
        """Collect every process that ended, our services and what they left behind."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for service in self.services:
                if service.process is not None and service.process.pid == pid:
                    self._ended(service, os.waitstatus_to_exitcode(status))

    def _ended(self, service: Service, code: int) -> None:
        process = service.process
        if process is None:
            return
        process.returncode = code
        service.process = None
        _kill_group(process.pid)
        if self.stops_asked:
            return
        now = time.monotonic()
        steady = now - service.started_at >= STEADY_SECONDS
        service.pause = 0.0 if steady else min(LONGEST_PAUSE_SECONDS, max(FIRST_PAUSE_SECONDS, service.pause * 2))
        service.start_at = now + service.pause
        log.warning("serve.died", service=service.name, exit_code=code, restart_in_seconds=service.pause)

    def _stop(self, reader: int) -> int:
        """Ask each service to end, wait, kill what is left; a second signal does not wait."""
        asked = self.stops_asked
        started = time.monotonic()
        killed = 0
        for service in self.services:
            if service.process is not None:
                log.info("serve.stopping", service=service.name)
                with contextlib.suppress(ProcessLookupError):
                    service.process.send_signal(signal.SIGTERM)
        while any(service.process is not None for service in self.services):
            for service in self.services:
                late = time.monotonic() - started > service.stop_seconds or self.stops_asked > asked
                if service.process is not None and late:
                    log.warning("serve.killed", service=service.name)
                    _kill_group(service.process.pid)
                    killed += 1
                    os.waitpid(service.process.pid, 0)
                    self._ended(service, -signal.SIGKILL)
            self._wait(reader, 0.1)
            self._reap()
        return 1 if killed else 0


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
