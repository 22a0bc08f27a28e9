"""Managed routes and their dated prices, by action and by `manage.py add_route`."""

import io
import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from catalog.actions import save_route, set_usage_quirks
from catalog.models import ModelRoute, Provider, RouteRate
from catalog.rates import RATES, StatedTier, read_tier, written_tier
from common.errors import Forbidden, Refused
from workspaces.actors import SYSTEM, actor_of_user
from workspaces.models import AuditEntry, User

ROUTE: dict[str, Any] = {
    "actor": SYSTEM,
    "endpoint": "http://127.0.0.1:9/v1",
    "model": "small-2",
    "input_usd_per_mtok": Decimal("0.4"),
    "output_usd_per_mtok": Decimal("1.6"),
}


def saved(route_id: str = "example/small", **changes: Any) -> ModelRoute:
    return save_route(route_id, **{**ROUTE, **changes})


def prices() -> list[tuple[int, int, int]]:
    columns = ("input_microusd_per_mtok", "cached_input_microusd_per_mtok", "output_microusd_per_mtok")
    return [tuple(map(int, row)) for row in RouteRate.objects.order_by("id").values_list(*columns)]  # type: ignore[misc]


def test_a_new_route_has_its_provider_its_name_and_its_price(db: None) -> None:
    route = saved()
    assert (route.provider.slug, route.name, route.capabilities, route.state) == ("example", "small", ["chat"], "active")
    assert (route.endpoint, route.upstream_model, route.key_env) == ("http://127.0.0.1:9/v1", "small-2", "")
    assert prices() == [(400_000, 400_000, 1_600_000)]


def test_the_same_again_changes_nothing(db: None) -> None:
    saved(context_limit=8_000, name="Small")
    saved()
    assert (ModelRoute.objects.get().context_limit, ModelRoute.objects.get().name) == (8_000, "Small")
    assert (ModelRoute.objects.count(), Provider.objects.count(), len(prices()), ModelRoute.history.count()) == (1, 1, 1, 1)
    assert [entry.action for entry in AuditEntry.objects.order_by("id")] == ["route.created", "route.priced"]


def test_a_changed_price_is_a_new_dated_one_and_a_free_route_may_be(db: None) -> None:
    saved()
    saved(cached=Decimal("0.1"))
    saved(input_usd_per_mtok=Decimal(0), output_usd_per_mtok=Decimal(0))
    assert prices() == [(400_000, 400_000, 1_600_000), (400_000, 100_000, 1_600_000), (0, 0, 0)]
    rates = list(RouteRate.objects.order_by("id"))
    assert [rate.is_free for rate in rates] == [False, False, True]
    assert rates[0].effective_at < rates[1].effective_at < rates[2].effective_at


LONG = StatedTier(200_000, Decimal("0.8"), Decimal("2.4"), Decimal("0.08"))
LONGER = StatedTier(500_000, Decimal(1), Decimal(3))


def tiers_of(rate: RouteRate) -> list[list[int]]:
    return [[int(value) for value in row] for row in rate.tiers.values_list("above_input_tokens", *RATES)]


def test_a_price_with_tiers_is_one_dated_price(db: None) -> None:
    saved(tiers=[LONGER, LONG])
    saved(tiers=[LONG, LONGER])
    rate = RouteRate.objects.get()
    assert tiers_of(rate) == [[200_000, 800_000, 80_000, 2_400_000], [500_000, 1_000_000, 1_000_000, 3_000_000]]
    noted = AuditEntry.objects.get(action="route.priced").data["tiers"]
    assert (noted[0]["above_input_tokens"], noted[0]["input_microusd_per_mtok"]) == ("200000", "800000.0")


