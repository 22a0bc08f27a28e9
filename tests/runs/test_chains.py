"""A run that is interrupted and continued twice ends as one that never was: the same samples, the same figures, the same cost."""

from collections.abc import Callable
from typing import Any

import pytest

from billing.actions import grant_credit
from billing.models import LedgerEntry
from runs import actions
from runs.actions import continue_run, create_quote, start_run
from runs.documents import compare_document, result_document
from runs.models import Run, Sample
from runs.queries import chain_of, get_result
from tests import factories
from tests.runs.handwork import Hand, answers, assert_books, end, shards_of, subject_of, work_out
from tests.runs.working import sums
from tests.standins.chat import ChatServer
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]

TASKS = 30


def some_wrong(messages: list[dict[str, str]]) -> str:
    return "The answer is 0." if "7" in messages[-1]["content"] else sums(messages)


@pytest.fixture
def world(actor: Actor) -> Any:
    version = factories.make_version(tasks=TASKS)
    with ChatServer(some_wrong) as server:
        routes = [factories.make_route(endpoint=server.url, model=f"m{index}", input_rate=400_000 + index) for index in range(2)]
        request = {
            "subjects": [route.route_id for route in routes],
            "selection": {"profile_ids": [version.profile_id]},
            "coverage": {"mode": "full"},
            "attempts": 2,
        }
        yield request


def started(workspace: Workspace, actor: Actor, request: dict[str, Any], **more: Any) -> Run:
    return start_run(create_quote(workspace, actor=actor, request=request | more), actor=actor)[0]


def by_cap(workspace: Workspace, actor: Actor, request: dict[str, Any], spend: int) -> list[Run]:
    cap = create_quote(workspace, actor=actor, request=request).minimum_cap_microusd + spend // 4
    runs = [work_out(started(workspace, actor, request, max_charge_microusd=str(cap)))]
    runs.append(work_out(start_run(continue_run(runs[-1], actor=actor, max_charge_microusd=cap), actor=actor)[0]))
    runs.append(work_out(start_run(continue_run(runs[-1], actor=actor), actor=actor)[0]))
    assert [(run.interruption or {}).get("reason") for run in runs] == ["cap_reached", "cap_reached", None]
    return runs


def by_credit(workspace: Workspace, actor: Actor, request: dict[str, Any], spend: int) -> list[Run]:
    least = create_quote(workspace, actor=actor, request=request).minimum_cap_microusd
    poor = factories.make_workspace("Poor", credit=least + spend // 4)
    runs = [work_out(started(poor, SYSTEM, request))]
    for grant in (spend // 4, 10_000_000):
        grant_credit(poor, actor=SYSTEM, amount_microusd=grant, reason="For the rest.", key=f"grant:{len(runs)}")
        runs.append(work_out(start_run(continue_run(runs[-1], actor=SYSTEM), actor=SYSTEM)[0]))
    assert [(run.interruption or {}).get("reason") for run in runs] == ["credit_exhausted", "credit_exhausted", None]
    return runs


def by_cancel(workspace: Workspace, actor: Actor, request: dict[str, Any], spend: int) -> list[Run]:
    runs = [started(workspace, actor, request)]
    for cells in (11, 24):
        run, hand = runs[-1], Hand(f"worker {cells}")
        for index in range(2):
            shard = shards_of(run, index)[0]
            grant = hand.take(shard)
            hand.reserve(grant, cells)
            hand.hand_in(grant, answered_by_model(grant, cells))
            actions.cancel_run(run, actor=actor) if index else None
            hand.hand_in(grant, release=True, is_done=False)
        end(run)
        assert_books(run)
        runs.append(start_run(continue_run(run, actor=actor, include_cancelled=True), actor=actor)[0])
    work_out(runs[-1])
    assert [(run.interruption or {}).get("reason") for run in runs] == ["cancelled", "cancelled", None]
    return runs


def answered_by_model(grant: Any, cells: int) -> list[Any]:
    """What the endpoint would have said to the next cells, with its usage."""
    from runs.runners.builtin import TaskSpec
    from tests.runs.handwork import pending_of, subject_work

    work = subject_work(grant)

    def outcome(spec: TaskSpec) -> Any:
        messages = work.runner.messages(spec)
        said = some_wrong(messages)
        words = sum(len(message["content"].split()) for message in messages), len(said.split())
        return answers(grant, cells, text=said, tokens=words)[[each.cell for each in pending_of(grant)].index(spec.cell)]

    return [outcome(spec) for spec in pending_of(grant)[:cells]]


def cells_of(run: Run) -> dict[tuple[int, int, int], tuple[Any, ...]]:
    """What each cell came to and what it cost wherever it was asked."""
    columns = ("status", "correct", "score", "extracted", "reason", "input_tokens", "output_tokens")
    found = {}
    for sample in Sample.objects.filter(subject__run=run).select_related("subject", "origin"):
        paid = sample.origin or sample
        found[sample.subject.index, sample.position, sample.attempt] = (
            *(getattr(sample, column) for column in columns),
            paid.usage_microusd,
            paid.fee_microusd,
        )
    return found


@pytest.mark.parametrize("interrupt", [by_cap, by_credit, by_cancel])
def test_chain_ends_as_an_uninterrupted_run(
    workspace: Workspace, actor: Actor, world: dict[str, Any], interrupt: Callable[..., list[Run]]
) -> None:
    whole = work_out(started(workspace, actor, world))
    chain = interrupt(workspace, actor, world, whole.spend_microusd)
    last = chain[-1]
    assert all(0 < run.processed < run.planned for run in chain[:-1])
    assert cells_of(last) == cells_of(whole)
    assert sum(run.spend_microusd for run in chain) == whole.spend_microusd
    charged = LedgerEntry.objects.filter(source__in=[run.budget_source for run in chain])
    assert -sum(charged.values_list("amount_microusd", flat=True)) == whole.spend_microusd
    results = [result_document(get_result(run)) for run in (last, whole)]
    for one, other in zip(*(result["subjects"] for result in results), strict=True):
        same = ("headline", "metrics", "counts", "groups", "usage", "answers_charge_microusd")
        assert {name: one[name] for name in same} == {name: other[name] for name in same}
    pairs = [[{**pair} for pair in compare_document(run)["pairs"]] for run in (last, whole)]
    assert pairs[0] == pairs[1]
    assert chain_of(chain[0]) == chain_of(last) == chain
    assert subject_of(whole).processed == 2 * TASKS


def test_chain_of_one_run_is_that_run(workspace: Workspace, actor: Actor, world: dict[str, Any]) -> None:
    run = started(workspace, actor, world)
    assert chain_of(run) == [run]
