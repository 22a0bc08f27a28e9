"""Words in prompts and answers: found in what is shown, in bounded parts, and in nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.enums import ExportPolicy
from catalog.models import BenchmarkVersion
from common.errors import Refused
from runs.browsing import neighbours as neighbouring
from runs.browsing import texts
from runs.browsing.texts import find_texts
from runs.models import Run, Sample
from runs.queries import get_run, samples_of
from runs.retention import expire_content
from tests.factories import make_route, make_version
from tests.runs.working import start, work
from tests.standins.chat import ChatServer, last_user_message
from workspaces.actors import Actor
from workspaces.models import User, Workspace

SignIn = Callable[[User], Client]
ROWS = [{"values": {"question": f"Frage {n}: Wie groß ist Straße {n}?"}, "reference": f"secret-{n}", "task_id": f"q{n}"} for n in range(8)]


def answer(messages: list[dict[str, Any]]) -> str:
    number = last_user_message(messages).split()[1].rstrip(":")
    return f"Ich denke, ÜBERALL {number}0 Meter." if int(number) % 2 else f"It is secret-{number}, I guess."


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    return get_run(workspace, make_run(workspace, actor).public_id)


def make_run(workspace: Workspace, actor: Actor) -> Run:
    version = make_version(rows=ROWS, grader="exact_match", grader_options={})
    request: dict[str, Any] = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
    with ChatServer(answer) as server:
        route = make_route(endpoint=server.url)
        return work(start(workspace, actor, subjects=[route.route_id], **request))


def found(run: Run, words: str, **options: Any) -> list[int]:
    matches = find_texts(samples_of(run), run, words, order=("position", "id"), limit=50, **options)
    return [Sample.objects.get(pk=key).position for key in matches.keys]


def test_words_are_found_in_prompts_and_answers_in_any_case_and_script(run: Run) -> None:
    assert found(run, "straße 3") == found(run, "STRASSE 3") == [3]  # a prompt
    assert found(run, "überall") == [1, 3, 5, 7]  # answers, which no database compares so
    assert found(run, "30 meter") == [3]
    assert found(run, "%") == found(run, "nowhere") == []


def test_no_reference_is_found(run: Run) -> None:
    """Half of the answers say what the reference is; the tasks of the others are not found by it."""
    assert found(run, "secret-") == [0, 2, 4, 6]
    assert found(run, "secret-3") == []
    BenchmarkVersion.objects.update(export_policy=ExportPolicy.NO_ANSWERS)
    assert found(get_run(run.workspace, run.public_id), "secret-3") == []


def test_nothing_is_looked_through_where_only_aggregates_leave(run: Run, viewer: User, sign_in: SignIn) -> None:
    BenchmarkVersion.objects.update(export_policy=ExportPolicy.AGGREGATE)
    run = get_run(run.workspace, run.public_id)
    with pytest.raises(Refused) as refused:
        found(run, "straße")
    assert refused.value.code == "search_not_permitted"
    response = sign_in(viewer).get(f"/evaluations/{run.public_id}/samples", {"text": "straße"})
    assert (response.context["samples"], "only aggregates leave" in response.content.decode()) == ([], True)
    response = sign_in(viewer).get(f"/evaluations/{run.public_id}/samples/3", {"text": "straße"})
    assert (response.status_code, response.context["previous"], response.context["next"]) == (200, None, None)


def test_what_has_expired_is_not_found_any_more(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(content_expires_at=run.created_at)
    assert found(run, "überall") == [1, 3, 5, 7]
    expire_content()
    assert (found(run, "überall"), found(run, "straße 3")) == ([], [3])  # the prompt is the catalog's


def test_each_page_looks_through_a_part_and_the_next_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "SEARCHED_SAMPLES", 3)
    monkeypatch.setattr(texts, "PART", 2)
    seen, searched, cursor = [], [], None
    while True:
        matches = find_texts(samples_of(run), run, "überall", order="id", cursor=cursor, limit=50)
        seen += matches.keys
        searched.append(matches.searched)
        cursor = matches.next_cursor
        if cursor is None:
            break
    assert (searched, len(seen), len(set(seen))) == ([3, 3, 2], 4, 4)


def test_a_page_that_is_full_goes_on_after_its_last_match(run: Run) -> None:
    first = find_texts(samples_of(run), run, "überall", order=("position", "id"), limit=2)
    second = find_texts(samples_of(run), run, "überall", order=("position", "id"), limit=2, cursor=first.next_cursor)
    assert [Sample.objects.get(pk=key).position for key in (*first.keys, *second.keys)] == [1, 3, 5, 7]
    assert (first.searched, second.searched, second.next_cursor) == (4, 4, None)


def test_a_part_with_very_long_texts_is_the_last_of_its_page(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "SEARCHED_CHARACTERS", 10)
    monkeypatch.setattr(texts, "PART", 2)
    assert find_texts(samples_of(run), run, "nowhere", order="id", limit=5).searched == 2


def test_page_says_how_far_it_searched(run: Run, viewer: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    client = sign_in(viewer)
    text = client.get(f"/evaluations/{run.public_id}/samples", {"text": "überall"}).content.decode()
    assert "Searched the prompts and answers of 8 samples" in " ".join(text.split())
    monkeypatch.setattr(texts, "SEARCHED_SAMPLES", 3)
    response = client.get(f"/evaluations/{run.public_id}/samples", {"text": "70 meter"})
    text = response.content.decode()
    assert ("Not in this part" in text, "the next page goes on from here" in text) == (True, True)
    assert response.context["next_cursor"] is not None


def test_neighbours_with_words_are_looked_for_nearby(run: Run, viewer: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    client = sign_in(viewer)
    address = f"/evaluations/{run.public_id}/samples/4"
    context = client.get(address, {"text": "überall"}).context
    assert (context["previous"], context["next"]) == (3, 5)
    context = client.get(address, {"text": "secret-"}).context
    assert (context["previous"], context["next"]) == (2, 6)
    monkeypatch.setattr(neighbouring, "SEARCHED_CELLS", 1)
    context = client.get(address, {"text": "secret-"}).context
    assert (context["previous"], context["next"], context["searched"]) == (None, None, 1)
