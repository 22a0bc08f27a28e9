"""Runs against endpoints that answer, fail and refuse over real sockets: what each subject ends with, and why."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings

from gateway.models import Call
from runs.documents import result_document
from runs.engine import lane
from runs.models import Event, Run, Sample, Shard, Subject
from runs.queries import get_result
from tests import factories
from tests.runs.handwork import assert_books, event_types, execute, subject_of, verdicts, work_out
from tests.runs.working import sums
from tests.standins.chat import Asked, ChatServer, Faults, completion, error_body
from tests.standins.http import Reply
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]

type Start = Callable[..., Run]


def failing(models: str, reply: Reply | Callable[[Asked], Reply | None]) -> Callable[[Asked], Reply | None]:
    """A server's `reply` that sends this to these models, and answers the others."""

    def answer(asked: Asked) -> Reply | None:
        if asked.model not in models.split():
            return None
        return reply(asked) if callable(reply) else reply

    return answer


def refusal(status: int, message: str, **more: Any) -> Reply:
    return Reply(status, error_body(message, **more), hold=False)


def test_three_subjects_and_a_baseline_end_completed_with_every_figure(start_sums: Start) -> None:
    def twice(messages: list[dict[str, str]]) -> str:
        return "The answer is 4."

    with ChatServer(models={"m0": sums, "m1": "I cannot say.", "m2": twice}) as server:
        run = work_out(start_sums(tasks=60, routes=3, endpoint=server.url))
    assert (run.status, run.phase, run.interruption, run.processed) == ("completed", "done", None, 180)
    assert [subject.correct for subject in run.subjects.all()] == [60, 0, 1]
    assert [subject.unreadable for subject in run.subjects.all()] == [0, 60, 0]
    document = result_document(get_result(run))
    assert [subject["counts"]["graded"] for subject in document["subjects"]] == [60] * 3
    assert [subject["charge_microusd"] for subject in document["subjects"]] == [
        str(subject.spend_microusd) for subject in run.subjects.all()
    ]
    assert server.stats.requests == 180


def test_faults_of_every_kind_leave_every_cell_graded_and_charge_only_the_answer(start_sums: Start) -> None:
    faults = Faults(rate_429=0.05, rate_500=0.05, rate_drop=0.03, retry_after="0.01")
    with ChatServer(sums, faults=faults) as server:
        run = work_out(start_sums(tasks=120, endpoint=server.url, concurrency=64))
    assert (subject_of(run).graded, subject_of(run).correct, run.errors) == (120, 120, 0)
    assert (server.stats.answered, server.stats.answered_twice) == (120, 0)
    assert Call.objects.filter(tries__gt=1).exists()


def test_no_more_calls_are_in_flight_than_the_concurrency(start_sums: Start) -> None:
    with ChatServer(sums, latency=0.05) as server:
        work_out(start_sums(tasks=60, endpoint=server.url, concurrency=5))
        assert server.stats.in_flight_max == 5


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (refusal(401, "Incorrect API key provided: sk-abcdefghijklmnopqrstuvwxyz0123", code="invalid_api_key"), "provider_authentication"),
        (refusal(429, "You exceeded your current quota.", kind="insufficient_quota"), "provider_no_quota"),
        (refusal(404, "The model does not exist.", code="model_not_found"), "model_not_found"),
    ],
)
def test_error_of_every_call_stops_the_subject_at_once_and_the_others_finish(start_sums: Start, reply: Reply, code: str) -> None:
    with ChatServer(sums, reply=failing("m0", reply)) as server:
        run = work_out(start_sums(tasks=40, routes=2, endpoint=server.url, concurrency=4))
        asked = sum(request.model == "m0" for request in server.requests)
    stopped, sound = run.subjects.all()
    assert (stopped.status, stopped.stopped_code, stopped.processed, stopped.errors) == ("stopped", code, 0, 0)
    assert "sk-abcdefghijklmnopqrstuvwxyz0123" not in stopped.stopped_message
    assert (sound.status, sound.correct) == ("done", 40)
    assert (run.status, run.interruption["reason"], run.interruption["unfinished"]) == ("partial", "subject_stopped", 40)
    assert run.interruption["message"] == f"{stopped.label}: {stopped.stopped_message}"
    assert asked <= 4
    assert Call.objects.filter(source_id__in=Sample.objects.filter(subject=stopped).values("public_id")).count() == 0


def test_all_subjects_stopped_without_an_answer_is_a_failed_run(start_sums: Start) -> None:
    with ChatServer(sums, api_key="another") as server:
        run = work_out(start_sums(routes=2, endpoint=server.url))
    assert (run.status, run.interruption["reason"], run.spend_microusd) == ("failed", "subject_stopped", 0)


def test_key_that_stops_working_on_the_way_keeps_what_was_answered(start_sums: Start) -> None:
    def late(asked: Asked) -> Reply | None:
        return refusal(401, "The key was revoked.") if len(server.requests) > 10 else None

    with ChatServer(sums, reply=late) as server:
        run = work_out(start_sums(tasks=40, endpoint=server.url, concurrency=2))
    assert (run.status, subject_of(run).stopped_code, subject_of(run).graded) == ("partial", "provider_authentication", 10)


