"""What a quote is refused for: each with its stable code, and what helps in its details."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from catalog.actions import archive_benchmark
from catalog.enums import RouteState, VersionState
from common.errors import Conflict, Forbidden, Refused
from runs.actions import create_quote
from runs.models import EmptyAnswers, Quote
from tests import factories
from workspaces.actors import SYSTEM, Actor, actor_of_user
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db


def refusal(workspace: Workspace, actor: Actor, **request: Any) -> Refused:
    """The refusal of a request, which leaves no quote behind."""
    with pytest.raises(Refused) as caught:
        create_quote(workspace, actor=actor, request=request)
    assert Quote.objects.count() == 0
    return caught.value


@pytest.fixture
def asked(db: None) -> dict[str, Any]:
    """A request that nothing is wrong with."""
    version = factories.make_version(factories.make_benchmark("sums", name="Sums of two"), tasks=10)
    route = factories.make_route("example/adder")
    return {"model": route.route_id, "benchmark": version.profile_id, "coverage": {"mode": "full"}}


def test_unknown_benchmark_names_the_closest(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    found = refusal(workspace, actor, **(asked | {"benchmark": "sumz"}))
    assert (found.code, found.status, found.details) == ("benchmark_not_found", 422, {"closest": ["sums"]})
    assert "sums" in found.message


def test_benchmark_of_another_workspace_is_not_found_and_not_hinted_at(
    workspace: Workspace, other_workspace: Workspace, actor: Actor, asked: dict[str, Any]
) -> None:
    hidden = factories.make_version(factories.make_benchmark(workspace=other_workspace, name="Secret sums"))
    for name in (hidden.profile_id, hidden.benchmark.slug, "Secret sums"):
        found = refusal(workspace, actor, **(asked | {"benchmark": name}))
        assert found.code == "benchmark_not_found"
        assert hidden.benchmark.slug not in found.details["closest"]


def test_name_of_two_benchmarks_is_ambiguous_and_lists_both(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    for slug in ("twin-a", "twin-b"):
        factories.make_version(factories.make_benchmark(slug, name="Twins"))
    found = refusal(workspace, actor, **(asked | {"benchmark": "twins"}))
    assert (found.code, found.details) == ("ambiguous_benchmark", {"candidates": ["twin-a@1", "twin-b@1"]})


def test_retired_version_takes_no_quotes(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    factories.make_version(factories.make_benchmark("old"), state=VersionState.RETIRED)
    assert refusal(workspace, actor, **(asked | {"benchmark": "old@1"})).code == "benchmark_retired"


def test_archived_private_benchmark_is_not_found(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    version = factories.make_version(workspace=workspace)
    archive_benchmark(version.benchmark, actor=actor)
    assert refusal(workspace, actor, **(asked | {"benchmark": version.profile_id})).code == "benchmark_not_found"


def test_benchmark_named_twice_is_refused_under_each_of_its_names(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    request = {"model": asked["model"], "selection": {"profile_ids": ["sums@1", "sums"]}}
    assert refusal(workspace, actor, **request).code == "benchmark_named_twice"


@pytest.mark.parametrize("weights", [[1], [1, 0], [1, "2"], [1, True], [1, -1], {"sums@1": 1}])
def test_weights_that_are_none_are_refused(workspace: Workspace, actor: Actor, asked: dict[str, Any], weights: Any) -> None:
    other = factories.make_version()
    selection = {"profile_ids": ["sums@1", other.profile_id], "weights": weights}
    found = refusal(workspace, actor, model=asked["model"], selection=selection)
    assert (found.code, list(found.details)) == ("validation_error", ["selection.weights"])


def test_exact_tasks_are_of_one_benchmark(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    other = factories.make_version()
    selection, coverage = {"profile_ids": ["sums@1", other.profile_id]}, {"mode": "tasks", "task_ids": ["t0"]}
    found = refusal(workspace, actor, model=asked["model"], selection=selection, coverage=coverage)
    assert (found.code, list(found.details)) == ("validation_error", ["coverage.mode"])


@pytest.mark.parametrize("attempts", [0, 17, "2", 1.5])
def test_attempts_are_one_to_sixteen(workspace: Workspace, actor: Actor, asked: dict[str, Any], attempts: Any) -> None:
    found = refusal(workspace, actor, **(asked | {"attempts": attempts}))
    assert (found.code, list(found.details)) == ("validation_error", ["attempts"])


def test_unknown_model_names_the_closest(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    found = refusal(workspace, actor, **(asked | {"model": "example/addr"}))
    assert (found.code, found.details) == ("model_not_found", {"closest": ["example/adder"]})


def test_name_of_two_routes_is_ambiguous_and_lists_both(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    factories.make_route("here/gpt")
    factories.make_route("there/gpt")
    found = refusal(workspace, actor, **(asked | {"model": "gpt"}))
    assert (found.code, found.details) == ("ambiguous_model", {"candidates": ["here/gpt", "there/gpt"]})


@pytest.mark.parametrize("state", [RouteState.PAUSED, RouteState.RETIRED])
def test_route_that_takes_no_runs_is_not_found(workspace: Workspace, actor: Actor, asked: dict[str, Any], state: RouteState) -> None:
    factories.make_route("example/resting", state=state)
    assert refusal(workspace, actor, **(asked | {"model": "example/resting"})).code == "model_not_found"


def test_route_without_a_price_cannot_be_quoted(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    factories.make_route("example/priceless").rates.all().delete()
    assert refusal(workspace, actor, **(asked | {"model": "example/priceless"})).code == "route_unavailable"


def test_unknown_baseline_lists_those_there_are(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    found = refusal(workspace, actor, **(asked | {"model": {"kind": "baseline", "name": "clever"}}))
    assert (found.code, found.details) == ("model_not_found", {"closest": ["random-choice", "most-frequent-answer"]})


def test_unchecked_connection_is_refused_by_name_and_by_id(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    connection = factories.make_connection(workspace, name="ours", checked=False)
    for model in ("connection:ours", {"kind": "connection", "connection_id": str(connection.public_id)}):
        found = refusal(workspace, actor, **(asked | {"model": model}))
        assert (found.code, found.details) == ("connection_unchecked", {"connection_id": str(connection.public_id)})


def test_connection_of_another_workspace_is_not_found(
    workspace: Workspace, other_workspace: Workspace, actor: Actor, asked: dict[str, Any]
) -> None:
    theirs = factories.make_connection(other_workspace, name="theirs")
    for model in ("connection:theirs", {"kind": "connection", "connection_id": str(theirs.public_id)}):
        found = refusal(workspace, actor, **(asked | {"model": model}))
        assert (found.code, found.details) == ("model_not_found", {"closest": []})


def test_name_of_a_connection_alone_says_how_to_write_it(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    factories.make_connection(workspace, name="ours")
    found = refusal(workspace, actor, **(asked | {"model": "ours"}))
    assert (found.code, "connection:ours" in found.message) == ("model_not_found", True)


@pytest.mark.parametrize(
    ("fields", "request_fields", "reason"),
    [
        ({"capabilities": ["completion_logprobs"]}, {}, "capability_missing"),
        ({"context_limit": 190}, {}, "context_too_small"),
        ({"max_output_tokens": 100}, {"max_output_tokens": 101}, "output_limit_too_large"),
        ({}, {"reasoning": {"effort": "low"}}, "reasoning_unsupported"),
        ({"reasoning_efforts": ["low"]}, {"reasoning": {"effort": "high"}}, "reasoning_unsupported"),
        ({"reasoning_efforts": ["low"]}, {"reasoning": {"budget_tokens": 100}}, "reasoning_unsupported"),
    ],
)
def test_model_that_cannot_run_the_benchmark_says_why(
    workspace: Workspace, actor: Actor, asked: dict[str, Any], fields: dict[str, Any], request_fields: dict[str, Any], reason: str
) -> None:
    factories.make_route("example/limited", **fields)
    found = refusal(workspace, actor, **(asked | {"model": "example/limited"} | request_fields))
    assert (found.code, found.details) == ("incompatible_model", {"model": "example/limited", "reason": reason})


def test_same_model_twice_with_the_same_settings_is_refused(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    twice = {key: value for key, value in asked.items() if key != "model"} | {"subjects": ["example/adder", "adder"]}
    assert refusal(workspace, actor, **twice).code == "duplicate_subject"


def test_unknown_tasks_are_listed(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    found = refusal(workspace, actor, **(asked | {"coverage": {"mode": "tasks", "task_ids": ["t1", "t99", "nope"]}}))
    assert (found.code, found.details) == ("task_not_found", {"missing": ["t99", "nope"], "missing_count": 2})


def test_sample_larger_than_the_benchmark_says_how_many_there_are(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    found = refusal(workspace, actor, **(asked | {"coverage": {"mode": "sample", "sample_count": 11}}))
    assert (found.code, found.details) == ("sample_too_large", {"population": 10, "profile_id": "sums@1"})


def test_cap_below_one_task_names_the_least_and_the_least_is_taken(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    found = refusal(workspace, actor, **(asked | {"max_charge_microusd": "0"}))
    least = int(found.details["minimum_cap_microusd"])
    assert found.code == "cap_below_minimum"
    assert refusal(workspace, actor, **(asked | {"max_charge_microusd": str(least - 1)})).code == "cap_below_minimum"
    assert create_quote(workspace, actor=actor, request=asked | {"max_charge_microusd": str(least)}).cap_microusd == least


def test_too_many_empty_answers_today_stop_quotes_of_managed_models_only(
    workspace: Workspace, actor: Actor, asked: dict[str, Any], settings: LazySettings
) -> None:
    settings.EMPTY_ANSWERS_UNCHARGED_A_DAY = 3
    EmptyAnswers.objects.create(workspace=workspace, day=timezone.now().date(), count=3)
    found = refusal(workspace, actor, **asked)
    assert (found.code, found.status, isinstance(found, Conflict)) == ("empty_answer_allowance", 409, True)
    factories.make_connection(workspace, name="ours")
    assert create_quote(workspace, actor=actor, request=asked | {"model": "connection:ours"}).ceiling_microusd == 0


def test_viewer_may_not_quote(workspace: Workspace, viewer: User, asked: dict[str, Any]) -> None:
    with pytest.raises(Forbidden):
        create_quote(workspace, actor=actor_of_user(viewer), request=asked)


def test_stranger_may_not_quote(workspace: Workspace, stranger: User, asked: dict[str, Any]) -> None:
    with pytest.raises(Forbidden):
        create_quote(workspace, actor=actor_of_user(stranger), request=asked)


DEEP = {"a": {"b": "c"}}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"colour": "red"}, "colour"),
        ({"benchmark": None}, "selection"),
        ({"selection": {"profile_ids": ["sums@1"]}}, "selection"),
        ({"benchmark": None, "selection": {"profile_ids": []}}, "selection.profile_ids"),
        ({"benchmark": None, "selection": {"profile_ids": ["sums@1"], "split": "x"}}, "selection.split"),
        ({"benchmark": None, "selection": ["sums@1"]}, "selection"),
        ({"benchmark": 7}, "benchmark"),
        ({"benchmark": "\ud800"}, "benchmark"),
        ({"model": None}, "subjects"),
        ({"subjects": ["example/adder"]}, "subjects"),
        ({"model": None, "subjects": []}, "subjects"),
        ({"model": None, "subjects": ["x"] * 9}, "subjects"),
        ({"model": {"kind": "agent", "name": "x"}}, "model.kind"),
        ({"model": {"kind": ["managed"]}}, "model.kind"),
        ({"model": {"kind": "managed", "route_id": "example/adder", "seed": 1}}, "model.seed"),
        ({"model": {"kind": "managed", "name": "example/adder"}}, "model.name"),
        ({"model": {"kind": "baseline", "name": "random-choice", "seed": -1}}, "model.seed"),
        ({"model": {"kind": "managed", "route_id": "example/adder", "reasoning": {"effort": "immense"}}}, "model.reasoning.effort"),
        ({"reasoning": {"effort": "low", "budget_tokens": 5}}, "reasoning"),
        ({"reasoning": {"depth": 3}}, "reasoning"),
        ({"reasoning": {"budget_tokens": 0}}, "reasoning.budget_tokens"),
        ({"coverage": {"mode": "some"}}, "coverage.mode"),
        ({"coverage": {"mode": ["full"]}}, "coverage.mode"),
        ({"coverage": {"mode": "full", "seed": 1}}, "coverage.seed"),
        ({"coverage": {"mode": "sample", "sample_count": 0}}, "coverage.sample_count"),
        ({"coverage": {"mode": "sample", "sample_count": 1_001}}, "coverage.sample_count"),
        ({"coverage": {"mode": "sample", "sample_count": True}}, "coverage.sample_count"),
        ({"coverage": {"mode": "tasks", "task_ids": []}}, "coverage.task_ids"),
        ({"coverage": {"mode": "tasks", "task_ids": ["t1", "t1"]}}, "coverage.task_ids"),
        ({"coverage": {"mode": "tasks", "task_ids": ["t1", 2]}}, "coverage.task_ids"),
        ({"max_charge_microusd": "1.5"}, "max_charge_microusd"),
        ({"max_charge_microusd": 1.5}, "max_charge_microusd"),
        ({"max_charge_microusd": 1_000_000}, "max_charge_microusd"),
        ({"max_charge_microusd": "-1"}, "max_charge_microusd"),
        ({"max_charge_microusd": "９"}, "max_charge_microusd"),
        ({"max_charge_microusd": "9" * 30}, "max_charge_microusd"),
        ({"max_charge_microusd": True}, "max_charge_microusd"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 257}, "concurrency"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"name": "x" * 161}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"metadata": DEEP}, "metadata"),
        ({"metadata": {"a": "x" * 4_096}}, "metadata"),
        ({"metadata": {"a": "b\x00"}}, "metadata"),
        ({"metadata": {"a": "\ud800"}}, "metadata"),
        ({"metadata": {"\udfff": "a"}}, "metadata"),
        ({"metadata": ["a"]}, "metadata"),
    ],
)
def test_field_that_cannot_be_read_is_named(
    workspace: Workspace, actor: Actor, asked: dict[str, Any], change: dict[str, Any], field: str
) -> None:
    found = refusal(workspace, actor, **{key: value for key, value in (asked | change).items() if value is not None})
    assert (found.code, found.status, list(found.details)) == ("validation_error", 422, [field])


def test_other_output_format_is_refused(workspace: Workspace, actor: Actor, asked: dict[str, Any]) -> None:
    request = {"model": asked["model"], "selection": {"profile_ids": ["sums@1"], "output_format": "json"}}
    assert refusal(workspace, actor, **request).code == "output_format_unsupported"


@pytest.mark.parametrize("body", [None, [], "x", 3])
def test_body_that_is_no_object_is_refused(workspace: Workspace, body: Any) -> None:
    with pytest.raises(Refused) as caught:
        create_quote(workspace, actor=SYSTEM, request=body)
    assert (caught.value.code, caught.value.details) == ("validation_error", {"body": ["Send a JSON object."]})
