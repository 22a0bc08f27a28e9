"""What our own exports say of a grader: it is one of ours, and comes back as it was."""

from collections.abc import Mapping
from typing import Any

from catalog.enums import Grader
from catalog.graders import checked_options
from common.errors import Refused


def own_grader(name: str, grader: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The grader with its options, as a reader maps it; where they are none of ours, a note that says so."""
    if grader not in Grader.values:
        return {"name": name, "note": "There is no grader of that name here."}
    try:
        return {"name": name, "task": grader, "options": dict(checked_options(grader, options))}
    except Refused as refused:
        return {"name": name, "note": f"Its options cannot be used here: {refused.message}"}
