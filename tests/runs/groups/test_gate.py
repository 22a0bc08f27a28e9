"""The gate of a release, as CI calls it: a process with arguments and an environment, against a live server."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog.models import BenchmarkVersion
from runs.models.groups import ResultGroup
from tests import factories
from tests.runs.groups.making import run_alone
from tests.standins.http import Asked, Fault, Reply, Request, StandIn
from workspaces.actors import Actor, actor_of_user
from workspaces.enums import Role, Scope
from workspaces.models import Workspace

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "ci"
type Gate = Callable[..., subprocess.CompletedProcess[str]]


def called(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("EVALROUTER_", "GITHUB_"))}
    command = [sys.executable, str(FOLDER / "gate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**known, **environment}, check=False)


@pytest.fixture
def ours(transactional_db: None) -> tuple[Workspace, Actor]:
    workspace = factories.make_workspace("Ours", credit=10_000_000)
    return workspace, actor_of_user(factories.make_user("owner@example.org", workspace=workspace, role=Role.OWNER))


@pytest.fixture
def gate(live_server: Any, ours: tuple[Workspace, Actor]) -> Gate:
    """Calls the script with a key that may write, and the address of the live server."""
    _, key = factories.make_key(ours[0], scopes=[Scope.EVAL_WRITE])

    def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return called(*arguments, **{"EVALROUTER_API_KEY": key, "EVALROUTER_BASE_URL": live_server.url, **environment})

    return call


def results(ours: tuple[Workspace, Actor], version: BenchmarkVersion, *right: int) -> list[str]:
    """IDs of runs that got the first so many sums right."""
    return [str(run_alone(*ours, version, count).public_id) for count in right]


def test_it_fails_on_a_drop_passes_on_equality_and_cannot_tell_from_few_tasks(
    ours: tuple[Workspace, Actor], gate: Gate, tmp_path: Path
) -> None:
    before, same, worse = results(ours, factories.make_version(tasks=200), 180, 180, 150)
    few_before, few_same = results(ours, factories.make_version(tasks=20), 18, 18)

    equal = gate(before, same, "--max-drop", "0.02", "--min-coverage", "1", "--name", "Release 7")
    assert (equal.returncode, equal.stderr) == (0, "")
    assert equal.stdout.startswith("PASS\n") and "+0.0 points (-1.8 to +1.8)" in equal.stdout

    saved, summary = tmp_path / "comparison.json", tmp_path / "summary.md"
    drop = gate(before, f"{worse}:1:0", "--max-drop", "0.02", "--json", str(saved), GITHUB_STEP_SUMMARY=str(summary))
    assert (drop.returncode, drop.stderr) == (1, "")
    assert "is 15.0 points below the baseline" in drop.stdout and "largest drop: FAIL" in drop.stdout
    assert json.loads(saved.read_text())["decision"] == "fail"
    assert summary.read_text().startswith("**fail**\n\n| result | version |")

    few = gate(few_before, few_same, "--max-drop", "0.02")
    assert (few.returncode, few.stderr) == (3, "")
    assert few.stdout.startswith("INCONCLUSIVE\n") and "largest drop: cannot tell" in few.stdout

    apart = gate(before, few_same, "--max-drop", "0.02")
    assert (apart.returncode, "not compared" in apart.stdout) == (3, True)
    groups = ResultGroup.objects.order_by("id")
    assert [(group.name, group.decision) for group in groups] == [
        ("Release 7", "pass"),
        ("", "fail"),
        ("", "inconclusive"),
        ("", "inconclusive"),
    ]


def test_everything_may_stand_in_the_environment(ours: tuple[Workspace, Actor], gate: Gate) -> None:
    before, same = results(ours, factories.make_version(tasks=20), 18, 18)
    answer = gate(EVALROUTER_BASELINE=before, EVALROUTER_CANDIDATE=same, EVALROUTER_MIN_SCORE="0.5")
    assert (answer.returncode, answer.stderr) == (0, "")


def test_what_is_refused_exits_2_and_says_why(ours: tuple[Workspace, Actor], gate: Gate) -> None:
    (before,) = results(ours, factories.make_version(tasks=4), 3)
    other = "00000000-0000-4000-8000-000000000000"
    for answer, words in (
        (gate(before, other, "--max-drop", "0.1"), "result_not_found"),
        (gate(before, f"{before}:7", "--max-drop", "0.1"), "result_not_found"),
        (gate(before, before, "--max-drop", "0.1"), "group_size"),
        (gate(before, other, "--max-drop", "0.1", EVALROUTER_API_KEY="er_nothing"), "unauthenticated"),
        (gate(before, other, "--max-drop", "2"), "a share from 0 to 1"),
        (gate(before, "gsm8k", "--max-drop", "0.1"), "Not a result"),
        (gate(before, other), "Ask for a check"),
        (gate(before, "--max-drop", "0.1"), "at least one candidate"),
        (gate(before, other, "--max-drop", "0.1", EVALROUTER_API_KEY=""), "EVALROUTER_API_KEY"),
        (gate(before, other, "--max-drop", "0.1", EVALROUTER_BASE_URL="http://eval.example.org"), "https://"),
        (gate(before, other, "--worst-drop", "0.1"), "unrecognized arguments"),
    ):
        assert (answer.returncode, words in answer.stderr) == (2, True), answer.stderr
        assert answer.stdout == ""
    assert ResultGroup.objects.count() == 0


RUNS = ["10000000-0000-4000-8000-000000000000", "20000000-0000-4000-8000-000000000000"]
PASSED = {
    "decision": "pass",
    "baseline": 0,
    "members": [{"index": 0, "run_id": RUNS[0], "version": 1, "label": "m\n::error::x", "headline": None}],
    "against_baseline": [],
    "checks": [],
    "reasons": [],
    "report_url": "https://eval.example.org/evaluations/groups/1",
}


class Deployment(StandIn):
    """What a deployment may also answer."""

    servers = ("api",)

    def reply(self, server: str, request: Request) -> Reply:
        return Reply(201, PASSED)


def asked_of(fault: Fault | None, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[Asked]]:
    with Deployment(fault) as deployment:
        environment = {"EVALROUTER_API_KEY": "er_key", "EVALROUTER_BASE_URL": f"http://127.0.0.1:{deployment.ports[0]}"}
        answer = called(*RUNS, "--max-drop", "0.1", *arguments, **environment)
    return answer, deployment.asked


def test_no_answer_is_no_decision() -> None:
    environment = {"EVALROUTER_API_KEY": "er_key", "EVALROUTER_BASE_URL": "http://127.0.0.1:9"}
    answer = called(*RUNS, "--max-drop", "0.1", "--tries", "1", **environment)
    assert (answer.returncode, answer.stdout, "No answer from" in answer.stderr) == (4, "", True)
    for reply in (
        Reply(201, b"<html>"),
        Reply(201, {"decision": "pass"}),
        Reply(201, {"decision": None}),
        Reply(503, b""),
        Reply(drop=True),
    ):
        answer, _ = asked_of(lambda asked, number, reply=reply: reply, "--tries", "1")
        assert (answer.returncode, answer.stdout) == (4, "")


def test_it_is_sent_again_under_the_same_key() -> None:
    answer, asked = asked_of(lambda asked, number: Reply(503, b"") if number == 1 else None, "--tries", "2")
    assert (answer.returncode, len(asked)) == (0, 2)
    assert len({each.request.headers["idempotency-key"] for each in asked}) == 1


def test_it_waits_for_a_run_that_has_not_ended_only_where_that_is_asked() -> None:
    def early(asked: Asked, number: int) -> Reply | None:
        return Reply(409, {"error": {"code": "result_not_ready", "message": "Wait."}}) if number == 1 else None

    answer, asked = asked_of(early, "--wait", "0.2")
    assert (answer.returncode, len(asked)) == (0, 2)
    answer, asked = asked_of(early)
    assert (answer.returncode, len(asked), "result_not_ready" in answer.stderr) == (2, 1, True)


def test_the_key_follows_no_redirect() -> None:
    answer, asked = asked_of(lambda asked, number: Reply(307, b"", {"Location": "/elsewhere"}))
    assert (answer.returncode, [each.path for each in asked]) == (2, ["/v1/comparisons"])


def test_a_name_gives_the_log_no_command() -> None:
    answer, _ = asked_of(None)
    assert (answer.returncode, [line for line in answer.stdout.splitlines() if line.startswith("::")]) == (0, [])


def test_the_workflow_calls_the_script_as_it_is() -> None:
    workflow = yaml.safe_load((FOLDER / "github-actions.yml").read_text())
    steps = workflow["jobs"]["gate"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert workflow["permissions"] == {"contents": "read"}
    assert [script for script in scripts if "${{" in script] == []  # nothing of a pull request becomes a command
    assert any("ci/gate.py --wait 3600 --json comparison.json" in script for script in scripts)
    script = (FOLDER / "gate.py").read_text()
    known = {name for step in steps for name in step.get("env", {}) if name.startswith("EVALROUTER_")}
    assert {name for name in known if name not in script} == set()
