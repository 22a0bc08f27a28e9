"""Serve the product on one machine: the web server and the worker with its beat, in processes that are kept running."""

import fcntl
import os
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from common.processes import end_with_parent
from evalrouter_site.env import env_int, env_str
from evalrouter_site.supervisor import Service, Supervisor

PORT_PATIENCE_SECONDS = 3.0
"""How long a port may still belong to a server that is just ending."""


class Command(BaseCommand):
    help = "Serve the product: web, worker and beat. Ends on SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=env_str("HOST", "127.0.0.1"), help="address to listen on (HOST; default 127.0.0.1)")
        parser.add_argument("--port", type=int, default=settings.PORT, help="port to listen on (PORT; default 8000)")
        parser.add_argument("--web-workers", type=int, default=env_int("WEB_WORKERS", 2), help="web processes (WEB_WORKERS; default 2)")
        parser.add_argument("--web-threads", type=int, default=env_int("WEB_THREADS", 16), help="threads of each (WEB_THREADS; default 16)")
        parser.add_argument(
            "--worker-processes",
            type=int,
            default=env_int("WORKER_PROCESSES", 3),
            help="processes of the worker (WORKER_PROCESSES; default 3)",
        )
        parser.add_argument("--log-file", type=Path, help="write what the processes say to this file")
        parser.add_argument("--end-with-parent", action="store_true", help="end when the process that started this one is gone")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["end_with_parent"]:
            end_with_parent(os.getppid(), signal.SIGTERM)
        Path(settings.STATIC_ROOT).mkdir(exist_ok=True)
        lock = claim_data_dir(settings.DATA_DIR)
        wait_for_port(options["host"], options["port"])
        output = options["log_file"].open("ab") if options["log_file"] else None
        announce = Announcement(options["host"], options["port"], self.stdout)
        try:
            code = Supervisor(
                [web(options), worker(options)],
                environment={**os.environ, "PORT": str(options["port"])},
                output=output,
                on_tick=announce,
            ).run()
        finally:
            lock.close()
            if output:
                output.close()
        sys.exit(code)


def web(options: dict[str, Any]) -> Service:
    command = [sys.executable, "-m", "granian", "evalrouter_site.wsgi:application", "--interface", "wsgi", "--no-ws"]
    command += ["--host", options["host"], "--port", str(options["port"]), "--workers", str(options["web_workers"])]
    command += ["--blocking-threads", str(options["web_threads"]), "--respawn-failed-workers", "--workers-kill-timeout", "5"]
    command += ["--log-level", "error"]
    return Service("web", command, stop_seconds=10)


def worker(options: dict[str, Any]) -> Service:
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "evalrouter_site", "worker", "-B", "-c", str(options["worker_processes"])]
    command += ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
    return Service("worker", command, stop_seconds=20)


def claim_data_dir(data_dir: Path) -> IO[str]:
    """Hold the folder's lock for as long as this process lives: two servers on one folder would work one queue and one database."""
    lock = (data_dir / "serve.lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        pid = lock.read().strip()
        lock.close()
        raise CommandError(
            f"{data_dir} is already being served by process {pid}. Stop that one first, or set DATA_DIR to another folder."
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def wait_for_port(host: str, port: int) -> None:
    """Return when the port can be listened on; after a moment's patience raise CommandError with what to do."""
    deadline = time.monotonic() + PORT_PATIENCE_SECONDS
    while True:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
                return
        except OSError as error:
            if time.monotonic() > deadline:
                raise CommandError(
                    f"Cannot listen on {host}:{port} ({error.strerror or error}). Set PORT to a free one, such as PORT={port + 1}."
                ) from None
            time.sleep(0.2)


class Announcement:
    """Says where the product is, once, as soon as it answers."""

    def __init__(self, host: str, port: int, stdout: Any) -> None:
        self.address = ("127.0.0.1" if host in {"0.0.0.0", "::", ""} else host, port)  # noqa: S104
        self.stdout = stdout
        self.is_done = False

    def __call__(self) -> None:
        if self.is_done:
            return
        try:
            socket.create_connection(self.address, timeout=0.1).close()
        except OSError:
            return
        self.is_done = True
        self.stdout.write(f"EvalRouter is at {settings.SITE_URL}/ (Ctrl-C ends it)")
        self.stdout.flush()
