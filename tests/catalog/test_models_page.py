"""The models' list and a model's page."""

from collections.abc import Callable
from decimal import Decimal

from django.test import Client
from django.utils import timezone

from catalog.enums import RouteState
from catalog.models import ModelRoute, RouteRate
from tests.factories import make_route
from tests.paging import HTMX, cost
from workspaces.models import User

SignIn = Callable[[User], Client]
PATH = "/models"


def test_list_shows_the_rate_in_force_in_usd_a_million_tokens(route: ModelRoute) -> None:
    RouteRate.objects.create(
        route=route,
        input_microusd_per_mtok=Decimal(2_500_000),
        cached_input_microusd_per_mtok=Decimal(0),
        output_microusd_per_mtok=Decimal("12500.5"),
        effective_at=timezone.now(),
    )
    text = Client().get(PATH).content.decode()
    assert [cell in text for cell in (">$2.50<", ">free<", ">$0.0125<", ">$0.40<")] == [True, True, True, False]


def test_retired_routes_are_not_listed_and_paused_ones_say_so(route: ModelRoute) -> None:
    make_route("a/retired", state=RouteState.RETIRED)
    make_route("a/paused", state=RouteState.PAUSED)
    response = Client().get(PATH)
    assert sorted(found.route_id for found, _ in response.context["routes"]) == sorted(["a/paused", route.route_id])
    assert "Paused" in response.content.decode()


def test_search_is_a_fragment_for_htmx(route: ModelRoute) -> None:
    make_route("vendor/other")
    response = Client().get(PATH, {"q": "vendor"}, headers=HTMX)
    assert [found.route_id for found, _ in response.context["routes"]] == ["vendor/other"]
    assert "<html" not in response.content.decode()


def test_nothing_yet_and_nothing_found_are_told_apart(db: None) -> None:
    assert "No managed model is set up" in Client().get(PATH).content.decode()
    make_route()
    assert "No model matches" in Client().get(PATH, {"q": "zzz"}).content.decode()


def test_list_costs_the_same_with_one_route_and_with_three(route: ModelRoute) -> None:
    client = Client()
    one = cost(client, PATH)
    make_route()
    make_route()
    assert cost(client, PATH) == one


def test_page_shows_limits_and_every_price(route: ModelRoute) -> None:
    response = Client().get(f"{PATH}/{route.route_id}")
    assert (response.context["rate"].input_microusd_per_mtok, len(response.context["rates"])) == (Decimal(400_000), 1)
    text = response.content.decode()
    assert (f"{route.context_limit:,} tokens" in text, route.endpoint in text, "key_env" in text) == (True, False, False)


def test_button_to_evaluate_is_for_those_who_may_run(route: ModelRoute, member: User, viewer: User, sign_in: SignIn) -> None:
    shown = [
        "Evaluate it" in client.get(f"{PATH}/{route.route_id}").content.decode() for client in (sign_in(member), sign_in(viewer), Client())
    ]
    assert shown == [True, False, False]


def test_unknown_route_is_404(route: ModelRoute) -> None:
    assert Client().get(f"{PATH}/no/such").status_code == 404


def test_list_sorts_by_what_it_knows(db: None) -> None:
    for name, rate in (("a/middle", 5), ("b/dear", 9), ("c/cheap", 1)):
        make_route(name, input_rate=rate)
    orders = [[route.route_id for route, _ in Client().get(PATH, {"sort": sort}).context["routes"]] for sort in ("input", "-input", "x")]
    assert orders == [["c/cheap", "a/middle", "b/dear"], ["b/dear", "a/middle", "c/cheap"], ["a/middle", "b/dear", "c/cheap"]]
