"""Notes and verdicts of people, and the filters of samples, over HTTP."""

from typing import Any

import pytest

from runs.models import Run
from runs.queries import get_result
from tests.api.conftest import ApiClient, assert_stored, error_of
from tests.api.test_results import ended
from workspaces.models import User


@pytest.fixture
def run_id(api: ApiClient) -> str:
    return ended(api)


def sample_id(api: ApiClient, run_id: str, query: str = "subject=0&q=t1") -> str:
    found: str = api.get(f"/v1/runs/{run_id}/samples?{query}").json()["data"][0]["id"]
    return found


def test_a_note_is_written_changed_listed_and_deleted(api: ApiClient, run_id: str) -> None:
    notes = f"/v1/runs/{run_id}/samples/{sample_id(api, run_id)}/notes"
    written = api.post(notes, {"text": "The question has two answers."})
    assert written.status_code == 201
    assert_stored("note", written.json())
    path = f"{notes}/{written.json()['id']}"
    changed = api.patch(path, {"text": "It has one."}).json()
    assert (changed["text"], changed["edited_at"] is not None) == ("It has one.", True)
    assert api.get(notes).json() == {"data": [changed], "next_cursor": None}
    assert api.get(f"/v1/runs/{run_id}/samples?subject=0&reviewed=note").json()["data"][0]["notes"] == 1
    assert api.delete(path).status_code == 204
    assert (api.delete(path).status_code, api.get(notes).json()["data"]) == (404, [])


def test_a_verdict_is_given_listed_and_withdrawn(api: ApiClient, run_id: str) -> None:
    sample = f"/v1/runs/{run_id}/samples/{sample_id(api, run_id)}"
    given = api.ask("PUT", f"{sample}/override", {"verdict": "incorrect", "reason": "Right by chance"})
    assert given.status_code == 200
    assert_stored("override", given.json())
    row = api.get(sample).json()
    assert (row["correct"], row["override"]) == (True, given.json())
    assert [each["id"] for each in api.get(f"/v1/runs/{run_id}/samples?reviewed=changed").json()["data"]] == [row["id"]]
    assert_stored("reviews", api.get(f"/v1/runs/{run_id}/reviews").json())
    assert api.delete(f"{sample}/override").status_code == 204
    assert api.delete(f"{sample}/override").status_code == 204
    (review,) = api.get(f"/v1/runs/{run_id}/reviews").json()["data"]
    assert (review["override"]["state"], api.get(sample).json()["override"]) == ("withdrawn", None)
    assert api.get(f"/v1/runs/{run_id}/reviews?kind=notes").json()["data"] == []


def test_the_second_figures_stand_beside_the_result(api: ApiClient, run_id: str) -> None:
    """Six of eight by the grader (0 and 5 are wrong), five of eight with one changed."""
    path = f"/v1/runs/{run_id}/reviews/figures"
    assert api.get(path).json()["data"] == []
    frozen = ("results", "compare", "export", "export?format=csv")
    before = [read(api.get(f"/v1/runs/{run_id}/{name}")) for name in frozen]
    api.ask("PUT", f"/v1/runs/{run_id}/samples/{sample_id(api, run_id)}/override", {"verdict": "incorrect", "reason": "No"})
    figures = api.get(path).json()
    assert_stored("second_figures", figures)
    (figure,) = figures["data"]
    assert (figure["grader"]["value"], figure["reviewed"]["value"], figure["changed"]) == (0.75, 0.625, 1)
    assert [read(api.get(f"/v1/runs/{run_id}/{name}")) for name in frozen] == before
    assert get_result(Run.objects.get(public_id=run_id)).number == 1


def read(response: Any) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_second_figures_wait_for_the_result(api: ApiClient, db: None) -> None:
    run_id = ended(api)
    Run.objects.get(public_id=run_id).results.all().delete()
    refused = api.get(f"/v1/runs/{run_id}/reviews/figures")
    assert (refused.status_code, error_of(refused)["code"]) == (409, "result_not_ready")


