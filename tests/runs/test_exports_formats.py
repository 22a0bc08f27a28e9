"""What is in each export: figures of the result document, samples as they were stored, and what other tools read of them."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from tempfile import TemporaryFile
from typing import IO, Any

import pytest

from imports.recorded import inspect_log, lm_eval
from imports.recorded.collecting import Collector
from imports.recorded.files import OldFile
from runs.documents import result_document
from runs.exports import pages
from runs.exports.formats import FORMATS
from runs.exports.making import parts_of
from runs.exports.source import Source
from runs.models import Run, Sample
from tests import factories
from tests.runs.handwork import work_out
from tests.runs.working import start, sums
from tests.standins.chat import Asked, ChatServer
from tests.standins.http import Reply
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]
NASTY = '</td><script>alert("x")</script>&amp;'


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    """Two models and a baseline on 24 sums in two groups: one model is wrong on all with a 3 in them, and refused one."""
    rows = [
        {
            "values": {"question": f"What is {n} + {n}? {NASTY if n == 3 else ''}"},
            "reference": str(2 * n),
            "group": "odd" if n % 2 else "even",
        }
        for n in range(24)
    ]
    version = factories.make_version(rows=rows, system_prompt="Be brief & exact.")

    def wrong_on_threes(messages: list[dict[str, str]]) -> str:
        return f"It is {NASTY} 1." if "3" in messages[-1]["content"] else sums(messages)

    def refuse(asked: Asked) -> Reply | None:
        is_five = asked.model == "m1" and "What is 5 + 5?" in asked.question
        return Reply(400, {"error": {"message": "no"}}) if is_five else None

    with ChatServer(models={"m0": sums, "m1": wrong_on_threes}, reply=refuse) as server:
        routes = [factories.make_route(f"example/m{n}", endpoint=server.url, model=f"m{n}").route_id for n in range(2)]
        request = {"subjects": [*routes, "most-frequent-answer"], "benchmark": version.profile_id, "coverage": {"mode": "full"}}
        return work_out(start(workspace, actor, name=f"<b>{NASTY}", **request))


def made(run: Run, wanted: str) -> bytes:
    return b"".join(parts_of(Source(run, run.results.get()), FORMATS[wanted]))


def files_of(content: bytes) -> dict[str, bytes]:
    """The files of a ZIP below its one folder."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert len({name.partition("/")[0] for name in archive.namelist()}) == 1
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def result_of(run: Run) -> dict[str, Any]:
    return result_document(run.results.get())


# ── CSV ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_csv_has_a_row_for_each_sample_from_which_the_counts_follow(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(made(run, "csv").decode())))
    assert len(rows) == 72
    for subject in result_of(run)["subjects"]:
        mine = [row for row in rows if row["subject_index"] == str(subject["index"])]
        counts = subject["counts"]
        assert (sum(row["correct"] == "true" for row in mine), sum(row["status"] == "error" for row in mine)) == (
            counts["correct"],
            counts["errors"],
        )
        assert {row["benchmark"] for row in mine} == {run.benchmarks.get().version.profile_id}
    assert sum(row["status"] == "error" for row in rows) == 1


def test_figures_are_those_of_the_result_and_the_comparison(run: Run) -> None:
    source = Source(run, run.results.get())
    rows = list(csv.DictReader(io.StringIO(made(run, "figures").decode())))

    def figure(name: str, **where: Any) -> dict[str, str]:
        wanted = {"figure": name, **{key: str(value) for key, value in where.items()}}
        (row,) = [row for row in rows if wanted.items() <= row.items()]
        return row

    for subject in source.document["subjects"]:
        for metric in subject["metrics"]:
            row = figure("metric", subject_index=subject["index"], key=metric["metric"])
            interval = metric["interval"]
            assert (float(row["value"]), float(row["low"]), float(row["high"]), row["method"], int(row["n"])) == (
                metric["value"],
                interval["low"],
                interval["high"],
                interval["method"],
                metric["n"],
            )
        for key, count in subject["counts"].items():
            assert figure("count", subject_index=subject["index"], key=key)["value"] == str(count)
        for group in subject["groups"]:
            assert float(figure("group", subject_index=subject["index"], group=group["group"])["value"]) == group["value"]
    for pair in source.comparisons[0]["pairs"]:
        who = {"subject_index": pair["a"], "against_index": pair["b"]}
        assert float(figure("difference", **who)["value"]) == pair["difference"]
        assert float(figure("pair", **who, key="p_holm")["value"]) == pair["p_holm"]
    assert figure("billing", key="total_microusd")["value"] == source.document["billing"]["total_microusd"]


