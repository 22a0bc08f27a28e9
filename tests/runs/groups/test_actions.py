"""Groups as they are made: what they freeze, who may, and what they refuse."""

from dataclasses import asdict
from typing import Any
from uuid import uuid4

import pytest

from catalog.models import BenchmarkVersion
from common.canonical import sha256_text
from common.errors import Forbidden, Refused
from runs.enums import GroupKind
from runs.groups.actions import create_group
from runs.groups.documents import saved_document, started_document
from runs.groups.resolving import Reference, parse_key
from runs.models import ResultVersion, Run, Sample
from runs.models.groups import GroupMember, ResultGroup
from tests import factories
from tests.runs.groups.making import checks, group_of, run_alone
from tests.runs.working import start, work
from workspaces.actors import Actor, actor_of_user
from workspaces.models import AuditEntry, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def sums(db: None) -> BenchmarkVersion:
    return factories.make_version(tasks=60)


@pytest.fixture
def better(workspace: Workspace, actor: Actor, sums: BenchmarkVersion) -> Run:
    return run_alone(workspace, actor, sums, 54, route="example/better", name="Better")


@pytest.fixture
def worse(workspace: Workspace, actor: Actor, sums: BenchmarkVersion) -> Run:
    return run_alone(workspace, actor, sums, 30, route="example/worse", name="Worse")


def refusal(workspace: Workspace, actor: Actor, *references: Reference, **more: Any) -> str:
    with pytest.raises(Refused) as refused:
        create_group(workspace, actor=actor, references=references, **more)
    return refused.value.code


def codes(document: dict[str, Any]) -> dict[int, list[str]]:
    return {row["member"]: [each["code"] for each in row["differences"]] for row in document["unlike"]}


def test_alike_results_are_compared_and_frozen(workspace: Workspace, actor: Actor, worse: Run, better: Run) -> None:
    group = group_of(workspace, actor, [worse, better], name="Which?")
    document = saved_document(group)
    assert [(row["member"], row["score"], row["best"]) for row in document["ranking"]] == [(1, 0.9, True), (0, 0.5, False)]
    (pair,) = document["pairs"]
    assert (pair["a"], pair["b"], round(pair["difference"], 10), pair["a_only"], pair["b_only"]) == (1, 0, 0.4, 24, 0)
    (against,) = document["against_baseline"]
    assert (document["baseline"], against["member"], against["difference"]) == (0, 1, pair["difference"])
    assert (document["decision"], document["checks"], document["reasons"]) == (None, [], [])
    assert sha256_text(group.document) == group.sha256 == document["sha256"]
    results = [run.results.get() for run in (worse, better)]
    assert [(each["run_id"], each["version"], each["sha256"]) for each in document["members"]] == [
        (str(result.run.public_id), result.number, result.sha256) for result in results
    ]
    assert ResultVersion.objects.count() == 2  # no model is run again
    entry = AuditEntry.objects.get(action="result_group.created")
    assert (entry.target, entry.data["name"], entry.workspace) == (str(group.public_id), "Which?", workspace)


def test_the_order_of_the_tasks_makes_no_difference(workspace: Workspace, actor: Actor, sums: BenchmarkVersion) -> None:
    ids = [f"t{n}" for n in range(40)]
    one = run_alone(workspace, actor, sums, 30, coverage={"mode": "tasks", "task_ids": ids})
    other = run_alone(workspace, actor, sums, 20, coverage={"mode": "tasks", "task_ids": ids[::-1]})
    (pair,) = saved_document(group_of(workspace, actor, [one, other]))["pairs"]
    assert (pair["both"], pair["a_only"], pair["b_only"], pair["neither"]) == (20, 10, 0, 10)


def test_unlike_results_stand_apart_with_their_reasons(workspace: Workspace, actor: Actor, sums: BenchmarkVersion, better: Run) -> None:
    sample = {"mode": "sample", "sample_count": 20, "seed": 1}
    part = run_alone(workspace, actor, sums, 20, coverage=sample)
    another = run_alone(workspace, actor, sums, 20, coverage={**sample, "seed": 2}, max_output_tokens=32)
    newer = factories.make_version(sums.benchmark, tasks=60, max_output_tokens=64, grader="exact_match")
    of_newer = run_alone(workspace, actor, newer, 60)
    document = saved_document(group_of(workspace, actor, [better, part, another, of_newer], policy=checks(max_drop=0.5)))
    assert codes(document) == {
        1: ["task_selection_differs"],
        2: ["task_selection_differs", "output_limit_differs"],
        3: ["version_differs", "grader_differs"],
    }
    assert ([row["member"] for row in document["ranking"]], document["pairs"]) == ([0], [])
    assert [row["difference"] for row in document["against_baseline"]] == [None, None, None]
    assert document["summary"] == "None of these results can be compared with the baseline: each was made in another way."
    assert document["decision"] == "inconclusive"
    assert [reason["code"] for reason in document["reasons"]] == [code for each in codes(document).values() for code in each]
    assert all(member["headline"]["value"] is not None for member in document["members"])


