"""Ten thousand calls at prices that make fractions of a micro-USD: every total is the sum of the calls, to the micro-USD."""

from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from django.db.models import F, Sum
from pytest_django import Settings

from billing.checking import ledger_differences
from billing.queries import get_budget, get_wallet, wallet_figures
from gateway.calls import note_answer
from gateway.chat import ChatReply
from gateway.models import Call
from runs.documents import receipt_document, result_document, run_document
from runs.models import Run, Sample
from runs.queries import get_result
from tests import factories
from tests.runs.handwork import Hand, answers, end, shards_of, subject_of, subject_work
from tests.runs.working import start
from workspaces.actors import SYSTEM

TASKS = 5_000
PERCENT = Decimal("3.457")
RATES = [("123456.789123", "12345.600001", "987654.321987"), ("0.000001", "0.000001", "333333.333333")]
"""Input, cached input and output of two models, in micro-USD a million tokens."""


def answer_all(run: Run, index: int, random: Random) -> None:
    """One lease for each shard, whose calls use what they use; some use more than was reserved for them."""
    hand = Hand()
    for shard in shards_of(run, index):
        grant = hand.take(shard)
        price = subject_work(grant).view.price
        outcomes = answers(grant, shard.stop - shard.start)
        for outcome in outcomes:
            assert outcome.call is not None
            used = random.randint(1, 220)
            reply = ChatReply("1", "", "stop", used, random.randint(0, used), random.randint(0, 70), 0, False, "served", 200, {})
            note_answer(outcome.call, reply, price)
        reserved = sum(outcome.reserved for outcome in outcomes)
        assert hand.hand_in(grant, wanted=reserved, least=reserved, mark=shard.stop).granted == reserved
        for first in range(0, len(outcomes), 170):
            hand.hand_in(grant, outcomes[first : first + 170])
        hand.hand_in(grant, release=True)


@pytest.mark.django_db
def test_ten_thousand_calls_at_fractional_prices_add_up_everywhere(settings: Settings) -> None:
    settings.PLATFORM_FEE_PERCENT = PERCENT
    workspace = factories.make_workspace(credit=10_000_000)
    version = factories.make_version(tasks=TASKS)
    routes = [factories.make_route(input_rate=r[0], cached_input_rate=r[1], output_rate=r[2]) for r in RATES]  # type: ignore[arg-type]
    run = start(
        workspace,
        SYSTEM,
        selection={"profile_ids": [version.profile_id]},
        coverage={"mode": "full"},
        subjects=[{"kind": "managed", "route_id": route.route_id} for route in routes],
    )
    random = Random(7)
    for index in range(2):
        answer_all(run, index, random)
    run = end(run)
    assert (run.status, run.processed, Call.objects.count()) == ("completed", 2 * TASKS, 2 * TASKS)

    calls = dict(Call.objects.values_list("source_id").annotate(charge=F("usage_microusd") + F("fee_microusd")))
    total = sum(calls.values())
    assert dict(Sample.objects.values_list("public_id").annotate(charge=F("usage_microusd") + F("fee_microusd"))) == calls
    assert sum(subject_of(run, index).spend_microusd for index in range(2)) == run.spend_microusd == total
    assert get_budget(run.budget_source).settled_microusd == total
    assert 10_000_000 - get_wallet(workspace).balance_microusd == total
    assert wallet_figures(workspace)["settled_charges_microusd"] == total
    assert ledger_differences() == []
    receipt, result = receipt_document(run), result_document(get_result(run))
    assert receipt["total_microusd"] == run_document(run)["budget"]["settled_microusd"] == str(total)
    assert -sum(int(entry["amount_microusd"]) for entry in receipt["ledger_entries"]) == total
    assert result["billing"]["total_microusd"] == str(total)
    for index, subject in enumerate(result["subjects"]):
        mine = Call.objects.filter(source_id__in=Sample.objects.filter(subject__index=index).values("public_id"))
        sums = mine.aggregate(usage=Sum("usage_microusd"), fee=Sum("fee_microusd"), absorbed=Sum("absorbed_microusd"))
        assert receipt["subjects"][index]["usage_microusd"] == str(sums["usage"])
        assert receipt["subjects"][index]["platform_fee_microusd"] == str(sums["fee"])
        assert subject["charge_microusd"] == str(sums["usage"] + sums["fee"])
        # Rounding up call by call costs less than one micro-USD for the usage of a call and one for its fee, and was not left out.
        exact = sum((_exact(call, RATES[index]) for call in mine), Fraction(0))
        assert exact < sums["usage"] + sums["fee"] + sums["absorbed"] < exact + 2 * TASKS


def _exact(call: Call, rates: tuple[str, str, str]) -> Fraction:
    fresh, cached, output = (Fraction(rate) for rate in rates)
    tokens = (call.input_tokens - call.cached_input_tokens) * fresh + call.cached_input_tokens * cached + call.output_tokens * output
    return tokens / 1_000_000 * (1 + Fraction(PERCENT) / 100)