@pytest.mark.parametrize(
    ("verb", "what", "body"),
    [
        ("POST", "notes", {}),
        ("POST", "notes", {"text": " "}),
        ("POST", "notes", {"text": "a\0b"}),
        ("POST", "notes", {"text": "x" * 4_001}),
        ("POST", "notes", {"text": "x", "author": "somebody"}),
        ("POST", "notes", {"text": 7}),
        ("PUT", "override", {"verdict": "correct"}),
        ("PUT", "override", {"verdict": "maybe", "reason": "x"}),
        ("PUT", "override", {"verdict": "correct", "reason": ""}),
        ("PUT", "override", []),
    ],
)
def test_a_body_that_says_nothing_is_refused(api: ApiClient, run_id: str, verb: str, what: str, body: Any) -> None:
    refused = api.ask(verb, f"/v1/runs/{run_id}/samples/{sample_id(api, run_id)}/{what}", body)
    assert (refused.status_code, error_of(refused)["code"]) == (422, "validation_error")


def test_strangers_find_nothing_and_readers_write_nothing(
    api: ApiClient, foreign_api: ApiClient, session_api: Any, viewer: User, run_id: str
) -> None:
    sample = f"/v1/runs/{run_id}/samples/{sample_id(api, run_id)}"
    note = api.post(f"{sample}/notes", {"text": "Ours"}).json()["id"]
    reader = session_api(viewer)
    asked = [
        ("GET", f"{sample}/notes", None),
        ("POST", f"{sample}/notes", {"text": "x"}),
        ("PATCH", f"{sample}/notes/{note}", {"text": "x"}),
        ("DELETE", f"{sample}/notes/{note}", None),
        ("PUT", f"{sample}/override", {"verdict": "correct", "reason": "x"}),
        ("DELETE", f"{sample}/override", None),
        ("GET", f"/v1/runs/{run_id}/reviews", None),
        ("GET", f"/v1/runs/{run_id}/reviews/figures", None),
    ]
    for verb, path, body in asked:
        assert foreign_api.ask(verb, path, body).status_code == 404
        assert reader.ask(verb, path, body).status_code == (200 if verb == "GET" else 403)
    assert api.get(f"{sample}/notes").json()["data"][0]["text"] == "Ours"


def test_samples_take_the_filters_of_the_page(api: ApiClient, run_id: str) -> None:
    path = f"/v1/runs/{run_id}/samples"

    def found(query: str) -> list[tuple[int, str]]:
        return [(row["subject_index"], row["task_id"]) for row in api.get(f"{path}?limit=100&{query}").json()["data"]]

    assert found("subject=0&show=failures&sort=task") == [(0, "t0"), (0, "t5")]
    assert found("subject=0&q=no+number&sort=task") == [(0, "t5")]
    assert found("subject=0&benchmark=sums@1&sort=-task&group=even") == [(0, "t6"), (0, "t4"), (0, "t2"), (0, "t0")]
    assert found("benchmark=other@1") == found("attempt=2") == found("error_code=timeout") == found("min_output_tokens=5000") == []
    assert len(found("max_output_tokens=5000&attempt=1")) == 16
    for query in ("sort=price", "attempt=17", "reviewed=yes", "min_output_tokens=-1", "text=%00", "benchmark="):
        assert api.get(f"{path}?{query}").status_code == 422


def test_texts_are_searched_in_parts_that_are_named(api: ApiClient, run_id: str) -> None:
    path = f"/v1/runs/{run_id}/samples"
    first = api.get(f"{path}?text=what+is&limit=10").json()
    second = api.get(f"{path}?text=what+is&limit=10&cursor={first['next_cursor']}").json()
    assert [len(each["data"]) for each in (first, second)] == [10, 6]
    assert [each["searched"] for each in (first, second)] == [10, 6]
    assert second["next_cursor"] is None
    assert [row["task_id"] for row in api.get(f"{path}?text=DO+NOT+know").json()["data"]] == ["t5"]
    assert "searched" not in api.get(path).json()


def test_what_may_not_leave_is_neither_searched_nor_read(api: ApiClient) -> None:
    run_id = ended(api, export_policy="aggregate")
    refused = api.get(f"/v1/runs/{run_id}/samples?text=what")
    assert (refused.status_code, error_of(refused)["code"]) == (422, "search_not_permitted")
    rows = api.get(f"/v1/runs/{run_id}/samples").json()["data"]
    assert {row["extracted"] for row in rows} == {None}
    assert api.get(f"/v1/runs/{run_id}/samples?q=14&subject=0").json()["data"] == []
    sample = api.get(f"/v1/runs/{run_id}/samples/{rows[0]['id']}").json()
    assert (sample["extracted"], sample["grading"]["extracted"], sample["grading"]["steps"]) == (None, None, [])
