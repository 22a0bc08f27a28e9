"""The plan of a quote: the shape of API.md, what was frozen, and what it may cost at the most."""

from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from catalog.models import Task
from common.canonical import canonical_json, freeze
from gateway.metering import Price, Tier, worst_case, worst_case_input_tokens
from gateway.pricing import price_of
from runs.actions import create_quote, start_run
from runs.bounding import PromptSizes, ceiling_of, least_of
from runs.documents import receipt_document
from runs.engine.loading import load_subject
from runs.models import Quote
from runs.sampling import task_list_sha256
from runs.starting import terms_of
from tests import factories
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

db = pytest.mark.django_db


def quote(workspace: Workspace, actor: Actor, **request: Any) -> Quote:
    return create_quote(workspace, actor=actor, request=request)


@db
def test_plan_has_the_shape_of_the_api(workspace: Workspace, actor: Actor) -> None:
    factories.make_version(factories.make_benchmark("sums", name="Sums"), tasks=40, max_output_tokens=256)
    factories.make_route("example/adder", cached_input_rate=100_000)
    made = quote(
        workspace,
        actor,
        model="adder",
        benchmark="sums",
        coverage={"mode": "sample", "sample_count": 25, "seed": 42},
        max_charge_microusd="1000000",
        concurrency=8,
    )
    plan = made.plan_document
    benchmark = {"profile_id": "sums@1", "slug": "sums", "version": 1, "name": "Sums", "capability": "chat", "private": False}
    delivery = plan.pop("delivery")
    part = {name: plan[name] for name in ("coverage", "task_list_sha256", "resolution", "evidence")}
    assert plan == {
        "benchmark": benchmark,
        "benchmarks": [
            {**benchmark, **part, "delivery": delivery, "output_limit": 256, "ceiling_microusd": plan["pricing"]["ceiling_microusd"]}
        ],
        "coverage": {"mode": "sample", "tasks": 25, "population": 40, "seed": 42, "stratified": False, "excluded": 0},
        "task_list_sha256": plan["task_list_sha256"],
        "subjects": [
            {
                "index": 0,
                "label": "example/adder",
                "model": {"kind": "managed", "route_id": "example/adder"},
                "external_charges": False,
                "pricing": {
                    "input_microusd_per_mtok": "400000",
                    "cached_input_microusd_per_mtok": "100000",
                    "output_microusd_per_mtok": "1600000",
                },
                "reasoning": {"effort": None, "budget_tokens": None, "source": "route_default"},
                "output_limit": 256,
                "cap_share_microusd": None,
            }
        ],
        "total_tasks": 25,
        "attempts_per_task": 1,
        "concurrency": 8,
        "weights": None,
        "reuse": None,
        "pricing": {
            "platform_fee_percent": "5",
            "minimum_cap_microusd": str(made.minimum_cap_microusd),
            "ceiling_microusd": str(made.ceiling_microusd),
        },
        "resolution": {"smallest_difference": 0.2504, "assumed_disagreement": 0.2},
        "evidence": None,
        "continuation": None,
        "warnings": [
            {"code": "not_full_coverage", "message": "25 of 40 tasks: a result on a part is not the benchmark's full score."},
        ],
    }
    assert set(delivery) == {"receives", "never_receives", "grader", "output_limit", "few_shot", "attempts", "tries"}
    assert (delivery["output_limit"], delivery["few_shot"], delivery["attempts"]) == (256, 0, 1)


@db
def test_plan_is_stored_as_it_was_hashed(workspace: Workspace, actor: Actor, version: Any, route: Any) -> None:
    made = quote(workspace, actor, model=route.route_id, benchmark=version.profile_id, coverage={"mode": "full"})
    assert freeze(made.plan_document) == (made.plan, made.sha256)
    assert canonical_json(made.plan_document) == made.plan


@db
def test_quote_lasts_half_an_hour(workspace: Workspace, actor: Actor, version: Any, route: Any) -> None:
    made = quote(workspace, actor, model=route.route_id, benchmark=version.profile_id, coverage={"mode": "full"})
    assert (made.expires_at - made.created_at).total_seconds() == 30 * 60


@db
def test_coverage_without_a_word_is_a_sample_of_25_with_seed_0(workspace: Workspace, actor: Actor, route: Any) -> None:
    version = factories.make_version(tasks=30)
    made = quote(workspace, actor, model=route.route_id, benchmark=version.profile_id)
    assert made.plan_document["coverage"] == {
        "mode": "sample", "tasks": 25, "population": 30, "seed": 0, "stratified": False, "excluded": 0,
    }  # fmt: skip