def test_managed_route_without_its_credential_is_stopped_with_words(workspace: Workspace, start_sums: Start) -> None:
    factories.make_route("example/keyed", key_env="A_KEY_THAT_IS_NOT_SET")
    run = work_out(start_sums(routes=0, model="example/keyed"))
    assert (run.status, subject_of(run).stopped_code) == ("failed", "provider_authentication")
    assert "A_KEY_THAT_IS_NOT_SET" in subject_of(run).stopped_message


def test_more_than_a_tenth_of_errors_is_a_failed_run_and_a_tenth_is_not(start_sums: Start) -> None:
    def some(limit: int) -> Callable[[Asked], Reply | None]:
        def reply(asked: Asked) -> Reply | None:
            number = int(asked.question.split()[2])
            return refusal(400, "This model's maximum context length is 5 tokens.") if number < limit else None

        return reply

    with ChatServer(sums, reply=some(3)) as server:
        within = work_out(start_sums(tasks=30, endpoint=server.url))
    with ChatServer(sums, reply=some(4)) as server:
        beyond = work_out(start_sums(tasks=30, endpoint=server.url))
    assert [(run.status, run.interruption, run.errors) for run in (within, beyond)] == [("completed", None, 3), ("failed", None, 4)]
    assert set(Sample.objects.filter(status="error").values_list("error_code", flat=True)) == {"context_exceeded"}


def test_call_that_fails_eight_times_is_an_error_and_costs_nothing(start_sums: Start) -> None:
    def one(asked: Asked) -> Reply | None:
        return refusal(500, "Broken.") if asked.question == "What is 7 + 7?" else None

    with ChatServer(sums, reply=one) as server:
        run = work_out(start_sums(tasks=30, endpoint=server.url))
    sample = Sample.objects.get(subject__run=run, status="error")
    assert (run.status, sample.position, sample.error_code, sample.charge_microusd) == ("completed", 7, "provider_error", 0)
    assert Call.objects.get(source_id=sample.public_id).tries == 8


def test_answers_that_are_all_empty_stop_the_subject_as_silent_zero_uncharged(start_sums: Start) -> None:
    with ChatServer("", reply=None) as server:
        run = work_out(start_sums(tasks=60, endpoint=server.url, concurrency=4))
    subject = subject_of(run)
    assert (run.status, subject.stopped_code, run.spend_microusd) == ("partial", "silent_zero", 0)
    assert 16 <= subject.processed < 60


def test_answers_cut_off_in_their_thinking_stop_the_subject_charged(start_sums: Start) -> None:
    cut = Reply(body=completion("Let me think about", finish_reason="length"))
    with ChatServer(sums, reply=lambda asked: cut) as server:
        run = work_out(start_sums(tasks=60, endpoint=server.url, concurrency=4))
    assert (subject_of(run).stopped_code, run.spend_microusd > 0) == ("silent_zero", True)


