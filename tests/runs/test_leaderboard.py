"""Leaderboards: who publishes what, that only like protocols are ranked together, and that ranks are those of a comparison in one run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.test import Client

from billing.actions import grant_credit
from catalog.models import BenchmarkVersion
from common.errors import Conflict, Forbidden, Refused
from gateway.models import Call
from runs import queries
from runs.models import Run
from runs.models.sharing import Publication
from runs.sharing.candidates import candidates_of
from runs.sharing.leaderboard import Table, leaderboard_of
from runs.sharing.publishing import hide_publication, publish_result, unhide_publication, withdraw_publication
from tests import factories
from tests.paging import cost
from tests.runs.sharing import SECRET, make_telling_run
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import SYSTEM, Actor, actor_of_key, actor_of_user
from workspaces.enums import Role
from workspaces.models import AuditEntry, User, Workspace

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
BASELINES = ["random-choice", "most-frequent-answer"]


@pytest.fixture(autouse=True)
def _own_endpoints(settings: Any) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True


def run_on(version: BenchmarkVersion, workspace: Workspace, actor: Actor, *subjects: Any, **more: Any) -> Run:
    request = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}, **more}
    run = work(start(workspace, actor, subjects=list(subjects or BASELINES), **request))
    return queries.get_run(workspace, run.public_id)


def publish(run: Run, actor: Actor, *keys: str, name: str | None = None) -> list[Publication]:
    """Publish the run's models, all that can be by default."""
    result = queries.get_result(run)
    chosen = keys or [each.key for each in candidates_of(run, result) if not each.refusal]
    return publish_result(run, result, actor=actor, keys=chosen, agreed_name=run.workspace.name if name is None else name)


def owner_of(name: str) -> tuple[Workspace, Actor]:
    workspace = factories.make_workspace(name, credit=10_000_000)
    return workspace, actor_of_user(factories.make_user(workspace=workspace, role=Role.OWNER))


def rows_of(table: Table) -> list[tuple[str, str, Any]]:
    return [(entry.publication.label, entry.publication.publisher, entry.rank and entry.rank["rank_range"]) for entry in table.entries]


# ── Who, and what ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_owners_publish_and_no_key_does(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> None:
    run = run_on(version, workspace, actor)
    people = [actor_of_user(factories.make_user(workspace=workspace, role=role)) for role in (Role.VIEWER, Role.MEMBER, Role.ADMIN)]
    key, _ = factories.make_key(workspace)
    for refused in (*people, actor_of_key(key)):
        with pytest.raises(Forbidden):
            publish(run, refused)
    made = publish(run, actor)
    assert [publication.publisher for publication in made] == ["Ours", "Ours"]
    with pytest.raises(Forbidden):
        withdraw_publication(made[0], actor=people[1])
    withdraw_publication(made[0], actor=people[2])
    withdraw_publication(made[0], actor=actor)
    entries = AuditEntry.objects.filter(workspace=workspace, action__startswith="publication.").order_by("id")
    assert [(entry.action, entry.data["label"]) for entry in entries] == [
        ("publication.create", "random-choice"),
        ("publication.create", "most-frequent-answer"),
        ("publication.withdraw", "random-choice"),
    ]


def test_own_endpoints_recordings_and_private_benchmarks_are_not_published(workspace: Workspace) -> None:
    run, owner = make_telling_run(workspace, tasks=120)
    run, actor = queries.get_run(workspace, run.public_id), actor_of_user(owner)
    found = {each.key: each.refusal for each in candidates_of(run, queries.get_result(run))}
    assert found == {"0-0": "", "0-1": "own_endpoint", "0-2": "recorded_answers", "0-3": ""}
    for key in ("0-1", "0-2"):
        with pytest.raises(Refused) as refused:
            publish(run, actor, "0-0", key)
        assert (refused.value.code, refused.value.details["reason"]) == ("not_publishable", found[key])
    for keys in (("7-7",), ("0-0", "7-7")):
        with pytest.raises(Refused) as refused:
            publish(run, actor, *keys)
        assert refused.value.code == "nothing_chosen"
    assert Publication.objects.count() == 0
    private = run_on(factories.make_version(tasks=2, workspace=workspace), workspace, actor)
    with pytest.raises(Refused) as refused:
        publish(private, actor)
    assert (refused.value.code, leaderboard_of(private.benchmarks.all()[0].version)) == ("private_benchmark", [])


