"""The rules of `script/lint`: each finds what it is for, and lets alone what is right."""

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).resolve().parent.parent.parent / "script" / "lint"


@pytest.fixture(scope="module")
def lint() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("house_lint", str(PATH))
    spec = importlib.util.spec_from_loader("house_lint", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


WRONG = [
    ("runs/views.py", "rows = Run.objects.all()\n", 1),
    ("runs/views/report.py", "rows = runs_for(w).filter(status='done')\n", 1),
    ("catalog/api.py", "benchmark.save(update_fields=['name'])\n", 1),
    ("runs/tasks.py", "Run.objects.get(pk=1)\n", 1),
    ("runs/admin.py", "Run.objects.bulk_create(rows)\n", 1),
    ("runs/actions.py", "def start_run(quote, *, actor=None): ...\n", 1),
    ("runs/actions.py", "def start_run(quote, *, cap): ...\n", 1),
    ("runs/quoting.py", "quote.save()\n", 1),
    ("runs/quoting.py", "run_task.delay(1)\n", 1),
    ("billing/ledger.py", "def charge(amount_microusd: float) -> None: ...\n", 1),
    ("templates/runs/report.html", '<p style="color: red">x</p>\n', 1),
    ("templates/runs/report.html", "<script>alert(1)</script>\n", 1),
    ("templates/runs/report.html", '<button onclick="go()">x</button>\n', 1),
    ("templates/runs/report.html", "{{ answer|safe }}\n", 1),
]
RIGHT = [
    ("runs/queries.py", "rows = Run.objects.filter(workspace=workspace)\n"),
    ("runs/views.py", "def get(request):\n    return request.GET.get('q')\n"),
    ("runs/admin.py", "class A:\n    def save_model(self):\n        super().save_model()\n"),
    ("runs/actions.py", "def start_run(quote, *, actor): ...\ndef _helper(): ...\n"),
    ("runs/actions.py", "def find_actor(text):  # lint: actors (it is what finds the actor)\n    ...\n"),
    ("runs/quoting.py", "quote.save(force_insert=True)\n"),
    ("tests/api/test_x.py", "Run.objects.get().save()\n"),
    ("templates/runs/report.html", "<script src=\"{% static 'x.js' %}\" defer></script>\n"),
]


@pytest.mark.parametrize(("path", "text", "line"), WRONG)
def test_wrong_line_is_found(lint: ModuleType, path: str, text: str, line: int) -> None:
    assert {number for number, _ in lint.check(path, text)} == {line}


@pytest.mark.parametrize(("path", "text"), RIGHT)
def test_right_lines_are_let_alone(lint: ModuleType, path: str, text: str) -> None:
    assert list(lint.check(path, text)) == []
