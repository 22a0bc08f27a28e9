"""The exact tasks of a new evaluation: searching, adding, taking off, pasting. The list is in the address, never a sample in its place."""

from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from catalog import queries as catalog
from catalog.models import BenchmarkVersion, Task
from common.pages import page_of
from runs.enums import CoverageMode
from runs.forms import Setup
from runs.picking import read_tasks, write_tasks
from runs.requests import MAX_SAMPLE

TASKS_A_PAGE = 50
ACTS = ("add", "remove", "add_found", "clear")


@dataclass(slots=True)
class Picked:
    """The chosen tasks in their order; `unknown` are pasted IDs that the benchmark does not have, `problem` what went wrong in words."""

    tasks: list[Task] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    problem: str = ""


def pick(version: BenchmarkVersion, setup: Setup, query: QueryDict) -> Picked:
    """The chosen tasks after what the request asks to add or take off. `setup.tasks` and `setup.task_ids` are brought up to that."""
    ordinals = read_tasks(version.profile_id, setup.tasks)
    picked = Picked()
    if ordinals is None:
        picked.problem = "The list of tasks could not be read, or belongs to another benchmark. Choose the tasks again."
        ordinals = []
    if query.get("clear"):
        ordinals = []
    asked = [int(text) for text in query.getlist("add") if text.isascii() and text.isdecimal() and len(text) < 10]
    if query.get("add_found"):
        found = catalog.find_tasks(version, query.get("task_q", "").strip()[:200])
        asked += list(found.values_list("ordinal", flat=True)[: MAX_SAMPLE + 1])
    pasted = list(dict.fromkeys(line.strip() for line in setup.task_ids.splitlines() if line.strip()))
    known = catalog.ordinals_of(version, pasted[: MAX_SAMPLE + 1]) if pasted else {}
    picked.unknown = [each for each in pasted if each not in known]
    asked += [known[each] for each in pasted if each in known]
    removed = set(query.getlist("remove"))
    wanted = [each for each in dict.fromkeys([*ordinals, *asked]) if str(each) not in removed]
    if len(wanted) > MAX_SAMPLE:
        picked.problem = (
            f"At most {MAX_SAMPLE:,} tasks can be chosen one by one: the first {MAX_SAMPLE:,} are kept. Take all tasks instead?"
        )
        wanted = wanted[:MAX_SAMPLE]
    rows = catalog.tasks_at(version, wanted) if wanted else {}
    picked.tasks = [rows[each] for each in wanted if each in rows]
    setup.tasks = write_tasks(version.profile_id, [task.ordinal for task in picked.tasks])
    setup.task_ids = "\n".join(picked.unknown)
    return picked


def all_task_ids(version: BenchmarkVersion | None, data: QueryDict) -> str | None:
    """The IDs that a form names, those of its list first, one a line; None where its list cannot be read."""
    pasted = data.get("task_ids", "")
    if version is None or data.get("coverage") != CoverageMode.TASKS or not data.get("tasks"):
        return pasted
    ordinals = read_tasks(version.profile_id, str(data["tasks"]))
    rows = catalog.tasks_at(version, ordinals) if ordinals else {}
    if ordinals is None or len(rows) != len(ordinals):
        return None
    return "\n".join([*(rows[each].task_id for each in ordinals), pasted])


def picker_context(version: BenchmarkVersion, picked: Picked, query: QueryDict) -> dict[str, Any]:
    """What the picker shows: the tasks found, fifty at a time, and those chosen, fifty at a time."""
    search = query.get("task_q", "").strip()[:200]
    found = catalog.find_tasks(version, search)
    listed = page_of(found, order="ordinal", cursor=query.get("tasks_after") or None, limit=TASKS_A_PAGE)
    chosen = {task.ordinal for task in picked.tasks}
    offset = query.get("review", "")
    start = int(offset) if offset.isascii() and offset.isdecimal() and int(offset[:6]) < len(picked.tasks) else 0
    return {
        "picked": picked,
        "task_q": search,
        "found_tasks": [(task, task.ordinal in chosen) for task in listed.rows],
        "found_next": listed.next_cursor,
        "found_after": query.get("tasks_after", ""),
        "found_total": found.count(),
        "most_tasks": MAX_SAMPLE,
        "reviewed": picked.tasks[start : start + TASKS_A_PAGE],
        "review_from": start + 1,
        "review_to": min(start + TASKS_A_PAGE, len(picked.tasks)),
        "review_next": start + TASKS_A_PAGE if start + TASKS_A_PAGE < len(picked.tasks) else None,
        "review_back": max(0, start - TASKS_A_PAGE) if start else None,
    }
