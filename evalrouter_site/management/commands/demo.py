"""Serve the product and let it make a first comparison, shown in the terminal."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from common.processes import end_with_parent
from evalrouter_site.demo.account import kept_state, make_state
from evalrouter_site.demo.client import Api, ApiError
from evalrouter_site.demo.flow import DemoFlow
from evalrouter_site.demo.models import FoundModel, find_model
from evalrouter_site.management.commands.serve import wait_for_port

START_PATIENCE_SECONDS = 90


class Command(BaseCommand):
    help = "Serve the product, make an account and a first comparison, and go on serving until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--end-with-parent", action="store_true", help="end when the process that started this one is gone")
        parser.add_argument("--once", action="store_true", help="end when the comparison has been shown")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["end_with_parent"]:
            end_with_parent(os.getppid(), signal.SIGTERM)
        local = f"http://127.0.0.1:{settings.PORT}"
        wait_for_port("127.0.0.1", settings.PORT)
        found = find_model()
        log = settings.DATA_DIR / "demo.log"
        with server(log, found) as process:
            try:
                state_path = settings.DATA_DIR / "demo.json"
                self.say(f"EvalRouter starts; what its processes say goes to {log}")
                call_command("load_starter_catalog", stdout=StringIO())
                state = kept_state(state_path) or make_state(state_path)
                wait_for_server(local, process, log)
                self.say(f"\n  Sign in    {settings.SITE_URL}/login")
                self.say(f"  E-mail     {state.email}\n  Password   {state.password}")
                if found:
                    self.say(f"\n  Found {found.model} at {found.endpoint}; what its provider bills is between you and them.")
                self.say("")
                run = DemoFlow(Api(f"{local}/v1", state.api_key), state, state_path, sys.stdout).run(found)
                self.say(f"\n  Report     {run['report_url']}")
                if not found:
                    self.say("  To compare a model, set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL) and start the demo again.")
                if options["once"]:
                    return
                self.say("\nServing until Ctrl-C.")
                process.wait()
                raise CommandError(f"The server ended. Its last words are in {log}.")
            except KeyboardInterrupt:
                self.say("\nStopping …")
            except ApiError as error:
                raise CommandError(f"The demo's request was refused ({error.code}): {error}") from None

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


@contextmanager
def server(log: Path, found: FoundModel | None) -> Iterator[subprocess.Popen[bytes]]:
    """The product in processes of its own, ended with the block."""
    environment = {**os.environ, "LOG_LEVEL": os.environ.get("LOG_LEVEL") or "WARNING"}
    if found and found.is_private:
        environment.setdefault("ALLOW_PRIVATE_ENDPOINTS", "yes")
    command = [sys.executable, "manage.py", "serve", "--log-file", str(log), "--end-with-parent"]
    process = subprocess.Popen(  # noqa: S603
        command, cwd=settings.BASE_DIR, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def wait_for_server(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the web server answers; CommandError when it ended or takes too long."""
    deadline = time.monotonic() + START_PATIENCE_SECONDS
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        if process.poll() is not None:
            raise CommandError("The server did not start; see above.")
        try:
            direct.open(f"{address}/healthz", timeout=2).close()
            return
        except (OSError, urllib.error.URLError):
            if time.monotonic() > deadline:
                raise CommandError(f"The server does not answer at {address}; see {log}.") from None
            time.sleep(0.2)
