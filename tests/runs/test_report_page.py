"""The report of a run: live, ended, cancelled, continued."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.models import BenchmarkVersion, ModelRoute
from runs.documents import result_document
from runs.models import Quote, Run, Subject
from runs.queries import get_result
from tests.factories import make_route, make_version
from tests.paging import HTMX, cost
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
BASELINES = ("random-choice", "most-frequent-answer")


def run_of(workspace: Workspace, actor: Actor, version: BenchmarkVersion, *subjects: Any, **request: Any) -> Run:
    body = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}} | request
    return start(workspace, actor, subjects=list(subjects or BASELINES), **body)


def path_of(run: Run) -> str:
    return f"/evaluations/{run.public_id}"


@pytest.fixture
def queued(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> Run:
    return run_of(workspace, actor, version, name="Nightly")


@pytest.fixture
def ended(queued: Run) -> Run:
    return work(queued)


@pytest.fixture
def interrupted(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> Run:
    """A run whose cap paid for some of its tasks."""
    with ChatServer(sums) as server:
        route = make_route("example/paid", endpoint=server.url)
        run = run_of(workspace, actor, version, route.route_id, max_charge_microusd="200")
        return work(run)


def test_live_page_shows_scores_as_they_come_labelled_as_running(queued: Run, viewer: User, sign_in: SignIn) -> None:
    Subject.objects.filter(run=queued, index=0).update(processed=4, graded=4, correct=3)
    response = sign_in(viewer).get(path_of(queued))
    headlines = [row["headline"] for row in response.context["subjects"]]
    assert [headline["value"] for headline in headlines] == [0.75, None]
    text = response.content.decode()
    assert [words in text for words in ("Score so far", "75.0%", "30.1 – 95.4%", "4 <span", "Scores so far")] == [True] * 5


def test_live_page_adds_spend_up_to_the_bound(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, route: ModelRoute, viewer: User, sign_in: SignIn
) -> None:
    """To the cap, to the worst case where the cap is above it, and to what the limits leave where there is no cap."""

    def sum_of(**request: str) -> str:
        text = sign_in(viewer).get(path_of(run_of(workspace, actor, version, route.route_id, **request))).content.decode()
        return text.partition('<p class="small muted">$0.00 settled')[2].partition("</p>")[0].partition(" = ")[2]

    assert sum_of(max_charge_microusd="1000") == "$0.001, the cap"
    worst = sum_of().partition(",")[0]
    assert sum_of() == f"{worst}, the most it may charge"
    assert sum_of(max_charge_microusd="5000000") == f"{worst}, the worst case of all calls, which is below the cap of $5.00"


def test_polled_fragment_asks_again_until_the_run_has_ended(queued: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    response = client.get(path_of(queued), headers=HTMX)
    text = response.content.decode()
    assert (response.status_code, text.strip().startswith('<div id="live"'), 'hx-trigger="every 2s"' in text) == (200, True, True)
    work(queued)
    response = client.get(path_of(queued), headers=HTMX)
    text = response.content.decode()
    assert (response.status_code, response["HX-Retarget"], response["HX-Reswap"]) == (286, "#report", "outerHTML")
    assert (text.strip().startswith('<div id="report"'), "every 2s" in text, "<html" in text) == (True, False, False)


def test_ended_page_shows_the_frozen_result(ended: Run, viewer: User, sign_in: SignIn) -> None:
    response = sign_in(viewer).get(path_of(ended))
    result = result_document(get_result(ended))
    assert response.context["result"] == result
    text = response.content.decode()
    for subject in result["subjects"]:
        headline = subject["headline"]
        low, high = headline["interval"]["low"], headline["interval"]["high"]
        assert f"{headline['value'] * 100:.1f}%" in text
        assert f"{low * 100:.1f} – {high * 100:.1f}%" in text
    expected = [
        result["sha256"],
        "Version 1",
        "Wilson score interval",
        "All tasks of the benchmark",
        "Each task was asked once",
        "Completed",
    ]
    assert [words for words in expected if words not in text] == []


def test_ended_page_says_how_many_answers_were_right(ended: Run, viewer: User, sign_in: SignIn) -> None:
    text = sign_in(viewer).get(path_of(ended)).content.decode()
    subjects = result_document(get_result(ended))["subjects"]
    assert [f"{subject['counts']['correct']} right" in text for subject in subjects] == [True, True]


def test_two_models_are_compared_in_words_chart_and_table(ended: Run, viewer: User, sign_in: SignIn) -> None:
    response = sign_in(viewer).get(path_of(ended))
    text = response.content.decode()
    compare = response.context["parts"][0]["compare"]
    assert compare["summary"].replace("'", "&#x27;") in text
    assert [row["entry"]["rank"] for row in response.context["parts"][0]["rows"]] == [entry["rank"] for entry in compare["ranking"]]
    assert (text.count('class="chart-figure"'), "Adjusted p" in text, "one_attempt" in text) == (2, True, False)


def test_one_model_has_no_ranking(workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn) -> None:
    run = work(run_of(workspace, actor, version, "random-choice"))
    response = sign_in(viewer).get(path_of(run))
    assert (response.context["parts"][0]["compare"], "Rank</th>" in response.content.decode()) == (None, False)


def test_groups_have_a_table_of_their_own(workspace: Workspace, actor: Actor, viewer: User, sign_in: SignIn) -> None:
    rows = [
        {"values": {"question": f"What is {n} + {n}?"}, "reference": str(2 * n), "group": "even" if n % 2 == 0 else "odd"} for n in range(8)
    ]
    run = work(run_of(workspace, actor, make_version(rows=rows)))
    assert [row["name"] for row in sign_in(viewer).get(path_of(run)).context["parts"][0]["group_rows"]] == ["even", "odd"]


def test_errors_are_counted_by_class_and_said_in_words(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    route = make_route("example/gone", endpoint="http://127.0.0.1:9/v1", model="gone", key_env="NO_SUCH_VARIABLE_IS_SET")
    run = work(run_of(workspace, actor, version, route.route_id))
    text = sign_in(viewer).get(path_of(run)).content.decode()
    assert (run.status, "The provider refused the key" in text or "A model was stopped" in text) == ("failed", True)


def test_receipt_adds_up(interrupted: Run, viewer: User, sign_in: SignIn) -> None:
    response = sign_in(viewer).get(path_of(interrupted))
    billing = response.context["result"]["billing"]
    assert (
        int(billing["usage_microusd"]) + int(billing["platform_fee_microusd"])
        == int(billing["total_microusd"])
        == interrupted.spend_microusd
    )
    assert f"${interrupted.spend_microusd / 1_000_000:.6f}".rstrip("0") in response.content.decode()


def test_interrupted_run_says_why_and_offers_to_continue(interrupted: Run, member: User, viewer: User, sign_in: SignIn) -> None:
    text = sign_in(member).get(path_of(interrupted)).content.decode()
    assert ("The cap was reached" in text, f"{path_of(interrupted)}/continuation" in text) == (True, True)
    text = sign_in(viewer).get(path_of(interrupted)).content.decode()
    assert ("The cap was reached" in text, "/continuation" in text) == (True, False)


def test_continuing_makes_an_open_quote_and_starts_nothing(interrupted: Run, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    assert client.get(f"{path_of(interrupted)}/continuation").status_code == 200
    response = client.post(f"{path_of(interrupted)}/continuation", {"cap": "1.00"})
    quote = Quote.objects.get(source_run=interrupted)
    assert response["Location"] == f"/evaluations/quotes/{quote.public_id}"
    assert (quote.status, quote.cap_microusd, Run.objects.count()) == ("open", 1_000_000, 1)
    text = client.get(response["Location"]).content.decode()
    assert ("an interrupted run" in text, "What is kept and what is run" in text) == (True, True)


def test_continuing_with_too_small_a_cap_is_said_at_the_cap(interrupted: Run, member: User, sign_in: SignIn) -> None:
    response = sign_in(member).post(f"{path_of(interrupted)}/continuation", {"cap": "0.000001"})
    assert (response.status_code, list(response.context["form"].errors), Quote.objects.filter(source_run=interrupted).count()) == (
        422,
        ["cap"],
        0,
    )
    response = sign_in(member).post(f"{path_of(interrupted)}/continuation", {"cap": "much"}, headers=HTMX)
    assert (response.status_code, "<html" in response.content.decode()) == (422, False)


def test_continued_run_leads_to_the_newer_one(interrupted: Run, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    quote = client.post(f"{path_of(interrupted)}/continuation", {"cap": ""})["Location"]
    newer = client.post(f"{quote}/start")["Location"]
    text = client.get(path_of(interrupted)).content.decode()
    assert (newer in text, "/continuation" in text) == (True, False)
    assert path_of(interrupted) in client.get(newer).content.decode()


def test_cancelling_asks_first_and_needs_a_post(queued: Run, member: User, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    address = f"{path_of(queued)}/cancellation"
    assert client.get(address).status_code == 200
    queued.refresh_from_db()
    assert queued.cancel_requested_at is None
    assert client.post(address)["Location"] == path_of(queued)
    queued.refresh_from_db()
    assert queued.cancel_requested_at is not None
    text = client.get(path_of(queued)).content.decode()
    assert ("Cancelling" in text, "Cancel the run" in text) == (True, False)


def test_cancelled_run_can_be_continued_in_one_step(queued: Run, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    client.post(f"{path_of(queued)}/cancellation")
    work(queued)
    assert (queued.status, 'name="include_cancelled"' in client.get(path_of(queued)).content.decode()) == ("cancelled", True)
    response = client.post(f"{path_of(queued)}/continuation", {"include_cancelled": "on"})
    assert response["Location"] == f"/evaluations/quotes/{Quote.objects.get(source_run=queued).public_id}"


def test_ended_run_cannot_be_cancelled_and_says_so(ended: Run, member: User, sign_in: SignIn) -> None:
    response = sign_in(member).post(f"{path_of(ended)}/cancellation", follow=True)
    assert (response.status_code, "has ended already" in response.content.decode()) == (200, True)


def test_viewer_sees_no_buttons_that_change_and_cannot_change(queued: Run, viewer: User, stranger: User, sign_in: SignIn) -> None:
    text = sign_in(viewer).get(path_of(queued)).content.decode()
    assert ("/cancellation" in text, "Run again" in text) == (False, False)
    for change in ("cancellation", "continuation"):
        statuses = [sign_in(person).post(f"{path_of(queued)}/{change}").status_code for person in (viewer, stranger)]
        assert statuses == [403, 404]


def test_ended_run_can_be_run_again(ended: Run, member: User, viewer: User, sign_in: SignIn) -> None:
    shown = [
        f"/evaluations/new?from={ended.public_id}" in sign_in(person).get(path_of(ended)).content.decode() for person in (member, viewer)
    ]
    assert shown == [True, False]


def test_page_costs_the_same_with_one_model_and_with_eight(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, viewer: User, sign_in: SignIn
) -> None:
    client = sign_in(viewer)
    seeded = [{"kind": "baseline", "name": "random-choice", "seed": seed} for seed in range(8)]
    one, eight = run_of(workspace, actor, version, seeded[0]), run_of(workspace, actor, version, *seeded)
    assert cost(client, path_of(one)) == cost(client, path_of(eight))
    work(one)
    work(eight)
    assert cost(client, path_of(one)) == cost(client, path_of(eight))


def test_live_page_draws_how_it_goes_on_its_own_clock(queued: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    ask = HTMX | {"HX-Target": "progress"}
    assert 'id="progress"' in client.get(path_of(queued)).content.decode()
    assert "The first answers are on their way" in client.get(path_of(queued), headers=ask).content.decode()
    work(queued)
    response = client.get(path_of(queued), headers=ask)
    assert (response.status_code, response["HX-Retarget"]) == (286, "#report")
