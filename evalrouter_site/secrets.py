"""Secrets of a one-machine installation: made once and kept in a file that only its owner reads."""

import os
import secrets
from pathlib import Path


def local_secret(path: Path) -> str:
    """The secret kept in the file; a missing one is made. Two processes that start at once agree on one."""
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(secrets.token_urlsafe(48), encoding="ascii")
    fresh.chmod(0o600)
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return path.read_text(encoding="ascii").strip()
