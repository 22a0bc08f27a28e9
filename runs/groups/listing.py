"""One list of two tables: saved groups and runs of several models, newest first, in keyset pages.

The place of a row is its time and, where two have the same, its public ID; the cursor is that place.
"""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from common.errors import Refused
from common.pages import read_cursor, write_cursor
from runs.groups.queries import Listed, list_groups
from runs.models.groups import ResultGroup
from workspaces.models import Workspace

_COLUMN = "created_at"


def page_of_groups(workspace: Workspace, *, kinds: Collection[str], cursor: str | None, limit: int) -> tuple[list[Listed], str | None]:
    """A page and the cursor of the next, None on the last. Raises Refused (`validation_error`) for a cursor that this list did not give."""
    rows, more = list_groups(workspace, kinds=kinds, before=_place(cursor) if cursor else None, limit=limit)
    if not more:
        return rows, None
    last = rows[-1]
    return rows, write_cursor(ResultGroup, _COLUMN, f"{last.created_at.isoformat()} {last.public_id}")


def _place(cursor: str) -> tuple[datetime, UUID]:
    at, _, public_id = str(read_cursor(ResultGroup, _COLUMN, cursor)).partition(" ")
    try:
        return datetime.fromisoformat(at), UUID(public_id)
    except ValueError:
        details = {"cursor": ["Not a cursor of this list; take next_cursor of the page before, or leave it out."]}
        raise Refused("validation_error", "Check the request fields.", details=details) from None
