"""Our rows for the yardstick that compares runners: run_peers.py run --adapter tests/bench/adapter.py

It runs inside the yardstick's own interpreter and network namespace, which has loopback alone: PostgreSQL and Redis are reached there
only with --no-netns.
"""

import atexit
import json
import sys
from pathlib import Path

from run_peers import Peer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.bench.installation import PYTHON, Installation


class Product(Peer):
    """Each measurement has a fresh installation; bringing it up is not timed, its processes count."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.name = f"evalrouter-{backend}"

    def version(self, work):
        return f"evalrouter on {self.backend}"

    def start(self, ctx):
        if not ctx.resume:
            self.installation = Installation(Path(ctx.dir), self.backend)
            atexit.register(self.installation.remove)
        self.installation.serve()
        if not ctx.resume:
            self.installation.add_route(ctx.base_url)
            self.benchmark = self.installation.import_items(Path(ctx.items), ctx.n)
        return [self.installation.process.pid]

    def stop(self, ctx):
        self.installation.end()

    def kill(self, ctx, pid):
        self.installation.kill()
        super().kill(ctx, pid)

    def command(self, ctx):
        product = self.installation
        script = Path(__file__).with_name("installation.py")
        return [PYTHON, script, f"http://127.0.0.1:{product.port}", product.api_key, self.benchmark, ctx.c, Path(ctx.dir) / "run-id"], {}

    def result(self, ctx):
        told = json.loads((Path(ctx.dir) / "log.txt").read_text().splitlines()[-1])
        return {
            "reported": told.get("graded"),
            "right": told.get("correct"),
            "errors": told.get("errors"),
            "in": told.get("input_tokens"),
            "out": told.get("output_tokens"),
        }


PEERS = [Product("sqlite"), Product("postgres")]
