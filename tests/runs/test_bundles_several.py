"""A bundle of a run on two benchmarks with three attempts a task: each figure is computed anew for each model on each benchmark."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from catalog.models import BenchmarkVersion
from common.signing import public_keys
from runs.bundles import BadBundle, bundle_parts, check_bundle
from runs.documents import result_document
from runs.exports.formats import FORMATS
from runs.exports.making import parts_of
from runs.exports.source import Source
from runs.models import Run
from tests import factories
from tests.runs.handwork import work_out
from tests.runs.test_bundles import by_script, files_of, forged, zip_of
from tests.runs.test_exports_formats import read
from tests.runs.working import start, sums
from tests.standins.chat import Asked, ChatServer
from tests.standins.http import Reply
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]

ATTEMPTS, FIRST, SECOND = 3, 40, 14
FILES = ["benchmark-0.json", "benchmark-1.json", "tasks-0.json", "tasks-1.json", "samples.jsonl", "result.json"]


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    """Forty sums in clusters of two, then fourteen in two groups; a model that wavers, one that is right, one error in all."""
    clustered = [
        {"values": {"question": f"What is {n} + {n}?"}, "reference": str(2 * n), "task_id": f"a{n}", "cluster": f"c{n // 2}"}
        for n in range(FIRST)
    ]
    grouped = [
        {"values": {"question": f"Say {n} + {n}."}, "reference": str(2 * n), "task_id": f"b{n}", "group": "odd" if n % 2 else "even"}
        for n in range(SECOND)
    ]
    versions = [
        factories.make_version(factories.make_benchmark("sums-a", name="Sums A"), rows=clustered),
        factories.make_version(factories.make_benchmark("sums-b", name="Sums B"), rows=grouped, max_output_tokens=32),
    ]
    asked: dict[str, int] = {}

    def wavers(messages: list[dict[str, str]]) -> str:
        question = messages[-1]["content"]
        asked[question] = asked.get(question, 0) + 1
        return "The answer is 1." if (len(question) + asked[question]) % 3 == 0 else sums(messages)

    def refuse(asked: Asked) -> Reply | None:
        return Reply(400, {"error": {"message": "no"}}) if asked.model == "m1" and "What is 7 + 7?" in asked.question else None

    with ChatServer(models={"m0": wavers, "m1": sums}, reply=refuse) as server:
        routes = [factories.make_route(f"example/m{n}", endpoint=server.url, model=f"m{n}").route_id for n in range(2)]
        selection = {"profile_ids": [version.profile_id for version in versions], "weights": [2, 1]}
        request: dict[str, Any] = {"subjects": routes, "selection": selection, "coverage": {"mode": "full"}, "attempts": ATTEMPTS}
        return work_out(start(workspace, actor, **request))


def bundle_of(run: Run) -> bytes:
    run = Run.objects.get(pk=run.pk)
    return b"".join(bundle_parts(Source(run, run.results.get())))


def test_every_figure_is_computed_anew_for_each_model_on_each_benchmark(run: Run, tmp_path: Path) -> None:
    bundle = bundle_of(run)
    check = check_bundle(io.BytesIO(bundle), public_keys())
    samples = 2 * ATTEMPTS * (FIRST + SECOND)
    assert (check.problems, check.samples, check.regraded) == ([], samples, samples - ATTEMPTS)
    stated = result_document(run.results.get())
    assert [(each.label, each.profile_id) for each in check.subjects] == [
        (f"example/m{model}", f"sums-{name}@1") for name in "ab" for model in range(2)
    ]
    for mine, theirs in zip(check.subjects, stated["subjects"], strict=True):
        assert (mine.found["headline"], mine.found["metrics"], mine.found["groups"], mine.found["counts"]) == (
            theirs["headline"],
            theirs["metrics"],
            theirs["groups"],
            theirs["counts"],
        )
    metrics = {metric["metric"] for each in check.subjects for metric in each.found["metrics"]}
    assert metrics == {"accuracy", "pass@2", "pass@3", "pass^2", "pass^3", "accuracy_errors_wrong"}
    assert 0 < check.subjects[0].found["headline"]["value"] < 1
    assert check.subjects[1].found["counts"]["errors"] == ATTEMPTS
    code, said = by_script(bundle, tmp_path)
    assert (code, "example/m0 on sums-b@1: " in said, "with 3 attempts each" in said) == (0, True, True)


def test_files_say_where_the_tasks_of_each_benchmark_stand(run: Run) -> None:
    files = files_of(bundle_of(run))
    first, second = (json.loads(files[f"tasks-{index}.json"]) for index in range(2))
    assert (first["first_position"], first["tasks"], first["attempts"], len(first["clusters"]), first["groups"]) == (0, FIRST, 3, FIRST, [])
    assert (second["first_position"], second["tasks"], len(second["groups"]), second["clusters"]) == (FIRST, SECOND, SECOND, [])
    samples = [json.loads(line) for line in files["samples.jsonl"].splitlines()]
    assert {sample["position"] - FIRST for sample in samples if sample["benchmark_index"] == 1} == set(range(SECOND))
    assert {(sample["attempt"], sample["profile_id"]) for sample in samples} == {(n, f"sums-{name}@1") for n in (1, 2, 3) for name in "ab"}
    assert ("sums-a@1, sums-b@1" in files["README.md"].decode(), "`benchmark-1.json`" in files["README.md"].decode()) == (True, True)


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_is_named(run: Run, tmp_path: Path, name: str) -> None:
    files = files_of(bundle_of(run))
    half = len(files[name]) // 2
    at = next(at for at in (files[name].find(letter, half) for letter in (b"a", b"c")) if at >= 0)
    files[name] = files[name][:at] + b"b" + files[name][at + 1 :]
    changed = zip_of(files)
    try:
        problems = check_bundle(io.BytesIO(changed), public_keys()).problems
    except BadBundle as refused:  # it is no JSON of ours any more
        problems = [str(refused)]
    assert any(name in problem for problem in problems), problems
    code, said = by_script(changed, tmp_path)
    assert code == 2 or (code == 1 and name in said)


def moved(files: dict[str, bytes]) -> None:
    """The samples of one benchmark are passed off as attempts at the other."""
    samples = [json.loads(line) for line in files["samples.jsonl"].splitlines()]
    for sample in samples:
        if sample["benchmark_index"] == 1:
            sample |= {"benchmark_index": 0, "position": sample["position"] - FIRST}
    files["samples.jsonl"] = b"".join(json.dumps(sample).encode() + b"\n" for sample in samples)


def better(files: dict[str, bytes]) -> None:
    result = json.loads(files["result.json"])
    result["subjects"][2]["headline"]["value"] = 1.0
    files["result.json"] = json.dumps(result).encode()


def heavier(files: dict[str, bytes]) -> None:
    result = json.loads(files["result.json"])
    result["composite"]["weights"][0]["weight"] = 5
    files["result.json"] = json.dumps(result).encode()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (moved, "do not fit together."),
        (better, "example/m0 on sums-b@1: the score is not what the samples give."),
        (heavier, "The composite score is not what the samples give."),
    ],
)
def test_lies_are_named_with_their_benchmark(
    run: Run, settings: LazySettings, change: Callable[[dict[str, bytes]], None], problem: str
) -> None:
    problems = check_bundle(io.BytesIO(forged(run, change, settings)), public_keys()).problems
    assert any(problem in each for each in problems), problems


def test_each_benchmark_keeps_what_its_own_licence_keeps(run: Run, tmp_path: Path) -> None:
    BenchmarkVersion.objects.filter(benchmark__slug="sums-b").update(export_policy="aggregate")
    bundle = bundle_of(run)
    files = files_of(bundle)
    assert ("tasks-0.json" in files, "tasks-1.json" in files) == (True, False)
    check = check_bundle(io.BytesIO(bundle), public_keys())
    assert (check.problems, check.samples, {each.profile_id for each in check.subjects}) == ([], 2 * ATTEMPTS * FIRST, {"sums-a@1"})
    assert by_script(bundle, tmp_path)[0] == 0
    for wanted in ("json", "csv", "inspect", "lm-eval"):
        content = b"".join(parts_of(Source(Run.objects.get(pk=run.pk), run.results.get()), FORMATS[wanted]))
        texts = files_of(content).values() if content[:2] == b"PK" else [content]
        assert ("What is 4 + 4" in (text := b"".join(texts).decode()) or wanted == "csv", "Say 4 + 4" in text) == (True, False)


def test_html_has_a_section_for_each_benchmark_and_the_composite(run: Run) -> None:
    reader = read(b"".join(parts_of(Source(run, run.results.get()), FORMATS["html"])))
    identifiers = [str(its["id"]) for _, its in reader.found if its.get("id")]
    assert len(identifiers) == len(set(identifiers))
    assert [f"benchmark-{index}" in identifiers for index in range(3)] == [True, True, False]
    assert {"scores-chart-0-title", "scores-chart-1-title", "groups-chart-1-title"} <= set(identifiers)
    assert ("Composite score" in reader.text, "sums-a@1 counts 66.7%" in reader.text) == (True, True)
    assert ("at least one of 3 attempts" in reader.text, "3 attempts a task" in reader.text) == (True, True)


def test_other_formats_keep_attempts_and_benchmarks_apart(run: Run) -> None:
    source = Source(run, run.results.get())
    logs = {
        name: json.loads(content)
        for name, content in files_of(b"".join(parts_of(source, FORMATS["inspect"]))).items()
        if name.endswith(".json")
    }
    assert len(logs) == 4
    for log in logs.values():
        assert {sample["epoch"] for sample in log["samples"]} == {1, 2, 3}
        assert log["eval"]["config"]["epochs"] == 3
        assert len({(sample["id"], sample["epoch"]) for sample in log["samples"]}) == len(log["samples"])
    harness = b"".join(parts_of(source, FORMATS["lm-eval"]))
    lines = [line for name, content in _paths(harness).items() if name.endswith(".jsonl") for line in map(json.loads, content.splitlines())]
    assert len(lines) == 2 * (FIRST + SECOND) - 1
    assert {len(line["resps"][0]) for line in lines} == {ATTEMPTS}
    assert any(0 < line["acc"] < 1 for line in lines)


def _paths(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
