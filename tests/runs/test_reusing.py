"""Change one thing, pay for one thing: a new run takes over what fits of an earlier one, and asks for nothing but the rest."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from common.errors import Refused
from gateway.models import Call
from runs.actions import create_quote, start_run
from runs.documents import result_document
from runs.models import Quote, Run, Sample
from runs.queries import get_result
from tests import factories
from tests.runs.handwork import assert_books, work_out
from tests.runs.working import sums
from tests.standins.chat import Asked, ChatServer, completion
from tests.standins.http import Reply
from workspaces.actors import Actor
from workspaces.models import User, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]


class World:
    """A server, two models and a benchmark, and what is asked of them."""

    def __init__(self, workspace: Workspace, actor: Actor, server: ChatServer, *, tasks: int = 40) -> None:
        self.workspace, self.actor, self.server = workspace, actor, server
        self.version = factories.make_version(tasks=tasks)
        self.models = [factories.make_route(endpoint=server.url, model=f"m{index}").route_id for index in range(2)]

    def quote(self, **request: Any) -> Quote:
        sample = {"mode": "sample", "sample_count": 10, "seed": 3}
        wanted = {"subjects": self.models[:1], "benchmark": self.version.profile_id, "coverage": sample}
        return create_quote(self.workspace, actor=self.actor, request=wanted | request)

    def run(self, **request: Any) -> Run:
        run = work_out(start_run(self.quote(**request), actor=self.actor)[0])
        assert_books(run)
        return run

    def calls(self) -> int:
        return Call.objects.count()


@pytest.fixture
def world(workspace: Workspace, actor: Actor) -> Any:
    with ChatServer(sums) as server:
        yield World(workspace, actor, server)


def reused(run: Run) -> int:
    return Sample.objects.filter(subject__run=run, origin__isnull=False).count()


def test_added_model_is_all_that_is_asked(world: World) -> None:
    first = world.run()
    before = world.calls()
    both = world.run(subjects=world.models, reuse_from=str(first.public_id))
    assert (world.calls() - before, reused(both), both.continued_from) == (10, 10, None)
    document = result_document(get_result(both))
    assert [subject["charge_microusd"] == "0" for subject in document["subjects"]] == [True, False]
    assert document["subjects"][0]["answers_charge_microusd"] == str(first.spend_microusd)
    assert any(str(first.public_id) in notice for notice in document["notices"])


def test_added_tasks_are_all_that_is_asked(world: World) -> None:
    first = world.run()
    quote = world.quote(coverage={"mode": "sample", "sample_count": 25, "seed": 3}, reuse_from=str(first.public_id))
    assert (quote.plan_document["reuse"]["reused"], quote.plan_document["reuse"]["pending"]) == (10, 15)
    before = world.calls()
    more = work_out(start_run(quote, actor=world.actor)[0])
    assert (world.calls() - before, reused(more)) == (15, 10)
    tasks = dict(Sample.objects.filter(subject__run=first).values_list("task_id", "extracted"))
    taken = dict(Sample.objects.filter(subject__run=more, origin__isnull=False).values_list("task_id", "extracted"))
    assert taken == tasks
    ordinals = more.benchmarks.get().ordinals()
    for position, ordinal in Sample.objects.filter(subject__run=more).values_list("position", "task__ordinal"):
        assert ordinals[position] == ordinal


def test_added_attempt_keeps_the_first_ones(world: World) -> None:
    first = world.run(attempts=2)
    before = world.calls()
    third = world.run(attempts=3, reuse_from=str(first.public_id))
    assert (world.calls() - before, reused(third)) == (10, 20)
    assert set(Sample.objects.filter(subject__run=third, origin__isnull=False).values_list("attempt", flat=True)) == {1, 2}


def test_raised_limit_asks_again_for_cut_answers_only(workspace: Workspace, actor: Actor) -> None:
    def cut(asked: Asked) -> Reply | None:
        number = int(asked.question.removeprefix("What is ").partition(" ")[0])
        limit = asked.body.get("max_completion_tokens") or asked.body["max_tokens"]
        return Reply(body=completion("I think", finish_reason="length")) if number % 4 == 0 and limit < 100 else None

    with ChatServer(sums, reply=cut) as server:
        world = World(workspace, actor, server, tasks=20)
        first = world.run(coverage={"mode": "full"})
        assert first.subjects.get().truncated == 5
        before = world.calls()
        raised = world.run(coverage={"mode": "full"}, max_output_tokens=200, reuse_from=str(first.public_id))
    assert (world.calls() - before, reused(raised), raised.subjects.get().truncated, raised.subjects.get().correct) == (5, 15, 0, 20)
    assert any("64 tokens did not cut" in notice for notice in result_document(get_result(raised))["notices"])
    assert "answers_at_lower_limit" in [warning["code"] for warning in raised.quote.plan_document["warnings"]]


def test_lowered_limit_takes_nothing(world: World) -> None:
    first = world.run()
    assert code(lambda: world.quote(max_output_tokens=32, reuse_from=str(first.public_id))) == "nothing_to_reuse"


def test_second_benchmark_keeps_the_answers_to_the_first(world: World) -> None:
    first = world.run()
    other = factories.make_version(tasks=30)
    ids = [other.profile_id, world.version.profile_id]
    both = world.run(benchmark=None, selection={"profile_ids": ids}, reuse_from=str(first.public_id))
    assert (reused(both), both.planned) == (10, 20)
    assert set(Sample.objects.filter(subject__run=both, origin__isnull=False).values_list("position", flat=True)) == set(range(10, 20))


def code(action: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        action()
    return caught.value.code


def test_another_reasoning_setting_is_another_model(workspace: Workspace, actor: Actor) -> None:
    with ChatServer(sums) as server:
        world = World(workspace, actor, server)
        thinker = factories.make_route(endpoint=server.url, reasoning_efforts=["low", "high"]).route_id
        first = world.run(subjects=[{"kind": "managed", "route_id": thinker, "reasoning": {"effort": "low"}}])
        again = {"kind": "managed", "route_id": thinker, "reasoning": {"effort": "high"}}
        assert code(lambda: world.quote(subjects=[again], reuse_from=str(first.public_id))) == "nothing_to_reuse"


def test_what_cannot_be_reused_is_refused_with_the_reason(world: World) -> None:
    first = world.run()
    ask = str(first.public_id)
    assert code(lambda: world.quote(reuse_from=ask)) == "nothing_to_run"
    assert code(lambda: world.quote(reuse_from="00000000-0000-4000-8000-000000000000")) == "reused_run_not_found"
    assert code(lambda: world.quote(reuse_from="not an id")) == "reused_run_not_found"
    queued = start_run(world.quote(), actor=world.actor)[0]
    assert code(lambda: world.quote(subjects=world.models, reuse_from=str(queued.public_id))) == "run_not_ended"
    quote = world.quote(subjects=world.models, reuse_from=ask)
    Run.objects.filter(pk=first.pk).update(content_expires_at=timezone.now() - timedelta(seconds=1))
    assert code(lambda: world.quote(subjects=world.models, reuse_from=ask)) == "evidence_expired"
    assert code(lambda: start_run(Quote.objects.get(pk=quote.pk), actor=world.actor)) == "evidence_expired"


def test_run_of_another_workspace_is_not_to_be_had(world: World) -> None:
    first = world.run()
    stranger = factories.make_workspace("Others", credit=10_000_000)
    request = {"subjects": world.models, "benchmark": world.version.profile_id, "reuse_from": str(first.public_id)}
    assert code(lambda: create_quote(stranger, actor=world.actor, request=request)) in {"reused_run_not_found", "forbidden"}


def test_reused_run_can_be_reused_and_continued_from_any_number_of_times(world: World) -> None:
    first = world.run()
    both = world.run(subjects=world.models, reuse_from=str(first.public_id))
    wider = world.run(coverage={"mode": "sample", "sample_count": 12, "seed": 3}, subjects=world.models, reuse_from=str(both.public_id))
    assert reused(wider) == 20
    origins = set(Sample.objects.filter(subject__run=wider, origin__isnull=False).values_list("origin__subject__run_id", flat=True))
    assert origins == {first.pk, both.pk}  # content stays with where it was first answered


def test_report_offers_what_can_be_changed_and_the_wizard_carries_it(world: World, member: User, sign_in: Callable[..., Any]) -> None:
    first = world.run()
    client = sign_in(member)
    page = client.get(f"/evaluations/{first.public_id}").content.decode()
    assert [words in page for words in ("Add a model", "Add tasks", "Add an attempt", "Raise the limit")] == [True, True, True, False]
    step = client.get("/evaluations/new", {"from": str(first.public_id), "reuse": "1", "step": "models"})
    setup = step.context["setup"]
    assert (setup.reuse_from, step.context["step"], step.context["reused_run"]) == (str(first.public_id), "models", first)
    data = dict(step.context["hidden"]) | {
        "workspace": str(world.workspace.public_id),
        "benchmark": world.version.profile_id,
        "subjects": [f"managed:{name}" for name in world.models],
        "coverage": "sample",
        "sample_count": "10",
        "seed": "3",
    }
    answer = client.post("/evaluations/new", data)
    assert answer.status_code == 302
    plan = Quote.objects.latest("id").plan_document
    assert (plan["reuse"]["reused"], plan["reuse"]["source_run"]) == (10, str(first.public_id))
    assert "Taken over at $0" in client.get(answer.url).content.decode()
