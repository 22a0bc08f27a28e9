"""Typed reading of the environment. A value that cannot be read stops the start with its name."""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

IDLE_IN_TRANSACTION_SECONDS = 20


def env_str(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def env_bool(name: str, *, default: bool) -> bool:
    text = env_str(name).lower()
    if not text:
        return default
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be yes or no, not {text!r}")


def env_int(name: str, default: int) -> int:
    text = env_str(name)
    if not text:
        return default
    try:
        return int(text.replace("_", ""))
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {text!r}") from None


def env_float(name: str, default: float) -> float:
    text = env_str(name)
    if not text:
        return default
    try:
        return float(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {text!r}") from None


def env_list(name: str) -> list[str]:
    """The comma-separated parts, without blanks."""
    return [part.strip() for part in env_str(name).split(",") if part.strip()]


def env_path(name: str, default: Path) -> Path:
    return Path(env_str(name, str(default))).expanduser().resolve()


def load_env_file(path: Path) -> None:
    """Take KEY=value lines of a `.env` file into the environment; what is set already stands."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        key, separator, value = line.strip().partition("=")
        if separator and not key.startswith("#"):
            os.environ.setdefault(key.strip(), value.strip().strip("'\""))


def database_from_url(url: str) -> dict[str, object]:
    """Django's settings of `postgres://user:password@host:port/name?host=/socket/dir` or `sqlite:///path`."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return sqlite(Path("/" + unquote(parts.path).lstrip("/")))
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(f"DATABASE_URL must begin with postgres:// or sqlite://, not {parts.scheme!r}")
    query = dict(pair.partition("=")[::2] for pair in parts.query.split("&") if pair)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(query.get("host", parts.hostname or "")),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        # A process that is frozen or cut off inside a transaction must not keep its locks: the server ends it.
        "OPTIONS": {"options": f"-c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_SECONDS}s"},
    }


def sqlite(path: Path) -> dict[str, object]:
    """SQLite with a write-ahead log; IMMEDIATE, so that a transaction that will write takes its lock before it reads."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": (
                "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;"
                "PRAGMA temp_store=MEMORY;PRAGMA mmap_size=134217728;"
            ),
        },
    }
