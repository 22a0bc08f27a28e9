"""Real data, end to end: the recorded outputs of four models on GSM8K, over a socket, against the published counts."""

import csv
import io
import json
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

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

    _check_exports(client, str(run.public_id), result, compare)

    calls = sum(usage + fee for usage, fee in Call.objects.values_list("usage_microusd", "fee_microusd"))
    samples = sum(usage + fee for usage, fee in Sample.objects.values_list("usage_microusd", "fee_microusd"))
    entries = -sum(entry.amount_microusd for entry in LedgerEntry.objects.filter(source=run.budget_source))
    wallet = Wallet.objects.get(workspace=workspace)
    assert run.spend_microusd == calls == samples == entries == int(result["billing"]["total_microusd"]) > 0
    assert wallet.balance_microusd == sum(entry.amount_microusd for entry in LedgerEntry.objects.filter(wallet=wallet))
    assert wallet.held_microusd == 0
    assert ledger_differences() == []


def _check_exports(client: Client, run_id: str, result: dict[str, Any], compare: dict[str, Any]) -> None:
    """The figures of every export are those of the result and of the comparison, to the last digit that it shows."""

    def exported(wanted: str) -> bytes:
        return b"".join(client.get(f"/v1/runs/{run_id}/export?format={wanted}").streaming_content)  # type: ignore[attr-defined]

    as_json = json.loads(exported("json"))
    assert (as_json["result"], len(as_json["samples"])) == (result, 4 * TASKS)
    frozen = {name: compare[name] for name in ("ranking", "pairs", "summary", "tasks_compared")}
    assert {name: as_json["comparisons"][0][name] for name in frozen} == frozen
    rows = list(csv.DictReader(io.StringIO(exported("csv").decode())))
    right = Counter(row["subject_index"] for row in rows if row["correct"] == "true")
    assert [right[str(index)] for index in range(4)] == list(RIGHT.values())
    figures = list(csv.DictReader(io.StringIO(exported("figures").decode())))
    for subject in result["subjects"]:
        headline = subject["headline"]
        (row,) = [each for each in figures if each["figure"] == "metric" and each["subject_index"] == str(subject["index"])]
        assert (row["value"], row["low"], row["high"], row["method"]) == (
            str(headline["value"]),
            str(headline["interval"]["low"]),
            str(headline["interval"]["high"]),
            "wilson",
        )
    for pair in compare["pairs"]:
        of_pair = [each for each in figures if (each["subject_index"], each["against_index"]) == (str(pair["a"]), str(pair["b"]))]
        found = {each["key"] or each["figure"]: each["value"] for each in of_pair}
        assert {key: found[key] for key in ("difference", "stderr", "a_only", "b_only", "p_exact", "p_holm")} == {
            key: str(pair[key]) for key in ("difference", "stderr", "a_only", "b_only", "p_exact", "p_holm")
        }
    html = exported("html").decode()
    shown = ["56.25%", "53.56 – 58.91%", "39.04%", "34.72%", "21.68%", "209", "152", "+4.3", "0.003", result["sha256"], compare["summary"]]
    assert [text in html for text in shown] == [True] * len(shown)
    with zipfile.ZipFile(io.BytesIO(exported("bundle"))) as bundle:
        (name,) = [each for each in bundle.namelist() if each.endswith("/result.json")]
        assert {**json.loads(bundle.read(name)), "sha256": result["sha256"]} == result
    assert json.loads(exported("summary"))["result"] == result
