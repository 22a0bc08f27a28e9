"""Setting an evaluation up."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.models import BenchmarkVersion, ModelRoute
from runs.models import Quote
from runs.picking import read_tasks
from tests.factories import make_connection, make_route, make_version
from tests.paging import HTMX, cost
from tests.runs.working import start
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
PATH = "/evaluations/new"


def filled(workspace: Workspace, version: BenchmarkVersion, **changed: Any) -> dict[str, Any]:
    """The form as the page sends it."""
    return {
        "workspace": str(workspace.public_id),
        "benchmark": version.profile_id,
        "subjects": ["baseline:random-choice"],
        "coverage": "sample",
        "sample_count": "5",
        "seed": "7",
        "task_ids": "",
        "cap": "",
        "name": "",
        "concurrency": "",
        "max_output_tokens": "",
        "reasoning": "",
        "reasoning_budget": "",
    } | changed


def option(client: Client, version: BenchmarkVersion, value: str, **query: Any) -> Any:
    context = client.get(PATH, {"benchmark": version.profile_id} | query).context
    return next(each for group in context["options"].values() for each in group if each.value == value)


def test_first_step_lists_the_benchmarks_that_can_run(
    workspace: Workspace, other_workspace: Workspace, member: User, sign_in: SignIn
) -> None:
    public, ours = make_version(), make_version(workspace=workspace)
    make_version(workspace=other_workspace)
    context = sign_in(member).get(PATH).context
    assert sorted(each.slug for each in context["benchmarks"]) == sorted([public.benchmark.slug, ours.benchmark.slug])


def test_chosen_benchmark_opens_the_other_steps(version: BenchmarkVersion, route: ModelRoute, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    context = client.get(PATH, {"benchmark": version.benchmark.slug}).context
    assert context["version"] == version
    assert [each.value for each in context["options"]["managed"]] == [f"managed:{route.route_id}"]
    assert [each.value for each in context["options"]["baselines"]] == ["baseline:random-choice", "baseline:most-frequent-answer"]


def test_default_sample_is_no_larger_than_the_benchmark(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    large = make_version(tasks=30)
    counts = [client.get(PATH, {"benchmark": each.profile_id}).context["setup"].sample_count for each in (version, large)]
    assert counts == ["10", "25"]


def test_unknown_benchmark_asks_for_another(member: User, sign_in: SignIn) -> None:
    response = sign_in(member).get(PATH, {"benchmark": "no-such"})
    assert (response.context["version"], "That benchmark cannot be run" in response.content.decode()) == (None, True)


def test_models_that_cannot_run_it_say_why(version: BenchmarkVersion, workspace: Workspace, member: User, sign_in: SignIn) -> None:
    make_route("small/context", context_limit=100)
    unchecked = make_connection(workspace, checked=False)
    client = sign_in(member)
    assert option(client, version, "managed:small/context").refusal.code == "context_too_small"
    assert option(client, version, f"connection:{unchecked.public_id}").refusal.code == "connection_unchecked"
    assert option(client, version, "baseline:random-choice").refusal is None


def test_limit_and_reasoning_are_judged_while_they_are_typed(
    version: BenchmarkVersion, route: ModelRoute, member: User, sign_in: SignIn
) -> None:
    client = sign_in(member)
    value = f"managed:{route.route_id}"
    assert option(client, version, value).refusal is None
    assert option(client, version, value, max_output_tokens="99999999").refusal.code == "output_limit_too_large"
    assert option(client, version, value, reasoning="low").refusal.code == "reasoning_unsupported"


def test_htmx_gets_the_part_it_names(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    query = {"benchmark": version.profile_id, "sample_count": "4", "subjects": "baseline:random-choice"}
    for target in ("reach", "picker", "found"):
        response = client.get(PATH, query | {"step": "tasks"}, headers=HTMX | {"HX-Target": target})
        text = response.content.decode()
        assert (f'id="{target}"' in text, "<html" in text, 'name="csrfmiddlewaretoken"' in text) == (True, False, False)
    assert response["HX-Replace-Url"].startswith(f"{PATH}?benchmark=")


def test_reach_counts_answers_and_the_smallest_difference(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    query = {"benchmark": version.profile_id, "sample_count": "4", "subjects": ["baseline:random-choice", "baseline:most-frequent-answer"]}
    context = sign_in(member).get(PATH, query).context
    assert (context["task_total"], context["call_total"], round(context["smallest_difference"], 4)) == (4, 8, 0.6261)


def test_address_carries_the_setup(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    query = {"benchmark": version.profile_id, "subjects": ["baseline:random-choice"], "coverage": "full", "cap": "2.50", "name": "Nightly"}
    setup = client.get(PATH, query).context["setup"]
    again = client.get(f"{PATH}?{setup.query()}").context["setup"]
    assert (again, again.cap, again.name) == (setup, "2.50", "Nightly")


def test_valid_form_makes_the_quote_and_shows_it(
    workspace: Workspace, version: BenchmarkVersion, route: ModelRoute, member: User, sign_in: SignIn
) -> None:
    subjects = [f"managed:{route.route_id}", "baseline:random-choice"]
    response = sign_in(member).post(PATH, filled(workspace, version, subjects=subjects, cap="$0.50", concurrency="4", name="Nightly"))
    quote = Quote.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/evaluations/quotes/{quote.public_id}")
    assert (quote.workspace, quote.created_by, quote.name, quote.cap_microusd) == (workspace, member, "Nightly", 500_000)
    assert quote.plan_document["coverage"] | {"mode": "sample", "tasks": 5, "seed": 7} == quote.plan_document["coverage"]
    assert [subject["label"] for subject in quote.plan_document["subjects"]] == [route.route_id, "random-choice"]
    assert quote.plan_document["concurrency"] == 4


def test_full_and_chosen_tasks(workspace: Workspace, version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    client.post(PATH, filled(workspace, version, coverage="full", sample_count=""))
    client.post(PATH, filled(workspace, version, coverage="tasks", task_ids="t3\n\n t1 \nt3"))
    full, chosen = Quote.objects.order_by("id")
    assert (full.plan_document["coverage"]["tasks"], full.plan_document["coverage"]["mode"]) == (10, "full")
    assert chosen.request_document["coverage"] == {"mode": "tasks", "task_ids": ["t3", "t1"]}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"subjects": []}, "subjects"),
        ({"subjects": [f"managed:m{number}" for number in range(9)]}, "subjects"),
        ({"subjects": ["managed:no/such"]}, "subjects"),
        ({"subjects": ["surprise:x"]}, "subjects"),
        ({"benchmark": "no-such@1"}, "benchmark"),
        ({"sample_count": "0"}, "sample_count"),
        ({"sample_count": ""}, "sample_count"),
        ({"sample_count": "11"}, "sample_count"),
        ({"coverage": "tasks"}, "task_ids"),
        ({"coverage": "tasks", "task_ids": "no-such"}, "task_ids"),
        ({"cap": "much"}, "cap"),
        ({"cap": "-1"}, "cap"),
        ({"concurrency": "1000"}, "concurrency"),
        ({"reasoning": "budget"}, "reasoning_budget"),
        ({"max_output_tokens": "x"}, "max_output_tokens"),
    ],
)
def test_what_does_not_hold_is_said_at_its_field(
    workspace: Workspace, version: BenchmarkVersion, member: User, sign_in: SignIn, changed: dict[str, Any], field: str
) -> None:
    response = sign_in(member).post(PATH, filled(workspace, version, **changed))
    assert (response.status_code, list(response.context["form"].errors), Quote.objects.count()) == (422, [field], 0)
    message = response.context["form"].errors[field][0]
    assert str(message).replace("'", "&#x27;") in response.content.decode()


def test_cap_below_the_least_says_the_least_in_usd(
    workspace: Workspace, version: BenchmarkVersion, route: ModelRoute, member: User, sign_in: SignIn
) -> None:
    response = sign_in(member).post(PATH, filled(workspace, version, subjects=[f"managed:{route.route_id}"], cap="0.000001"))
    message = response.context["form"].errors["cap"][0]
    assert ("$0.00" in message, "micro" in message) == (True, False)


def test_typed_form_comes_back_as_it_was(workspace: Workspace, version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    response = sign_in(member).post(PATH, filled(workspace, version, cap="much", name="Nightly", sample_count="8"))
    setup = response.context["setup"]
    assert (setup.cap, setup.name, setup.sample_count, setup.subjects) == ("much", "Nightly", "8", ["baseline:random-choice"])


def test_invalid_form_comes_back_alone_for_htmx(workspace: Workspace, version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    response = sign_in(member).post(PATH, filled(workspace, version, cap="much"), headers=HTMX)
    text = response.content.decode()
    assert (response.status_code, text.strip().startswith('<div id="setup">'), "<html" in text) == (422, True, False)


def test_form_of_another_workspace_is_404_and_a_viewers_is_403(
    workspace: Workspace, version: BenchmarkVersion, stranger: User, viewer: User, sign_in: SignIn
) -> None:
    assert sign_in(stranger).post(PATH, filled(workspace, version)).status_code == 404
    assert sign_in(viewer).post(PATH, filled(workspace, version)).status_code == 403
    assert Quote.objects.count() == 0


def test_asking_for_the_page_writes_nothing(version: BenchmarkVersion, member: User, sign_in: SignIn) -> None:
    sign_in(member).get(PATH, {"benchmark": version.profile_id, "subjects": "baseline:random-choice"})
    assert Quote.objects.count() == 0


def test_running_again_takes_over_the_whole_setup(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, route: ModelRoute, member: User, stranger: User, sign_in: SignIn
) -> None:
    run = start(
        workspace,
        actor,
        subjects=[route.route_id, "most-frequent-answer"],
        benchmark=version.benchmark.slug,
        coverage={"mode": "tasks", "task_ids": ["t4", "t2"]},
        max_charge_microusd="1500000",
        concurrency=3,
        name="Nightly",
    )
    setup = sign_in(member).get(PATH, {"from": str(run.public_id)}).context["setup"]
    assert (setup.benchmark, setup.subjects) == (version.profile_id, [f"managed:{route.route_id}", "baseline:most-frequent-answer"])
    assert (setup.coverage, setup.cap, setup.concurrency, setup.name) == ("tasks", "1.5", "3", "Nightly")
    assert (read_tasks(version.profile_id, setup.tasks), setup.step) == ([4, 2], "settings")
    assert sign_in(stranger).get(PATH, {"from": str(run.public_id)}).status_code == 404


def test_quote_can_be_changed(workspace: Workspace, version: BenchmarkVersion, member: User, stranger: User, sign_in: SignIn) -> None:
    client = sign_in(member)
    client.post(PATH, filled(workspace, version, sample_count="3"))
    quote = str(Quote.objects.get().public_id)
    assert client.get(PATH, {"quote": quote}).context["setup"].sample_count == "3"
    assert sign_in(stranger).get(PATH, {"quote": quote}).status_code == 404


def test_page_costs_the_same_with_one_model_and_with_three(
    version: BenchmarkVersion, route: ModelRoute, workspace: Workspace, member: User, sign_in: SignIn
) -> None:
    client = sign_in(member)
    address = f"{PATH}?benchmark={version.profile_id}"
    make_connection(workspace)
    one = cost(client, address)
    for _ in range(2):
        make_route()
        make_connection(workspace)
    assert cost(client, address) == one