# ── HTML ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Reader(HTMLParser):
    """Elements with their attributes, open elements checked for balance, and the visible text."""

    VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "line", "path", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def read(content: bytes) -> Reader:
    reader = Reader()
    reader.feed(content.decode())
    reader.close()
    assert reader.open == []
    return reader


def test_html_is_one_file_without_script_and_without_anything_from_outside(run: Run) -> None:
    content = made(run, "html").decode()
    reader = read(content.encode())
    tags = {tag for tag, _ in reader.found}
    assert tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "video", "audio"} == set()
    attributes = [(name, value) for _, its in reader.found for name, value in its.items()]
    assert [name for name, _ in attributes if name.startswith("on") or name in {"src", "srcset", "action", "style"}] == []
    assert {value for name, value in attributes if name == "href" and not str(value).startswith("#")} == set()
    assert re.findall(r"url\(|@import|@font-face", content) == []
    assert "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">" in content
    assert ("light dark" in content, "@page" in content, "break-inside: avoid" in content) == (True, True, True)
    assert NASTY not in content.replace("&amp;amp;", "")
    identifiers = [its["id"] for _, its in reader.found if its.get("id")]
    assert len(identifiers) == len(set(identifiers))
    named = {name for _, its in reader.found for name in str(its.get("aria-labelledby", "")).split()}
    assert named <= set(identifiers)


def test_html_has_the_charts_of_the_report_and_every_part(run: Run) -> None:
    reader = read(made(run, "html"))
    charts = {its["id"] for _, its in reader.found if str(its.get("id", "")).endswith("-title")}
    assert charts == {f"{name}-chart-0-title" for name in ("scores", "differences", "cost", "speed", "groups", "latency")}
    headings = ("Result", "Differences between models", "All metrics", "By group of tasks", "Why answers are missing")
    headings += (
        "Some of what went wrong",
        "How it was asked and judged",
        "Models and prices",
        "Notices",
        "What the words mean",
        "Evidence",
    )
    assert [heading in reader.text for heading in headings] == [True] * len(headings)


def test_html_states_the_figures_of_the_result(run: Run) -> None:
    text = read(made(run, "html")).text
    result, source = result_of(run), Source(run, run.results.get())
    assert (result["sha256"] in text, run.quote.sha256 in text, run.quote.price_version in text) == (True, True, True)
    assert source.comparisons[0]["summary"] in text
    for subject in result["subjects"]:
        for metric in subject["metrics"]:
            assert f"{100 * metric['value']:.2f}%" in text
            assert pages.metric_words(metric["metric"], metric["name"]) in text
    assert ("An error says nothing about the model" in text, "Holm" in text, "Newcombe" in text) == (True, True, True)


