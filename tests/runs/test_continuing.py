"""Continuing: the same models on the same tasks, finished cells for nothing, the rest at today's price, once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from billing.models import Budget
from catalog.actions import retire_version
from catalog.enums import RouteState
from catalog.models import ModelRoute
from common.errors import Conflict, Refused
from gateway.actions import change_connection, delete_connection
from gateway.models import CallContent, Connection
from runs import starting
from runs.actions import continue_run, create_quote, rerun_request, start_run
from runs.documents import result_document
from runs.models import Quote, Run, Sample, Shard
from runs.queries import get_result
from runs.retention import expire_content
from tests import factories
from tests.runs.handwork import Hand, answers, assert_books, end, pending_of, positions, shards_of, stop, subject_of
from workspaces.actors import SYSTEM, Actor, actor_of_user
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db

type Start = Callable[..., Run]


def interrupted(start_sums: Start, *, finished: int = 8, errors: str = "", **request: Any) -> Run:
    """A run whose first subject was stopped after so many answers, the last two errors where a code is given, the others at once."""
    run, hand = start_sums(**request), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, finished)
    hand.hand_in(grant, answers(grant, finished - 2 if errors else finished))
    if errors:
        hand.hand_in(grant, answers(grant, 2, code=errors))
    others = [hand.take(shards_of(run, index)[0]) for index in range(1, run.subjects.count())]
    for each in (grant, *others):
        hand.hand_in(each, stop=stop("provider_no_quota"))
        hand.hand_in(each, release=True, is_done=False)
    end(run)
    assert run.phase == "done"
    assert_books(run)
    return run


def continued(run: Run, actor: Actor, **options: Any) -> Run:
    return start_run(continue_run(run, actor=actor, **options), actor=actor)[0]


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        action()
    return caught.value.code


def counts(quote: Quote) -> dict[str, Any]:
    return {name: quote.plan_document["continuation"][name] for name in ("reused", "rerun", "pending", "unknown_retry", "left_out")}


def test_finished_cells_are_copied_for_nothing_and_only_the_rest_is_worked(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums)
    quote = continue_run(run, actor=actor)
    assert quote.status == "open"
    assert counts(quote) == {"reused": 8, "rerun": 0, "pending": 12, "unknown_retry": 0, "left_out": []}
    assert quote.plan_document["continuation"]["source_run"] == str(run.public_id)
    assert quote.ceiling_microusd < run.quote.ceiling_microusd
    again, hand = start_run(quote, actor=actor)[0], Hand()
    subject = subject_of(again)
    assert (again.processed, subject.graded, subject.correct, again.spend_microusd, again.continued_from_id) == (8, 8, 8, 0, run.pk)
    copies = Sample.objects.filter(subject=subject).select_related("origin")
    assert all(copy.charge_microusd == 0 and copy.origin is not None and copy.origin.subject.run_id == run.pk for copy in copies)
    assert_books(again)
    grant = hand.take(shards_of(again)[0])
    assert [spec.position for spec in pending_of(grant)] == list(range(8, 20))
    hand.finish(grant, 12)
    end(again)
    assert (again.status, again.interruption, positions(again)) == ("completed", None, list(range(20)))
    document = result_document(get_result(again))["subjects"][0]
    assert (document["counts"]["graded"], document["charge_microusd"]) == (20, str(again.spend_microusd))
    assert_books(again)


def test_copies_are_made_in_parts_and_all_of_them(start_sums: Start, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "COPY_ROWS", 3)
    again = continued(interrupted(start_sums), actor)
    assert (positions(again), again.processed) == (list(range(8)), 8)
    assert_books(again)


def test_errors_that_may_pass_are_run_again_and_others_stay(start_sums: Start, actor: Actor) -> None:
    passing = interrupted(start_sums, errors="provider_error")
    lasting = interrupted(start_sums, errors="context_exceeded")
    assert counts(continue_run(passing, actor=actor)) == {"reused": 6, "rerun": 2, "pending": 12, "unknown_retry": 0, "left_out": []}
    assert counts(continue_run(lasting, actor=actor)) == {"reused": 8, "rerun": 0, "pending": 12, "unknown_retry": 0, "left_out": []}
    again = continued(lasting, actor)
    assert (again.errors, subject_of(again).errors, positions(again)) == (2, 2, list(range(8)))


def test_completed_run_continues_with_its_passing_errors_alone(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 20)
    hand.hand_in(grant, answers(grant, 18))
    hand.hand_in(grant, answers(grant, 2, code="timeout"), release=True)
    assert end(run).status == "completed"
    again = continued(run, actor)
    hand.finish(hand.take(shards_of(again)[0]), 2)
    assert (end(again).status, again.errors, subject_of(again).correct) == ("completed", 0, 20)
    assert_books(again)


def test_chain_of_continuations_points_to_where_each_answer_was_given(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums)
    second, hand = continued(run, actor), Hand()
    grant = hand.take(shards_of(second)[0])
    hand.reserve(grant, 5)
    hand.hand_in(grant, answers(grant, 5), stop=stop())
    hand.hand_in(grant, release=True, is_done=False)
    end(second)
    third = continued(second, actor)
    origins = Sample.objects.filter(subject__run=third).order_by("position").values_list("origin__subject__run", flat=True)
    assert list(origins) == [run.pk] * 8 + [second.pk] * 5
    assert_books(third)


def test_content_stays_as_long_as_any_run_of_the_chain_shows_it(start_sums: Start, actor: Actor) -> None:
    runs = [interrupted(start_sums)]
    for _ in range(2):
        again, hand = continued(runs[-1], actor), Hand()
        grant = hand.take(shards_of(again)[0])
        hand.hand_in(grant, stop=stop())
        hand.hand_in(grant, release=True, is_done=False)
        runs.append(end(again))
    for expired, left in ((0, 8), (1, 8), (2, 0)):
        Run.objects.filter(pk=runs[expired].pk).update(content_expires_at=timezone.now() - timedelta(seconds=1))
        assert expire_content() == 1
        assert CallContent.objects.count() == left


def test_content_of_a_run_that_expires_before_its_source_stays(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums)
    again, hand = continued(run, actor), Hand()
    hand.finish(hand.take(shards_of(again)[0]), 12)
    end(again)
    Run.objects.filter(pk=again.pk).update(content_expires_at=timezone.now() - timedelta(seconds=1))
    assert (expire_content(), CallContent.objects.count()) == (1, 8)


def test_run_is_continued_once_and_the_newest_is_named(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums)
    first, second = (continue_run(run, actor=actor) for _ in range(2))
    again = start_run(first, actor=actor)[0]
    for action in (lambda: start_run(second, actor=actor), lambda: continue_run(run, actor=actor)):
        with pytest.raises(Conflict) as caught:
            action()
        assert (caught.value.code, caught.value.details) == ("continuation_exists", {"run_id": str(again.public_id)})
    second.refresh_from_db()
    assert (second.status, Run.objects.count(), Budget.objects.count()) == ("open", 2, 2)
    assert code_of(lambda: continue_run(again, actor=actor)) == "run_not_ended"


def test_dry_run_saves_nothing(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums)
    before = Quote.objects.count()
    assert counts(continue_run(run, actor=actor, dry_run=True))["pending"] == 12
    assert Quote.objects.count() == before


def test_running_run_cannot_be_continued(start_sums: Start, actor: Actor) -> None:
    assert code_of(lambda: continue_run(start_sums(), actor=actor)) == "run_not_ended"


def test_complete_run_has_nothing_to_continue(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(tasks=4), Hand()
    hand.finish(hand.take(shards_of(run)[0]), 4)
    end(run)
    assert code_of(lambda: continue_run(run, actor=actor)) == "nothing_to_continue"


def test_expired_evidence_stops_a_continuation_at_its_quote_and_at_its_start(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums)
    quote = continue_run(run, actor=actor)
    Run.objects.filter(pk=run.pk).update(content_expires_at=timezone.now())
    run.refresh_from_db()
    assert code_of(lambda: continue_run(run, actor=actor)) == "evidence_expired"
    assert code_of(lambda: start_run(Quote.objects.get(pk=quote.pk), actor=actor)) == "evidence_expired"
    assert Run.objects.count() == 1


@pytest.mark.parametrize("change", ["changed", "deleted"])
def test_connection_that_is_another_now_stops_the_continuation(workspace: Workspace, start_sums: Start, actor: Actor, change: str) -> None:
    connection = factories.make_connection(workspace, name="ours")
    run = interrupted(start_sums, routes=0, model="connection:ours")
    if change == "changed":
        change_connection(connection, actor=actor, model="another")
    else:
        delete_connection(connection, actor=actor)
    assert code_of(lambda: continue_run(run, actor=actor)) == "connection_changed"


def test_route_that_takes_no_runs_now_stops_the_continuation(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums)
    ModelRoute.objects.update(state=RouteState.PAUSED)
    assert code_of(lambda: continue_run(run, actor=actor)) == "model_not_found"


def test_version_that_was_retired_takes_no_continuations(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums)
    retire_version(run.benchmarks.get().version, actor=SYSTEM)
    assert code_of(lambda: continue_run(run, actor=actor)) == "benchmark_retired"


def test_rest_is_priced_as_it_is_now(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums)
    route = subject_of(run).route
    assert route is not None
    before = continue_run(run, actor=actor).ceiling_microusd
    newest = factories.make_rate(route, input_rate=800_000, output_rate=3_200_000)
    again = continued(run, actor)
    assert again.quote.ceiling_microusd > 1.9 * before
    assert subject_of(again).rate_id == newest.pk


def test_cap_of_the_source_is_not_the_cap_of_the_rest(start_sums: Start, actor: Actor) -> None:
    run = interrupted(start_sums, max_charge_microusd="4000")
    assert continue_run(run, actor=actor).cap_microusd is None
    assert continue_run(run, actor=actor, max_charge_microusd=700).cap_microusd == 700
    assert code_of(lambda: continue_run(run, actor=actor, max_charge_microusd=1)) == "cap_below_minimum"


def test_names_of_the_source_are_not_looked_up_again(workspace: Workspace, start_sums: Start, actor: Actor) -> None:
    """A name that means another model by now must not mix two models in one result."""
    factories.make_route("first/gpt")
    mine = factories.make_connection(workspace, name="ours")
    run = interrupted(start_sums, routes=0, subjects=["gpt", "connection:ours", {"kind": "baseline", "name": "random-choice", "seed": 3}])
    factories.make_route("second/gpt")
    Connection.objects.filter(pk=mine.pk).update(name="renamed")
    factories.make_connection(workspace, name="ours")
    assert code_of(lambda: create_quote(workspace, actor=actor, request=run.quote.request_document)) == "ambiguous_model"
    for quote in (continue_run(run, actor=actor), create_quote(workspace, actor=actor, request=rerun_request(run))):
        models = [subject["model"] for subject in quote.plan_document["subjects"]]
        assert models == [
            {"kind": "managed", "route_id": "first/gpt"},
            {"kind": "connection", "connection_id": str(mine.public_id), "name": "renamed"},
            {"kind": "baseline", "name": "random-choice", "seed": 3},
        ]
        assert quote.plan_document["benchmark"] == run.quote.plan_document["benchmark"]


def test_reasoning_sample_and_limits_of_the_source_are_kept(start_sums: Start, actor: Actor) -> None:
    factories.make_route("example/thinker", reasoning_efforts=["low", "high"])
    run = interrupted(
        start_sums,
        tasks=40,
        routes=0,
        subjects=[{"kind": "managed", "route_id": "example/thinker", "reasoning": {"effort": "high"}}, "example/thinker"],
        reasoning={"effort": "low"},
        coverage={"mode": "sample", "sample_count": 20, "seed": 9},
        max_output_tokens=48,
        concurrency=3,
        metadata={"a": "b"},
        name="Named",
    )
    again = continued(run, actor)
    assert [subject.reasoning for subject in again.subjects.all()] == [{"effort": "high"}, {"effort": "low"}]
    assert [subject.label for subject in again.subjects.all()] == [subject.label for subject in run.subjects.all()]
    assert (again.name, again.metadata, subject_of(again).concurrency, again.benchmarks.get().output_limit) == ("Named", {"a": "b"}, 3, 48)
    mine, theirs = again.benchmarks.get(), run.benchmarks.get()
    assert (mine.ordinals(), mine.task_list_sha256, mine.coverage) == (theirs.ordinals(), theirs.task_list_sha256, theirs.coverage)


def test_subject_that_was_complete_is_done_from_the_start_and_has_no_shards(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(routes=2), Hand()
    hand.finish(hand.take(shards_of(run, 1)[0]), 20)
    grant = hand.take(shards_of(run)[0])
    hand.hand_in(grant, stop=stop())
    hand.hand_in(grant, release=True, is_done=False)
    assert end(run).status == "partial"
    again = continued(run, actor)
    assert [subject.status for subject in again.subjects.all()] == ["running", "done"]
    assert [Shard.objects.filter(subject=subject).count() for subject in again.subjects.all()] == [1, 0]
    grant = hand.take(shards_of(again)[0])
    hand.hand_in(grant, waiting_seconds=1.0)
    assert Run.objects.get(pk=again.pk).phase == "waiting"
    hand.finish(grant, 20)
    assert end(again).status == "completed"


def test_what_was_noticed_of_the_first_run_is_said_of_the_whole_result(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 4)
    hand.hand_in(grant, answers(grant, 4), served_models=("older",), left_out=("temperature",))
    hand.hand_in(grant, stop=stop())
    hand.hand_in(grant, release=True, is_done=False)
    end(run)
    again = continued(run, actor)
    grant = hand.take(shards_of(again)[0])
    hand.reserve(grant, 16)
    hand.hand_in(grant, answers(grant, 16), served_models=("newer",), release=True)
    end(again)
    label = subject_of(again).label
    notices = result_document(get_result(again))["notices"]
    assert f"{label}: the provider served several models during the run: older, newer." in notices
    assert f"{label}: the provider refused the parameter temperature, so it was left out." in notices


def test_stopped_subject_begins_anew(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(tasks=60), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, 20)
    hand.hand_in(grant, answers(grant, 20, text=""))
    hand.hand_in(grant, release=True, is_done=False)
    assert (end(run).status, subject_of(run).stopped_code) == ("partial", "silent_zero")
    again = continued(run, actor)
    subject = subject_of(again)
    assert (subject.status, subject.stopped_code, subject.first_answers, subject.empty) == ("running", "", 0, 20)
    hand.finish(hand.take(shards_of(again)[0]), 40)
    assert end(again).status == "completed"


def test_viewer_may_not_continue(start_sums: Start, viewer: User) -> None:
    run = interrupted(start_sums)
    assert code_of(lambda: continue_run(run, actor=actor_of_user(viewer))) == "forbidden"
