"""A benchmark's page."""

from collections.abc import Callable

from django.test import Client

from catalog.actions import archive_benchmark, retire_version
from catalog.models import BenchmarkVersion
from tests.factories import make_version
from tests.paging import HTMX, cost
from workspaces.actors import SYSTEM
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]


def path_of(version: BenchmarkVersion) -> str:
    return f"/catalog/{version.benchmark.slug}"


def test_page_says_what_a_model_receives_and_how_it_is_graded(version: BenchmarkVersion) -> None:
    response = Client().get(path_of(version))
    text = response.content.decode()
    delivery = response.context["manifest"]["delivery"]
    for line in (*delivery["receives"], *delivery["never_receives"], delivery["grader"]):
        assert line.replace("'", "&#x27;") in text


def test_task_ids_are_listed_and_their_contents_never(version: BenchmarkVersion) -> None:
    response = Client().get(path_of(version))
    tasks = response.context["tasks"]
    assert [task.task_id for task in tasks] == [f"t{number}" for number in range(10)]
    assert "What is 3 + 3?" not in response.content.decode()


def test_tasks_are_searched_by_htmx(version: BenchmarkVersion) -> None:
    response = Client().get(path_of(version), {"q": "t7"}, headers=HTMX)
    text = response.content.decode()
    assert (text.strip().startswith('<div id="task-list">'), [task.task_id for task in response.context["tasks"]]) == (True, ["t7"])


def test_an_older_version_is_shown_by_its_number(version: BenchmarkVersion) -> None:
    make_version(version.benchmark, tasks=3)
    assert Client().get(path_of(version)).context["version"].number == 2
    assert Client().get(path_of(version), {"version": "1"}).context["version"].number == 1
    assert Client().get(path_of(version), {"version": "x"}).context["version"].number == 2


def test_members_see_the_button_that_runs_it_and_viewers_do_not(
    version: BenchmarkVersion, member: User, viewer: User, sign_in: SignIn
) -> None:
    button = f"/evaluations/new?benchmark={version.benchmark.slug}%401"
    assert button in sign_in(member).get(path_of(version)).content.decode()
    assert "/evaluations/new" not in sign_in(viewer).get(path_of(version)).content.decode()
    assert "Create an account to run it" in Client().get(path_of(version)).content.decode()


def test_private_benchmark_is_found_over_all_memberships_and_by_nobody_else(
    workspace: Workspace, member: User, stranger: User, sign_in: SignIn
) -> None:
    private = make_version(workspace=workspace)
    assert sign_in(member).get(path_of(private)).context["run_workspace"] == workspace
    assert sign_in(stranger).get(path_of(private)).status_code == 404
    assert Client().get(path_of(private)).status_code == 404


def test_retired_and_archived_benchmarks_take_no_new_runs(
    version: BenchmarkVersion, workspace: Workspace, member: User, sign_in: SignIn
) -> None:
    client = sign_in(member)
    retire_version(version, actor=SYSTEM)
    response = client.get(path_of(version))
    assert (response.context["is_runnable"], "It takes no new runs" in response.content.decode()) == (False, True)
    private = make_version(workspace=workspace)
    archive_benchmark(private.benchmark, actor=SYSTEM)
    assert client.get(path_of(private)).context["is_runnable"] is False


def test_page_costs_the_same_with_one_version_and_with_three(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    one = cost(client, path_of(version))
    make_version(version.benchmark, tasks=30)
    make_version(version.benchmark, tasks=30)
    assert cost(client, path_of(version)) == one
