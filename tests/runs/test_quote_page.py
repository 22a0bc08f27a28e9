"""A quote's page, and starting it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from catalog.models import BenchmarkVersion, ModelRoute
from runs.actions import create_quote, start_run
from runs.models import Quote, Run
from tests.factories import make_connection, make_workspace
from tests.paging import HTMX, cost
from workspaces.actors import Actor, actor_of_user
from workspaces.enums import Role
from workspaces.models import Membership, User, Workspace

SignIn = Callable[[User], Client]


def quote_of(workspace: Workspace, actor: Actor, version: BenchmarkVersion, *subjects: Any, **request: Any) -> Quote:
    body = {"subjects": list(subjects), "selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
    return create_quote(workspace, actor=actor, request=body | request)


def path_of(quote: Quote) -> str:
    return f"/evaluations/quotes/{quote.public_id}"


@pytest.fixture
def paid(workspace: Workspace, actor: Actor, version: BenchmarkVersion, route: ModelRoute) -> Quote:
    return quote_of(workspace, actor, version, route.route_id, "random-choice", max_charge_microusd="1000")


@pytest.fixture
def free(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> Quote:
    return quote_of(workspace, actor, version, "random-choice")


def test_page_says_what_it_may_charge_and_what_it_can_show(paid: Quote, member: User, sign_in: SignIn) -> None:
    response = sign_in(member).get(path_of(paid))
    context = response.context
    assert (context["most_microusd"], context["cap_binds"], context["calls"]) == (1000, paid.ceiling_microusd > 1000, 20)
    text = response.content.decode()
    expected = [
        "Start, for at most $0.001",
        "$0.40",
        "$1.60",
        "39.6 points",
        "all 10 tasks",
        "29 min left",
        "Free: no model is called",
        "Baselines are not models",
        "One a task, at temperature 0",
    ]
    assert [words for words in expected if words not in text] == []


def test_free_quote_says_so(free: Quote, member: User, sign_in: SignIn) -> None:
    text = sign_in(member).get(path_of(free)).content.decode()
    assert ("Start, free" in text, "Least cap" in text) == (True, False)


def test_external_charges_are_announced(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, member: User, sign_in: SignIn
) -> None:
    connection = make_connection(workspace, name="ours")
    quote = quote_of(workspace, actor, version, {"kind": "connection", "connection_id": str(connection.public_id)})
    text = sign_in(member).get(path_of(quote)).content.decode()
    assert ("Your provider may bill you" in text, "Billed by your own provider" in text) == (True, True)


def test_viewer_reads_and_sees_no_start(paid: Quote, viewer: User, sign_in: SignIn) -> None:
    response = sign_in(viewer).get(path_of(paid))
    assert (response.status_code, "/start" in response.content.decode()) == (200, False)


def test_quote_of_another_of_the_persons_workspaces_is_shown_by_the_role_there(
    paid: Quote, workspace: Workspace, version: BenchmarkVersion, sign_in: SignIn, stranger: User
) -> None:
    """The session works elsewhere: the object's own workspace decides."""
    Membership.objects.create(workspace=workspace, user=stranger, role=Role.VIEWER)
    response = sign_in(stranger).get(path_of(paid))
    assert (response.status_code, "/start" in response.content.decode()) == (200, False)


def test_countdown_fetches_itself_until_the_quote_is_over(paid: Quote, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    response = client.get(path_of(paid), headers=HTMX)
    text = response.content.decode()
    assert (response.status_code, 'hx-trigger="every 20s"' in text, "<html" in text) == (200, True, False)
    Quote.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    response = client.get(path_of(paid), headers=HTMX)
    text = response.content.decode()
    assert (response.status_code, "hx-trigger" in text, "Expired" in text, "/start" in text) == (286, False, True, False)


def test_starting_shows_the_run_and_starting_again_the_same(paid: Quote, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    addresses = [client.post(f"{path_of(paid)}/start")["Location"] for _ in range(2)]
    run = Run.objects.get()
    assert addresses == [f"/evaluations/{run.public_id}"] * 2
    assert "See the run" in client.get(path_of(paid)).content.decode()


def test_refused_start_says_why_and_keeps_the_quote_open(
    version: BenchmarkVersion, route: ModelRoute, member: User, sign_in: SignIn
) -> None:
    poor = make_workspace("Poor")
    Membership.objects.create(workspace=poor, user=member, role=Role.MEMBER)
    quote = quote_of(poor, actor_of_user(member), version, route.route_id, max_charge_microusd="900000")
    response = sign_in(member).post(f"{path_of(quote)}/start")
    text = response.content.decode()
    quote.refresh_from_db()
    assert (response.status_code, quote.status, Run.objects.count()) == (402, "open", 0)
    assert ("Not started" in text, "The quote stays open" in text, "/start" in text) == (True, True, True)


def test_expired_quote_cannot_be_started_and_can_be_quoted_again(paid: Quote, member: User, sign_in: SignIn) -> None:
    Quote.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    response = sign_in(member).post(f"{path_of(paid)}/start")
    text = response.content.decode()
    assert (response.status_code, "expired" in text, f"/evaluations/new?quote={paid.public_id}" in text, Run.objects.count()) == (
        409,
        True,
        True,
        0,
    )


def test_connection_changed_since_the_quote_is_said(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, member: User, sign_in: SignIn
) -> None:
    connection = make_connection(workspace, name="ours")
    quote = quote_of(workspace, actor, version, {"kind": "connection", "connection_id": str(connection.public_id)})
    connection.revision += 1
    connection.save(update_fields=["revision"])
    response = sign_in(member).post(f"{path_of(quote)}/start")
    assert (response.status_code, response.context["refusal"].code, Run.objects.count()) == (409, "incompatible_now", 0)
    assert response.context["refusal"].message.replace("'", "&#x27;") in response.content.decode()


def test_viewer_cannot_start_and_a_stranger_finds_nothing(paid: Quote, viewer: User, stranger: User, sign_in: SignIn) -> None:
    statuses = [sign_in(person).post(f"{path_of(paid)}/start").status_code for person in (viewer, stranger)]
    assert (statuses, Run.objects.count()) == ([403, 404], 0)


def test_page_costs_the_same_with_one_model_and_with_three(
    free: Quote, workspace: Workspace, actor: Actor, version: BenchmarkVersion, route: ModelRoute, member: User, sign_in: SignIn
) -> None:
    client = sign_in(member)
    three = quote_of(workspace, actor, version, route.route_id, "random-choice", "most-frequent-answer")
    assert cost(client, path_of(free)) == cost(client, path_of(three))


def test_started_quote_names_its_run(free: Quote, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    run, _ = start_run(free, actor=actor)
    assert f"/evaluations/{run.public_id}" in sign_in(viewer).get(path_of(free)).content.decode()
