"""The steps of a new evaluation: going through them, leaving and coming back, and the list of exact tasks."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.models import BenchmarkVersion
from runs.models import Quote
from runs.picking import read_tasks, write_tasks
from tests.factories import make_version
from tests.paging import HTMX
from tests.runs.test_new_evaluation_page import PATH, filled
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


def asked(client: Client, version: BenchmarkVersion, **query: Any) -> Any:
    return client.get(PATH, {"benchmark": version.profile_id, "step": "tasks", "coverage": "tasks"} | query).context


def chosen(context: Any) -> list[str]:
    return [task.task_id for task in context["picked"].tasks]


@pytest.mark.parametrize("ordinals", [[], [0], [7, 3, 100_000, 4], list(range(1000)), [2**31 - 1, 0]])
def test_list_of_tasks_is_read_as_it_was_written(ordinals: list[int]) -> None:
    assert read_tasks("sums@1", write_tasks("sums@1", ordinals)) == ordinals


@pytest.mark.parametrize("text", ["x", "%%%%", "AAAA", "é", "A" * 20_000, write_tasks("sums@2", [1, 2]), write_tasks("sums@1", [300])[:-2]])
def test_what_is_no_list_of_this_version_is_none(text: str) -> None:
    assert read_tasks("sums@1", text) is None


def test_steps_lead_back_with_what_is_chosen(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    query = {"benchmark": version.profile_id, "subjects": "baseline:random-choice", "step": "settings", "cap": "2"}
    context = sign_in(member).get(PATH, query).context
    assert [(each["label"], each["state"], each["note"]) for each in context["steps"]] == [
        ("Benchmark", "done", version.benchmark.name),
        ("Models", "done", "1 chosen"),
        ("Tasks", "done", "10 tasks"),
        ("Settings", "current", ""),
        ("Quote", "todo", ""),
    ]
    again = sign_in(member).get(PATH + context["steps"][1]["href"]).context
    assert (again["step"], again["setup"].cap, again["setup"].subjects) == ("models", "2", ["baseline:random-choice"])


def test_what_a_step_does_not_show_is_hidden_in_its_form(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    query = {"benchmark": version.profile_id, "subjects": ["baseline:random-choice"], "step": "tasks", "name": "Nightly"}
    context = sign_in(member).get(PATH, query).context
    assert context["hidden"] == [("subjects", "baseline:random-choice"), ("name", "Nightly")]


def test_error_opens_its_step(workspace: Workspace, version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    steps = [
        client.post(PATH, filled(workspace, version, **changed)).context["step"]
        for changed in ({"subjects": []}, {"sample_count": "0"}, {"cap": "much"})
    ]
    assert steps == ["models", "tasks", "settings"]


def test_last_unfinished_setup_is_offered_until_it_is_quoted(
    workspace: Workspace, version: BenchmarkVersion, member: User, sign_in: SignIn
) -> None:
    client = sign_in(member)
    assert "Continue where you left off" not in client.get(PATH).content.decode()
    client.get(PATH, {"benchmark": version.profile_id, "subjects": "baseline:random-choice", "step": "tasks"})
    page = client.get(PATH)
    assert ("Continue where you left off" in page.content.decode(), page.context["draft"]["models"]) == (True, 1)
    again = client.get(f"{PATH}?{page.context['draft']['query']}").context
    assert (again["step"], again["version"]) == ("tasks", version)
    client.post(PATH, filled(workspace, version))
    assert "Continue where you left off" not in client.get(PATH).content.decode()


def test_tasks_are_added_and_removed(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    first = asked(client, version, add=["3", "1"])
    assert chosen(first) == ["t3", "t1"]
    second = asked(client, version, tasks=first["setup"].tasks, add="5", remove="3")
    assert (chosen(second), second["task_total"]) == (["t1", "t5"], 2)
    assert chosen(asked(client, version, tasks=second["setup"].tasks, clear="1")) == []


def test_pasted_ids_join_the_list_and_unknown_ones_stay(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    context = asked(sign_in(member), version, task_ids="t2\n nope \nt9\nt2")
    assert (chosen(context), context["setup"].task_ids) == (["t2", "t9"], "nope")


def test_search_finds_ids_groups_and_metadata_fifty_at_a_time(member: User, sign_in: SignIn) -> None:
    rows = [
        {
            "values": {"question": f"What is {n} + {n}?"},
            "reference": str(2 * n),
            "group": "even" if n % 2 == 0 else "odd",
            "metadata": {"level": "hard" if n == 77 else "easy"},
        }
        for n in range(120)
    ]
    version = make_version(rows=rows)
    client = sign_in(member)
    found = [[task.task_id for task, _ in asked(client, version, task_q=q)["found_tasks"]] for q in ("t77", "hard", "odd hard", "nothing")]
    assert found == [["t77"], ["t77"], ["t77"], []]
    first = asked(client, version, task_q="even")
    second = asked(client, version, task_q="even", tasks_after=first["found_next"])
    assert (len(first["found_tasks"]), len(second["found_tasks"]), first["found_total"], second["found_next"]) == (50, 10, 60, None)
    added = asked(client, version, task_q="even", add_found="1")
    assert (len(chosen(added)), len(added["reviewed"]), added["review_next"]) == (60, 50, 50)


def test_list_is_quoted_in_its_order_and_never_becomes_a_sample(
    workspace: Workspace, version: BenchmarkVersion, member: User, sign_in: SignIn
) -> None:
    client = sign_in(member)
    tasks = write_tasks(version.profile_id, [7, 2])
    client.post(PATH, filled(workspace, version, coverage="tasks", tasks=tasks, task_ids="t4"))
    assert Quote.objects.get().request_document["coverage"] == {"mode": "tasks", "task_ids": ["t7", "t2", "t4"]}
    for broken in ("", "x", write_tasks("other@1", [1])):
        response = client.post(PATH, filled(workspace, version, coverage="tasks", tasks=broken))
        assert (response.status_code, response.context["step"], list(response.context["form"].errors)) == (422, "tasks", ["task_ids"])
    assert Quote.objects.count() == 1
    assert "could not be read" in client.get(PATH, {"benchmark": version.profile_id, "step": "tasks", "tasks": "x"}).content.decode()


def test_picker_answers_htmx_with_the_list_and_what_is_chosen_so_far(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    query = {"benchmark": version.profile_id, "step": "tasks", "coverage": "tasks", "add": "4"}
    response = sign_in(member).get(PATH, query, headers=HTMX | {"HX-Target": "picker"})
    text = response.content.decode()
    assert ('id="picker"' in text, 'hx-swap-oob="innerHTML:#side"' in text, 'hx-swap-oob="innerHTML:#steps"' in text) == (True, True, True)
    assert f"tasks={write_tasks(version.profile_id, [4])}" in response["HX-Replace-Url"]
