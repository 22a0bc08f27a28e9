"""`manage.py serve` and the demo as people start them: processes of their own, in a folder of their own, without any service."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.installation import PYTHON, ROOT, Installation
from tests.services import wait_until

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("serve")]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    product = Installation(tmp_path_factory.mktemp("product"), "sqlite")
    yield product
    product.remove()


@pytest.fixture
def product(installation: Installation) -> Installation:
    """The product, served; a test may end it as it likes."""
    if installation.process is None or installation.process.poll() is not None:
        installation.serve()
    return installation


def commands(product: Installation) -> list[str]:
    """What each of its processes is: "serve", "granian" or "celery"."""
    found = []
    for pid in product.processes():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        found.append(next((word for word in ("serve", "granian", "celery") if word in words), "?"))
    return sorted(found)


def test_killed_worker_and_killed_web_server_are_started_again(product: Installation) -> None:
    whole = commands(product)
    assert whole == ["celery"] * 5 + ["granian"] * 3 + ["serve"]
    worker = product.workers()
    os.kill(worker[0], signal.SIGKILL)
    wait_until(lambda: len(product.workers()) == 5 and not set(product.workers()) & set(worker), seconds=60)
    children = Path(f"/proc/{product.process.pid}/task/{product.process.pid}/children").read_text().split() if product.process else []
    web = next(int(pid) for pid in children if b"granian" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(web, signal.SIGKILL)
    wait_until(lambda: web not in product.processes() and commands(product) == whole, seconds=60)
    product.wait(product._answers, seconds=60)


@pytest.mark.parametrize("killed", [slice(1, None), slice(1, 4), slice(4, None)], ids=["all children", "the pool", "the beat"])
def test_worker_whose_children_are_killed_is_started_again(killed: slice, product: Installation) -> None:
    wait_until(lambda: len(product.workers()) == 5, seconds=60)
    worker = product.workers()
    for child in worker[killed]:
        os.kill(child, signal.SIGKILL)
    wait_until(lambda: len(product.workers()) == 5 and not set(product.workers()) & set(worker), seconds=60)


def test_sigterm_ends_every_process(product: Installation) -> None:
    pids = set(product.processes())
    assert product.process is not None
    product.process.send_signal(signal.SIGTERM)
    assert product.process.wait(timeout=40) == 0
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


def test_killed_supervisor_takes_its_processes_with_it(product: Installation) -> None:
    pids = set(product.processes())
    assert product.process is not None
    product.process.kill()
    product.process.wait()
    wait_until(lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()], seconds=40)


def test_second_server_on_the_same_folder_or_port_says_what_to_do(product: Installation, tmp_path: Path) -> None:
    assert product.process is not None

    def refused(**changed: str) -> str:
        done = subprocess.run(
            [PYTHON, "manage.py", "serve"], cwd=ROOT, env=product.environment | changed, capture_output=True, text=True, check=False
        )
        return f"{done.returncode} {re.sub(chr(27) + r'\[[0-9;]*m', '', done.stderr).strip()}"

    folder = product.environment["DATA_DIR"]
    assert refused() == (
        f"1 CommandError: {folder} is already being served by process {product.process.pid}. "
        "Stop that one first, or set DATA_DIR to another folder."
    )
    assert refused(DATA_DIR=str(tmp_path / "other")) == (
        f"1 CommandError: Cannot listen on 127.0.0.1:{product.port} (Address already in use). "
        f"Set PORT to a free one, such as PORT={product.port + 1}."
    )


def test_demo_shows_a_comparison_and_a_second_one_reuses_it(tmp_path: Path) -> None:
    product = Installation(tmp_path, "sqlite", OPENAI_API_KEY="", OPENAI_BASE_URL="http://127.0.0.1:9/v1")

    def demo() -> str:
        return product.manage("demo", "--once")

    first, second = demo(), demo()
    for text in (first, second):
        assert re.search(r"random-choice +\d+\.\d% +\d+\.\d% to \d+\.\d% +\d+ of \d+ +0 +\$0\.00", text)
        assert re.search(r"Report +http://127\.0\.0\.1:\d+/evaluations/[0-9a-f-]{36}", text)
    shown = [re.findall(r"(?:E-mail|Password|Report) +\S+", text) for text in (first, second)]
    assert shown[0] == shown[1] and len(shown[0]) == 3
    assert ("of 240" in first, "of 240" in second) == (True, False)
    state = json.loads((tmp_path / "data" / "demo.json").read_text())
    assert list(state["runs"]) == ["knights-and-knaves"]