def test_what_is_unlike_the_baseline_and_alike_itself_is_compared_beside_it(
    workspace: Workspace, actor: Actor, sums: BenchmarkVersion, better: Run, worse: Run
) -> None:
    limited = [run_alone(workspace, actor, sums, right, max_output_tokens=32) for right in (20, 40)]
    document = saved_document(group_of(workspace, actor, [better, limited[0], worse, limited[1]]))
    assert [compared["members"] for compared in document["comparisons"]] == [[0, 2], [1, 3]]
    assert [row["member"] for row in document["comparisons"][1]["ranking"]] == [3, 1]
    assert document["ranking"] == document["comparisons"][0]["ranking"]
    assert document["summary"].endswith("2 results were made in another way and stand apart.")


def test_checks_decide(workspace: Workspace, actor: Actor, better: Run, worse: Run) -> None:
    def decided(runs: list[Run], **thresholds: float) -> tuple[str, list[str]]:
        group = group_of(workspace, actor, runs, policy=checks(**thresholds), kind=GroupKind.COMPARISON)
        return group.decision, [reason["code"] for reason in group.frozen["reasons"]]

    assert decided([better, worse], max_drop=0.1) == ("fail", ["drop_exceeds_limit"])
    assert decided([worse, better], max_drop=0.1, min_score=0.6, min_coverage=1.0) == (
        "pass",
        ["score_met", "drop_within_limit", "coverage_met"],
    )
    assert decided([better, worse], min_score=0.5) == ("inconclusive", ["score_too_uncertain"])
    assert AuditEntry.objects.filter(action="comparison.created").count() == 3


def test_a_run_stands_for_all_its_results_and_the_baseline_for_one(workspace: Workspace, actor: Actor, sums: BenchmarkVersion) -> None:
    several = work(
        start(
            workspace,
            actor,
            subjects=["random-choice", "most-frequent-answer"],
            selection={"profile_ids": [sums.profile_id]},
            coverage={"mode": "full"},
        )
    )
    group = group_of(workspace, actor, [several], baseline=Reference(several.public_id, subject_index=1))
    assert ([member["subject_index"] for member in group.frozen["members"]], group.baseline) == ([0, 1], 1)
    with pytest.raises(Refused) as refused:
        group_of(workspace, actor, [several], baseline=Reference(several.public_id))
    assert refused.value.code == "ambiguous_result"
    named = refused.value.details["candidates"]
    assert [(each["subject_index"], each["profile_id"]) for each in named] == [(0, sums.profile_id), (1, sums.profile_id)]


def test_the_baseline_may_be_a_place_or_stand_before_the_list(workspace: Workspace, actor: Actor, better: Run, worse: Run) -> None:
    assert group_of(workspace, actor, [better, worse], baseline=1).baseline == 1
    group = group_of(workspace, actor, [better], baseline=Reference(worse.public_id))
    assert (group.baseline, [member["run_name"] for member in group.frozen["members"]]) == (0, ["Worse", "Better"])


def test_what_cannot_be_a_group_is_refused(workspace: Workspace, actor: Actor, sums: BenchmarkVersion, better: Run, worse: Run) -> None:
    first, second = Reference(better.public_id), Reference(worse.public_id)
    assert refusal(workspace, actor, first) == "group_size"
    assert refusal(workspace, actor, first, first) == "duplicate_result"
    assert refusal(workspace, actor, first, Reference(better.public_id, version=1, subject_index=0)) == "duplicate_result"
    assert refusal(workspace, actor, first, Reference(uuid4())) == "result_not_found"
    assert refusal(workspace, actor, first, Reference(worse.public_id, version=2)) == "result_not_found"
    assert refusal(workspace, actor, first, Reference(worse.public_id, subject_index=1)) == "result_not_found"
    assert refusal(workspace, actor, first, Reference(worse.public_id, profile_id="other@1")) == "result_not_found"
    assert refusal(workspace, actor, first, second, baseline=2) == "baseline_not_found"
    queued = start(workspace, actor, model="random-choice", selection={"profile_ids": [sums.profile_id]}, coverage={"mode": "full"})
    assert refusal(workspace, actor, first, Reference(queued.public_id)) == "result_not_ready"
    assert ResultGroup.objects.count() == 0


def test_results_of_another_workspace_are_not_found(other_workspace: Workspace, stranger: User, better: Run, worse: Run) -> None:
    references = [Reference(run.public_id) for run in (better, worse)]
    assert refusal(other_workspace, actor_of_user(stranger), *references) == "result_not_found"


def test_members_make_groups_and_viewers_do_not(workspace: Workspace, member: User, viewer: User, better: Run, worse: Run) -> None:
    assert group_of(workspace, actor_of_user(member), [better, worse]).created_by == member
    with pytest.raises(Forbidden):
        group_of(workspace, actor_of_user(viewer), [better, worse])


