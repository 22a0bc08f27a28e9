"""Settings come from the environment, and `.env.example` names every one of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
READERS = re.compile(r"env_(?:str|bool|int|float|list|path)\(\s*\"([A-Z_]+)\"")


def test_example_names_exactly_what_is_read() -> None:
    places = [*ROOT.glob("evalrouter_site/**/*.py"), *ROOT.glob("*/settings.py")]
    read = {name for place in places for name in READERS.findall(place.read_text(encoding="utf-8"))}
    named = set(re.findall(r"^#? ?([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))
    assert sorted(named) == sorted(read)


def start(**environment: str) -> subprocess.CompletedProcess[str]:
    """Load the settings in a process of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-c", "from django.conf import settings; print(settings.SECRET_KEY)"]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**kept, "DJANGO_SETTINGS_MODULE": "evalrouter_site.settings", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("missing", ["SECRET_KEY", "CREDENTIAL_KEYS", "SIGNING_KEYS", "ALLOWED_HOSTS"])
def test_missing_secret_in_production_stops_the_start(missing: str, tmp_path: Path) -> None:
    complete = {"SECRET_KEY": "s" * 50, "CREDENTIAL_KEYS": "c" * 50, "SIGNING_KEYS": "b" * 50, "ALLOWED_HOSTS": "eval.example.org"}
    done = start(DATA_DIR=str(tmp_path), PRODUCTION="yes", **(complete | {missing: ""}))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"django.core.exceptions.ImproperlyConfigured: {missing} must be set in production"


def test_unreadable_value_stops_the_start_with_its_name(tmp_path: Path) -> None:
    done = start(DATA_DIR=str(tmp_path), PORT="eighty")
    assert done.stderr.splitlines()[-1] == "django.core.exceptions.ImproperlyConfigured: PORT must be a whole number, not 'eighty'"


def test_one_machine_makes_its_secret_once_and_keeps_it_private(tmp_path: Path) -> None:
    first, second = start(DATA_DIR=str(tmp_path)).stdout, start(DATA_DIR=str(tmp_path)).stdout
    assert first == second and len(first.strip()) == 64
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600
