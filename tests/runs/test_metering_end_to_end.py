"""From what a provider reports to what people read: tiers, estimates, own endpoints; and quotes, which cost nothing."""

import csv
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from billing.models import Allowance, Budget, Hold, LedgerEntry, Wallet
from catalog.models import BenchmarkVersion, ModelRoute
from common.money import fee_charge, usage_charge
from gateway.models import Call
from runs.actions import continue_run, create_quote
from runs.documents import receipt_document, result_document
from runs.engine.loading import load_subject
from runs.exports.source import Source
from runs.exports.tables import csv_parts
from runs.models import EmptyAnswers, Quote, Run, Shard
from runs.queries import get_result
from tests import factories
from tests.runs.handwork import assert_books
from tests.runs.working import start, sums, work
from tests.standins.chat import Asked, ChatServer, completion
from tests.standins.http import Reply
from workspaces.actors import SYSTEM, Actor
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
BOUND = 150
LONG = {"prompt_tokens": 160, "completion_tokens": 7, "total_tokens": 187, "completion_tokens_details": {"reasoning_tokens": 20}}
SHORT = {"prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47, "prompt_tokens_details": {"cached_tokens": 30}}


def reported(asked: Asked) -> Reply:
    """Of the model "metered" long and short inputs, of "silent" nothing at all, of "own" what it likes."""
    document = completion(sums(asked.messages))
    if asked.model == "metered":
        document["usage"] = LONG if "x" in asked.question else SHORT
    if asked.model == "own":
        document["usage"] = {"prompt_tokens": 10**7, "completion_tokens": 10**7}
    return Reply(body=document)


@pytest.fixture
def run(workspace: Workspace, settings: Settings) -> Run:
    settings.ALLOW_PRIVATE_ENDPOINTS = True
    rows = [{"values": {"question": f"{'x' * 200 * (n % 2)} What is {n} + {n}?"}, "reference": str(2 * n)} for n in range(6)]
    version = factories.make_version(rows=rows)
    with ChatServer(reply=reported) as server:
        factories.make_route("example/metered", model="metered", endpoint=server.url, cached_input_rate=50_000,
                             tiers=[(BOUND, 900_000, 90_000, 3_200_000)])  # fmt: skip
        factories.make_route("example/silent", model="silent", endpoint=server.url)
        factories.make_connection(workspace, name="ours", model="own", endpoint=server.url)
        request = {"subjects": ["example/metered", "example/silent", "connection:ours"], "coverage": {"mode": "full"}}
        return work(start(workspace, SYSTEM, benchmark=version.profile_id, **request))


def calls_of(run: Run, index: int) -> list[Call]:
    samples = run.subjects.get(index=index).samples.values("public_id")
    return list(Call.objects.filter(source_id__in=samples).order_by("id"))


def test_calls_above_the_bound_are_charged_wholly_at_their_tier(run: Run) -> None:
    base, tier = (400_000, 50_000, 1_600_000), (900_000, 90_000, 3_200_000)
    charged = set()
    for call in calls_of(run, 0):
        counts = (call.input_tokens, call.cached_input_tokens, call.output_tokens, call.reasoning_tokens)
        rates = dict(
            zip(("input_rate", "cached_input_rate", "output_rate"), map(Decimal, tier if counts[0] > BOUND else base), strict=True)
        )
        usage = usage_charge(input_tokens=counts[0], cached_input_tokens=counts[1], output_tokens=counts[2], **rates)
        assert (call.usage_microusd, call.fee_microusd) == (usage, fee_charge(usage, call.fee_percent))
        assert call.usage_microusd + call.fee_microusd <= call.reserved_microusd
        charged.add((counts, usage))
    # 160 · 0.9 + 27 · 3.2 = 230.4; 10 · 0.4 + 30 · 0.05 + 7 · 1.6 = 16.7.
    assert charged == {((160, 0, 27, 20), 231), ((40, 30, 7, 0), 17)}
    assert_books(run)


def test_own_endpoint_is_shown_as_external_and_costs_nothing_whatever_it_reports(run: Run, viewer: User, sign_in: SignIn) -> None:
    assert {(call.usage_microusd, call.fee_microusd, call.reserved_microusd, call.rate_id) for call in calls_of(run, 2)} == {
        (0, 0, 0, None)
    }
    result, receipt = result_document(get_result(run)), receipt_document(run)
    assert (result["subjects"][2]["charge_microusd"], result["subjects"][2]["answers_charge_microusd"]) == ("0", None)
    assert [subject["external_charges"] for subject in receipt["subjects"]] == [False, False, True]
    assert receipt["subjects"][2]["total_microusd"] == "0"
    assert {entry["note"] for entry in receipt["ledger_entries"] if "ours" in (entry["note"] or "")} == set()
    client = sign_in(viewer)
    page = client.get(f"/evaluations/{run.public_id}").content.decode()
    assert [words in page for words in ("Own endpoint", "By your provider", "are billed by their providers")] == [True] * 3
    sample = client.get(f"/evaluations/{run.public_id}/samples/0").content.decode()
    assert sample.count("billed by your own provider, not by EvalRouter") == 1
    quote = client.get(f"/evaluations/quotes/{run.quote.public_id}").content.decode()
    assert "Billed by your own provider, not by EvalRouter" in quote


def test_estimates_are_named_with_their_number_wherever_usage_is(run: Run, viewer: User, sign_in: SignIn) -> None:
    silent = calls_of(run, 1)
    assert {call.is_estimated for call in silent} == {True}
    assert {call.is_estimated for call in calls_of(run, 0)} == {False}
    texts = {call.pk: (call.content.response, call.output_tokens) for call in silent}
    assert all(tokens == -(-len(text.encode()) // 4) for text, tokens in texts.values())
    result, receipt = result_document(get_result(run)), receipt_document(run)
    assert [subject["usage"]["estimated_calls"] for subject in result["subjects"]] == [0, 6, 0]
    assert [subject["estimated_calls"] for subject in receipt["subjects"]] == [0, 6, 0]
    client = sign_in(viewer)
    page = client.get(f"/evaluations/{run.public_id}").content.decode()
    assert [words in page for words in ("Token counts estimated</dt><dd>6 calls", "estimated in 6 calls", "one token for four bytes")] == [
        True
    ] * 3
    assert client.get(f"/evaluations/{run.public_id}/samples/0").content.decode().count("estimated: the provider sent no counts") == 1
    rows = list(csv.DictReader(io.StringIO(b"".join(csv_parts(Source(run, run.results.get()))).decode())))
    assert {(row["subject_index"], row["estimated"]) for row in rows} == {("0", "false"), ("1", "true"), ("2", "false")}


def test_prices_of_quote_and_receipt_name_the_tier(run: Run, viewer: User, sign_in: SignIn) -> None:
    tiers = [{"above_input_tokens": BOUND, "input_microusd_per_mtok": "900000", "cached_input_microusd_per_mtok": "90000",
              "output_microusd_per_mtok": "3200000"}]  # fmt: skip
    assert [price["pricing"].get("tiers") for price in receipt_document(run)["prices"]] == [tiers, None, None]
    page = sign_in(viewer).get(f"/evaluations/quotes/{run.quote.public_id}").content.decode()
    words = "example/metered: above 150 input tokens the whole call is charged at $0.90 input, $0.09 cached input and $3.20 output."
    assert page.count(words) == 1
    model = sign_in(viewer).get("/models/example/metered").content.decode()
    assert "above 150 input tokens the whole call is charged at $0.90 input" in model


def test_evidence_of_the_run_is_told_by_the_next_quote(run: Run, viewer: User, sign_in: SignIn) -> None:
    made = create_quote(run.workspace, actor=SYSTEM, request=run.quote.request_document)
    evidence = made.plan_document["evidence"]
    assert [(each["subject_index"], each["count"], each.get("most_microusd_per_task")) for each in evidence] == [
        (0, 6, str(231 + 12)),
        (1, 6, str(max(call.usage_microusd + call.fee_microusd for call in calls_of(run, 1)))),
        (2, 6, None),
    ]
    page = sign_in(viewer).get(f"/evaluations/quotes/{made.public_id}").content.decode()
    words = ("What a task cost before", "neither a forecast nor a promise", "6 answers of 1 run", "$0.000018 to $0.000243")
    assert [word in page for word in words] == [True] * 4
    assert "What a task cost before" not in sign_in(viewer).get(f"/evaluations/quotes/{run.quote.public_id}").content.decode()


def books() -> dict[str, Any]:
    """All that money or a model would leave behind."""
    tables = (LedgerEntry, Hold, Budget, Allowance, Call, Run, Shard, EmptyAnswers)
    return {table.__name__: table.objects.count() for table in tables} | {"wallets": list(Wallet.objects.order_by("pk").values())}


def test_quotes_and_dry_runs_never_cost_anything(workspace: Workspace, actor: Actor, owner: User, sign_in: SignIn) -> None:
    version = factories.make_version(tasks=30)
    with ChatServer(sums) as server:
        factories.make_route("example/paid", endpoint=server.url, tiers=[(BOUND, 900_000, 90_000, 3_200_000)])
        factories.make_connection(workspace, name="ours", endpoint=server.url)
        request = {
            "subjects": ["example/paid", "connection:ours", "random-choice"],
            "benchmark": version.profile_id,
            "coverage": {"mode": "full"},
        }
        interrupted = work(start(workspace, actor, **request, max_charge_microusd="400"))
        assert interrupted.interruption is not None
        before, asked = books(), server.stats.requests
        made = create_quote(workspace, actor=actor, request=request)
        create_quote(workspace, actor=actor, request=request | {"max_charge_microusd": "1000000"})
        quotes = Quote.objects.count()
        continue_run(interrupted, actor=actor, dry_run=True)
        assert Quote.objects.count() == quotes
        continue_run(interrupted, actor=actor)
        client = sign_in(owner)
        assert client.get(f"/evaluations/quotes/{made.public_id}").status_code == 200
        Quote.objects.update(expires_at=timezone.now())
        assert client.get(f"/evaluations/quotes/{made.public_id}").status_code == 200
        assert (books(), server.stats.requests) == (before, asked)
        work(start(workspace, actor, **request))
        assert books() != before


def test_rate_of_a_running_subject_keeps_its_tiers(workspace: Workspace, version: BenchmarkVersion, route: ModelRoute) -> None:
    tiered = factories.make_rate(route, input_rate=400_000, output_rate=1_600_000, tiers=[(BOUND, 1, 2, 3)])
    run = start(workspace, SYSTEM, model=route.route_id, benchmark=version.profile_id, coverage={"mode": "full"})
    factories.make_rate(route, input_rate=9, output_rate=9)
    price = load_subject(run.subjects.get().pk, run.benchmarks.get().pk).view.price
    assert (price.rate_id, [tier.above_input_tokens for tier in price.tiers]) == (tiered.pk, [BOUND])
