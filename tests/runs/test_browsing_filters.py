"""What narrows the samples of a run: on the page, in the API's words, and in the order of the list."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.enums import ExportPolicy
from catalog.models import BenchmarkVersion
from common.pages import cursor_at
from runs.browsing.filters import SampleFilter, filter_samples
from runs.models import Run, Sample
from runs.queries import get_run, samples_of
from runs.reviews.actions import add_note, override_verdict, withdraw_override
from tests.factories import make_route, make_version
from tests.paging import cost
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
ROWS = [
    {"values": {"question": f"What is {n} + {n}?"}, "reference": str(2 * n), "group": "odd" if n % 2 else "even", "task_id": f"q{n}"}
    for n in range(10)
]


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    """A model that is always right beside a baseline, on ten tasks in two groups."""
    version = make_version(rows=ROWS)
    with ChatServer(sums) as server:
        route = make_route("example/right", endpoint=server.url)
        request: dict[str, Any] = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
        made = work(start(workspace, actor, subjects=[route.route_id, "most-frequent-answer"], **request))
    return get_run(workspace, made.public_id)


def found(run: Run, **asked: Any) -> list[tuple[int, str]]:
    samples = filter_samples(samples_of(run), run, SampleFilter(**asked))
    return sorted((each.subject.index, each.task.task_id) for each in samples)


def sample_at(run: Run, subject: int, position: int) -> Sample:
    return Sample.objects.select_related("task", "subject").get(subject__run=run, subject__index=subject, position=position)


def test_each_filter_keeps_what_it_names(run: Run) -> None:
    wrong = sample_at(run, 0, 3)
    Sample.objects.filter(pk=wrong.pk).update(status="error", error_code="timeout", correct=None, score=None, extracted="", reason="")
    Sample.objects.filter(pk=sample_at(run, 0, 4).pk).update(is_truncated=True, output_tokens=900, attempt=2)
    run = get_run(run.workspace, run.public_id)
    assert found(run, error_code="timeout") == found(run, status="error") == [(0, "q3")]
    assert found(run, error_code="rate_limited") == []
    assert found(run, flag="truncated") == found(run, min_output_tokens=900) == found(run, attempt=2) == [(0, "q4")]
    assert found(run, min_output_tokens=900, max_output_tokens=899) == []
    assert found(run, group="odd", subject=0, verdict="correct") == [(0, "q1"), (0, "q5"), (0, "q7"), (0, "q9")]
    profile = run.benchmarks.get().version.profile_id
    assert (len(found(run, benchmark=profile)), found(run, benchmark="other@1")) == (20, [])
    assert found(run, show="failures", subject=0) == [(0, "q3")]


def test_a_word_is_looked_for_in_the_row_as_it_is_shown(run: Run) -> None:
    assert found(run, q="q7") == [(0, "q7"), (1, "q7")]
    assert found(run, q="18", subject=0) == [(0, "q9")]  # what was read from the answer
    wrong = {(1, each.task.task_id) for each in samples_of(run).filter(correct=False)}
    assert set(found(run, q="differs FROM")) == wrong  # words of the reason, not its code
    Sample.objects.filter(pk=sample_at(run, 0, 3).pk).update(
        status="error", error_code="rate_limited", correct=None, extracted="", reason=""
    )
    assert found(run, q="limits the rate") == [(0, "q3")]
    assert found(run, q="What is") == []  # a prompt is no part of a row
    assert found(run, q="%") == found(run, q="_") == []


def test_what_was_read_cannot_be_guessed_where_only_aggregates_leave(run: Run, viewer: User, sign_in: SignIn) -> None:
    text = sign_in(viewer).get(f"/evaluations/{run.public_id}/samples", {"subject": "0"}).content.decode()
    assert ("<code" in text, found(run, q="18", subject=0)) == (True, [(0, "q9")])
    BenchmarkVersion.objects.update(export_policy=ExportPolicy.AGGREGATE)
    run = get_run(run.workspace, run.public_id)
    assert found(run, q="18") == []
    text = sign_in(viewer).get(f"/evaluations/{run.public_id}/samples", {"subject": "0"}).content.decode()
    assert "<code" not in text


def test_what_people_said_can_be_asked_for(run: Run, actor: Actor) -> None:
    add_note(run, sample_at(run, 0, 2), actor=actor, text="Look at this")
    override_verdict(run, sample_at(run, 0, 5), actor=actor, correct=False, reason="Right by chance")
    override_verdict(run, sample_at(run, 0, 6), actor=actor, correct=True, reason="I checked it")
    override_verdict(run, sample_at(run, 0, 7), actor=actor, correct=False, reason="Taken back below")
    withdraw_override(run, sample_at(run, 0, 7), actor=actor)
    assert found(run, reviewed="note") == [(0, "q2")]
    assert found(run, reviewed="override") == [(0, "q5"), (0, "q6")]
    assert found(run, reviewed="changed") == [(0, "q5")]
    assert found(run, reviewed="nothing of these") == []


def test_an_address_gives_a_filter_and_a_filter_an_address() -> None:
    asked = {"subject": "1", "verdict": "correct", "q": " two words ", "show": "failures", "other": "x", "group": ""}
    wanted = SampleFilter.of_query(asked)
    assert wanted == SampleFilter(subject=1, verdict="correct", q="two words", show="failures")
    assert wanted.kept() == "?subject=1&verdict=correct&q=two+words&show=failures"
    assert SampleFilter().kept() == ""
    assert wanted.kept(left="0.1", right="") == "?subject=1&verdict=correct&q=two+words&show=failures&left=0.1"


@pytest.mark.parametrize("nonsense", ["x", "-1", "1e3", "٣", "9" * 30, "1.5"])
def test_a_number_that_is_none_keeps_nothing(run: Run, nonsense: str) -> None:
    for name in ("subject", "attempt", "min_output_tokens", "max_output_tokens"):
        wanted = SampleFilter.of_query({name: nonsense})
        assert list(filter_samples(samples_of(run), run, wanted)) == []


@pytest.mark.parametrize("odd", ["\0", "a\0b", "\u202e\u2066", "%_\\'\"", "𝔸" * 5_000, "\ud800"])
def test_odd_words_break_no_page(run: Run, viewer: User, sign_in: SignIn, odd: str) -> None:
    client = sign_in(viewer)
    for name in ("q", "text", "group", "error_code", "benchmark", "show", "reviewed", "sort", "left"):
        query = {name: odd.encode("utf-8", "surrogatepass").decode("utf-8", "replace")}
        assert client.get(f"/evaluations/{run.public_id}/samples", query).status_code == 200
        assert client.get(f"/evaluations/{run.public_id}/samples/3", query).status_code == 200


@pytest.mark.parametrize("sort", ["task", "-task", "latency", "-latency", "charge", "-charge", "output_tokens", "-output_tokens"])
def test_a_sorted_list_goes_on_without_gaps_where_values_are_equal(
    workspace: Workspace, actor: Actor, viewer: User, sign_in: SignIn, sort: str
) -> None:
    version = make_version(tasks=60)
    request: dict[str, Any] = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
    run = work(start(workspace, actor, subjects=["random-choice", "most-frequent-answer"], **request))
    for each in Sample.objects.filter(subject__run=run):
        Sample.objects.filter(pk=each.pk).update(
            latency_ms=each.position % 3, output_tokens=each.position % 2, usage_microusd=each.position % 4
        )
    client, seen, cursor = sign_in(viewer), [], None
    while True:
        context = client.get(f"/evaluations/{run.public_id}/samples", {"sort": sort} | ({"cursor": cursor} if cursor else {})).context
        seen += context["samples"]
        cursor = context["next_cursor"]
        if cursor is None:
            break
    column = {"task": "position", "latency": "latency_ms", "charge": "charge_microusd", "output_tokens": "output_tokens"}[sort.lstrip("-")]
    values = [(getattr(each, column), each.pk) for each in seen]
    assert values == sorted(values, reverse=sort.startswith("-"))
    assert len({each.pk for each in seen}) == len(seen) == 120


def test_a_cursor_of_another_order_is_refused(run: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    address = f"/evaluations/{run.public_id}/samples"
    Sample.objects.filter(subject__run=run).update(latency_ms=1)
    cursor = cursor_at(Sample, ("latency_ms", "id"), [1, 5])
    assert client.get(address, {"sort": "latency", "cursor": cursor}).status_code == 200
    for sort in ("-latency", "charge", ""):
        assert client.get(address, {"sort": sort, "cursor": cursor}).status_code == 422


def test_neighbours_keep_to_the_filter(run: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    query = {"group": "odd", "subject": "0"}
    context = client.get(f"/evaluations/{run.public_id}/samples/5", query).context
    assert (context["previous"], context["next"]) == (3, 7)
    text = client.get(f"/evaluations/{run.public_id}/samples/5", query).content.decode()
    assert f'href="/evaluations/{run.public_id}/samples/7?subject=0&amp;group=odd"' in text
    assert f'href="/evaluations/{run.public_id}/samples?subject=0&amp;group=odd"' in text
    context = client.get(f"/evaluations/{run.public_id}/samples/5", {"q": "q8"}).context
    assert (context["previous"], context["next"]) == (None, 8)


@pytest.mark.parametrize("query", ["", "?q=q&verdict=correct", "?sort=-latency", "?text=what", "?reviewed=override", "?show=failures"])
def test_filters_cost_the_same_queries_with_few_and_with_many_rows(
    workspace: Workspace, actor: Actor, viewer: User, sign_in: SignIn, run: Run, query: str
) -> None:
    client = sign_in(viewer)
    request: dict[str, Any] = {"selection": {"profile_ids": [make_version(rows=ROWS[:2]).profile_id]}, "coverage": {"mode": "full"}}
    few = work(start(workspace, actor, subjects=["most-frequent-answer", "random-choice"], **request))
    for each in (few, run):
        for sample in Sample.objects.filter(subject__run=each, subject__index=0).select_related("task", "subject"):
            override_verdict(each, sample, actor=actor, correct=False, reason="No")
            add_note(each, sample, actor=actor, text="Why?")
    assert cost(client, f"/evaluations/{few.public_id}/samples{query}") == cost(client, f"/evaluations/{run.public_id}/samples{query}")
    if "text" not in query:
        assert cost(client, f"/evaluations/{few.public_id}/samples/0{query}") == cost(
            client, f"/evaluations/{run.public_id}/samples/0{query}"
        )
