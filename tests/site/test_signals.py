"""Every signal is on the page that lists them."""

import importlib
import re
from pathlib import Path

from django.dispatch import Signal

ROOT = Path(__file__).resolve().parent.parent.parent


def test_page_lists_exactly_the_signals_there_are() -> None:
    names = []
    for path in ROOT.glob("*/signals.py"):
        module = importlib.import_module(f"{path.parent.name}.signals")
        names += [f"{path.parent.name}.signals.{name}" for name, value in vars(module).items() if isinstance(value, Signal)]
    listed = re.findall(r"^\| `(\w+\.signals\.\w+)`", (ROOT / "docs" / "signals.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(names)
