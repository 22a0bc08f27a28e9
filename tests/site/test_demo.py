"""The demo's parts: which model it takes, what it draws. The whole of it runs in `test_demo_run`."""

import http.server
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evalrouter_site.demo import account, models, terminal


@contextmanager
def listing(*names: str) -> Iterator[str]:
    """An endpoint that lists these models."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names no model, on a machine that serves none."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(models, "LOCAL_ENDPOINT", "http://127.0.0.1:9/v1")
    return monkeypatch


def test_no_model_anywhere_finds_none(no_model: pytest.MonkeyPatch) -> None:
    assert models.find_model() is None


def test_model_served_on_this_machine_is_found(no_model: pytest.MonkeyPatch) -> None:
    with listing("nomic-embed-text", "small-chat") as endpoint:
        no_model.setattr(models, "LOCAL_ENDPOINT", endpoint)
        assert models.find_model() == models.FoundModel(endpoint, "small-chat", "")


def test_environment_decides_endpoint_key_and_model(no_model: pytest.MonkeyPatch) -> None:
    no_model.setenv("OPENAI_API_KEY", "key-of-a-test")
    no_model.setenv("OPENAI_MODEL", "tiny")
    assert models.find_model() == models.FoundModel("https://api.openai.com/v1", "tiny", "key-of-a-test")
    with listing("other", "gpt-4.1-mini") as endpoint:
        no_model.setenv("OPENAI_BASE_URL", endpoint)
        no_model.setenv("OPENAI_MODEL", "")
        assert models.find_model() == models.FoundModel(endpoint, "gpt-4.1-mini", "key-of-a-test")


@pytest.mark.parametrize(
    ("endpoint", "private"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://localhost/v1", True),
        ("http://10.1.2.3/v1", True),
        ("http://ollama:11434/v1", True),
        ("https://models.example.org/v1", False),
    ],
)
def test_private_endpoint_is_recognised(endpoint: str, private: bool) -> None:
    assert models.FoundModel(endpoint, "m", "").is_private == private


def test_table_ranks_models_and_shows_what_is_missing() -> None:
    def subject(label: str, value: float | None, low: float, high: float, errors: int) -> dict[str, Any]:
        headline = None if value is None else {"value": value, "interval": {"low": low, "high": high}}
        counts = {"graded": 100 - errors, "planned": 100, "errors": errors}
        return {"label": label, "headline": headline, "counts": counts, "charge_microusd": "1250"}

    result = {"subjects": [subject("guess", 0.25, 0.175, 0.343, 0), subject("broken", None, 0, 0, 100), subject("good", 0.5, 0.4, 0.6, 2)]}
    assert terminal.result_table(result) == [
        "  Model   Score    95% interval      Graded  Errors      Cost",
        "  ───────────────────────────────────────────────────────────",
        "  good    50.0%  40.0% to 60.0%   98 of 100       2  $0.00125",
        "  guess   25.0%  17.5% to 34.3%  100 of 100       0  $0.00125",
        "  broken      –               –    0 of 100     100  $0.00125",
    ]


def test_progress_without_a_terminal_is_a_line_a_tenth() -> None:
    out = io.StringIO()
    bar = terminal.ProgressBar(out)
    for processed in (0, 3, 50, 55, 100):
        bar.show({"planned": 100, "processed": processed, "errors": 0, "spend_microusd": "0"})
    bar.end()
    assert out.getvalue().splitlines() == [
        "    0%  0 of 100 · 0 errors · $0.00",
        "   50%  50 of 100 · 0 errors · $0.00",
        "  100%  100 of 100 · 0 errors · $0.00",
    ]


def test_second_demo_reuses_the_account_while_its_key_works(db: None, tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    assert account.kept_state(path) is None
    made = account.make_state(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert account.kept_state(path) == made
    account.ApiKey.objects.all().delete()
    assert account.kept_state(path) is None
    assert account.make_state(path).email == "demo2@example.org"