def test_a_changed_or_dropped_tier_is_a_new_price_and_the_old_keeps_its_own(db: None) -> None:
    saved(tiers=[LONG])
    saved(tiers=[LONG._replace(above_input_tokens=128_000)])
    saved(tiers=[LONG._replace(above_input_tokens=128_000, cached=None)])
    saved()
    bounds = [[tier[:3] for tier in tiers_of(rate)] for rate in RouteRate.objects.order_by("id")]
    assert bounds == [[[200_000, 800_000, 80_000]], [[128_000, 800_000, 80_000]], [[128_000, 800_000, 800_000]], []]


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("200000:0.8:2.4:0.08", LONG),
        (" 200,000 : 0.8 : 2.4 : 0.08 ", LONG),
        ("500000:1:3", LONGER),
    ],
)
def test_tier_is_read_as_written(text: str, tier: StatedTier) -> None:
    assert read_tier(text) == tier


@pytest.mark.parametrize("text", ["", "200000", "200000:1", "a:1:2", "1:2:3:4:5", "1:one:2", "1.5:1:1"])
def test_text_that_is_no_tier_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="is no tier"):
        read_tier(text)


def test_the_command_takes_tiers_and_prints_them(db: None) -> None:
    output = io.StringIO()
    prices = ["--input-usd-per-mtok=0.4", "--output-usd-per-mtok=1.6", "--tier=500000:1:3", "--tier=200000:0.8:2.4:0.08"]
    call_command("add_route", "a/b", "--endpoint=http://127.0.0.1/v1", "--model=m", *prices, stdout=output)
    printed = json.loads(output.getvalue())["pricing"]["tiers"]
    assert [list(tier) for tier in printed] == [["above_input_tokens", *RATES]] * 2
    assert [list(tier.values()) for tier in printed] == [
        [200_000, "800000", "80000", "2400000"],
        [500_000, "1000000", "1000000", "3000000"],
    ]
    assert [written_tier(tier) for tier in RouteRate.objects.get().tiers.all()] == ["200000:0.8:2.4:0.08", "500000:1:3"]


def test_the_database_holds_one_tier_for_a_bound(db: None) -> None:
    saved(tiers=[LONG])
    tier = RouteRate.objects.get().tiers.get()
    tier.pk = None
    with pytest.raises(IntegrityError):
        tier.save(force_insert=True)


