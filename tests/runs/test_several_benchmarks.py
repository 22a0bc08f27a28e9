"""Several benchmarks in one run, and several attempts a task: one set of models, one budget, and figures of each benchmark by itself."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.test import Client

from catalog.models import BenchmarkVersion
from runs.actions import continue_run, create_quote, start_run
from runs.documents import comparisons_of, result_document
from runs.engine.sweeping import sweep
from runs.finalizing import finalize_run
from runs.models import Run, Sample, Shard
from runs.queries import filter_runs, get_result, runs_for, task_at
from runs.results import composite_document
from runs.standings import standings_on
from runs.statistics.composite import weighted
from tests import factories
from tests.runs.handwork import Hand, answers, assert_books, end, execute, pending_of, shards_of, stop, subject_of, work_out
from tests.runs.working import sums
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]


def versions(*tasks: int, **manifest: Any) -> list[BenchmarkVersion]:
    return [factories.make_version(tasks=count, **manifest) for count in tasks]


def started(workspace: Workspace, actor: Actor, made: list[BenchmarkVersion], **request: Any) -> Run:
    selection = {"profile_ids": [version.profile_id for version in made], **request.pop("selection", {})}
    wanted = {"selection": selection, "coverage": {"mode": "full"}, **request}
    return start_run(create_quote(workspace, actor=actor, request=wanted), actor=actor)[0]


def test_plan_has_each_benchmark_and_sums_of_all(workspace: Workspace, actor: Actor) -> None:
    first, second = versions(10, 40)
    route = factories.make_route("example/adder")
    request = {"model": route.route_id, "selection": {"profile_ids": [first.profile_id, second.profile_id]}, "attempts": 3}
    quote = create_quote(workspace, actor=actor, request=request | {"coverage": {"mode": "sample", "sample_count": 8, "seed": 4}})
    plan = quote.plan_document
    assert [plan[name] for name in ("benchmark", "delivery", "resolution", "evidence", "task_list_sha256")] == [None] * 5
    assert [(part["profile_id"], part["coverage"]["tasks"], part["coverage"]["population"]) for part in plan["benchmarks"]] == [
        (first.profile_id, 8, 10),
        (second.profile_id, 8, 40),
    ]
    assert (plan["coverage"]["tasks"], plan["coverage"]["population"], plan["total_tasks"], plan["attempts_per_task"]) == (16, 50, 16, 3)
    assert sum(int(part["ceiling_microusd"]) for part in plan["benchmarks"]) == quote.ceiling_microusd
    alone = create_quote(workspace, actor=actor, request=request | {"attempts": 1, "coverage": {"mode": "full"}})
    thrice = create_quote(workspace, actor=actor, request=request | {"coverage": {"mode": "full"}})
    assert 0 <= 3 * alone.ceiling_microusd - thrice.ceiling_microusd <= 12  # rounded up once for each benchmark, not for each attempt
    assert alone.minimum_cap_microusd == thrice.minimum_cap_microusd


def test_shards_are_whole_tasks_of_one_benchmark(workspace: Workspace, actor: Actor, small_shards: None) -> None:
    run = started(workspace, actor, versions(30, 25), model=factories.make_route().route_id, attempts=2)
    benchmarks = list(run.benchmarks.all())
    assert [(part.first_position, part.task_count) for part in benchmarks] == [(0, 30), (30, 25)]
    shards = [(shard.run_benchmark_id, shard.start, shard.stop) for shard in shards_of(run)]
    first, second = (part.pk for part in benchmarks)
    assert shards == [(first, 0, 32), (first, 32, 60), (second, 60, 92), (second, 92, 110)]
    assert (run.planned, subject_of(run).planned) == (110, 110)
    assert [task_at(run, position).version_id for position in (0, 29, 30, 54)] == [part.version_id for part in benchmarks for _ in "ab"]


def test_every_cell_is_asked_once_and_scored_for_its_benchmark(workspace: Workspace, actor: Actor, small_shards: None) -> None:
    made = versions(23, 31)
    with ChatServer(lambda messages: sums(messages) if "1" in messages[-1]["content"] else "The answer is 0.") as server:
        routes = [factories.make_route(endpoint=server.url, model=f"m{index}") for index in range(2)]
        subjects = [route.route_id for route in routes]
        run = work_out(started(workspace, actor, made, subjects=subjects, attempts=3, concurrency=8))
        asked = Counter(request.question for request in server.requests)
    cells = Counter(Sample.objects.filter(subject__run=run).values_list("subject__index", "position", "attempt"))
    assert cells == Counter((subject, position, attempt) for subject in range(2) for position in range(54) for attempt in (1, 2, 3))
    assert asked.total() == 2 * 54 * 3
    document = result_document(get_result(run))
    assert [(each["benchmark_index"], each["index"]) for each in document["subjects"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for subject in document["subjects"]:
        tasks = (23, 31)[subject["benchmark_index"]]
        right = sum("1" in f"What is {n} + {n}?" or n == 0 for n in range(tasks))
        assert (subject["counts"]["planned"], subject["counts"]["graded"], subject["counts"]["correct"]) == (
            3 * tasks,
            3 * tasks,
            3 * right,
        )
        figures = {metric["metric"]: metric["value"] for metric in subject["metrics"]}
        assert figures == dict.fromkeys(["accuracy", "pass@2", "pass@3", "pass^2", "pass^3"], pytest.approx(right / tasks, abs=1e-9))
        assert (subject["headline"]["n"], subject["headline"]["interval"]["method"] != "wilson") == (tasks, True)
    assert [each["profile_id"] for each in comparisons_of(get_result(run))] == [version.profile_id for version in made]
    assert (document["benchmark"], document["attempts_per_task"], document["composite"]) == (None, 3, None)
    spent = sum(int(each["charge_microusd"]) for each in document["subjects"])
    assert (str(spent), spent) == (document["billing"]["total_microusd"], run.spend_microusd)


def test_run_whose_worker_dies_in_the_second_benchmark_loses_and_doubles_nothing(
    workspace: Workspace, actor: Actor, small_shards: None
) -> None:
    with ChatServer(sums) as server:
        run = started(workspace, actor, versions(20, 20), model=factories.make_route(endpoint=server.url).route_id, attempts=2)
        late, hand = shards_of(run)[1], Hand()
        assert late.start == 32
        grant = hand.take(Shard.objects.get(subject__run=run, start=40))
        hand.reserve(grant, 10)
        hand.hand_in(grant, answers(grant, 4))
        Shard.objects.filter(pk=grant.shard_id).update(lease_expires_at="2020-01-01T00:00:00Z")
        sweep()
        dead = Shard.objects.get(pk=grant.shard_id)
        assert sorted(map(int, dead.suspects)) == list(range(44, 50))
        assert [spec.cell for spec in pending_of(hand.take(dead))][:3] == [44, 45, 46]
        Shard.objects.filter(pk=grant.shard_id).update(lease_expires_at="2020-01-01T00:00:00Z")
        sweep()
        work_out(run)
    assert (run.status, subject_of(run).correct) == ("completed", 80)


def test_cancelled_attempts_of_unknown_outcome_are_kept_by_cell_and_continued(workspace: Workspace, actor: Actor) -> None:
    with ChatServer(sums) as server:
        run = started(workspace, actor, versions(5, 5), model=factories.make_route(endpoint=server.url).route_id, attempts=2)
        hand = Hand()
        grant = hand.take(shards_of(run)[1])
        hand.reserve(grant, 6)
        hand.hand_in(grant, answers(grant, 2), unknown=[13])
        for shard in Shard.objects.filter(run=run, lease_expires_at__isnull=True):
            hand.hand_in(hand.take(shard, holds_subject=True), stop=stop())
        hand.hand_in(grant, stop=stop(), release=True, is_done=False)
        Shard.objects.filter(run=run).update(lease_expires_at="2020-01-01T00:00:00Z")
        assert end(run).status == "partial"
        assert_books(run)
        quote = continue_run(run, actor=actor, retry_unknown=True)
        assert (quote.plan_document["continuation"]["reused"], quote.plan_document["continuation"]["pending"]) == (2, 18)
        again = work_out(start_run(quote, actor=actor)[0])
    copied = Sample.objects.filter(subject__run=again, origin__isnull=False).values_list("position", "attempt")
    assert (list(copied.order_by("id")), again.status) == ([(5, 1), (5, 2)], "completed")


def test_composite_needs_weights_and_is_their_mean(workspace: Workspace, actor: Actor) -> None:
    made = versions(8, 12)
    names = ["most-frequent-answer", "random-choice"]
    run = work_out(started(workspace, actor, made, subjects=names, selection={"weights": [3, 1]}))
    document = result_document(get_result(run))
    composite = document["composite"]
    assert [(each["profile_id"], each["share"]) for each in composite["weights"]] == [
        (made[0].profile_id, 0.75),
        (made[1].profile_id, 0.25),
    ]
    value = {(each["benchmark_index"], each["label"]): each["headline"]["value"] for each in document["subjects"]}
    expected = {name: 0.75 * value[0, name] + 0.25 * value[1, name] for name in names}
    assert {row["label"]: row["value"] for row in composite["subjects"]} == pytest.approx(expected)
    assert [row["value"] for row in composite["subjects"]] == sorted((row["value"] for row in composite["subjects"]), reverse=True)
    assert all(row["interval"]["low"] < row["value"] < row["interval"]["high"] for row in composite["subjects"])


def test_model_without_a_score_on_one_benchmark_has_no_composite() -> None:
    def document(profile_id: str, value: float | None) -> dict[str, Any]:
        interval = None if value is None else {"low": value - 0.1, "high": value + 0.1}
        headline = {"value": value, "n": 10, "stderr": 0.05, "interval": interval}
        one = {"index": 0, "label": "one", "stopped": None, "headline": headline}
        two = {"index": 1, "label": "two", "stopped": None, "headline": {**headline, "value": 0.5, "interval": {"low": 0.4, "high": 0.6}}}
        return {"benchmark": {"profile_id": profile_id}, "subjects": [one, two]}

    rows = composite_document([document("a@1", None), document("b@1", 0.9)], [1, 1])["subjects"]
    assert [row["label"] for row in rows] == ["two"]


def test_limits_of_a_weighted_mean_are_square_and_added() -> None:
    scores = [
        {"value": 0.5, "n": 100, "stderr": 0.05, "interval": {"low": 0.4, "high": 0.6}},
        {"value": 1.0, "n": 20, "stderr": 0.0, "interval": {"low": 0.8, "high": 1.0}},
    ]
    estimate = weighted(scores, [1, 3])
    assert (estimate.value, estimate.n, estimate.stderr) == (pytest.approx(0.875), 120, pytest.approx(0.0125))
    assert estimate.interval is not None
    assert estimate.interval.low == pytest.approx(0.875 - (0.025**2 + 0.15**2) ** 0.5)
    assert estimate.interval.high == pytest.approx(0.875 + 0.025)
    with pytest.raises(ValueError, match="weight"):
        weighted(scores, [1, 0])


def test_live_rows_and_report_show_each_benchmark(workspace: Workspace, actor: Actor, member: Any, sign_in: Callable[..., Any]) -> None:
    made = versions(6, 9)
    run = started(workspace, actor, made, subjects=["most-frequent-answer", "random-choice"], attempts=2)
    client, path = sign_in(member), f"/evaluations/{run.public_id}"
    live = client.get(path)
    assert [(row["benchmark"].index, row["subject"].index, row["planned"]) for row in live.context["subjects"]] == [
        (0, 0, 12),
        (0, 1, 12),
        (1, 0, 18),
        (1, 1, 18),
    ]
    execute()
    finalize_run(run.pk)
    page = client.get(path)
    assert [part["benchmark"]["profile_id"] for part in page.context["parts"]] == [version.profile_id for version in made]
    text = page.content.decode()
    assert [words in text for words in ("2 benchmarks", "Over 2 attempts", "pass^2", f"({made[1].profile_id})")] == [True] * 4
    ids = [part.partition('"')[0] for part in text.split(' id="')[1:]]
    assert [name for name, count in Counter(ids).items() if count > 1] == []


def test_comparison_of_several_benchmarks_must_be_named(workspace: Workspace, actor: Actor, client: Client) -> None:
    made = versions(6, 9)
    run = work_out(started(workspace, actor, made, subjects=["most-frequent-answer", "random-choice"]))
    path, headers = f"/v1/runs/{run.public_id}/compare", {"Authorization": f"Bearer {factories.make_key(workspace)[1]}"}
    refused = client.get(path, headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "profile_id_required")
    named = [client.get(f"{path}?profile_id={version.profile_id}", headers=headers) for version in made]
    assert [answer.json()["tasks_planned"] for answer in named] == [6, 9]
    assert client.get(f"{path}?profile_id=nothing@1", headers=headers).status_code == 404


def test_quote_of_a_time_with_one_benchmark_is_still_read(workspace: Workspace, actor: Actor) -> None:
    quote = create_quote(workspace, actor=actor, request={"model": "random-choice", "benchmark": versions(30)[0].profile_id})
    plan = orjson.loads(quote.plan)
    plan["benchmarks"] = [plan["benchmark"]]
    quote.plan = orjson.dumps(plan).decode()
    [part] = quote.plan_document["benchmarks"]
    assert (part["coverage"], part["output_limit"], part["delivery"]) == (plan["coverage"], 64, plan["delivery"])


def test_run_of_two_versions_of_a_benchmark_is_listed_once(workspace: Workspace, actor: Actor) -> None:
    first = factories.make_version(tasks=4)
    second = factories.make_version(first.benchmark, tasks=6)
    run = work_out(started(workspace, actor, [first, second], model="random-choice"))
    slug = first.benchmark.slug
    for wanted in (slug, first.profile_id, second.profile_id):
        assert list(filter_runs(runs_for(workspace), benchmark=wanted)) == [run]
    assert [(each.profile_id, each.coverage["planned"]) for each in standings_on(workspace, slug)] == [
        (second.profile_id, 6),
        (first.profile_id, 4),
    ]
