"""Staff's pages of the catalog."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from catalog.models import Benchmark, BenchmarkVersion, ModelRoute, RouteRate, RouteRateTier
from tests.factories import make_benchmark, make_route, make_version
from tests.paging import cost
from workspaces.models import AuditEntry, User, Workspace

SignIn = Callable[[User], Client]
LISTS = ["benchmark", "benchmarkversion", "task", "datafile", "provider", "modelroute", "routerate"]


def route_form(**changed: Any) -> dict[str, Any]:
    management = {f"rates-{name}": "0" for name in ("TOTAL_FORMS", "INITIAL_FORMS")}
    return (
        {
            "route_id": "example/small",
            "name": "Small",
            "endpoint": "https://models.example.org/v1",
            "upstream_model": "small-1",
            "key_env": "EXAMPLE_KEY",
            "context_limit": "8192",
            "max_output_tokens": "1024",
            "reasoning_efforts": ["low", "high"],
            "state": "active",
            "input_usd_per_mtok": "0.40",
            "cached_usd_per_mtok": "",
            "output_usd_per_mtok": "1.60",
        }
        | management
        | changed
    )


@pytest.mark.parametrize("page", LISTS)
def test_list_answers_searches_and_costs_the_same_with_one_row_and_with_three(
    version: BenchmarkVersion, route: ModelRoute, workspace: Workspace, staff: User, sign_in: SignIn, page: str
) -> None:
    client = sign_in(staff)
    path = f"/admin/catalog/{page}/"
    assert client.get(path, {"q": "sums"}).status_code == 200
    one = cost(client, path)
    make_version(workspace=workspace)
    make_version(make_benchmark())
    make_route()
    make_route()
    assert cost(client, path) == one


@pytest.mark.parametrize("page", ["benchmark", "benchmarkversion", "task", "routerate"])
def test_what_commands_and_actions_write_is_not_added_by_hand(staff: User, sign_in: SignIn, page: str) -> None:
    assert sign_in(staff).get(f"/admin/catalog/{page}/add/").status_code == 403


def test_words_of_a_benchmark_are_changed_with_a_record(version: BenchmarkVersion, staff: User, sign_in: SignIn) -> None:
    benchmark = version.benchmark
    management = {f"versions-{name}": "0" for name in ("TOTAL_FORMS", "INITIAL_FORMS")}
    form = {"name": "Sums", "category": "math", "description": "Adding."} | management
    response = sign_in(staff).post(f"/admin/catalog/benchmark/{benchmark.pk}/change/", form)
    benchmark.refresh_from_db()
    assert (response.status_code, benchmark.name, benchmark.category, benchmark.description) == (302, "Sums", "math", "Adding.")
    assert AuditEntry.objects.get(action="benchmark.changed").actor_label == staff.email
    assert benchmark.history.count() == 2


def test_version_is_read_only_and_retired_by_an_action(version: BenchmarkVersion, staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    text = client.get(f"/admin/catalog/benchmarkversion/{version.pk}/change/").content.decode()
    assert (version.sha256 in text, 'name="manifest"' in text) == (True, False)
    client.post("/admin/catalog/benchmarkversion/", {"action": "retire", "_selected_action": [version.pk]})
    version.refresh_from_db()
    assert (version.state, AuditEntry.objects.filter(action="version.retired").count()) == ("retired", 1)


def test_benchmark_is_archived_by_an_action(version: BenchmarkVersion, staff: User, sign_in: SignIn) -> None:
    sign_in(staff).post("/admin/catalog/benchmark/", {"action": "archive", "_selected_action": [version.benchmark.pk]})
    assert Benchmark.objects.get().archived_at is not None


def test_new_route_comes_with_its_price(staff: User, sign_in: SignIn) -> None:
    response = sign_in(staff).post("/admin/catalog/modelroute/add/", route_form())
    route = ModelRoute.objects.get()
    rate = RouteRate.objects.get()
    assert (response.status_code, route.route_id, route.provider.slug) == (302, "example/small", "example")
    assert (route.reasoning_efforts, route.takes_reasoning_budget, route.state) == (["low", "high"], False, "active")
    assert (rate.input_microusd_per_mtok, rate.cached_input_microusd_per_mtok, rate.created_by) == (
        Decimal(400_000),
        Decimal(400_000),
        staff,
    )


def test_changed_price_is_a_new_dated_one_and_an_unchanged_one_is_none(staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    client.post("/admin/catalog/modelroute/add/", route_form())
    path = f"/admin/catalog/modelroute/{ModelRoute.objects.get().pk}/change/"
    assert client.get(path).context["adminform"].form.fields["output_usd_per_mtok"].initial == Decimal("1.6")
    client.post(path, route_form(state="paused"))
    assert (ModelRoute.objects.get().state, RouteRate.objects.count()) == ("paused", 1)
    client.post(path, route_form(output_usd_per_mtok="2.00"))
    newest = RouteRate.objects.order_by("-id").first()
    assert (RouteRate.objects.count(), newest and newest.output_microusd_per_mtok) == (2, Decimal(2_000_000))


def test_how_an_endpoint_counts_is_set_and_shown_again(staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    client.post("/admin/catalog/modelroute/add/", route_form(usage_quirks=["output_excludes_reasoning"]))
    route = ModelRoute.objects.get()
    assert route.quirks == {"usage": {"output_excludes_reasoning": True}}
    page = client.get(f"/admin/catalog/modelroute/{route.pk}/change/")
    assert page.context["adminform"].form.fields["usage_quirks"].initial == ["output_excludes_reasoning"]
    client.post(f"/admin/catalog/modelroute/{route.pk}/change/", route_form())
    assert ModelRoute.objects.get().usage_quirks == []


def test_price_with_tiers_is_given_in_one_form_and_shown_again(staff: User, sign_in: SignIn) -> None:
    client = sign_in(staff)
    client.post("/admin/catalog/modelroute/add/", route_form(tiers="500,000: 1 : 3\n\n200000:0.8:2.4:0.08\n"))
    path = f"/admin/catalog/modelroute/{ModelRoute.objects.get().pk}/change/"
    page = client.get(path)
    written = "200000:0.8:2.4:0.08\n500000:1:3"
    assert page.context["adminform"].form.fields["tiers"].initial == written
    assert "200,000: $0.80 / $0.08 / $2.40; 500,000: $1.00 / $1.00 / $3.00" in page.content.decode()
    client.post(path, route_form(tiers=written))
    assert (RouteRate.objects.count(), RouteRateTier.objects.count()) == (1, 2)
    client.post(path, route_form())
    assert [rate.tiers.count() for rate in RouteRate.objects.order_by("id")] == [2, 0]
    assert client.get("/admin/catalog/routerate/").content.decode().count("$2.40; 500,000") == 1


@pytest.mark.parametrize("tiers", ["dear", "200000:1", "5:1:1\n5:2:2", "0:1:1", "5:-1:1"])
def test_tiers_that_may_not_be_are_refused_at_their_field(staff: User, sign_in: SignIn, tiers: str) -> None:
    response = sign_in(staff).post("/admin/catalog/modelroute/add/", route_form(tiers=tiers))
    assert (response.status_code, list(response.context["adminform"].form.errors)) == (200, ["tiers"])
    assert ModelRoute.objects.count() == 0


@pytest.mark.parametrize(
    "changed", [{"endpoint": "https://user:secret@models.example.org/v1"}, {"route_id": "no spaces please"}, {"input_usd_per_mtok": "-1"}]
)
def test_route_that_may_not_be_is_refused_with_words(staff: User, sign_in: SignIn, changed: dict[str, str]) -> None:
    response = sign_in(staff).post("/admin/catalog/modelroute/add/", route_form(**changed))
    assert (response.status_code, bool(response.context["adminform"].form.errors), ModelRoute.objects.count()) == (200, True, 0)


def test_routes_are_never_deleted(staff: User, sign_in: SignIn) -> None:
    route = make_route()
    assert sign_in(staff).post(f"/admin/catalog/modelroute/{route.pk}/delete/", {"post": "yes"}).status_code == 403


def test_change_of_a_provider_is_recorded(route: ModelRoute, staff: User, sign_in: SignIn) -> None:
    provider = route.provider
    form = {"slug": provider.slug, "name": "Example", "url": "https://example.org"}
    assert sign_in(staff).post(f"/admin/catalog/provider/{provider.pk}/change/", form).status_code == 302
    assert AuditEntry.objects.get(action="provider.changed").target == provider.slug
