"""Grading again: the same answers, other verdicts beside the first, and a result of its own that changes nothing else."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.utils import timezone

from billing.models import LedgerEntry
from common.errors import Forbidden, Refused
from gateway.models import Call
from runs.actions import create_quote, start_run
from runs.documents import result_document
from runs.gradings import regrading
from runs.gradings.actions import grade_again
from runs.gradings.documents import flip_document, grading_comparisons, grading_result
from runs.gradings.queries import flips_of, gradings_of, unfinished
from runs.models import ResultVersion, Run, Sample
from runs.models.gradings import Grading, Regrade
from runs.queries import get_result, get_run
from runs.retention import expire_content
from tests import factories
from tests.runs.handwork import work_out
from tests.runs.working import sums
from tests.standins.chat import ChatServer
from workspaces.actors import Actor, actor_of_user
from workspaces.models import User, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]

KEY = [{"values": {"question": f"What is {n} + {n}?"}, "reference": "0" if n in {2, 5, 7} else str(2 * n)} for n in range(10)]
"""Ten sums, of which three have a wrong answer in the key."""


def said(messages: list[dict[str, str]]) -> str:
    return "The answer is 0." if "9" in messages[-1]["content"] else sums(messages)


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    """Two models on a key with three mistakes: one knows sums but for one, the other says 0 to everything."""
    version = factories.make_version(rows=KEY)
    with ChatServer(said, models={"good": said, "zero": "The answer is 0."}) as server:
        routes = [factories.make_route(endpoint=server.url, model=model).route_id for model in ("good", "zero")]
        request = {"subjects": routes, "benchmark": version.profile_id, "coverage": {"mode": "full"}}
        made = work_out(start_run(create_quote(workspace, actor=actor, request=request), actor=actor)[0])
    return get_run(workspace, made.public_id)


def mended(run: Run, rows: list[dict[str, Any]] | None = None, **manifest: Any) -> str:
    """The next version of the benchmark, by default with the right key."""
    right = [{**row, "reference": str(2 * n)} for n, row in enumerate(KEY)]
    return factories.make_version(run.benchmarks.get().version.benchmark, rows=rows or right, **manifest).profile_id


def graded(run: Run, actor: Actor, *versions: str) -> Grading:
    grading = grade_again(run, actor=actor, versions=dict(enumerate(versions)))
    regrading.grade_run_again(str(grading.public_id))
    grading.refresh_from_db()
    return grading


def test_same_grader_changes_nothing(run: Run, actor: Actor) -> None:
    before = [list(model.objects.order_by("pk").values()) for model in (Sample, ResultVersion, LedgerEntry, Call)]
    grading = graded(run, actor)
    assert (grading.number, grading.graded, grading.flips, grading.moves_ranking, grading.problem) == (2, 20, 0, False, "")
    assert Regrade.objects.count() == 0
    assert [list(model.objects.order_by("pk").values()) for model in (Sample, ResultVersion, LedgerEntry, Call)] == before
    result, first = grading_result(grading), result_document(get_result(run))
    assert result is not None
    assert (result["grading"], first["grading"]) == (2, 1)
    assert result["subjects"] == first["subjects"]


def test_mended_key_flips_what_it_judged_wrongly_and_moves_the_ranking(run: Run, actor: Actor) -> None:
    first = result_document(get_result(run))
    assert [each["counts"]["correct"] for each in first["subjects"]] == [6, 4]
    grading = graded(run, actor, mended(run))
    assert (grading.flips, grading.moves_ranking, grading.problem) == (6, True, "")
    result = grading_result(grading)
    assert result is not None
    assert [each["counts"]["correct"] for each in result["subjects"]] == [9, 1]
    assert [each["headline"]["value"] for each in result["subjects"]] == [0.9, 0.1]
    [comparison] = grading_comparisons(grading)
    assert (comparison["pairs"][0]["a_only"], comparison["pairs"][0]["b_only"]) == (8, 0)
    flips = [flip_document(row) for row in flips_of(grading)]
    assert {(flip["task_id"], flip["subject_index"], flip["before"]["correct"], flip["after"]["correct"]) for flip in flips} == {
        (task, subject, subject == 1, subject == 0) for task in ("t2", "t5", "t7") for subject in (0, 1)
    }
    assert any(notice.startswith("Grading 2: ") for notice in result["notices"])
    assert result_document(get_result(run)) == first


def test_ranking_that_turns_round_is_told(run: Run, actor: Actor) -> None:
    zeros = [{**row, "reference": "0"} for row in KEY]
    grading = graded(run, actor, mended(run, zeros))
    assert (grading.moves_ranking, orjson.loads(grading.comparison)[0]["ranking"][0]["subject_index"]) == (True, 1)


def test_version_that_asks_in_other_words_cannot_judge(run: Run, actor: Actor) -> None:
    other = [{**row, "values": {"question": f"How much is {n} + {n}?"}} for n, row in enumerate(KEY)]
    grading = graded(run, actor, mended(run, other))
    assert "in other words" in grading.problem
    assert (grading.flips, grading.document, Regrade.objects.count()) == (0, "", 0)


def test_version_without_a_task_cannot_judge(run: Run, actor: Actor) -> None:
    assert "has no task 't9'" in graded(run, actor, mended(run, KEY[:9])).problem


def test_version_of_another_benchmark_is_refused(run: Run, actor: Actor) -> None:
    other = factories.make_version(rows=KEY)
    with pytest.raises(Refused) as caught:
        grade_again(run, actor=actor, versions={0: other.profile_id})
    assert caught.value.code == "version_not_found"


def test_one_grading_at_a_time_and_not_without_answers(run: Run, actor: Actor) -> None:
    grade_again(run, actor=actor)
    with pytest.raises(Refused) as caught:
        grade_again(run, actor=actor)
    assert caught.value.code == "grading_under_way"
    Run.objects.filter(pk=run.pk).update(content_expires_at=timezone.now() - timedelta(seconds=1))
    expire_content()
    grading = gradings_of(run).get()
    regrading.grade_run_again(str(grading.public_id))
    grading.refresh_from_db()
    assert "past their retention" in grading.problem
    run.refresh_from_db()
    with pytest.raises(Refused) as caught:
        grade_again(run, actor=actor)
    assert caught.value.code == "evidence_expired"


def test_grading_of_a_dead_worker_is_taken_over_and_its_late_write_is_dropped(
    run: Run, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    grading = grade_again(run, actor=actor, versions={0: mended(run)})
    original = regrading._store
    late: list[bool] = []

    def dies_after_one_part(mine: Grading, *part: Any) -> bool:
        monkeypatch.setattr(regrading, "_store", original)
        original(mine, *part)
        Grading.objects.filter(pk=mine.pk).update(claimed_until=timezone.now() - timedelta(seconds=1))
        assert unfinished(timezone.now()) == [grading.public_id]
        regrading.grade_run_again(str(grading.public_id))
        late.append(original(mine, *part))
        return late[0]

    monkeypatch.setattr(regrading, "PART", 7)
    monkeypatch.setattr(regrading, "_store", dies_after_one_part)
    regrading.grade_run_again(str(grading.public_id))
    grading.refresh_from_db()
    assert (late, grading.flips, grading.problem, Regrade.objects.filter(is_flip=True).count()) == ([False], 6, "", 6)
    assert unfinished(timezone.now()) == []


def test_viewer_reads_and_does_not_grade(run: Run, actor: Actor, viewer: User, sign_in: Callable[..., Any]) -> None:
    graded(run, actor, mended(run))
    with pytest.raises(Forbidden):
        grade_again(run, actor=actor_of_user(viewer))
    client, path = sign_in(viewer), f"/evaluations/{run.public_id}/gradings"
    page = client.get(path).content.decode()
    assert ("Grade again, free" in page, "Grading 2" in page) == (False, True)
    assert client.post(path).status_code == 403
    detail = client.get(f"{path}/2").content.decode()
    assert [words in detail for words in ("6 of 20 verdicts changed", "the ranking moves", "Answers whose verdict changed")] == [True] * 3


def test_member_grades_again_from_the_page(run: Run, member: User, sign_in: Callable[..., Any]) -> None:
    profile_id = mended(run)
    client, path = sign_in(member), f"/evaluations/{run.public_id}/gradings"
    answer = client.post(path, {"version-0": profile_id})
    assert (answer.status_code, answer.url) == (302, f"{path}/2")
    running = client.get(answer.url).content.decode()
    assert "Reading the answers again" in running
    regrading.grade_run_again(str(Grading.objects.get().public_id))
    assert client.get(answer.url, headers={"HX-Request": "true", "HX-Target": "grading"}).status_code == 286
    refused = client.post(path, {"version-0": "nothing@1"})
    assert (refused.status_code, "cannot grade these answers" in refused.content.decode()) == (422, True)
