"""Staff's pages of connections, calls and runs: read only, and without secrets."""

from collections.abc import Callable

import pytest
from django.test import Client

from catalog.models import BenchmarkVersion
from gateway.models import Call
from runs.models import Run, Sample
from tests.factories import make_connection, make_route
from tests.paging import cost
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
LISTS = ["runs/quote", "runs/run", "runs/subject", "runs/shard", "runs/sample", "runs/event", "runs/resultversion", "gateway/call"]


def run_of(workspace: Workspace, actor: Actor, version: BenchmarkVersion, count: str) -> Run:
    with ChatServer(sums) as server:
        route = make_route(endpoint=server.url)
        request = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "tasks", "task_ids": count.split()}}
        return work(start(workspace, actor, subjects=[route.route_id, "random-choice"], **request))


def test_lists_answer_and_cost_the_same_with_few_rows_and_with_many(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, staff: User, sign_in: SignIn
) -> None:
    client = sign_in(staff)
    run_of(workspace, actor, version, "t0")
    few = {page: cost(client, f"/admin/{page}/") for page in LISTS}
    run_of(workspace, actor, version, "t1 t2 t3")
    run_of(workspace, actor, version, "t4 t5 t6")
    assert {page: cost(client, f"/admin/{page}/") for page in LISTS} == few


def test_samples_and_calls_are_found_by_whole_ids_alone(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, staff: User, sign_in: SignIn
) -> None:
    run = run_of(workspace, actor, version, "t0 t1")
    sample = Sample.objects.filter(subject__run=run, subject__index=0).first()
    assert sample is not None
    client = sign_in(staff)

    def found(page: str, text: str) -> int:
        return len(client.get(f"/admin/{page}/", {"q": text}).context["cl"].result_list)

    assert [found("runs/sample", text) for text in (str(run.public_id), str(sample.public_id), str(sample.public_id)[:8])] == [4, 1, 0]
    assert [found("gateway/call", text) for text in (str(sample.public_id), str(sample.public_id)[:8])] == [1, 0]


def test_run_is_read_only(workspace: Workspace, actor: Actor, version: BenchmarkVersion, staff: User, sign_in: SignIn) -> None:
    run = run_of(workspace, actor, version, "t0")
    client = sign_in(staff)
    text = client.get(f"/admin/runs/run/{run.pk}/change/").content.decode()
    assert (str(run.public_id) in text, 'name="status"' in text, f"/evaluations/{run.public_id}" in text) == (True, False, True)
    assert client.get("/admin/runs/run/add/").status_code == 403
    assert client.post(f"/admin/runs/run/{run.pk}/delete/", {"post": "yes"}).status_code == 403


def test_connection_never_shows_its_secret(workspace: Workspace, staff: User, sign_in: SignIn) -> None:
    connection = make_connection(workspace, api_key="a-very-secret-key")
    client = sign_in(staff)
    pages = client.get("/admin/gateway/connection/").content.decode()
    pages += client.get(f"/admin/gateway/connection/{connection.pk}/change/").content.decode()
    assert (connection.name in pages, connection.secret in pages, "a-very-secret-key" in pages) == (True, False, False)


def test_connections_cost_the_same_with_one_and_with_three(workspace: Workspace, staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    make_connection(workspace)
    one = cost(client, "/admin/gateway/connection/")
    make_connection(workspace)
    make_connection(workspace)
    assert cost(client, "/admin/gateway/connection/") == one


@pytest.mark.parametrize("filters", [{"trouble": "expired"}, {"trouble": "parked"}, {"is_done__exact": "0"}])
def test_stuck_shards_are_found(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, staff: User, sign_in: SignIn, filters: dict[str, str]
) -> None:
    request = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
    start(workspace, actor, subjects=["random-choice"], **request)
    response = sign_in(staff).get("/admin/runs/shard/", filters)
    assert (response.status_code, Call.objects.count()) == (200, 0)