def test_outage_is_waited_for_with_single_probes_and_every_cell_is_graded(
    start_sums: Start, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider is gone for a hundred tries of which most are probes; what failed in the outage was not held against any cell."""
    settings.ENGINE_RENEW_SECONDS = 0.02
    monkeypatch.setattr(lane, "PROBE_PAUSES", (0.002,))
    in_flight: list[int] = []

    def outage(asked: Asked) -> Reply | None:
        number = len(server.requests)
        if 20 < number <= 120:
            if number > 60:
                in_flight.append(server.stats.in_flight)
            return refusal(503, "Down for maintenance.")
        return None

    with ChatServer(sums, latency=0.001, reply=outage) as server:
        run = start_sums(tasks=60, endpoint=server.url, concurrency=10)
        work_out(run)
    assert (run.status, subject_of(run).graded, run.errors) == ("completed", 60, 0)
    assert set(in_flight) == {1}
    waits = [type_ for type_ in event_types(run) if type_ in {"capacity.waiting", "capacity.resumed"}]
    assert waits[:2] == ["capacity.waiting", "capacity.resumed"]
    assert subject_of(run).status == "done"


def test_provider_that_never_comes_back_stops_its_subject_and_the_run_can_be_continued(start_sums: Start, settings: LazySettings) -> None:
    settings.PROVIDER_UNAVAILABLE_SECONDS = 0.3
    settings.ENGINE_RENEW_SECONDS = 0.05
    with ChatServer(sums, reply=failing("m0", refusal(503, "Gone."))) as server:
        run = work_out(start_sums(tasks=30, routes=2, endpoint=server.url, concurrency=10))
    gone, sound = run.subjects.all()
    assert (gone.stopped_code, gone.processed, sound.correct) == ("provider_unavailable", 0, 30)
    assert (run.status, run.interruption["reason"], run.interruption["unfinished"]) == ("partial", "subject_stopped", 30)
    assert Event.objects.filter(run=run, type="capacity.waiting").count() == 1


def test_run_shows_that_it_waits_while_all_its_subjects_do(start_sums: Start, settings: LazySettings) -> None:
    settings.ENGINE_RENEW_SECONDS = 0.02
    with ChatServer(reply=lambda asked: refusal(503, "Gone.")) as server:
        run = start_sums(tasks=30, endpoint=server.url, concurrency=10)
        execute(should_stop=lambda: server.stats.requests > 60)
    run.refresh_from_db()
    assert (run.phase, subject_of(run).status) == ("waiting", "waiting")
    assert_books(run)


def test_lease_of_a_waiting_subject_begins_with_one_probe_not_with_all_slots(start_sums: Start, settings: LazySettings) -> None:
    settings.ENGINE_RENEW_SECONDS = 0.02
    with ChatServer(sums, latency=0.005) as server:
        run = start_sums(tasks=30, endpoint=server.url, concurrency=10)
        Subject.objects.filter(run=run).update(status="waiting", waiting_since=run.created_at)
        first: list[int] = []
        server.reply = lambda asked: first.append(server.stats.in_flight)
        work_out(run)
    assert (first[0], run.status, max(first) > 1) == (1, "completed", True)


def test_all_being_told_to_wait_makes_the_whole_subject_wait(start_sums: Start) -> None:
    def limited(asked: Asked) -> Reply | None:
        if len(server.requests) <= 40:
            return Reply(429, error_body("Slow down."), {"Retry-After": "0.05"}, hold=False)
        return None

    with ChatServer(sums, reply=limited) as server:
        run = work_out(start_sums(tasks=40, endpoint=server.url, concurrency=16))
    assert (run.status, run.errors, subject_of(run).graded) == ("completed", 0, 40)
    assert "capacity.rate_limited" in event_types(run)
    assert subject_of(run).retry_at is not None


def test_model_that_changes_on_the_way_is_noticed(start_sums: Start) -> None:
    def changing(asked: Asked) -> Reply | None:
        return Reply(body=completion(sums(asked.messages), model="newer" if len(server.requests) > 15 else "older"))

    with ChatServer(reply=changing) as server:
        run = work_out(start_sums(tasks=30, endpoint=server.url, concurrency=2))
    assert subject_of(run).served_models == ["older", "newer"]
    notices = result_document(get_result(run))["notices"]
    assert f"{subject_of(run).label}: the provider served several models during the run: older, newer." in notices


def test_refused_parameters_are_found_out_once_and_remembered_for_the_route(start_sums: Start) -> None:
    def fussy(asked: Asked) -> Reply | None:
        if "max_tokens" in asked.body:
            return refusal(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", param="max_tokens")
        if "temperature" in asked.body:
            return refusal(400, "Unsupported value: 'temperature' does not support 0.", param="temperature")
        return None

    with ChatServer(sums, reply=fussy) as server:
        run = work_out(start_sums(tasks=30, endpoint=server.url, concurrency=4))
        first = server.stats.requests
        again = work_out(start_sums(routes=0, tasks=30, model=subject_of(run).label))
        assert server.stats.requests - first == 30
    assert (run.status, again.status) == ("completed", "completed")
    route = subject_of(run).route
    assert route is not None
    assert route.quirks == {"limit_name": "max_completion_tokens", "left_out": ["temperature"]}
    assert [subject_of(each).notes for each in (run, again)] == [["left_out:temperature"]] * 2
    notice = f"{subject_of(run).label}: the provider refused the parameter temperature, so it was left out."
    assert [notice in result_document(get_result(each))["notices"] for each in (run, again)] == [True, True]


def test_own_endpoint_answers_without_a_charge(workspace: Workspace, start_sums: Start, settings: LazySettings) -> None:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    with ChatServer(sums, api_key="own-secret") as server:
        factories.make_connection(workspace, name="ours", endpoint=server.url, api_key="own-secret")
        run = work_out(start_sums(tasks=30, routes=0, model="connection:ours"))
    assert (run.status, subject_of(run).correct, run.spend_microusd) == ("completed", 30, 0)


@pytest.mark.usefixtures("small_shards")
def test_baselines_answer_every_task_alike_however_they_are_worked(start_sums: Start) -> None:
    rows = [{"values": {"question": f"{n}?", "choices": ["one", "two", "three"]}, "reference": "AAB"[n % 3]} for n in range(150)]
    version = factories.make_version(rows=rows, grader="multiple_choice")
    request = {
        "selection": {"profile_ids": [version.profile_id]},
        "subjects": ["most-frequent-answer", {"kind": "baseline", "name": "random-choice", "seed": 5}],
    }
    once, again = work_out(start_sums(routes=0, **request)), work_out(start_sums(routes=0, **request))
    assert subject_of(once).correct == 100
    assert 30 < subject_of(once, 1).correct < 70
    assert verdicts(once) == verdicts(again)
    assert (once.status, once.spend_microusd, Shard.objects.filter(run=once, is_done=False).count()) == ("completed", 0, 0)
    notices = result_document(get_result(once))["notices"]
    assert "random-choice is a baseline, not a model: it answers without reading the question." in notices
