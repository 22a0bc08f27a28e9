"""The demo's account, made once and kept in DATA_DIR, readable by its owner alone."""

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from workspaces.actions import create_account, create_api_key
from workspaces.actors import SYSTEM, actor_of_user
from workspaces.enums import Scope
from workspaces.models import ApiKey, User

EMAIL = "demo@example.org"


@dataclass(slots=True)
class DemoState:
    """What a second demo reuses. `connections` and `runs` are IDs by what they were made for."""

    email: str
    password: str
    api_key: str
    connections: dict[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        fresh = path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, indent=1)
        fresh.replace(path)


def kept_state(path: Path) -> DemoState | None:
    """The state of an earlier demo, if its account still is in the database and its key still works."""
    try:
        state = DemoState(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    prefixes = list(ApiKey.objects.filter(created_by__email=state.email, revoked_at=None).values_list("prefix", flat=True))
    return state if any(prefix in state.api_key for prefix in prefixes) else None


def make_state(path: Path) -> DemoState:
    """A new account with a workspace and a key; a name that is taken gets a number."""
    taken = set(User.objects.filter(email__startswith="demo").values_list("email", flat=True))
    email = next(name for name in [EMAIL, *(f"demo{n}@example.org" for n in range(2, 10_000))] if name not in taken)
    password = secrets.token_urlsafe(12)
    user, workspace = create_account(email, actor=SYSTEM, password=password, workspace_name="Demo")
    _, key = create_api_key(workspace, actor=actor_of_user(user), label="demo", scopes=[scope.value for scope in Scope])
    state = DemoState(email, password, key)
    state.save(path)
    return state
