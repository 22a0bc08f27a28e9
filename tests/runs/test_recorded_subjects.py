"""Recorded answers as subjects of runs: quoted for nothing, worked without a call, and a task without one is an error."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.test import Client
from django.utils import timezone

from billing.models import LedgerEntry
from catalog.models import BenchmarkVersion
from common.errors import Conflict, Refused
from gateway.models import Call, RecordedModel
from runs import documents
from runs.actions import cancel_run, continue_run, create_quote, start_run
from runs.continuing import pinned_request
from runs.forms import Setup
from runs.models import Quote, Sample
from tests import factories
from tests.runs.working import start, work
from workspaces.actors import Actor, actor_of_user
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db

ANSWERS = {"t0": "It is 0.", "t1": "It is 2.", "t2": "It is 5.", "t3": "", "t4": "no idea"}


@pytest.fixture
def recorded(version: BenchmarkVersion, workspace: Workspace) -> RecordedModel:
    return factories.make_recorded_model(version, ANSWERS, workspace=workspace)


def subject_of(recorded: RecordedModel) -> dict[str, str]:
    return {"kind": "recorded", "recorded_model_id": str(recorded.public_id)}


def quote(workspace: Workspace, actor: Actor, version: BenchmarkVersion, model: Any, **more: Any) -> Quote:
    request = {"model": model, "benchmark": version.profile_id, "coverage": {"mode": "full"}, **more}
    return create_quote(workspace, actor=actor, request=request)


def test_plan_says_that_it_is_a_recording_and_what_it_covers(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, recorded: RecordedModel
) -> None:
    plan = quote(workspace, actor, version, subject_of(recorded), max_charge_microusd="0").plan_document
    assert plan["subjects"][0]["model"] == {**subject_of(recorded), "name": "old-model", "answers": 5}
    assert plan["pricing"] == {"platform_fee_percent": "0", "minimum_cap_microusd": "0", "ceiling_microusd": "0"}
    assert plan["subjects"][0]["external_charges"] is False
    assert plan["warnings"] == [
        {
            "code": "recorded_answers",
            "message": "old-model: recorded answers, not a live model. They cover 5 of the 10 tasks; nothing is called and "
            "nothing is charged.",
        },
        {
            "code": "recorded_answers_missing",
            "message": "old-model: 5 tasks have no recorded answer. They will be errors, not wrong answers.",
        },
    ]


def test_plan_of_some_tasks_counts_the_answers_to_those(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, recorded: RecordedModel
) -> None:
    coverage = {"mode": "tasks", "task_ids": ["t9", "t1", "t0"]}
    plan = quote(workspace, actor, version, subject_of(recorded), coverage=coverage).plan_document
    assert plan["subjects"][0]["model"]["answers"] == 2
    assert plan["warnings"][-1]["message"] == "old-model: 1 task has no recorded answer. They will be errors, not wrong answers."


@pytest.mark.parametrize("name", ["recorded:old-model", "recorded:{id}"])
def test_a_name_means_the_model_of_the_version(
    name: str, workspace: Workspace, actor: Actor, version: BenchmarkVersion, recorded: RecordedModel
) -> None:
    factories.make_recorded_model(factories.make_version(tasks=10), ANSWERS, workspace=workspace)
    model = name.format(id=recorded.public_id)
    assert quote(workspace, actor, version, model).plan_document["subjects"][0]["model"]["recorded_model_id"] == str(recorded.public_id)


def test_another_version_is_refused(workspace: Workspace, actor: Actor, version: BenchmarkVersion, recorded: RecordedModel) -> None:
    other = factories.make_version(tasks=10)
    with pytest.raises(Refused) as caught:
        quote(workspace, actor, other, "recorded:old-model")
    assert (caught.value.code, caught.value.details) == (
        "incompatible_model",
        {"model": "old-model", "reason": "recorded_for_another_version"},
    )
    assert caught.value.message == f"The recorded answers 'old-model' belong to {version.profile_id} and answer no other version."


def test_another_workspace_finds_no_such_model(
    other_workspace: Workspace, stranger: User, version: BenchmarkVersion, recorded: RecordedModel
) -> None:
    actor = actor_of_user(stranger)
    for model in (subject_of(recorded), "recorded:old-model"):
        with pytest.raises(Refused) as caught:
            quote(other_workspace, actor, version, model)
        assert (caught.value.code, caught.value.details) == ("model_not_found", {"closest": []})


def test_run_gives_the_stored_answers_and_charges_nothing(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, recorded: RecordedModel
) -> None:
    before = LedgerEntry.objects.filter(wallet__workspace=workspace).count()
    run = work(start(workspace, actor, model=subject_of(recorded), benchmark=version.profile_id, coverage={"mode": "full"}))
    rows = Sample.objects.order_by("position").values_list("status", "correct", "error_code", "is_unreadable", "is_empty", "latency_ms")
    assert list(rows) == [
        ("graded", True, "", False, False, 0),
        ("graded", True, "", False, False, 0),
        ("graded", False, "", False, False, 0),
        ("graded", False, "", True, True, 0),
        ("graded", False, "", True, False, 0),
        *[("error", None, "no_recorded_answer", False, False, 0)] * 5,
    ]
    assert [call.content.response for call in Call.objects.order_by("id")] == list(ANSWERS.values())
    assert set(Call.objects.values_list("input_tokens", "output_tokens", "usage_microusd", "fee_microusd", "reserved_microusd")) == {
        (0, 0, 0, 0, 0)
    }
    assert LedgerEntry.objects.filter(wallet__workspace=workspace).count() == before
    assert (run.status, run.spend_microusd) == ("failed", 0)  # half of its tasks are errors
    document = orjson.loads(run.results.get().document)
    subject = document["subjects"][0]
    assert (subject["kind"], subject["charge_microusd"], subject["answers_charge_microusd"]) == ("recorded", "0", None)
    assert subject["latency_ms"] == {"p50": None, "p95": None, "quantiles": None}
    assert subject["error_codes"] == [{"code": "no_recorded_answer", "count": 5}]
    assert {key: subject["counts"][key] for key in ("graded", "correct", "incorrect", "errors", "unreadable", "empty")} == {
        "graded": 5, "correct": 2, "incorrect": 3, "errors": 5, "unreadable": 2, "empty": 1,
    }  # fmt: skip
    words = (
        "old-model: recorded answers, not a live model, brought in from a file of predictions (old.jsonl). What they once cost and how "
        "long they took is not known."
    )
    assert [notice for notice in document["notices"] if "recorded" in notice] == [words]


def test_a_recording_is_never_the_cheapest_and_never_stopped_for_empty_answers(workspace: Workspace, actor: Actor) -> None:
    version = factories.make_version(tasks=30)
    answers = {f"t{n}": "" if n < 25 else str(2 * n) for n in range(30)}
    recorded = factories.make_recorded_model(version, answers, workspace=workspace)
    run = work(
        start(
            workspace,
            actor,
            subjects=[subject_of(recorded), {"kind": "baseline", "name": "random-choice"}],
            benchmark=version.profile_id,
            coverage={"mode": "full"},
        )
    )
    assert run.status == "completed"
    assert (run.subjects.get(index=0).correct, run.subjects.get(index=0).empty, run.subjects.get(index=0).status) == (5, 25, "done")
    ranking = orjson.loads(run.results.get().comparison)[0]["ranking"]
    assert [row["cheapest_within_one_stderr"] for row in ranking if row["subject_index"] == 0] == [False]


def test_archived_answers_are_refused_by_quotes_and_starts(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, recorded: RecordedModel
) -> None:
    open_quote = quote(workspace, actor, version, subject_of(recorded))
    recorded.archived_at = timezone.now()
    recorded.save(update_fields=["archived_at"])
    with pytest.raises(Conflict) as caught:
        start_run(open_quote, actor=actor)
    assert (caught.value.code, caught.value.details) == ("incompatible_now", {"reason": "recorded_model_archived"})
    with pytest.raises(Refused) as refused:
        quote(workspace, actor, version, subject_of(recorded))
    assert refused.value.code == "model_not_found"


def test_run_of_archived_answers_is_not_continued(
    workspace: Workspace, actor: Actor, version: BenchmarkVersion, recorded: RecordedModel
) -> None:
    run = start(workspace, actor, model=subject_of(recorded), benchmark=version.profile_id, coverage={"mode": "full"})
    cancel_run(run, actor=actor)
    run = work(run)
    assert run.status == "cancelled"
    continued = continue_run(run, actor=actor, include_cancelled=True)
    assert continued.plan_document["subjects"][0]["model"]["answers"] == 5
    recorded.archived_at = timezone.now()
    recorded.save(update_fields=["archived_at"])
    with pytest.raises(Conflict) as caught:
        continue_run(run, actor=actor, include_cancelled=True)
    assert caught.value.code == "recorded_model_archived"


def test_running_again_names_the_same_model(workspace: Workspace, actor: Actor, version: BenchmarkVersion, recorded: RecordedModel) -> None:
    run = start(workspace, actor, model="recorded:old-model", benchmark=version.profile_id, coverage={"mode": "full"})
    assert pinned_request(run)["subjects"] == [subject_of(recorded)]
    assert Setup.from_quote(run.quote.request_document, run.quote.plan_document).subjects == [f"recorded:{recorded.public_id}"]
    assert documents.subject_reference(run.subjects.get()) == {**subject_of(recorded), "name": "old-model"}


def test_pages_offer_and_name_the_recording(
    owner: User,
    sign_in: Callable[[User], Client],
    workspace: Workspace,
    actor: Actor,
    version: BenchmarkVersion,
    recorded: RecordedModel,
) -> None:
    client = sign_in(owner)
    page = client.get(f"/evaluations/new?benchmark={version.profile_id}&step=models").content.decode()
    assert f'value="recorded:{recorded.public_id}"' in page
    assert "Recorded answers to 5 of the 10 tasks · free, no model is called" in page
    form = {"workspace": str(workspace.public_id), "benchmark": version.profile_id, "subjects": f"recorded:{recorded.public_id}"}
    answer = client.post("/evaluations/new", {**form, "coverage": "full", "step": "settings"})
    assert answer.status_code == 302
    quoted = client.get(answer["Location"]).content.decode()
    assert "Free: 5 recorded answers, no model is called" in quoted
    run = work(start(workspace, actor, model=subject_of(recorded), benchmark=version.profile_id, coverage={"mode": "full"}))
    assert '<span class="badge">Recorded</span>' in client.get(f"/evaluations/{run.public_id}").content.decode()
    sample = client.get(f"/evaluations/{run.public_id}/samples/0").content.decode()
    assert "A recorded answer: no model was called for it here." in sample
    missing = client.get(f"/evaluations/{run.public_id}/samples/9").content.decode()
    assert "The recording has no answer to this task" in missing