def test_what_is_not_finished_or_full_of_errors_is_not_published(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> None:
    run = run_on(version, workspace, actor)
    result = queries.get_result(run)
    document = orjson.loads(result.document)
    document["subjects"][0]["counts"] |= {"missing": 1, "graded": 9}
    document["subjects"][1]["counts"] |= {"errors": 1, "graded": 9}
    result.document = orjson.dumps(document).decode()
    assert [each.refusal for each in candidates_of(run, result)] == ["unfinished", "too_many_errors"]
    document["subjects"][0]["stopped"] = "silent_zero"
    document["subjects"][1]["counts"] |= {"graded": 0}
    result.document = orjson.dumps(document).decode()
    assert [each.refusal for each in candidates_of(run, result)] == ["stopped", "nothing_graded"]
    result.document = orjson.dumps(orjson.loads(queries.get_result(run).document) | {"grading": 2}).decode()
    assert [each.refusal for each in candidates_of(run, result)] == ["graded_again"] * 2


def test_owner_agrees_to_the_name_that_is_shown(workspace: Workspace, actor: Actor, version: BenchmarkVersion) -> None:
    run = run_on(version, workspace, actor)
    with pytest.raises(Refused) as refused:
        publish(run, actor, name="Somebody else")
    assert refused.value.code == "name_changed"
    publish(run, actor)
    Workspace.objects.filter(pk=workspace.pk).update(name="Renamed")
    assert {name for _, name, _ in rows_of(leaderboard_of(version)[0])} == {"Ours"}


def test_publishing_twice_adds_nothing_and_the_newest_result_of_a_model_stands(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, owner: User, sign_in: SignIn
) -> None:
    first, second = (run_on(version, workspace, actor) for _ in range(2))
    assert [len(publish(first, actor)), len(publish(first, actor)), len(publish(second, actor))] == [2, 0, 2]
    shown = {entry.publication.result.run_id for entry in leaderboard_of(version)[0].entries}
    assert shown == {second.pk}
    pages = [sign_in(owner).get(f"/evaluations/{run.public_id}/publishing").content.decode() for run in (first, second)]
    assert [page.count("Replaced by a newer one") for page in pages] == [2, 0]
    for publication in Publication.objects.filter(result__run=second):
        withdraw_publication(publication, actor=actor)
    assert {entry.publication.result.run_id for entry in leaderboard_of(version)[0].entries} == {first.pk}
    assert len(publish(second, actor)) == 2


def test_staff_hides_an_entry_with_a_reason_that_its_workspace_reads(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, owner: User, staff: User, sign_in: SignIn
) -> None:
    run = run_on(version, workspace, actor)
    made = publish(run, actor)
    with pytest.raises(Forbidden):
        hide_publication(made[0], actor=actor, reason="mine")
    admin = sign_in(staff)
    path = f"/admin/runs/publication/{made[0].pk}"
    assert [admin.get(f"/admin/runs/publication/{rest}").status_code for rest in ("", f"{made[0].pk}/change/")] == [200, 200]
    assert admin.post(f"{path}/hide/", {"reason": " "}).status_code == 422
    assert admin.post(f"{path}/hide/", {"reason": "Not what it says it is."})["Location"] == f"{path}/change/"
    assert [label for label, _, _ in rows_of(leaderboard_of(version)[0])] == [made[1].label]
    assert "Not what it says it is." in sign_in(owner).get(f"/evaluations/{run.public_id}/publishing").content.decode()
    withdraw_publication(made[0], actor=actor)
    with pytest.raises(Conflict) as refused:
        publish(run, actor)
    assert refused.value.code == "hidden_by_staff"
    unhide_publication(made[0], actor=actor_of_user(staff))
    assert len(publish(run, actor)) == 1
    entries = AuditEntry.objects.filter(workspace=workspace, action__in=["publication.hide", "publication.unhide"]).order_by("id")
    assert [(entry.action, entry.actor_label) for entry in entries] == [
        ("publication.hide", staff.email),
        ("publication.unhide", staff.email),
    ]


# ── Like protocols only ─────────────────────────────────────────────────────────────────────────────────────────────


def test_unlike_protocols_stand_apart_and_say_how_they_differ(workspace: Workspace, actor: Actor) -> None:
    version = factories.make_version(tasks=40, max_output_tokens=64)
    other_workspace, other = owner_of("Theirs")
    for run, who in (
        (run_on(version, workspace, actor), actor),
        (run_on(version, other_workspace, other, coverage={"mode": "sample", "sample_count": 20, "seed": 1}), other),
        (run_on(version, workspace, actor, coverage={"mode": "sample", "sample_count": 20, "seed": 2}), actor),
        (run_on(version, workspace, actor, max_output_tokens=32), actor),
    ):
        publish(run, who)
    tables = leaderboard_of(version)
    said = [[each["code"] for each in table.differences] for table in tables]
    assert said[0] == []
    assert sorted(said[1:]) == [["output_limit_differs"], ["task_selection_differs"], ["task_selection_differs"]]
    assert [len(table.entries) for table in tables] == [2] * len(tables)
    assert all("20 of 40 tasks" in table.differences[0]["words"] for table in tables if "task_selection_differs" in str(table.differences))


def test_other_version_has_its_own_leaderboard(workspace: Workspace, actor: Actor) -> None:
    benchmark = factories.make_benchmark("adding")
    first, second = (factories.make_version(benchmark, tasks=tasks) for tasks in (4, 5))
    publish(run_on(first, workspace, actor), actor)
    assert [len(leaderboard_of(version)) for version in (first, second)] == [1, 0]
    answer = Client().get("/catalog/adding/leaderboard").content.decode()
    assert ["Nobody has published a result on adding@2" in answer, "random-choice" in answer] == [True, False]
    assert "random-choice" in Client().get("/catalog/adding/leaderboard?version=1").content.decode()


def test_tasks_in_another_order_are_the_same_tasks(workspace: Workspace, actor: Actor) -> None:
    """All tasks chosen by hand, backwards, are all tasks; and each score is with its own task."""
    version = factories.make_version(tasks=12)
    other_workspace, other = owner_of("Theirs")
    with ChatServer(lambda messages: sums(messages) if "1 +" in messages[-1]["content"] else "0") as server:
        route = factories.make_route("example/half", endpoint=server.url)
        publish(run_on(version, workspace, actor, route.route_id), actor)
        backwards = [f"t{n}" for n in reversed(range(12))]
        publish(run_on(version, other_workspace, other, route.route_id, coverage={"mode": "tasks", "task_ids": backwards}), other)
    [table] = leaderboard_of(version)
    [pair] = table.comparison["pairs"]  # type: ignore[index]
    assert (len(table.entries), pair["a_only"], pair["b_only"]) == (2, 0, 0)
    assert [row["rank_label"] for row in table.comparison["ranking"]] == ["1=", "1="]  # type: ignore[index]
    labels = {row["label"] for row in table.comparison["ranking"]}  # type: ignore[index]
    assert labels == {"example/half (Ours)", "example/half (Theirs)"}


def test_best_twenty_are_ranked_and_the_others_listed(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.sharing.leaderboard.MOST_COMPARED", 3)
    for name in ("A", "B"):
        workspace, actor = owner_of(name)
        publish(run_on(version, workspace, actor), actor)
    [table] = leaderboard_of(version)
    scores = [entry.publication.figures["headline"]["value"] for entry in table.entries]
    assert ([entry.rank is not None for entry in table.entries], scores) == ([True, True, True, False], sorted(scores, reverse=True))


def test_run_on_several_benchmarks_publishes_each_on_its_own_page(workspace: Workspace, actor: Actor) -> None:
    """Also with several attempts a task: their mean is the score, under a protocol of its own."""
    versions = [factories.make_version(tasks=tasks) for tasks in (5, 7)]
    profile_ids = [version.profile_id for version in versions]
    several = run_on(versions[0], workspace, actor, selection={"profile_ids": profile_ids}, attempts=2)
    publish(several, actor)
    publish(run_on(versions[1], workspace, actor), actor)
    first, second = (leaderboard_of(version) for version in versions)
    assert [[each["code"] for each in table.differences] for table in (*first, *second)] == [["attempts_differ"], [], ["attempts_differ"]]
    assert [table.protocol["tasks"] for table in (*first, *second)] == [5, 7, 7]
    for table in first:
        scores = [row["score"] for row in table.comparison["ranking"]]  # type: ignore[index]
        assert scores == [entry.publication.figures["headline"]["value"] for entry in table.entries]


# ── The page ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_everyone_reads_it_and_it_names_nothing_but_what_was_agreed(workspace: Workspace) -> None:
    run, owner = make_telling_run(workspace, tasks=120)
    run = queries.get_run(workspace, run.public_id)
    publish(run, actor_of_user(owner))
    page = Client().get("/catalog/adding/leaderboard")
    text = page.content.decode()
    assert (page.status_code, "example/small" in text, "Ours" in text) == (200, True, True)
    hidden = [SECRET, str(run.public_id), str(workspace.public_id), owner.email, "127.0.0.1:"]
    assert [each for each in hidden if each in text] == []
    api = Client().get("/v1/benchmarks/adding/leaderboard")
    assert (api.status_code, [each for each in hidden if each in api.content.decode()]) == (200, [])
    private = factories.make_version(tasks=2, workspace=workspace)
    assert Client().get(f"/catalog/{private.benchmark.slug}/leaderboard").status_code == 404


def test_page_costs_the_same_queries_with_more_entries_and_tables(workspace: Workspace, actor: Actor) -> None:
    version = factories.make_version(factories.make_benchmark("adding"), tasks=30)
    costs = []
    for number, seeds in enumerate([(1,), (2, 3, 4)]):
        their, who = owner_of(f"Lab {number}")
        publish(run_on(version, their, who), who)
        for seed in seeds:
            publish(run_on(version, their, who, coverage={"mode": "sample", "sample_count": 10, "seed": seed}), who)
        costs.append([cost(Client(), path) for path in ("/catalog/adding/leaderboard", "/v1/benchmarks/adding/leaderboard")])
    assert costs[0] == costs[1]


def test_page_publishes_and_withdraws(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, owner: User, viewer: User, sign_in: SignIn
) -> None:
    run = run_on(version, workspace, actor)
    client, path = sign_in(owner), f"/evaluations/{run.public_id}/publishing"
    form = client.get(path).context["form"]
    chosen = {"models": [key for key, _ in form.fields["models"].choices], "name": form.fields["name"].initial}
    without = client.post(path, chosen)
    assert (without.status_code, Publication.objects.count()) == (422, 0)
    made = client.post(path, {**chosen, "agreed": "on"})
    assert (made.status_code, made["Location"], Publication.objects.count()) == (302, path, 2)
    seen = sign_in(viewer).get(path).content.decode()
    assert [words in seen for words in ("random-choice", "Withdraw", "I publish")] == [True, False, False]
    publication = Publication.objects.order_by("id")[0]
    assert client.post(f"{path}/{publication.public_id}/withdrawal")["Location"] == path
    assert [label for label, _, _ in rows_of(leaderboard_of(version)[0])] == ["most-frequent-answer"]


# ── Real data ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_four_models_published_from_two_workspaces_rank_as_in_one_run(workspace: Workspace, actor: Actor, shared: Path) -> None:
    """The recorded outputs of GSM8K: two models run and published here, two there, and the comparison is that of one run of all four."""
    from tests.runs.gsm8k import RIGHT, outputs
    from tests.standins.chat import chat_process

    rows = [orjson.loads(line) for line in (shared / "data" / "gsm8k" / "test.jsonl").read_bytes().splitlines()]
    version = factories.make_version(
        factories.make_benchmark("gsm8k", name="GSM8K"),
        rows=[
            {"values": {"question": row["question"]}, "reference": row["answer"].rpartition("####")[2].strip().replace(",", "")}
            for row in rows
        ],
        max_output_tokens=400,
    )
    other_workspace, other = owner_of("Theirs")
    with chat_process("--gsm8k", str(outputs(shared))) as endpoint:
        routes = [factories.make_route(f"recorded/{model}", endpoint=endpoint, model=model).route_id for model in RIGHT]
        for each in (workspace, other_workspace):
            grant_credit(each, actor=SYSTEM, amount_microusd=20_000_000, reason="for the test")
        runs = [
            run_on(version, workspace, actor, *routes[:2], concurrency=64),
            run_on(version, other_workspace, other, *routes[2:], concurrency=64),
            run_on(version, workspace, actor, *routes, concurrency=64),
        ]
    publish(runs[0], actor)
    publish(runs[1], other)
    [table] = leaderboard_of(version)
    found, expected = table.comparison, orjson.loads(queries.get_result(runs[2]).comparison)[0]
    assert found is not None
    names = ("rank", "rank_label", "rank_range", "group", "label", "score", "stderr", "interval", "cheapest_within_one_stderr")
    assert [{name: row[name] for name in names} for row in found["ranking"]] == [
        {name: row[name] for name in names} for row in expected["ranking"]
    ]
    figures = ("difference", "stderr", "interval", "a_only", "b_only", "p_exact", "p_mid", "p_holm", "separable")
    assert [[pair[name] for name in figures] for pair in found["pairs"]] == [[pair[name] for name in figures] for pair in expected["pairs"]]
    assert (found["summary"], found["tasks_compared"]) == (expected["summary"], 1319)
    assert [entry.publication.figures["counts"]["correct"] for entry in table.entries] == [742, 515, 458, 286]
    assert [entry.publication.publisher for entry in table.entries] == ["Theirs", "Ours", "Theirs", "Ours"]
    assert Call.objects.count() == 8 * 1319
    page = Client().get("/catalog/gsm8k/leaderboard").content.decode()
    assert [text in page for text in ("56.3", "39.0", "34.7", "21.7", "recorded/175b_verification")] == [True] * 5
