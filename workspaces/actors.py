"""Who acts: a person, an API key, or the system. Every action takes one; there is no default."""

from dataclasses import dataclass

from workspaces.enums import ActorKind, Scope
from workspaces.models import ApiKey, User, Workspace


@dataclass(frozen=True, slots=True)
class Actor:
    """The one an action is done by. Exactly one of `user` and `api_key` is set, none for the system."""

    kind: ActorKind
    user: User | None = None
    api_key: ApiKey | None = None

    @property
    def public_id(self) -> str:
        subject = self.user or self.api_key
        return str(subject.public_id) if subject else ""

    @property
    def label(self) -> str:
        if self.user:
            return self.user.email
        return f"key {self.api_key.label}" if self.api_key else "EvalRouter"

    @property
    def key_lineage(self) -> str | None:
        """The lineage that metered work of this actor counts against."""
        return str(self.api_key.lineage) if self.api_key else None

    def has_scope(self, scope: Scope) -> bool:
        return self.api_key is not None and self.api_key.has_scope(scope)


SYSTEM = Actor(ActorKind.SYSTEM)


def actor_of_user(user: User) -> Actor:
    return Actor(ActorKind.USER, user=user)


def actor_of_key(key: ApiKey) -> Actor:
    return Actor(ActorKind.API_KEY, api_key=key)


@dataclass(frozen=True, slots=True)
class Access:
    """An actor in a workspace: what requests resolve to before anything is looked up."""

    actor: Actor
    workspace: Workspace