def test_a_result_that_changed_or_is_gone_is_told(workspace: Workspace, actor: Actor, better: Run, worse: Run) -> None:
    group = group_of(workspace, actor, [better, worse])

    def told() -> tuple[str, list[str], int]:
        from runs.groups.queries import get_group

        document = saved_document(get_group(workspace, group.public_id))
        return document["status"], [member["state"] for member in document["members"]], len(document["pairs"])

    assert told() == ("ready", ["unchanged", "unchanged"], 1)
    ResultVersion.objects.filter(run=worse).update(document='{"forged":true}')
    assert told() == ("changed", ["unchanged", "changed"], 1)
    ResultVersion.objects.filter(run=worse).update(sha256="0" * 64)
    assert told() == ("changed", ["unchanged", "changed"], 1)
    GroupMember.objects.filter(index=0).update(result=None)
    assert told() == ("changed", ["gone", "changed"], 1)


def test_two_results_of_one_model_are_told_apart_by_their_runs(workspace: Workspace, actor: Actor, sums: BenchmarkVersion) -> None:
    runs = [
        work(
            start(
                workspace,
                actor,
                model="random-choice",
                selection={"profile_ids": [sums.profile_id]},
                coverage={"mode": "full"},
                **({"name": name} if name else {}),
            )
        )
        for name in ("Before", "After", "")
    ]
    labels = [member["label"] for member in group_of(workspace, actor, runs).frozen["members"]]
    assert labels == ["random-choice · Before", "random-choice · After", f"random-choice · {str(runs[2].public_id)[:8]}"]


def test_a_key_of_a_form_names_one_result_or_a_run() -> None:
    run_id = uuid4()
    assert parse_key(str(run_id)) == Reference(run_id)
    assert parse_key(f"{run_id}:2:1:byob-0123456789ab@3") == Reference(run_id, 2, 1, "byob-0123456789ab@3")
    assert [parse_key(text) for text in ("", "x", f"{run_id}:a:1:s@1", f"{run_id}:1", f"{run_id}:1:999:s@1")] == [None] * 5
    assert asdict(Reference(run_id))["version"] is None


def several(workspace: Workspace, actor: Actor, *versions: BenchmarkVersion, **more: Any) -> Run:
    """An ended run of both baselines over all of these versions."""
    selection = {"profile_ids": [version.profile_id for version in versions]}
    subjects = ["random-choice", "most-frequent-answer"]
    return work(start(workspace, actor, subjects=subjects, selection=selection, coverage={"mode": "full"}, **more))


def test_a_run_over_several_benchmarks_gives_a_result_for_each(workspace: Workspace, actor: Actor, sums: BenchmarkVersion) -> None:
    other = factories.make_version(tasks=12)
    run = several(workspace, actor, other, sums)
    started = started_document(run)
    assert [(member["label"], member["profile_id"]) for member in started["members"]] == [
        (label, version.profile_id) for version in (other, sums) for label in ("random-choice", "most-frequent-answer")
    ]
    assert [(compared["profile_id"], sorted(compared["members"])) for compared in started["comparisons"]] == [
        (version.profile_id, sorted(row["index"] for row in started["members"] if row["profile_id"] == version.profile_id))
        for version in (other, sums)
    ]
    for compared in started["comparisons"]:
        places = set(compared["members"])
        assert {row["member"] for row in compared["ranking"]} <= places
        assert {pair["a"] for pair in compared["pairs"]} | {pair["b"] for pair in compared["pairs"]} <= places

    of_sums = [Reference(run.public_id, subject_index=index, profile_id=sums.profile_id) for index in (0, 1)]
    document = saved_document(create_group(workspace, actor=actor, references=of_sums))
    assert [(member["benchmark_index"], member["counts"]["planned"]) for member in document["members"]] == [(1, 60), (1, 60)]
    own = next(compared for compared in started["comparisons"] if compared["profile_id"] == sums.profile_id)
    assert [row["score"] for row in document["ranking"]] == [row["score"] for row in own["ranking"]]
    assert [pair["difference"] for pair in document["pairs"]] == [pair["difference"] for pair in own["pairs"]]

    alone = several(workspace, actor, sums)
    mixed = [of_sums[0], Reference(alone.public_id, subject_index=1)]
    assert codes(saved_document(create_group(workspace, actor=actor, references=mixed))) == {}


def test_several_attempts_at_a_task_are_one_value(workspace: Workspace, actor: Actor, sums: BenchmarkVersion) -> None:
    run, once = several(workspace, actor, sums, attempts=3), several(workspace, actor, sums)
    document = saved_document(group_of(workspace, actor, [run]))
    own = started_document(run)
    assert [row["score"] for row in document["ranking"]] == [row["score"] for row in own["ranking"]]
    assert (document["pairs"], document["members"][0]["counts"]["planned"]) == (own["pairs"], 180)
    assert codes(saved_document(group_of(workspace, actor, [run, once]))) == {2: ["attempts_differ"], 3: ["attempts_differ"]}


def test_verdicts_that_do_not_give_the_frozen_score_are_not_compared(workspace: Workspace, actor: Actor, better: Run, worse: Run) -> None:
    Sample.objects.filter(pk=Sample.objects.filter(subject__run=worse, correct=True).earliest("id").pk).update(score=0.0, correct=False)
    assert refusal(workspace, actor, *(Reference(run.public_id) for run in (better, worse))) == "result_not_reproduced"
    assert ResultGroup.objects.count() == 0