def test_html_says_how_many_failures_it_lists_and_lists_few(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = result_of(run)["subjects"][2]["counts"]["incorrect"]
    assert failed > 2
    assert f"{failed} wrong or missing answers" in read(made(run, "html")).text
    monkeypatch.setattr(pages, "FAILURES_EACH", 2)
    text = read(made(run, "html")).text
    assert f"the first 2 of {failed} wrong or missing answers, in the order of the tasks" in text


def test_html_of_an_interrupted_run_says_that_it_is_a_part(workspace: Workspace, actor: Actor) -> None:
    def refuse(asked: Asked) -> Reply | None:
        return Reply(401, {"error": {"message": "no"}}) if "What is 10 + 10?" in asked.question else None

    version = factories.make_version(tasks=20)
    with ChatServer(sums, reply=refuse) as server:
        factories.make_route("example/small", endpoint=server.url)
        request = {"subjects": ["example/small"], "benchmark": version.profile_id, "coverage": {"mode": "full"}, "concurrency": 1}
        run = work_out(start(workspace, actor, **request))
    assert run.status == "partial"
    text = read(made(run, "html")).text
    assert "Interrupted. The run was interrupted: the figures are of what was finished." in text
    graded = result_of(run)["coverage"]["graded"]
    assert f"This is not the benchmark’s full score: {graded} of 20 tasks were scored" in text


# ── Other tools ─────────────────────────────────────────────────────────────────────────────────────────────────────


def old_files(files: Mapping[str, bytes]) -> list[OldFile]:
    opened: list[OldFile] = []
    for name, content in files.items():
        file: IO[bytes] = TemporaryFile()  # noqa: SIM115
        file.write(content)
        file.seek(0)
        opened.append(OldFile(name, file, len(content)))
    return opened


@pytest.fixture
def collected() -> Iterator[Callable[..., Collector]]:
    """Reads files with one of our own importers."""
    used: list[Any] = []

    def collect(reader: Any, files: Mapping[str, bytes]) -> Collector:
        opened, into = old_files(files), Collector()
        used.extend([into, *(each.file for each in opened)])
        assert reader.recognises(opened)
        reader.read(opened, into, {})
        return into

    yield collect
    for each in used:
        each.close() if hasattr(each, "close") else each.__exit__()


def graded(run: Run, index: int) -> dict[str, tuple[str, bool | None, str]]:
    samples = Sample.objects.filter(subject__run=run, subject__index=index, status="graded").select_related("task")
    said = {row["id"]: row["response"] for row in json.loads(made(run, "json"))["samples"]}
    return {sample.task.task_id: (said[str(sample.public_id)], sample.correct, sample.extracted) for sample in samples}


@pytest.mark.parametrize("index", [0, 1])
def test_inspect_log_is_read_by_our_importer_with_the_same_answers_and_verdicts(
    run: Run, collected: Callable[..., Collector], index: int
) -> None:
    files = {name: content for name, content in files_of(made(run, "inspect")).items() if name.endswith(f"-0-{index}.json")}
    assert len(files) == 1
    into = collected(inspect_log, files)
    label = f"example/m{index}"
    answers = {key: (text, correct, extracted) for model, key, text, _, _, correct, extracted in into.answers() if model == label}
    assert answers == graded(run, index)
    assert {row["id"]: row["answer"] for row in into.rows()} == {f"t{n}": str(2 * n) for n in range(24)}
    (grader,) = into.graders.values()
    assert (grader.task, grader.options["extract"]) == ("numeric", "last_number")


def test_inspect_log_states_the_results_and_keeps_errors_apart(run: Run) -> None:
    files = files_of(made(run, "inspect"))
    logs = [json.loads(content) for name, content in files.items() if name != "README.md"]
    by_model = {log["eval"]["model"]: log for log in logs}
    for subject in result_of(run)["subjects"]:
        log = by_model[subject["label"]]
        (score,) = log["results"]["scores"]
        assert (score["metrics"]["accuracy"]["value"], score["scored_samples"]) == (
            subject["headline"]["value"],
            subject["counts"]["graded"],
        )
        assert sum("error" in sample for sample in log["samples"]) == subject["counts"]["errors"]
        assert all((sample["scores"] is None) == ("error" in sample) for sample in log["samples"])
        assert (log["version"], log["status"], len(log["samples"])) == (2, "success", 24)


@pytest.mark.parametrize("index", [0, 1])
def test_lm_eval_files_are_read_by_our_importer_with_the_same_answers_and_verdicts(
    run: Run, collected: Callable[..., Collector], index: int
) -> None:
    files = {name: content for name, content in files_of(made(run, "lm-eval")).items() if name.startswith(f"{index}__")}
    assert sorted(name.rpartition("/")[2].partition("_")[0] for name in files) == ["results", "samples"]
    into = collected(lm_eval, files)
    ordinals = {f"t{n}": str(n) for n in range(24)}
    expected = {ordinals[task]: its for task, its in graded(run, index).items()}
    found = {key: (text, correct, extracted) for _, key, text, _, _, correct, extracted in into.answers()}
    assert found == expected
    assert list(into.models) == [f"example/m{index}"]
    (grader,) = into.graders.values()
    assert (grader.task, grader.options["extract"]) == ("numeric", "last_number")


def test_lm_eval_results_state_the_figures(run: Run) -> None:
    files = files_of(made(run, "lm-eval"))
    results = {
        document["model_name"]: document for name, content in files.items() if "/results_" in name if (document := json.loads(content))
    }
    slug = run.benchmarks.get().version.benchmark.slug
    for subject in result_of(run)["subjects"]:
        document = results[subject["label"]]
        values = document["results"][slug]
        assert (values["acc,evalrouter-numeric"], values["acc_stderr,evalrouter-numeric"]) == (
            subject["headline"]["value"],
            subject["headline"]["stderr"],
        )
        assert document["n-samples"][slug] == {"original": 24, "effective": subject["counts"]["graded"]}
        assert document["evalrouter"]["tasks"][slug]["counts"] == subject["counts"]
