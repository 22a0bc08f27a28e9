"""The type of request that pages of signed-in people take."""

from django.http import HttpRequest

from workspaces.models import User


class PersonRequest(HttpRequest):
    """A request that `common.web.page` has let through: somebody is signed in. It is a name for type checkers, never made."""

    user: User  # type: ignore[assignment]
