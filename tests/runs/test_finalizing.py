"""Finalizing: one result, one set of entries, the end state that the cells tell."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from billing.models import Budget, Hold, LedgerEntry, Wallet
from common.canonical import freeze
from runs import finalizing
from runs.actions import cancel_run
from runs.documents import result_document
from runs.finalizing import finalize_run
from runs.models import ResultVersion, Run, Subject
from runs.queries import get_result
from tests import factories
from tests.runs.handwork import Hand, answers, assert_books, end, event_types, shards_of, stop, subject_of
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

type Start = Callable[..., Run]


def ready(start_sums: Start, *, finished: int = 20, code: str = "", errors: int = 0, **request: Any) -> Run:
    """A run that waits for its result: its subject has so many answers and errors of 20 and, where that is not all, was stopped."""
    run, hand = start_sums(**request), Hand()
    grant = hand.take(shards_of(run)[0])
    hand.reserve(grant, finished + errors)
    hand.hand_in(grant, answers(grant, finished))
    hand.hand_in(grant, answers(grant, errors, code=code), stop=stop() if finished + errors < 20 else None)
    hand.hand_in(grant, release=True)
    run.refresh_from_db()
    return run


def test_result_is_written_with_entries_release_and_end_state_in_one_go(start_sums: Start, workspace: Workspace) -> None:
    run = ready(start_sums, max_charge_microusd="3525")
    assert (run.phase, Wallet.objects.get(workspace=workspace).held_microusd) == ("finalizing", 3_525)
    result = finalize_run(run.pk)
    run.refresh_from_db()
    assert result is not None
    assert (run.status, run.phase, run.interruption, run.finalizing_until) == ("completed", "done", None, None)
    assert run.ended_at is not None
    assert run.content_expires_at == run.ended_at + timedelta(days=365)
    entries = LedgerEntry.objects.filter(source=run.budget_source).order_by("id")
    assert [(entry.kind, entry.amount_microusd) for entry in entries] == [("usage", -20 * 12), ("platform_fee", -20)]
    hold = Hold.objects.get()
    assert (hold.released_at is not None, Wallet.objects.get(workspace=workspace).held_microusd) == (True, 0)
    assert event_types(run)[-2:] == ["budget.settled", "run.completed"]
    assert freeze(result_document_without_hash(result)) == (result.document, result.sha256)
    assert_books(run)


def result_document_without_hash(result: ResultVersion) -> dict[str, Any]:
    return {name: value for name, value in result_document(result).items() if name != "sha256"}


def test_counts_of_the_result_add_up_to_what_was_planned(start_sums: Start) -> None:
    run = ready(start_sums, finished=9, errors=3, code="context_exceeded")
    end(run)
    counts = result_document(get_result(run))["subjects"][0]["counts"]
    assert counts["graded"] + counts["errors"] + counts["inconclusive"] + counts["missing"] + counts["excluded"] == counts["planned"] == 20
    assert (counts["graded"], counts["errors"], counts["missing"]) == (9, 3, 8)
    assert counts["correct"] + counts["incorrect"] == counts["graded"]


def test_second_finalizer_does_nothing(start_sums: Start) -> None:
    run = ready(start_sums)
    assert finalize_run(run.pk) is not None
    before = event_types(run)
    assert finalize_run(run.pk) is None
    assert (event_types(run), ResultVersion.objects.count()) == (before, 1)
    assert_books(run)


def test_claimed_run_is_left_to_its_finalizer_until_the_claim_ends(start_sums: Start) -> None:
    run = ready(start_sums)
    Run.objects.filter(pk=run.pk).update(finalizing_until=timezone.now() + timedelta(seconds=30))
    assert finalize_run(run.pk) is None
    Run.objects.filter(pk=run.pk).update(finalizing_until=timezone.now() - timedelta(seconds=1))
    assert finalize_run(run.pk) is not None
    assert_books(run)


def test_claim_lasts_no_longer_than_a_lease_for_a_run_of_usual_size(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ready(start_sums)
    monkeypatch.setattr(finalizing, "read_run", lambda run_id: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        finalize_run(run.pk)
    until = Run.objects.get().finalizing_until
    assert until is not None
    assert 10 < (until - timezone.now()).total_seconds() < 16


def test_finalizer_that_comes_back_after_another_took_over_writes_nothing(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ready(start_sums)
    original = finalizing.build_results

    def slow(*inputs: Any) -> Any:
        monkeypatch.setattr(finalizing, "build_results", original)
        Run.objects.filter(pk=run.pk).update(finalizing_until=timezone.now() - timedelta(seconds=1))
        assert finalize_run(run.pk) is not None
        return original(*inputs)

    monkeypatch.setattr(finalizing, "build_results", slow)
    assert finalize_run(run.pk) is None
    assert ResultVersion.objects.count() == 1
    assert_books(run)


def test_finalizing_that_fails_leaves_everything_as_it_was(start_sums: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ready(start_sums)

    def fail(*args: Any, **options: Any) -> None:
        raise RuntimeError("no disk")

    with monkeypatch.context() as patched, pytest.raises(RuntimeError):
        patched.setattr(finalizing, "close_budget", fail)
        finalize_run(run.pk)
    run.refresh_from_db()
    assert (run.phase, ResultVersion.objects.count(), LedgerEntry.objects.filter(source=run.budget_source).count()) == ("finalizing", 0, 0)
    assert Budget.objects.get().closed_at is None
    assert finalize_run(run.pk) is None
    Run.objects.filter(pk=run.pk).update(finalizing_until=timezone.now() - timedelta(seconds=1))
    assert finalize_run(run.pk) is not None
    assert_books(run)


def test_running_run_is_not_finalized(start_sums: Start) -> None:
    run, hand = start_sums(), Hand()
    hand.take(shards_of(run)[0])
    assert finalize_run(run.pk) is None
    assert ResultVersion.objects.count() == 0


@pytest.mark.parametrize(
    ("finished", "errors", "status"), [(20, 0, "completed"), (18, 2, "completed"), (17, 3, "failed"), (0, 20, "failed"), (5, 0, "partial")]
)
def test_end_state_is_told_by_the_cells(start_sums: Start, finished: int, errors: int, status: str) -> None:
    run = end(ready(start_sums, finished=finished, errors=errors, code="context_exceeded"))
    assert (run.status, run.interruption is None) == (status, status != "partial")
    assert_books(run)


def test_one_subject_with_too_many_errors_makes_a_run_failed(start_sums: Start) -> None:
    run, hand = start_sums(routes=2), Hand()
    for index, errors in ((0, 0), (1, 3)):
        grant = hand.take(shards_of(run, index)[0])
        hand.reserve(grant, 20)
        hand.hand_in(grant, answers(grant, errors, code="bad_request"))
        hand.hand_in(grant, answers(grant, 20), release=True)
    assert end(run).status == "failed"


def test_unfinished_cells_come_before_errors(start_sums: Start) -> None:
    assert end(ready(start_sums, finished=5, errors=5, code="bad_request")).status == "partial"


def test_cancelled_run_with_every_subject_stopped_is_cancelled(start_sums: Start, actor: Actor) -> None:
    run, hand = start_sums(), Hand()
    grant = hand.take(shards_of(run)[0])
    cancel_run(run, actor=actor)
    hand.hand_in(grant, stop=stop())
    hand.hand_in(grant, release=True, is_done=False)
    assert (end(run).status, run.interruption["reason"]) == ("cancelled", "cancelled")


def test_no_subject_of_an_ended_run_is_still_running(start_sums: Start) -> None:
    run, hand = start_sums(routes=3, max_charge_microusd="500"), Hand()
    finished, parked, waiting = (hand.take(shards_of(run, index)[0]) for index in range(3))
    hand.reserve(finished, 2)
    hand.hand_in(waiting, waiting_seconds=1.0)
    hand.hand_in(finished, answers(finished, 2), stop=stop())
    hand.hand_in(finished, release=True, is_done=False)
    for grant in (parked, waiting):
        hand.hand_in(grant, release=True, is_done=False, parked_need=9_999)
    end(run)
    assert (run.status, run.interruption["reason"]) == ("partial", "cap_reached")
    assert [subject.status for subject in Subject.objects.filter(run=run)] == ["stopped", "done", "done"]
    assert_books(run)


def test_entries_of_each_subject_have_its_name_and_free_subjects_have_none(start_sums: Start) -> None:
    factories.make_route("example/paid")
    factories.make_route("example/free", input_rate=0, output_rate=0)
    run, hand = start_sums(routes=0, subjects=["example/paid", "example/free", "random-choice"]), Hand()
    for index in range(3):
        hand.finish(hand.take(shards_of(run, index)[0]), 20)
    end(run)
    entries = LedgerEntry.objects.filter(source=run.budget_source).order_by("id")
    assert [(entry.kind, entry.note) for entry in entries] == [("usage", "example/paid"), ("platform_fee", "example/paid")]
    assert_books(run)


def test_run_that_cost_nothing_writes_no_entry(start_sums: Start) -> None:
    run, hand = start_sums(routes=0, model="most-frequent-answer"), Hand()
    hand.finish(hand.take(shards_of(run)[0]), 20)
    assert (end(run).status, LedgerEntry.objects.filter(source=run.budget_source).count()) == ("completed", 0)


def test_notices_tell_licence_grader_scope_and_another_output_limit(start_sums: Start) -> None:
    run = end(ready(start_sums, max_output_tokens=48))
    notices = result_document(get_result(run))["notices"]
    profile_id = run.quote.plan_document["benchmark"]["profile_id"]
    assert f"Comparable only with other runs of {profile_id}." in notices
    assert any(notice.startswith("Licence of the data:") for notice in notices)
    assert any("built-in grader" in notice for notice in notices)
    assert any(notice.startswith("Answers were cut at 48 tokens") for notice in notices)


def test_groups_and_clusters_come_from_the_tasks_that_were_planned(workspace: Workspace, start_sums: Start) -> None:
    rows = [
        {"values": {"question": f"What is {n} + {n}?"}, "reference": str(2 * n), "group": "even" if n % 2 == 0 else "odd"}
        for n in range(20)
    ]
    version = factories.make_version(rows=rows)
    run = ready(start_sums, selection={"profile_ids": [version.profile_id]}, coverage={"mode": "full"})
    end(run)
    groups = result_document(get_result(run))["subjects"][0]["groups"]
    assert [(group["group"], group["n"]) for group in groups] == [("even", 10), ("odd", 10)]


def test_figures_of_the_result_are_those_of_the_subject(start_sums: Start) -> None:
    run = end(ready(start_sums))
    document, subject = result_document(get_result(run)), subject_of(run)
    shown = document["subjects"][0]
    assert shown["usage"] == {
        "input_tokens": 200, "cached_input_tokens": 0, "output_tokens": 100, "reasoning_tokens": 0, "estimated_calls": 0,
    }  # fmt: skip
    assert shown["charge_microusd"] == str(subject.spend_microusd)
    assert document["billing"] == {
        "state": "settled",
        "usage_microusd": str(subject.usage_microusd),
        "platform_fee_microusd": str(subject.fee_microusd),
        "total_microusd": str(run.spend_microusd),
    }
    assert document["coverage"] == {"planned": 20, "graded": 20, "missing": 0, "excluded": 0, "full": True}