@db
def test_same_seed_freezes_the_same_tasks_and_another_seed_others(workspace: Workspace, actor: Actor, route: Any) -> None:
    version = factories.make_version(tasks=40)

    def hash_of(seed: int) -> str:
        made = quote(workspace, actor, model=route.route_id, benchmark=version.profile_id, coverage={"mode": "sample", "seed": seed})
        return str(made.plan_document["task_list_sha256"])

    assert hash_of(42) == hash_of(42) != hash_of(43)


@db
def test_sample_of_a_version_with_groups_is_stratified(workspace: Workspace, actor: Actor, route: Any) -> None:
    rows = [{"values": {"question": f"{n}?"}, "reference": "1", "group": "a" if n < 30 else "b"} for n in range(40)]
    version = factories.make_version(rows=rows)
    made = quote(workspace, actor, model=route.route_id, benchmark=version.profile_id, coverage={"mode": "sample", "sample_count": 8})
    groups = list(
        Task.objects.filter(version=version, ordinal__in=_terms(made)["benchmarks"][0]["ordinals"]).values_list("group", flat=True)
    )
    assert made.plan_document["coverage"]["stratified"] is True
    assert (groups.count("a"), groups.count("b")) == (6, 2)


@db
def test_chosen_tasks_are_worked_in_the_order_they_were_named(workspace: Workspace, actor: Actor, version: Any, route: Any) -> None:
    made = quote(
        workspace, actor, model=route.route_id, benchmark=version.profile_id, coverage={"mode": "tasks", "task_ids": ["t7", "t2", "t9"]}
    )
    assert _terms(made)["benchmarks"][0]["ordinals"] == [7, 2, 9]
    assert made.plan_document["task_list_sha256"] == task_list_sha256(["t7", "t2", "t9"])
    assert made.plan_document["coverage"] == {
        "mode": "tasks", "tasks": 3, "population": 10, "seed": None, "stratified": False, "excluded": 0,
    }  # fmt: skip


@db
def test_latest_version_is_meant_by_a_slug_and_a_number_means_itself(workspace: Workspace, actor: Actor, route: Any) -> None:
    benchmark = factories.make_benchmark("sums", name="Sums of two")
    factories.make_version(benchmark, tasks=30)
    factories.make_version(benchmark, tasks=31)
    names = {"sums": "sums@2", "Sums of two": "sums@2", "sums@1": "sums@1", "eval://evalrouter/sums/1": "sums@1"}
    for name, profile_id in names.items():
        assert quote(workspace, actor, model=route.route_id, benchmark=name).plan_document["benchmark"]["profile_id"] == profile_id


@db
def test_subjects_of_every_kind_are_told_apart_and_priced(workspace: Workspace, actor: Actor, version: Any) -> None:
    factories.make_route("example/thinker", reasoning_efforts=["low", "high"])
    connection = factories.make_connection(workspace, name="ours")
    made = quote(
        workspace,
        actor,
        subjects=[
            {"kind": "managed", "route_id": "example/thinker", "reasoning": {"effort": "low"}},
            {"kind": "managed", "route_id": "example/thinker", "reasoning": {"effort": "high"}},
            "connection:ours",
            {"kind": "baseline", "name": "random-choice", "seed": 1},
            {"kind": "baseline", "name": "random-choice", "seed": 2},
            "most-frequent-answer",
        ],
        benchmark=version.profile_id,
        coverage={"mode": "full"},
    )
    subjects = made.plan_document["subjects"]
    assert [subject["label"] for subject in subjects] == [
        "example/thinker (low)", "example/thinker (high)", "ours", "random-choice (1)", "random-choice (2)", "most-frequent-answer",
    ]  # fmt: skip
    assert subjects[2]["model"] == {"kind": "connection", "connection_id": str(connection.public_id), "name": "ours"}
    assert [subject["external_charges"] for subject in subjects] == [False, False, True, False, False, False]
    assert subjects[0]["reasoning"] == {"effort": "low", "budget_tokens": None, "source": "request"}
    assert {warning["code"] for warning in made.plan_document["warnings"]} == {"external_charges", "baseline_subject"}


