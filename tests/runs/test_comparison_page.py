"""The comparison in full: one reading of what was frozen, as a page, over HTTP and as files; and the tasks on which models disagree."""

import csv
import io
import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from catalog.models import BenchmarkVersion
from runs.comparison.queries import Asked, comparison_of, disagreements, run_benchmark, verdicts_of
from runs.comparison.tables import group_matrix, pair_matrix
from runs.models import ResultVersion, Run, Sample
from tests.factories import make_version
from tests.paging import HTMX
from tests.runs.drawn import drawn_models, drawn_run
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
TASKS = 40
LETTERS = {
    "best": "R" * 36 + "w" * 3 + ".",
    "close": "R" * 33 + "w" * 3 + "R" * 2 + "w" * 2,
    "far": "w" * 30 + "R" * 10,
}


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "values": {"question": f"What is {n} + {n}?"},
            "reference": str(2 * n),
            "group": "odd" if n % 2 else "even",
            "task_id": f"=t{n}" if n == 35 else f"t{n}",
        }
        for n in range(count)
    ]


@pytest.fixture
def grouped(db: None) -> BenchmarkVersion:
    return make_version(rows=rows(TASKS))


@pytest.fixture
def run(workspace: Workspace, actor: Actor, grouped: BenchmarkVersion) -> Run:
    return drawn_run(workspace, actor, grouped, drawn_models(grouped, workspace, LETTERS))


