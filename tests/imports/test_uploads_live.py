"""Uploads through the real web server: bytes come as a stream, connections break off, bodies have no stated length."""

import http.client
import json
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.installation import PYTHON, ROOT, Installation
from tests.services import wait_until

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("uploads")]

MIB = 1024 * 1024
LINE = b'{"question": "' + b"x" * 996 + b'", "answer": 1}\n'


class Server:
    """The product's web server alone, on a database of its own."""

    def __init__(self, folder: Path) -> None:
        self.product = Installation(folder, "sqlite")
        made = self.product.manage("create_account", "live@example.org", "--workspace", "Live", "--api-key", given="live password 1\n")
        self.headers = {"Authorization": f"Bearer {json.loads(made)['api_key']}"}
        command = [PYTHON, "-m", "granian", "evalrouter_site.wsgi:application", "--interface", "wsgi", "--no-ws", "--host", "127.0.0.1"]
        command += ["--port", str(self.product.port), "--workers", "1", "--blocking-threads", "4", "--log-level", "error"]
        self.process = subprocess.Popen(
            command, env=self.product.environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(self._answers, seconds=60)

    def _answers(self) -> bool:
        try:
            return self.ask("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON. A body that is an iterator is sent in chunks, without a stated length."""
        connection = http.client.HTTPConnection("127.0.0.1", self.product.port, timeout=120)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, (dict, list)):
            body, sent = json.dumps(body).encode(), {"Content-Type": "application/json", **sent}
        try:
            connection.request(method, path, body, {**self.headers, **sent})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else text
        finally:
            connection.close()

    def begin(self, size: int) -> tuple[str, str]:
        """The paths of the upload and of its one file."""
        status, upload = self.ask("POST", "/v1/benchmark-uploads", {"files": [{"name": "rows.jsonl", "bytes": size}]})
        assert status == 201, upload
        return f"/v1/benchmark-uploads/{upload['id']}", re.sub("^http://[^/]+", "", upload["files"][0]["upload_url"])

    def received(self, upload: str) -> int:
        return int(self.ask("GET", upload)[1]["files"][0]["received"])

    def peak_mib(self) -> int:
        """The most memory that any of its processes has held."""
        pids = [self.process.pid, *Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()]
        found = [re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()) for pid in pids]
        return max(int(each[1]) for each in found if each) // 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)
        self.product.remove()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("product"))
    yield started
    started.stop()


@pytest.fixture(autouse=True)
def _no_open_uploads(server: Server) -> Iterator[None]:
    yield
    for upload in server.ask("GET", "/v1/benchmark-uploads?status=open")[1]["data"]:
        server.ask("DELETE", f"/v1/benchmark-uploads/{upload['id']}")


def test_a_connection_that_breaks_off_keeps_what_came_and_is_gone_on_with(server: Server) -> None:
    content = LINE * 6000
    upload, file = server.begin(len(content))
    sent = 5 * MIB + 123
    with socket.create_connection(("127.0.0.1", server.product.port)) as connection:
        lines = [f"PUT {file} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in server.headers.items())]
        head = "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""])
        connection.sendall(head.encode() + content[:sent])
        wait_until(lambda: server.received(upload) >= 4 * MIB, seconds=30)  # the first part is there while the rest is still to come
    wait_until(lambda: server.received(upload) == sent, seconds=30)
    refused = server.ask("PUT", file, content[:10], Content_Range=f"bytes 0-9/{len(content)}")
    assert (refused[0], refused[1]["error"]["code"], refused[1]["error"]["details"]["received"]) == (409, "upload_offset_mismatch", sent)
    rest = f"bytes {sent}-{len(content) - 1}/{len(content)}"
    assert server.ask("PUT", file, content[sent:], Content_Range=rest)[1]["received"] == len(content)
    status, done = server.ask("POST", f"{upload}/complete")
    assert (status, done["rows"], done["bytes"]) == (200, 6000, len(content))


def test_a_large_body_is_no_memory_of_the_server(server: Server) -> None:
    """128 MiB, past every limit of a request's body that is held in memory."""
    count = 128 * MIB // len(LINE)
    upload, file = server.begin(count * len(LINE))
    before = server.peak_mib()
    status, answer = server.ask("PUT", file, iter_lines(count), Content_Length=str(count * len(LINE)))
    assert (status, answer["received"]) == (200, count * len(LINE))
    assert server.peak_mib() - before < 60
    assert server.received(upload) == count * len(LINE)


def iter_lines(count: int) -> Iterator[bytes]:
    for start in range(0, count, 1000):
        yield LINE * min(1000, count - start)


def test_a_body_in_chunks_says_no_length_and_is_taken(server: Server) -> None:
    upload, file = server.begin(3000 * len(LINE))
    status, answer = server.ask("PUT", file, iter_lines(3000))
    assert (status, answer["received"]) == (200, 3000 * len(LINE))
    assert server.ask("POST", f"{upload}/complete")[1]["rows"] == 3000


def test_chunks_that_go_on_past_what_was_announced_are_refused(server: Server) -> None:
    upload, file = server.begin(2000 * len(LINE))
    status, answer = server.ask("PUT", file, iter_lines(2100))
    assert (status, answer["error"]["code"], server.received(upload)) == (413, "too_large", 0)