@db
def test_private_benchmark_says_what_the_models_receive(workspace: Workspace, actor: Actor, route: Any) -> None:
    version = factories.make_version(workspace=workspace)
    made = quote(workspace, actor, model=route.route_id, benchmark=version.profile_id, coverage={"mode": "full"})
    assert made.plan_document["benchmark"]["private"] is True
    (warning,) = made.plan_document["warnings"]
    delivery = made.plan_document["delivery"]
    assert warning["code"] == "private_benchmark_delivery"
    assert warning["message"].startswith(f"The models receive: {delivery['receives'][0].removesuffix('.')}")
    assert warning["message"].endswith(f". Graded by: {delivery['grader']}")
    assert ".." not in warning["message"]


@db
def test_other_output_limit_is_warned_of_and_priced(workspace: Workspace, actor: Actor, version: Any, route: Any) -> None:
    request = {"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}}
    usual, longer = quote(workspace, actor, **request), quote(workspace, actor, **request, max_output_tokens=128)
    assert [warning["code"] for warning in longer.plan_document["warnings"]] == ["output_limit_differs"]
    assert longer.plan_document["delivery"]["output_limit"] == 128
    assert longer.ceiling_microusd > usual.ceiling_microusd


@db
def test_free_route_baseline_and_connection_cost_nothing_and_need_no_credit() -> None:
    poor = factories.make_workspace("Poor")
    factories.make_route("example/free", input_rate=0, output_rate=0)
    factories.make_connection(poor, name="ours")
    version = factories.make_version()
    made = quote(
        poor, SYSTEM, subjects=["example/free", "connection:ours", "random-choice"], benchmark=version.profile_id, coverage={"mode": "full"}
    )
    assert (made.ceiling_microusd, made.minimum_cap_microusd) == (0, 0)
    assert made.plan_document["pricing"]["platform_fee_percent"] == "0"


@db
def test_ceiling_covers_every_planned_call_and_the_least_cap_the_largest(
    workspace: Workspace, actor: Actor, settings: LazySettings
) -> None:
    rows = [{"values": {"question": "é" * (7 * n + 1)}, "reference": "1"} for n in range(30)]
    version = factories.make_version(rows=rows, system_prompt="Answer with a number.")
    route = factories.make_route(input_rate=123_457, output_rate=987_653)
    coverage = {"mode": "sample", "sample_count": 12, "seed": 3}
    made = quote(workspace, actor, model=route.route_id, benchmark=version.profile_id, coverage=coverage)
    price = Price(None, Decimal(123_457), Decimal(123_457), Decimal(987_653), settings.PLATFORM_FEE_PERCENT)
    tasks = Task.objects.filter(version=version, ordinal__in=_terms(made)["benchmarks"][0]["ordinals"])
    worst = [worst_case(task.prompt_bytes, task.message_count, 64, price) for task in tasks]
    assert sum(worst) <= made.ceiling_microusd <= sum(worst) + 2 * len(worst) + 2
    assert made.minimum_cap_microusd == max(worst)


@db
@pytest.mark.parametrize("coverage", [{"mode": "full"}, {"mode": "sample", "sample_count": 40, "seed": 3}])
def test_ceiling_of_a_price_in_tiers_covers_every_call_and_only_long_tasks_pay_for_long_inputs(
    workspace: Workspace, actor: Actor, settings: LazySettings, coverage: dict[str, Any]
) -> None:
    rows = [{"values": {"question": "x" * (50 * n)}, "reference": "1"} for n in range(1, 61)]
    version = factories.make_version(rows=rows)
    tiers = [(1_000, 800_000, 80_000, 2_000_000), (2_000, 700_000, 70_000, 9_000_000)]
    route = factories.make_route(input_rate=400_000, output_rate=1_600_000, tiers=tiers)
    made = quote(workspace, actor, model=route.route_id, benchmark=version.profile_id, coverage=coverage)
    price = price_of(route.rates.get(), settings.PLATFORM_FEE_PERCENT)
    tasks = Task.objects.filter(version=version)
    if ordinals := _terms(made)["benchmarks"][0]["ordinals"]:
        tasks = tasks.filter(ordinal__in=ordinals)
    worst = [worst_case(task.prompt_bytes, task.message_count, 64, price) for task in tasks]
    # The bound takes the dearest input and the dearest output in reach, which here are of two tiers: it is above the sum, but not by much.
    assert sum(worst) <= made.ceiling_microusd <= sum(worst) * 1.1
    assert made.minimum_cap_microusd == max(worst)


@db
def test_plan_freezes_the_tiers_and_the_price_version_names_them(workspace: Workspace, actor: Actor) -> None:
    version = factories.make_version()
    route = factories.make_route("example/long", tiers=[(200_000, 800_000, 80_000, 2_400_000)])
    request = {"model": "example/long", "benchmark": version.profile_id, "coverage": {"mode": "full"}}
    made = quote(workspace, actor, **request)
    long = {"input_microusd_per_mtok": "800000", "cached_input_microusd_per_mtok": "80000", "output_microusd_per_mtok": "2400000"}
    assert made.plan_document["subjects"][0]["pricing"]["tiers"] == [{"above_input_tokens": 200_000, **long}]
    assert made.price_version == quote(workspace, actor, **request).price_version
    factories.make_rate(route, input_rate=400_000, output_rate=1_600_000)
    later = quote(workspace, actor, **request)
    assert ("tiers" in later.plan_document["subjects"][0]["pricing"], later.price_version == made.price_version) == (False, False)
    run, _ = start_run(made, actor=actor)
    assert (
        load_subject(run.subjects.get().pk, run.benchmarks.get().pk).view.price.tiers
        == price_of(route.rates.earliest("id"), Decimal(0)).tiers
        != ()
    )
    assert receipt_document(run)["prices"][0]["pricing"]["tiers"][0]["output_microusd_per_mtok"] == "2400000"


rates = st.decimals(min_value=0, max_value=10**9, places=6)


@hypothesis_settings(max_examples=300)
@given(
    prompts=st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 20)), min_size=1, max_size=40),
    output_limit=st.integers(1, 10**6),
    input_rate=rates,
    cached_rate=rates,
    output_rate=rates,
    percent=st.decimals(min_value=0, max_value=100, places=3),
)
def test_ceiling_is_never_below_the_sum_of_worst_cases(
    prompts: list[tuple[int, int]], output_limit: int, input_rate: Decimal, cached_rate: Decimal, output_rate: Decimal, percent: Decimal
) -> None:
    price = Price(None, input_rate, cached_rate, output_rate, percent)
    worst = [worst_case(prompt_bytes, messages, output_limit, price) for prompt_bytes, messages in prompts]
    sizes = PromptSizes(
        len(prompts),
        sum(prompt_bytes for prompt_bytes, _ in prompts),
        sum(messages for _, messages in prompts),
        max(prompt_bytes for prompt_bytes, _ in prompts),
        max(messages for _, messages in prompts),
    )
    assert ceiling_of(sizes, price, output_limit) >= sum(worst)
    assert least_of(sizes, price, output_limit) >= max(worst)