def test_another_endpoint_forgets_what_the_old_one_refused(db: None) -> None:
    saved()
    ModelRoute.objects.update(quirks={"limit_name": "max_completion_tokens"})
    assert saved(key_env="EXAMPLE_KEY").quirks == {"limit_name": "max_completion_tokens"}
    assert saved(key_env="EXAMPLE_KEY", endpoint="https://api.example.org/v1").quirks == {}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"endpoint": "ftp://example.org"}, "invalid_endpoint"),
        ({"endpoint": "https://user:secret@example.org/v1"}, "invalid_endpoint"),
        ({"endpoint": "https://example.org/v1?key=x"}, "invalid_endpoint"),
        ({"endpoint": "https://[::1/v1"}, "invalid_endpoint"),
        ({"endpoint": "example.org/v1"}, "invalid_endpoint"),
        ({"endpoint": "https://exa mple.org/v1"}, "invalid_endpoint"),
        ({"input_usd_per_mtok": Decimal("-1")}, "invalid_rate"),
        ({"output_usd_per_mtok": Decimal("NaN")}, "invalid_rate"),
        ({"output_usd_per_mtok": Decimal("1e9")}, "invalid_rate"),
        ({"cached": Decimal("1e-13")}, "invalid_rate"),
        ({"tiers": [LONG, LONG]}, "invalid_rate"),
        ({"tiers": [LONG._replace(above_input_tokens=0)]}, "invalid_rate"),
        ({"tiers": [LONG._replace(output_usd_per_mtok=Decimal(-1))]}, "invalid_rate"),
        ({"tiers": [LONG._replace(above_input_tokens=tokens) for tokens in range(1, 10)]}, "invalid_rate"),
        ({"tiers": [LONG], "input_usd_per_mtok": Decimal(0), "output_usd_per_mtok": Decimal(0)}, "invalid_rate"),
        ({"model": " "}, "invalid_route"),
        ({"key_env": "sk-secret value"}, "invalid_route"),
        ({"context_limit": 0}, "invalid_route"),
        ({"route_id": "no spaces"}, "invalid_route"),
        ({"route_id": ""}, "invalid_route"),
    ],
)
def test_what_is_no_route_is_refused_and_nothing_is_made(db: None, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(Refused) as refused:
        saved(**changes)
    assert (refused.value.code, ModelRoute.objects.count(), Provider.objects.count()) == (code, 0, 0)


def test_only_staff_sets_routes(owner: User, staff: User) -> None:
    with pytest.raises(Forbidden):
        saved(actor=actor_of_user(owner))
    assert saved(actor=actor_of_user(staff)).rates.get().created_by == staff


def test_the_command_prints_one_json_object_and_is_idempotent(db: None) -> None:
    prices = ["--input-usd-per-mtok", "0.15", "--output-usd-per-mtok", "0.6", "--cached-input-usd-per-mtok", "0.075"]
    limits = ["--context-limit", "8192", "--max-output-tokens", "2048"]
    names = ["--endpoint", "http://127.0.0.1:11434/v1", "--model", "llama3", "--key-env", "LOCAL_KEY", "--name", "Llama"]
    outputs = [io.StringIO(), io.StringIO()]
    for output in outputs:
        call_command("add_route", "local/llama", *names, *prices, *limits, stdout=output)
    rate = RouteRate.objects.get()
    assert json.loads(outputs[0].getvalue()) == {
        "id": "local/llama",
        "name": "Llama",
        "endpoint": "http://127.0.0.1:11434/v1",
        "model": "llama3",
        "key_env": "LOCAL_KEY",
        "context_limit": 8192,
        "max_output_tokens": 2048,
        "pricing": {
            "input_microusd_per_mtok": "150000",
            "cached_input_microusd_per_mtok": "75000",
            "output_microusd_per_mtok": "600000",
        },
        "rate_id": str(rate.public_id),
        "priced_at": rate.effective_at.isoformat(),
    }
    assert (outputs[0].getvalue(), outputs[0].getvalue().count("\n")) == (outputs[1].getvalue(), 1)


def test_how_an_endpoint_counts_is_said_by_staff_and_kept_until_it_is_another(db: None, owner: User) -> None:
    route = saved()
    ModelRoute.objects.update(quirks={"limit_name": "max_completion_tokens"})
    names = ["output_excludes_reasoning", "input_excludes_cached"]
    counted = {"limit_name": "max_completion_tokens", "usage": {"input_excludes_cached": True, "output_excludes_reasoning": True}}
    assert set_usage_quirks(route, actor=SYSTEM, names=names).quirks == counted
    set_usage_quirks(route, actor=SYSTEM, names=names)
    assert AuditEntry.objects.filter(action="route.changed").count() == 1
    assert saved(name="Small").usage_quirks == sorted(names)
    assert set_usage_quirks(route, actor=SYSTEM, names=[]).quirks == {"limit_name": "max_completion_tokens", "usage": {}}
    with pytest.raises(Refused, match="is none of"):
        set_usage_quirks(route, actor=SYSTEM, names=["counts_twice"])
    with pytest.raises(Forbidden):
        set_usage_quirks(route, actor=actor_of_user(owner), names=names)
    call_command(
        "add_route", "a/b", "--endpoint=http://127.0.0.1/v1", "--model=m", "--input-usd-per-mtok=1", "--output-usd-per-mtok=1",
        "--usage-quirk=output_excludes_reasoning", stdout=io.StringIO(),
    )  # fmt: skip
    assert ModelRoute.objects.get(route_id="a/b").usage_quirks == ["output_excludes_reasoning"]


@pytest.mark.parametrize("price", ["-1", "free", "inf"])
def test_the_command_says_why_it_refuses(db: None, price: str) -> None:
    with pytest.raises(CommandError):
        call_command(
            "add_route", "a/b", "--endpoint=http://127.0.0.1/v1", "--model=m", f"--input-usd-per-mtok={price}", "--output-usd-per-mtok=1"
        )
    assert ModelRoute.objects.count() == 0
