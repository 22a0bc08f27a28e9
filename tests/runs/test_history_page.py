"""The history of evaluations."""

from collections.abc import Callable

import pytest
from django.test import Client

from catalog.models import BenchmarkVersion
from runs.models import Run
from tests.factories import make_version
from tests.paging import HTMX, cost
from tests.runs.working import start, work
from workspaces.actors import Actor, actor_of_user
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
PATH = "/evaluations"


def run_of(workspace: Workspace, actor: Actor, version: BenchmarkVersion, *names: str, **request: object) -> Run:
    subjects = [{"kind": "baseline", "name": name} for name in names or ("random-choice",)]
    return start(workspace, actor, subjects=subjects, selection={"profile_ids": [version.profile_id]}, coverage={"mode": "full"}, **request)


def listed(client: Client, **query: str) -> list[Run]:
    return list(client.get(PATH, query).context["runs"])


@pytest.fixture
def queued(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> Run:
    return run_of(workspace, actor, version, name="The first")


def test_list_shows_this_workspaces_runs_the_newest_first(
    queued: Run,
    workspace: Workspace,
    actor: Actor,
    version: BenchmarkVersion,
    other_workspace: Workspace,
    stranger: User,
    viewer: User,
    sign_in: SignIn,
) -> None:
    theirs = run_of(other_workspace, actor_of_user(stranger), version)
    newer = run_of(workspace, actor, version)
    assert listed(sign_in(viewer)) == [newer, queued]
    assert listed(sign_in(stranger)) == [theirs]


def test_filters_narrow_the_list(queued: Run, workspace: Workspace, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    other = make_version(tasks=3)
    done = work(run_of(workspace, actor, other, "most-frequent-answer"))
    client = sign_in(viewer)
    assert listed(client, status="completed") == [done]
    assert listed(client, benchmark=other.benchmark.slug) == [done]
    assert listed(client, benchmark=other.profile_id) == [done]
    assert listed(client, model="random-choice") == [queued]
    assert listed(client, status="failed") == []


def test_nothing_yet_says_the_first_action_and_nothing_found_clears_the_filters(
    workspace: Workspace, member: User, viewer: User, sign_in: SignIn
) -> None:
    assert 'href="/evaluations/new"' in sign_in(member).get(PATH).content.decode()
    assert 'href="/evaluations/new"' not in sign_in(viewer).get(PATH).content.decode()
    assert "Clear the filters" in sign_in(viewer).get(PATH, {"status": "failed"}).content.decode()


def test_row_speaks_in_words(queued: Run, viewer: User, sign_in: SignIn) -> None:
    text = sign_in(viewer).get(PATH).content.decode()
    assert [words in text for words in ("The first", "Queued", "random-choice", "of 10</span>", "$0.00")] == [True] * 5


def test_htmx_gets_the_list_alone(queued: Run, viewer: User, sign_in: SignIn) -> None:
    text = sign_in(viewer).get(PATH, headers=HTMX).content.decode()
    assert (text.strip().startswith('<div id="list">'), "<html" in text) == (True, False)


def test_step_back_in_the_history_gets_the_whole_page(queued: Run, viewer: User, sign_in: SignIn) -> None:
    text = sign_in(viewer).get(PATH, headers=HTMX | {"HX-History-Restore-Request": "true"}).content.decode()
    assert "<html" in text


def test_pages_follow_each_other(
    queued: Run, workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    made = [queued, *(run_of(workspace, actor, version) for _ in range(25))]
    client = sign_in(viewer)
    first = client.get(PATH).context
    second = client.get(PATH, {"cursor": first["next_cursor"]}).context
    assert (len(first["runs"]), list(second["runs"]), second["next_cursor"]) == (25, [made[0]], None)


def test_list_costs_the_same_with_one_run_and_with_three(
    queued: Run, workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    client = sign_in(viewer)
    one = cost(client, PATH)
    run_of(workspace, actor, version)
    run_of(workspace, actor, make_version(tasks=3), "random-choice", "most-frequent-answer")
    assert cost(client, PATH) == one


def test_results_on_a_benchmark_are_the_newest_of_each_model(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    path = f"{PATH}/benchmarks/{version.benchmark.slug}"
    client = sign_in(viewer)
    assert "No model has finished this benchmark" in client.get(path).content.decode()
    work(run_of(workspace, actor, version, "random-choice"))
    newer = work(run_of(workspace, actor, version, "random-choice", "most-frequent-answer"))
    rows = client.get(path, headers=HTMX).context["rows"]
    assert {(row.label, row.run) for row in rows} == {("random-choice", newer), ("most-frequent-answer", newer)}
    values = [row.subject["headline"]["value"] for row in rows]
    assert values == sorted(values, reverse=True)


def test_results_on_a_private_benchmark_are_404_for_a_stranger(workspace: Workspace, owner: User, stranger: User, sign_in: SignIn) -> None:
    private = make_version(workspace=workspace)
    path = f"{PATH}/benchmarks/{private.benchmark.slug}"
    assert (sign_in(owner).get(path).status_code, sign_in(stranger).get(path).status_code) == (200, 404)


def test_list_can_begin_with_the_oldest_and_page_on(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    made = [run_of(workspace, actor, version) for _ in range(27)]
    client = sign_in(viewer)
    first = client.get(PATH, {"sort": "started"}).context
    second = client.get(PATH, {"sort": "started", "cursor": first["next_cursor"]}).context
    assert [*first["runs"], *second["runs"]] == made
    assert listed(client, sort="surprise")[0] == made[-1]


def test_filters_offer_what_was_run_and_what_the_address_asks(
    queued: Run, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    context = sign_in(viewer).get(PATH, {"benchmark": version.profile_id}).context
    assert context["benchmarks"] == [(version.profile_id, version.profile_id), (version.benchmark.slug, version.benchmark.name)]
    assert context["models"] == [("random-choice", "random-choice")]
