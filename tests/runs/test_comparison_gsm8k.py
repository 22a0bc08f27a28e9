"""GSM8K's four recorded models: every figure that is published, on the page, over HTTP and in the files, from one function."""

import csv
import io
import json
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from gateway.models import RecordedAnswer, RecordedModel
from runs.comparison.queries import Asked, comparison_of, disagreements, run_benchmark
from runs.statistics import Table, holm, mcnemar, newcombe_paired, wilson
from tests.runs.drawn import drawn_run
from tests.runs.gsm8k import RIGHT, TASKS, import_gsm8k, outputs
from workspaces.actors import Actor
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db


def published(shared: Path) -> dict[str, list[bool]]:
    """The correctness that was recorded with each output."""
    lines = outputs(shared).read_text().splitlines()
    return {name: [json.loads(line)[name]["is_correct"] for line in lines] for name in RIGHT}


def test_every_published_figure_comes_from_one_function(
    workspace: Workspace, actor: Actor, owner: User, sign_in: Callable[[User], Client], shared: Path
) -> None:
    version = import_gsm8k(workspace, actor=actor, shared=shared)
    tasks = list(version.tasks.order_by("ordinal"))
    subjects = []
    lines = [json.loads(line) for line in outputs(shared).read_text().splitlines()]
    for name in RIGHT:
        model = RecordedModel.objects.create(workspace=workspace, version=version, name=name, source={}, answer_count=TASKS)
        RecordedAnswer.objects.bulk_create(
            RecordedAnswer(model=model, task=task, text=line[name]["solution"], finish_reason="stop")
            for task, line in zip(tasks, lines, strict=True)
        )
        subjects.append({"kind": "recorded", "recorded_model_id": str(model.public_id)})
    run = drawn_run(workspace, actor, version, subjects)
    client = sign_in(owner)
    found = comparison_of(run)

    verdicts = published(shared)
    names = list(RIGHT)
    order = sorted(range(4), key=lambda index: -RIGHT[names[index]])

    def table_of(a: int, b: int) -> Table:
        pairs = list(zip(verdicts[names[a]], verdicts[names[b]], strict=True))
        return Table(pairs.count((True, True)), pairs.count((True, False)), pairs.count((False, True)), pairs.count((False, False)))

    # The ranking: scores, Wilson's intervals, and the letters and ranks of four models that are all told apart.
    ranking = found.tables["ranking"].rows
    assert [row["model_index"] for row in ranking] == order == [3, 1, 2, 0]
    assert [row["correct"] for row in ranking] == [742, 515, 458, 286]
    for row in ranking:
        interval = wilson(RIGHT[row["model"]], TASKS)
        assert (row["score"], row["low"], row["high"]) == tuple(
            round(value, 10) for value in (RIGHT[row["model"]] / TASKS, interval.low, interval.high)
        )
    assert [(row["rank"], row["rank_low"], row["rank_high"], row["letters"]) for row in ranking] == [
        ("1", 1, 1, "a"),
        ("2", 2, 2, "b"),
        ("3", 3, 3, "c"),
        ("4", 4, 4, "d"),
    ]
    assert (round(ranking[0]["low"], 4), round(ranking[0]["high"], 4)) == (0.5356, 0.5891)

    # The pairs: counts, differences, and p adjusted for six of them.
    pairs = found.tables["pairs"].rows
    expected = [table_of(a, b) for a, b in combinations(order, 2)]
    adjusted = holm([mcnemar(table.a_only, table.b_only)[1] for table in expected])
    for pair, table, p_holm in zip(pairs, expected, adjusted, strict=True):
        value, interval = newcombe_paired(table)
        assert (pair["both"], pair["a_only"], pair["b_only"], pair["neither"]) == (table.both, table.a_only, table.b_only, table.neither)
        assert (pair["difference"], pair["low"], pair["high"]) == tuple(round(each, 10) for each in (value, interval.low, interval.high))
        assert pair["p_holm"] == pytest.approx(p_holm, rel=1e-9)
        assert (pair["separable"], pair["tasks_needed"]) == (True, None)
    middle = next(pair for pair in pairs if (pair["a"], pair["b"]) == ("6b_verification", "175b_finetuning"))
    assert (middle["a_only"], middle["b_only"]) == (209, 152)
    assert (round(100 * middle["difference"], 1), round(100 * middle["stderr"], 4), round(middle["p_exact"], 6)) == (4.3, 1.4361, 0.003151)
    assert found.document["outlook"] is None

    # The same over HTTP, and in the files.
    api = client.get(f"/v1/runs/{run.public_id}/compare").json()
    assert api == found.document
    for table in ("ranking", "pairs"):
        text = client.get(f"/v1/runs/{run.public_id}/compare?format=csv&table={table}").content.decode()
        assert text == client.get(f"/evaluations/{run.public_id}/comparison/{table}").content.decode()
        lines_of = list(csv.DictReader(io.StringIO(text)))
        for line, row in zip(lines_of, found.tables[table].rows, strict=True):
            assert {key: line[key] for key in row if key in line} == {key: _cell(value) for key, value in row.items() if key in line}

    # And on the page, as people read it.
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", client.get(f"/evaluations/{run.public_id}/comparison").content.decode()))
    for words in ("56.3%", "53.6 – 58.9%", "39.0%", "34.7%", "21.7%", "+17.2", "+4.3", "209", "152", "They differ"):
        assert words in text
    assert "175b_verification is ahead of every other model" in text
    assert "0.003" in text

    # The tasks that models differ on, against the recorded correctness.
    counts = disagreements(run, run_benchmark(run), Asked(show="a_only", a=1, b=2)).counts
    by_task = list(zip(*verdicts.values(), strict=True))
    assert counts == {
        "any": sum(0 < sum(each) < 4 for each in by_task),
        "a_only": 209,
        "b_only": 152,
        "all_wrong": sum(not any(each) for each in by_task),
        "all_right": sum(all(each) for each in by_task),
        "errors": 0,
    }
    first = disagreements(run, run_benchmark(run), Asked(show="a_only", a=1, b=2), limit=100).rows
    places = [place for place, each in enumerate(by_task) if each[1] and not each[2]]
    assert [row["position"] for row in first] == places[:100]


def _cell(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
