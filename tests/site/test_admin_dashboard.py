"""What waits for staff: counts that lead to the lists they count, the side bar, and the check of the books."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from billing.models import StripeEvent, Wallet
from catalog.models import BenchmarkVersion
from runs.models import Event, Run, Shard
from tests.factories import make_user, make_version
from tests.paging import cost
from tests.runs.working import start
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
pytestmark = pytest.mark.django_db
START = "/admin/"


@pytest.fixture
def live(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> Callable[..., Run]:
    """Starts a run that nobody works, aged as asked for."""

    def started(*, hours: float = 0) -> Run:
        wanted = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
        run = start(workspace, actor, subjects=["random-choice"], **wanted)
        moment = timezone.now() - timedelta(hours=hours)
        Run.objects.filter(pk=run.pk).update(created_at=moment)
        Event.objects.filter(run=run).update(created_at=moment)
        return run

    return started


def end(run: Run, status: str, *, hours: float = 0) -> None:
    interruption = {"reason": "cap_reached", "limit": None, "message": "", "unfinished": 4} if status == "partial" else None
    ended_at = timezone.now() - timedelta(hours=hours)
    Run.objects.filter(pk=run.pk).update(phase="done", status=status, interruption=interruption, errors=6, ended_at=ended_at)


def lose_lease(run: Run, *, seconds: float) -> None:
    Shard.objects.filter(run=run).update(lease_owner="gone", lease_expires_at=timezone.now() - timedelta(seconds=seconds))


def counts(client: Client) -> dict[str, int | None]:
    return {card.title: card.count for card in client.get(START).context["cards"]}


def make_all(live: Callable[..., Run]) -> None:
    """One of everything that waits."""
    make_version(state="in_review")
    end(live(), "failed")
    end(live(), "partial")
    live(hours=2)
    lose_lease(live(), seconds=120)
    make_user()
    StripeEvent.objects.create(event_id=f"evt_{StripeEvent.objects.count()}", type="charge.refunded", state="failed")


# ── What waits ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_count_leads_to_the_list_that_it_counts(live: Callable[..., Run], staff: User, sign_in: SignIn) -> None:
    make_all(live)
    client = sign_in(staff)
    cards = client.get(START).context["cards"]
    shown = {card.title: card.count for card in cards}
    assert shown == {
        "Versions in review": 1,
        "Failed or interrupted runs": 2,
        "Runs that stand still": 1,
        "Lost leases": 1,
        "New people": User.objects.count(),
        "Failed events": 1,
        "Books": None,
    }
    listed = {card.title: len(client.get(card.href).context["cl"].result_list) for card in cards if card.count is not None}
    assert listed == {title: count for title, count in shown.items() if count is not None}


def test_runs_are_told_with_why_and_lead_to_their_pages(live: Callable[..., Run], staff: User, sign_in: SignIn) -> None:
    failed, partial, still = live(), live(), live(hours=2)
    end(failed, "failed", hours=1)
    end(partial, "partial")
    client = sign_in(staff)
    response = client.get(START)
    assert [(line.state, line.why, line.href) for line in response.context["runs"]] == [
        ("Stands still", "Queued", f"/admin/runs/run/{still.pk}/change/"),
        ("Interrupted", "The cap was reached", f"/admin/runs/run/{partial.pk}/change/"),
        ("Failed", "6 of 10 answers are errors", f"/admin/runs/run/{failed.pk}/change/"),
    ]
    assert [client.get(line.href).status_code for line in response.context["runs"]] == [200] * 3
    assert "Queued" in response.content.decode()


def test_what_is_recent_or_in_order_does_not_wait(live: Callable[..., Run], staff: User, sign_in: SignIn) -> None:
    end(live(hours=30), "failed", hours=25)
    end(live(), "cancelled")
    end(live(), "completed")
    live(hours=0.9)
    lose_lease(live(), seconds=20)
    StripeEvent.objects.create(event_id="evt_1", type="charge.refunded", tries=3)
    User.objects.update(date_joined=timezone.now() - timedelta(days=8))
    client = sign_in(staff)
    assert counts(client) == {
        "Versions in review": 0,
        "Failed or interrupted runs": 0,
        "Runs that stand still": 0,
        "Lost leases": 0,
        "New people": 0,
        "Failed events": 0,
        "Books": None,
    }
    text = client.get(START).content.decode()
    assert "None failed, none was interrupted within the last day, and none stands still." in text


def test_run_with_a_fresh_event_does_not_stand_still(live: Callable[..., Run], staff: User, sign_in: SignIn) -> None:
    run = live(hours=5)
    Event.objects.filter(run=run).update(created_at=timezone.now())
    assert counts(sign_in(staff))["Runs that stand still"] == 0


def test_newest_people_say_whether_they_confirmed_their_address(staff: User, sign_in: SignIn) -> None:
    waiting = make_user("waiting@example.org")
    waiting.emailaddress_set.update(verified=False)  # type: ignore[attr-defined]
    people = sign_in(staff).get(START).context["people"]
    assert [(person.email, person.is_confirmed) for person in people] == [("waiting@example.org", False), ("staff@example.org", True)]


def test_page_costs_the_same_with_one_of_everything_and_with_three(live: Callable[..., Run], staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    make_all(live)
    one = cost(client, START)
    make_all(live)
    make_all(live)
    assert cost(client, START) == one


# ── Who sees what ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_staff_sees_what_it_may(live: Callable[..., Run], sign_in: SignIn) -> None:
    make_all(live)
    reader = make_user(is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_wallet"))
    client = sign_in(reader)
    response = client.get(START)
    assert [card.title for card in response.context["cards"]] == ["Books"]
    assert [group.get("title") for group in response.context["sidebar_navigation"]] == [None, "Money"]
    text = response.content.decode()
    assert ("Newest people" in text, "Runs to look at" in text, "Versions in review" in text) == (False, False, False)


def test_whoever_is_no_staff_is_sent_away(owner: User, sign_in: SignIn) -> None:
    response = sign_in(owner).get(START)
    assert (response.status_code, response["Location"]) == (302, "/admin/login/?next=/admin/")


def test_side_bar_leads_to_every_list(staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    groups = client.get(START).context["sidebar_navigation"]
    assert [group.get("title") for group in groups] == [None, "Catalog", "Models", "Runs", "Money", "People", "Audit"]
    links = [str(item["link"]) for group in groups for item in group["items"]]
    every = [f"/admin/{model._meta.app_label}/{model._meta.model_name}/" for model in admin.site._registry]
    assert sorted(links) == sorted([START, *every])
    assert [client.get(link).status_code for link in links] == [200] * len(links)


# ── The books ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_books_are_checked_when_asked_for(workspace: Workspace, staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    path = next(card.href for card in client.get(START).context["cards"] if card.title == "Books")
    assert "The books add up." in client.get(path).content.decode()
    Wallet.objects.filter(workspace=workspace).update(balance_microusd=9_000_000)
    response = client.get(path)
    assert [(each.stands, each.expected) for each in response.context["differences"]] == [(9_000_000, 10_000_000)]
    text = response.content.decode()
    assert ("1 thing in the books does not add up." in text, "$9.00" in text, "$10.00" in text) == (True, True, True)


def test_books_are_for_those_who_may_see_wallets(sign_in: SignIn) -> None:
    assert sign_in(make_user(is_staff=True)).get("/admin/billing/wallet/check/").status_code == 403


# ── Lists ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "filters"),
    [
        ("runs/run", {"attention": "still"}),
        ("runs/run", {"q": "nothing"}),
        ("runs/event", {"about": "run"}),
        ("gateway/call", {"error": "rate_limited"}),
        ("workspaces/user", {"joined": "day"}),
        ("account/emailaddress", {"verified__exact": "1", "q": "example"}),
        ("catalog/benchmarkversion", {"q": "sums", "state__exact": "active"}),
    ],
)
def test_list_narrows(live: Callable[..., Run], staff: User, sign_in: SignIn, path: str, filters: dict[str, str]) -> None:
    live()
    response = sign_in(staff).get(f"/admin/{path}/", filters)
    assert (response.status_code, response.context["cl"].has_filters or bool(filters.get("q"))) == (200, True)


def test_addresses_are_confirmed_by_people_alone(owner: User, staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    address = owner.emailaddress_set.get()  # type: ignore[attr-defined]
    assert client.get("/admin/account/emailaddress/add/").status_code == 403
    assert client.post(f"/admin/account/emailaddress/{address.pk}/change/", {"verified": "on"}).status_code == 403


def test_times_have_the_day_first_and_their_zone(live: Callable[..., Run], staff: User, sign_in: SignIn) -> None:
    run = live()
    Run.objects.filter(pk=run.pk).update(created_at="2026-02-03T14:05:00Z")
    assert "3 Feb 2026, 14:05 UTC" in sign_in(staff).get("/admin/runs/run/").content.decode()
