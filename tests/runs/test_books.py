"""The check of the books goes down to the calls: a run spent what its calls cost, at every level."""

from collections.abc import Callable

import pytest
from django.db.models import F

from billing.checking import ledger_differences
from billing.models import Budget
from common.ids import new_id
from gateway.models import Call
from runs.models import Run, Sample, Subject
from tests.runs.handwork import Hand, end, shards_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(start_sums: Callable[..., Run]) -> Run:
    """Half worked: ten answers of twenty, all charged."""
    run = start_sums(tasks=20)
    hand = Hand()
    hand.finish(hand.take(shards_of(run)[0]), 10)
    assert Call.objects.filter(usage_microusd__gt=0).count() == 10
    assert ledger_differences() == []
    return Run.objects.get(pk=run.pk)


def found() -> list[tuple[str, int]]:
    return [(each.what, each.stands - each.expected) for each in ledger_differences()]


def test_sample_that_is_not_what_its_calls_cost_is_found(run: Run) -> None:
    call = Call.objects.earliest("id")
    Call.objects.filter(pk=call.pk).update(usage_microusd=F("usage_microusd") + 2, fee_microusd=F("fee_microusd") + 1)
    assert found() == [(f"charge of sample {call.source_id}", -3)]


def test_call_that_was_charged_and_lost_its_sample_is_found(run: Run) -> None:
    call = Call.objects.latest("id")
    Call.objects.filter(pk=call.pk).update(source_id=new_id())
    sample = Sample.objects.get(public_id=call.source_id)
    assert found() == [
        (f"charge of sample {sample.public_id}", call.charge_microusd),
        (f"charge of call {call.public_id}, which has no sample", call.charge_microusd),
    ]


def test_sample_that_was_charged_twice_is_found(run: Run) -> None:
    """A second call of the same sample that the sample's figures do not have."""
    call = Call.objects.earliest("id")
    charge, source_id = call.charge_microusd, call.source_id
    call.pk, call.public_id = None, new_id()
    call.save(force_insert=True)
    assert found() == [(f"charge of sample {source_id}", -charge)]


def test_model_that_is_not_what_its_samples_cost_is_found(run: Run) -> None:
    Subject.objects.update(usage_microusd=F("usage_microusd") + 4, fee_microusd=F("fee_microusd") - 4)
    name = f"of model 0 of run {run.public_id}"
    assert found() == [(f"usage {name}", 4), (f"fee {name}", -4)]


def test_run_that_is_not_what_its_models_cost_is_found(run: Run) -> None:
    Run.objects.update(spend_microusd=F("spend_microusd") - 1)
    assert found() == [(f"spend of {run.budget_source}", -1)]


def test_budget_that_settled_something_else_than_its_run_spent_is_found(run: Run) -> None:
    Budget.objects.update(settled_microusd=F("settled_microusd") + 5, reserved_microusd=0)
    assert found() == [(f"settled of {run.budget_source}", 5)]


def test_ended_run_is_in_order(run: Run) -> None:
    assert (end(run).spend_microusd, found()) == (run.spend_microusd, [])
