"""Real data, end to end: the recorded outputs of four models on GSM8K, over a socket, against the published counts."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from billing.checking import ledger_differences
from billing.models import LedgerEntry, Wallet
from common.signing import public_keys
from gateway.models import Call
from runs.bundles import bundle_parts, check_bundle
from runs.exports.source import Source
from runs.models import Sample
from tests.runs.gsm8k import RIGHT, TASKS, gsm8k_request, import_gsm8k, outputs
from tests.runs.working import start, work
from tests.standins.chat import chat_process
from workspaces.actors import Actor
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db


def test_recorded_outputs_of_four_models_give_the_published_counts(
    workspace: Workspace, actor: Actor, owner: User, sign_in: Callable[[User], Client], shared: Path
) -> None:
    version = import_gsm8k(workspace, actor=actor, shared=shared)
    with chat_process("--gsm8k", str(outputs(shared))) as endpoint:
        run = work(start(workspace, actor, **gsm8k_request(version, endpoint=endpoint, workspace=workspace)))
    assert (run.status, run.processed) == ("completed", 4 * TASKS)

    client = sign_in(owner)
    result = client.get(f"/v1/runs/{run.public_id}/results").json()
    assert [subject["counts"]["correct"] for subject in result["subjects"]] == list(RIGHT.values())
    best = result["subjects"][3]["headline"]
    assert (round(best["interval"]["low"], 4), round(best["interval"]["high"], 4), best["interval"]["method"]) == (0.5356, 0.5891, "wilson")

    compare = client.get(f"/v1/runs/{run.public_id}/compare").json()
    assert [row["subject_index"] for row in compare["ranking"]] == [3, 1, 2, 0]
    pair = next(pair for pair in compare["pairs"] if (pair["a"], pair["b"]) == (1, 2))
    assert (pair["a_only"], pair["b_only"]) == (209, 152)
    assert (round(100 * pair["difference"], 1), round(100 * pair["stderr"], 4), round(pair["p_exact"], 6)) == (4.3, 1.4361, 0.003151)
    assert compare["winner_named"] is True

    page = client.get(f"/evaluations/{run.public_id}").content.decode()
    assert [text in page for text in ("56.3", "53.6", "58.9", "39.0", "34.7", "21.7", "209", "152")] == [True] * 8

    check = check_bundle(io.BytesIO(b"".join(bundle_parts(Source(run, run.results.get())))), public_keys())
    assert (check.problems, check.samples, check.regraded) == ([], 4 * TASKS, 4 * TASKS)
    assert [each.found["counts"]["correct"] for each in check.subjects] == list(RIGHT.values())

    calls = sum(usage + fee for usage, fee in Call.objects.values_list("usage_microusd", "fee_microusd"))
    samples = sum(usage + fee for usage, fee in Sample.objects.values_list("usage_microusd", "fee_microusd"))
    entries = -sum(entry.amount_microusd for entry in LedgerEntry.objects.filter(source=run.budget_source))
    wallet = Wallet.objects.get(workspace=workspace)
    assert run.spend_microusd == calls == samples == entries == int(result["billing"]["total_microusd"]) > 0
    assert wallet.balance_microusd == sum(entry.amount_microusd for entry in LedgerEntry.objects.filter(wallet=wallet))
    assert wallet.held_microusd == 0
    assert ledger_differences() == []