@hypothesis_settings(max_examples=300)
@given(
    prompts=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 20)), min_size=1, max_size=40),
    output_limit=st.integers(1, 10**6),
    levels=st.lists(st.tuples(rates, rates, rates), min_size=2, max_size=4),
    bounds=st.lists(st.integers(1, 10**6), min_size=3, max_size=3, unique=True),
    percent=st.decimals(min_value=0, max_value=100, places=3),
)
def test_ceiling_in_tiers_is_never_below_the_sum_of_worst_cases(
    prompts: list[tuple[int, int]],
    output_limit: int,
    levels: list[tuple[Decimal, Decimal, Decimal]],
    bounds: list[int],
    percent: Decimal,
) -> None:
    tiers = tuple(Tier(bound, *level) for bound, level in zip(sorted(bounds), levels[1:], strict=False))
    price = Price(None, *levels[0], percent, tiers)
    worst = [worst_case(prompt_bytes, messages, output_limit, price) for prompt_bytes, messages in prompts]

    def sizes(above: int, inner: tuple[PromptSizes, ...] = ()) -> PromptSizes:
        reached = [prompt for prompt in prompts if worst_case_input_tokens(*prompt) > above]
        return PromptSizes(
            len(reached),
            sum(prompt_bytes for prompt_bytes, _ in reached),
            sum(messages for _, messages in reached),
            max((prompt_bytes for prompt_bytes, _ in reached), default=0),
            max((messages for _, messages in reached), default=0),
            inner,
        )

    whole = sizes(0, tuple(sizes(tier.above_input_tokens) for tier in tiers))
    assert ceiling_of(whole, price, output_limit) >= sum(worst)
    assert least_of(whole, price, output_limit) >= max(worst)


def _terms(made: Quote) -> dict[str, Any]:
    return terms_of(made)