def text_of(content: bytes) -> str:
    """A page's words, without markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", content.decode()))


def test_page_says_who_is_ahead_and_what_more_tasks_would_show(run: Run, viewer: User, sign_in: SignIn) -> None:
    response = sign_in(viewer).get(f"/evaluations/{run.public_id}/comparison")
    assert response.status_code == 200
    text = text_of(response.content)
    compare = json.loads(run.results.get().comparison)[0]
    for sentence in (compare["summary"], compare["outlook"]):
        assert sentence in text
    assert compare["outlook"].endswith(
        " more tasks would separate best and close at this difference (an estimate): more than the benchmark has (40)."
    )
    for word in ("Scores and their intervals", "Each against each, in points", "By group of tasks", "Where the models disagree"):
        assert word in text
    assert "39 of 40 tasks that all compared models finished" in text


def test_page_table_api_and_file_have_the_same_figures(run: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    compare = client.get(f"/v1/runs/{run.public_id}/compare").json()
    found = comparison_of(run)
    assert found.document == compare
    for table in ("ranking", "pairs", "groups"):
        answer = client.get(f"/evaluations/{run.public_id}/comparison/{table}")
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        assert answer.content == client.get(f"/v1/runs/{run.public_id}/compare?format=csv&table={table}").content
        lines = list(csv.DictReader(io.StringIO(answer.content.decode())))
        expected = [{key: file_cell(value) for key, value in row.items()} for row in found.tables[table].rows]
        assert [{key: line[key] for key in line} for line in lines] == [{key: row[key] for key in lines[0]} for row in expected]
    assert [row["score"] for row in found.tables["ranking"].rows] == [entry["score"] for entry in compare["ranking"]]
    assert [row["p_holm"] for row in found.tables["pairs"].rows] == [pair["p_holm"] for pair in compare["pairs"]]
    assert client.get(f"/evaluations/{run.public_id}/comparison/secrets").status_code == 404
    assert client.get(f"/v1/runs/{run.public_id}/compare?format=csv&table=secrets").status_code == 422


def file_cell(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def test_a_name_that_looks_like_a_formula_is_text_in_a_file(
    workspace: Workspace, actor: Actor, grouped: BenchmarkVersion, owner: User, sign_in: SignIn
) -> None:
    made = drawn_run(workspace, actor, grouped, drawn_models(grouped, workspace, {"=1+1": "R" * TASKS, "plain": "w" * TASKS}))
    text = sign_in(owner).get(f"/evaluations/{made.public_id}/comparison/pairs").content.decode()
    assert "'=1+1" in text
    assert ",=1+1" not in text


def test_the_matrix_is_the_pairs_both_ways(run: Run) -> None:
    found = comparison_of(run)
    matrix = pair_matrix(found)
    assert [row["model"] for row in matrix] == [row["model"] for row in found.tables["ranking"].rows]
    index = {row["model_index"]: place for place, row in enumerate(matrix)}
    for pair in found.tables["pairs"].rows:
        a, b = index[pair["a_index"]], index[pair["b_index"]]
        there, back = matrix[a]["cells"][b], matrix[b]["cells"][a]
        assert (there["difference"], there["low"], there["high"]) == (pair["difference"], pair["low"], pair["high"])
        assert (back["difference"], back["low"], back["high"]) == (-pair["difference"], -pair["high"], -pair["low"])
        assert there["separable"] == back["separable"] == pair["separable"]
    assert all("difference" not in matrix[place]["cells"][place] for place in range(len(matrix)))


def test_groups_are_each_models_score_with_its_interval(run: Run) -> None:
    found = comparison_of(run)
    result = json.loads(run.results.get().document)
    by_name = {row["group"]: row for row in group_matrix(found)}
    assert sorted(by_name) == ["even", "odd"]
    order = [row["model_index"] for row in found.tables["ranking"].rows]
    for name, row in by_name.items():
        assert row["tasks"] == 20
        for subject_index, cell in zip(order, row["cells"], strict=True):
            group = next(group for group in result["subjects"][subject_index]["groups"] if group["group"] == name)
            assert (cell["score"], cell["low"], cell["high"], cell["scored"]) == (
                group["value"],
                group["interval"]["low"],
                group["interval"]["high"],
                group["n"],
            )


def test_a_result_frozen_before_there_was_an_outlook_is_still_shown(run: Run, viewer: User, sign_in: SignIn) -> None:
    result = ResultVersion.objects.get(run=run)
    old = json.loads(result.comparison)[0]  # and of a time when it was not in a list
    del old["outlook"]
    for pair in old["pairs"]:
        del pair["tasks_needed"]
    ResultVersion.objects.filter(pk=result.pk).update(comparison=json.dumps(old))
    client = sign_in(viewer)
    page = client.get(f"/evaluations/{run.public_id}/comparison")
    assert (page.status_code, "more tasks would" in page.content.decode()) == (200, False)
    assert client.get(f"/v1/runs/{run.public_id}/compare").json() == old
    assert client.get(f"/evaluations/{run.public_id}/comparison/pairs").status_code == 200


def test_one_model_alone_has_nothing_to_compare(
    workspace: Workspace, actor: Actor, grouped: BenchmarkVersion, owner: User, sign_in: SignIn
) -> None:
    made = drawn_run(workspace, actor, grouped, drawn_models(grouped, workspace, {"alone": "R" * TASKS}))
    client = sign_in(owner)
    assert "Only one model ran" in client.get(f"/evaluations/{made.public_id}/comparison").content.decode()
    assert "disagrees with nobody" in client.get(f"/evaluations/{made.public_id}/disagreements").content.decode()
    assert client.get(f"/v1/runs/{made.public_id}/disagreements").json()["data"] == []


def test_a_model_that_answered_nothing_is_listed_with_its_reason(
    workspace: Workspace, actor: Actor, grouped: BenchmarkVersion, owner: User, sign_in: SignIn
) -> None:
    letters = {"a": "R" * TASKS, "b": "w" * TASKS, "mute": "." * TASKS}
    made = drawn_run(workspace, actor, grouped, drawn_models(grouped, workspace, letters))
    rows_of = comparison_of(made).tables["ranking"].rows
    assert [(row["model"], row["rank"], row["left_out"]) for row in rows_of] == [
        ("a", "1", None),
        ("b", "2", None),
        ("mute", None, "nothing_graded"),
    ]
    assert "Left out" in sign_in(owner).get(f"/evaluations/{made.public_id}/comparison").content.decode()


def test_before_the_end_the_page_says_so(
    workspace: Workspace, actor: Actor, grouped: BenchmarkVersion, owner: User, sign_in: SignIn
) -> None:
    from tests.runs.working import start

    live = start(
        workspace,
        actor,
        subjects=["random-choice", "most-frequent-answer"],
        selection={"profile_ids": [grouped.profile_id]},
        coverage={"mode": "full"},
    )
    client = sign_in(owner)
    assert "still goes on" in client.get(f"/evaluations/{live.public_id}/comparison").content.decode()
    assert client.get(f"/evaluations/{live.public_id}/comparison/pairs").status_code == 404
    assert client.get(f"/evaluations/{live.public_id}/disagreements").status_code == 200
    assert client.get(f"/v1/runs/{live.public_id}/disagreements").json()["data"] == []


def test_strangers_find_nothing(run: Run, stranger: User, sign_in: SignIn) -> None:
    client = sign_in(stranger)
    for path in ("comparison", "comparison/ranking", "disagreements"):
        assert client.get(f"/evaluations/{run.public_id}/{path}").status_code == 404
    assert client.get(f"/v1/runs/{run.public_id}/disagreements").status_code == 404
    assert client.get(f"/v1/runs/{run.public_id}/compare?format=csv").status_code == 404


def brute(letters: dict[str, str], show: str, a: str, b: str) -> list[int]:
    """The tasks that are asked for, by counting letters."""
    found = []
    for place in range(len(letters[a])):
        each = [its[place] for its in letters.values()]
        finished = {letter for letter in each if letter != "."}
        if {
            "any": len(finished) == 2,
            "a_only": (letters[a][place], letters[b][place]) == ("R", "w"),
            "b_only": (letters[a][place], letters[b][place]) == ("w", "R"),
            "all_wrong": set(each) == {"w"},
            "all_right": set(each) == {"R"},
            "errors": "." in each,
        }[show]:
            found.append(place)
    return found


def test_every_filter_finds_what_counting_finds(workspace: Workspace, actor: Actor, owner: User, sign_in: SignIn) -> None:
    draw = random.Random(7)
    version = make_version(rows=rows(60))
    letters = {name: "".join(draw.choices("Rw.", (5, 4, 1), k=60)) for name in ("one", "two", "three", "four")}
    made = drawn_run(workspace, actor, version, drawn_models(version, workspace, letters))
    client = sign_in(owner)
    names = list(letters)
    path = f"/v1/runs/{made.public_id}/disagreements"
    for show in ("any", "a_only", "b_only", "all_wrong", "all_right", "errors"):
        for a, b in ((0, 1), (3, 1)):
            expected = brute(letters, show, names[a], names[b])
            seen, cursor = [], ""
            while cursor is not None:
                answer = client.get(f"{path}?show={show}&a={a}&b={b}&limit=7" + (f"&cursor={cursor}" if cursor else "")).json()
                assert answer["counts"][show] == len(expected)
                seen += [row["position"] for row in answer["data"]]
                cursor = answer["next_cursor"]
            assert seen == expected
    odd = client.get(f"{path}?group=odd&limit=100").json()["data"]
    assert [row["position"] for row in odd] == [place for place in brute(letters, "any", "one", "two") if place % 2]
    assert {row["group"] for row in odd} == {"odd"}
    named = client.get(f"{path}?q=t5&limit=100").json()["data"]
    assert [row["position"] for row in named] == [place for place in brute(letters, "any", "one", "two") if "t5" in f"t{place}"]
    (first, *_) = client.get(path).json()["data"]
    for answer in first["answers"]:
        letter = letters[names[answer["subject_index"]]][first["position"]]
        assert answer["verdict"] == {"R": "right", "w": "wrong", ".": "error"}[letter]


def test_pages_of_disagreements_link_to_the_tasks(run: Run, viewer: User, sign_in: SignIn) -> None:
    client = sign_in(viewer)
    path = f"/evaluations/{run.public_id}/disagreements"
    only_best = client.get(path, {"show": "a_only", "a": "0", "b": "1"})
    assert [row["task_id"] for row in only_best.context["found"].rows] == ["t33", "t34", "=t35"]
    assert f'href="/evaluations/{run.public_id}/samples/34"' in only_best.content.decode()
    fragment = client.get(path, {"show": "errors"}, headers=HTMX)
    assert (fragment.content.decode().lstrip().startswith('<div id="list"'), "<html" in fragment.content.decode()) == (True, False)
    assert client.get(path, {"show": "nothing", "a": "99", "b": "x"}).context["asked"] == Asked()
    assert client.get(path, {"q": "no-such-task"}).content.decode().count("No task matches") == 1
    assert client.get(path, {"cursor": "x"}).status_code in (400, 422)


def test_the_api_refuses_models_and_versions_that_are_not_there(run: Run, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    path = f"/v1/runs/{run.public_id}/disagreements"
    assert client.get(f"{path}?profile_id=other@1").status_code == 404
    assert client.get(f"{path}?a=7").status_code == 422
    assert client.get(f"{path}?show=everything").status_code == 422
    assert client.get(f"{path}?cursor=abc").status_code == 422
    assert client.get(f"/v1/runs/{run.public_id}/compare?profile_id=other@1&format=csv").status_code == 404


def test_only_right_counts_are_those_of_the_pairs_where_all_finished(workspace: Workspace, actor: Actor, grouped: BenchmarkVersion) -> None:
    letters = {"a": "R" * 25 + "w" * 15, "b": "w" * 10 + "R" * 25 + "w" * 5}
    made = drawn_run(workspace, actor, grouped, drawn_models(grouped, workspace, letters))
    (pair,) = comparison_of(made).tables["pairs"].rows
    asked = Asked(a=pair["a_index"], b=pair["b_index"])
    counts = disagreements(made, run_benchmark(made), asked).counts
    assert (counts["a_only"], counts["b_only"]) == (pair["a_only"], pair["b_only"]) == (10, 10)
    assert (counts["all_right"], counts["all_wrong"]) == (pair["both"], pair["neither"]) == (15, 5)


def test_pages_cost_the_same_however_many_tasks_and_models(workspace: Workspace, actor: Actor, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    costs = []
    for tasks, models in ((4, 2), (60, 8)):
        version = make_version(rows=rows(tasks))
        letters = {f"m{number}": ("Rw" * tasks)[number % 2 : tasks + number % 2] for number in range(models)}
        made = drawn_run(workspace, actor, version, drawn_models(version, workspace, letters))
        spent = []
        for path in ("comparison", "disagreements", "disagreements?show=a_only&q=t&group=odd", "comparison/pairs"):
            client.get(f"/evaluations/{made.public_id}/{path}")
            with CaptureQueriesContext(connection) as queries:
                assert client.get(f"/evaluations/{made.public_id}/{path}").status_code == 200
            spent.append(len(queries))
        costs.append(spent)
    assert costs[0] == costs[1]


def test_no_query_reads_what_was_asked_or_answered(run: Run, owner: User, sign_in: SignIn) -> None:
    client = sign_in(owner)
    with CaptureQueriesContext(connection) as queries:
        for path in ("comparison", "disagreements", "comparison/ranking"):
            assert client.get(f"/evaluations/{run.public_id}/{path}").status_code == 200
        assert client.get(f"/v1/runs/{run.public_id}/disagreements").status_code == 200
    asked = " ".join(query["sql"] for query in queries)
    for column in ("extracted", "response", "messages", "reference", "gateway_call", "catalog_taskcontent"):
        assert column not in asked.lower()


def test_verdicts_are_kept_as_they_were_read(run: Run) -> None:
    benchmark = run_benchmark(run)
    read, kept = verdicts_of(run, benchmark), verdicts_of(run, benchmark)
    assert read.subjects == kept.subjects
    assert (read.values.tobytes(), read.has_error.tobytes()) == (kept.values.tobytes(), kept.has_error.tobytes())
    assert int((read.values == 1).sum()) == Sample.objects.filter(subject__run=run, correct=True).count()
